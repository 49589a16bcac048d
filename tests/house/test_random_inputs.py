"""The table of CONTRIBUTING.md says how many random inputs the tests take.

    python -m tests.house.test_random_inputs        brings it up to date

Counted are the calls `seeds(some, of=all)`, or like it, in tests, by folder.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.support.paths import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
HEAD = "| random inputs of tests in | `make test` | `make campaign` |\n|---|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\|\n)*")


def seeds_in(path: Path) -> Iterator[tuple[int, int]]:
    """What each call in a file takes, always and in a campaign."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        given = [call.args[0], *(k.value for k in call.keywords if k.arg == "of")]
        numbers = [constants.get(getattr(n, "id", ""), n) for n in given]
        if len(numbers) == 2 and all(isinstance(n, ast.Constant) for n in numbers):
            few, many = map(ast.literal_eval, numbers)
            if isinstance(few, int):
                yield few, many


def table() -> str:
    some: Counter[str] = Counter()
    of: Counter[str] = Counter()
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = f"`{path.parent.relative_to(ROOT)}`"
        for few, many in seeds_in(path):
            some[folder] += few
            of[folder] += many
    rows = [(folder, some[folder], of[folder]) for folder in some]
    rows.append(("all", some.total(), of.total()))
    return HEAD + "".join(f"| {folder} | {a:,} | {b:,} |\n" for folder, a, b in rows)


def test_the_table_counts_the_seeds_of_tests() -> None:
    found = TABLE.search(PAGE.read_text(encoding="utf-8"))
    assert found and found[0] == table()


if __name__ == "__main__":
    PAGE.write_text(TABLE.sub(lambda _: table(), PAGE.read_text(encoding="utf-8")), "utf-8")

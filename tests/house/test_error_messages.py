"""Every error that a user can meet is shown in docs/error-messages.md, or said here why not.

Messages are collected from the code: what is passed as a message to a constructor of an error, or
to a function that makes one. What the page shows is run by `test_documentation`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

import tadc
from tadc import errors
from tests.house.sources import nodes
from tests.house.test_documentation import FENCE, block_of
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "error-messages.md"
KINDS = {name for name in vars(errors) if name.endswith("Error")}
MAKERS = {"fail", "_fail", "error", "_error", "_unsupported"}
"""Functions that make errors, besides their constructors."""
FILES = sorted((ROOT / "tadc").rglob("*.py"))
HOLE = "\0"

NOT_SHOWN = {
    "the range of a definition's index cannot depend on another index": "the name is unknown first",
    f"the range of {HOLE} cannot be inferred: {HOLE} limits it in a way that depends on which size "
    "is larger": "reached only when the search for an interval gives up",
    f"the target {HOLE} takes loops, and here is a program": "tadc-opt; tests/commands/test_opt.py",
    "standard input is closed": "tests/commands/test_streams.py",
    f"{HOLE} needs the package {HOLE}, which cannot be imported: {HOLE}": (
        "the package is there; tests/test_missing_packages.py"
    ),
    f"TADC_CPU is {HOLE}": "an environment variable; tests/runtime/test_machine.py",
    f"TADC_CPU is {HOLE}, but this processor lacks {HOLE}": "tests/runtime/test_machine.py",
    f"this version of jaxlib takes no handler of tadc: {HOLE}": "of a later jaxlib",
    f"{HOLE} is {HOLE}, which operations of JAX do not take yet": "JAX; tests/jax/test_ops.py",
    f"operations of tadc run on the CPU, not on {HOLE}": "tests/jax/test_lowering.py",
    f"cannot listen on port {HOLE}: {HOLE}": "a port that is taken; tests/commands/test_explore.py",
    "docs/language.md is not beside tadc": "building the page; tests/view/test_site.py",
    f"{HOLE} is not the package that this version of tadc was made for": "tests/view/test_site.py",
    f"fetching {HOLE} takes npm": "without Node.js; tests/view/test_site.py",
    f"npm cannot fetch {HOLE}: {HOLE}": "without a network; tests/view/test_site.py",
    "compiling modules takes node": "without Node.js; tests/view/test_site.py",
    f"{HOLE} is not Python: a browser cannot run {HOLE}": "tests/view/test_bundle.py",
    HOLE: "a message of Python's parser, of which the page shows some",
}
"""Messages that no example can show, with the reason."""


@dataclass(frozen=True)
class Message:
    """A message in the code; `None` where it is computed, with holes where it has values."""

    file: str
    line: int
    text: str | None

    @property
    def pattern(self) -> str:
        return ".+?".join(re.escape(part) for part in (self.text or "").split(HOLE))


def messages(path: Path) -> Iterator[Message]:
    calls = [
        (node.lineno, argument)
        for node in nodes(path)
        if isinstance(node, ast.Call) and (argument := message_of(node)) is not None
    ]
    for function in (node for node in nodes(path) if isinstance(node, ast.FunctionDef)):
        last = function.end_lineno or function.lineno
        inside = [(line, argument) for line, argument in calls if function.lineno <= line <= last]
        known = assigned(function) if inside else {}
        for line, argument in inside:
            for text in texts(argument, known):
                yield Message(str(path.relative_to(ROOT)), line, text)


def message_of(call: ast.Call) -> ast.expr | None:
    """The message among the arguments of a call that makes an error."""
    name = getattr(call.func, "attr", getattr(call.func, "id", None))
    if name in KINDS:
        return call.args[0] if call.args else None
    if name not in MAKERS:
        return None
    candidates = [a for a in call.args if isinstance(a, ast.Constant | ast.JoinedStr | ast.Name)]
    candidates = [a for a in candidates if ast.unparse(a) not in KINDS]
    strings = [a for a in candidates if not isinstance(a, ast.Name) or a.id == "message"]
    return strings[0] if strings else None


def assigned(function: ast.FunctionDef) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(node.value)
    return found


def texts(node: ast.expr, known: dict[str, list[ast.expr]]) -> list[str | None]:
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            return ["".join(p.value if isinstance(p, ast.Constant) else HOLE for p in parts)]
        case ast.IfExp(body=a, orelse=b):
            return texts(a, known) + texts(b, known)
        case ast.Name(id=name) if name in known:
            return [t for value in known[name] for t in texts(value, {})]
        case _:
            return [None]


@cache
def all_messages() -> tuple[Message, ...]:
    return tuple(m for path in FILES for m in messages(path))


COMPUTED = {
    "tadc/program.py": "passes on what a pass says; tests/test_failures.py",
    "tadc/checked_plan.py": "what passes say of a plan; tests/passes/scheduling/test_planned.py",
    "tadc/language/parse.py": "passes a message on",
    "tadc/language/scope.py": "passes a message on",
    "tadc/language/source.py": "passes on what Python says",
    "tadc/language/values.py": "passes a message on",
    "tadc/language/other_expressions.py": "messages from tables, which `tables` collects",
}


def tables() -> Iterator[Message]:
    """Messages with hints in dictionaries by kinds of syntax, and in pairs of assignments."""
    for path in (p for p in FILES if p.parent.name == "language" and "print" not in p.name):
        for node in nodes(path):
            pairs: list[ast.expr] = []
            if isinstance(node, ast.Dict):
                pairs = [v for v in node.values if isinstance(v, ast.Tuple)]
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple):
                names = [ast.unparse(n) for n in node.targets[0].elts]
                pairs = [node.value] if names == ["message", "hint"] else []
            for pair in pairs:
                if isinstance(pair, ast.Tuple) and len(pair.elts) == 2:
                    for text in texts(pair.elts[0], {}):
                        yield Message(str(path.relative_to(ROOT)), node.lineno, text)


def examples() -> Iterator[tuple[str, str]]:
    """The programs on the page, each with the error under it."""
    blocks = [block_of(found) for found in FENCE.finditer(PAGE.read_text(encoding="utf-8"))]
    for program, shown in pairwise(blocks):
        if program.kind == "tad":
            assert shown.kind == "text error"
            yield program.text, shown.text


@pytest.mark.parametrize("program, shown", list(examples()))
def test_the_page_shows_errors_exactly(program: str, shown: str):
    """`python tests/house/test_documentation.py` corrects the page."""
    with pytest.raises(errors.TadcError) as caught:
        tadc.compile(program, file="f.tad")
    assert f"{caught.value}\n" == shown
    assert caught.value.line is not None and caught.value.column is not None


def test_every_message_is_shown():
    page = PAGE.read_text(encoding="utf-8")
    assert [m for m in (*all_messages(), *tables()) if not is_shown(m, page)] == []


def is_shown(message: Message, page: str) -> bool:
    if message.text is None:
        return message.file in COMPUTED
    return message.text in NOT_SHOWN or re.search(message.pattern, page) is not None


def test_what_is_not_shown_exists():
    known = {m.text for m in all_messages()}
    assert not set(NOT_SHOWN) - known
    assert set(COMPUTED) == {m.file for m in all_messages() if m.text is None}


def test_many_messages_are_found():
    assert len(all_messages()) > 120
    files = {m.file for m in all_messages()}
    assert files >= {"tadc/language/intervals.py", "tadc/runtime/arguments.py"}


def test_every_kind_of_error_is_named():
    page = PAGE.read_text(encoding="utf-8")
    assert [kind for kind in sorted(KINDS) if kind not in page] == []

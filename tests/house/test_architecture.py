"""The rules of the house: one table of checks, each of which yields what breaks it.

`RULES` holds them all; tables next to them, what a rule is about: who may import whom, how long
files and classes are, what is no pass. `PENDING` lists what does not hold yet;
`python -m tests.house.test_architecture` prints all that breaks a rule, with or without an entry.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

import pytest
from xdsl.passes import ModulePass

import tadc
from tadc.universe import PASSES
from tests.house import layers, mentions
from tests.house.sources import (
    CODE,
    PRODUCTION,
    Definition,
    definitions,
    docstrings,
    modules,
    nodes,
    packages,
    python_files,
    short,
    tracked_files,
    tree,
)
from tests.support.derivations import stages
from tests.support.paths import ROOT

BESIDE_PHASES = {*layers.PIPELINES, "tadc.passes.run_passes"}
"""The modules of `passes/` itself, which hold no pass."""

TEST_FOLDERS = {"support", "fuzz", "host_shim", "index_tensors", "house"}
"""Folders of tests that mirror none of the compiler."""

LONGEST_FILE = 400
LONGEST_CLASS = 200
LONGEST_WITHOUT_DOCSTRING = 12

LONG = {
    "tests/support/random_programs.py": "one grammar",
    "tests/support/random_programs.py: _Generator": "one grammar",
    "tests/support/update_moves.py: Moves": "one catalogue of moves",
}
"""Files and classes that are longer, with the reason."""

BANNED = ("/work/", "/tmp/", "/root/", "/home/", "TODO", "FIXME", "XXX:")
"""Paths of one machine, and notes to oneself."""

QUESTIONS = re.compile(r"(What|Where|Which|Whether|How|Is|Does|Are)\b")

CALLED_BY_XDSL = {
    *("parse", "print", "verify", "verify_", "apply", "rewrite", "emit"),
    *("parse_parameter", "print_parameter", "parse_parameters", "print_parameters"),
}
"""The same methods in every operation, attribute and pass need no docstring in each."""

PENDING: Mapping[str, tuple[str, ...]] = {}
"""Exceptions to rules that do not hold yet, by rule; patterns as of file names."""

Rule = Callable[[], Iterator[str]]


# --- folders --------------------------------------------------------------------------------------


def phases_hold_passes() -> Iterator[str]:
    """What passes share lies in packages; `passes` itself holds their order alone."""
    for module in modules("passes"):
        folder = module.rpartition(".")[0]
        package = modules("passes")[module].name == "__init__.py"
        if folder == "tadc.passes" and not package and module not in BESIDE_PHASES:
            yield module
        if folder in layers.PHASES and not package and module not in layers.PASS_MODULES:
            yield module


def packages_name_their_contents() -> Iterator[str]:
    for folder in packages():
        text = ast.get_docstring(tree(folder / "__init__.py")) or ""
        named = {name.replace("-", "_").split(".")[-1] for name in re.findall(r"`([\w.-]+)`", text)}
        inner = {p.parent.name for p in folder.glob("*/__init__.py")}
        for name in sorted((inner | {p.stem for p in folder.glob("*.py")}) - named - {"__init__"}):
            yield f"{short(folder)} does not name {name}"


def folders_of_tests_mirror_the_house() -> Iterator[str]:
    for folder in sorted({p.parent.relative_to(ROOT / "tests") for p in python_files("tests")}):
        inside = folder.parts[:1] == ("passes",) or not folder.parts
        mirrored = (ROOT / "." if inside else ROOT / "tadc") / folder
        if folder.parts[:1] and folder.parts[0] not in TEST_FOLDERS and not mirrored.is_dir():
            yield f"tests/{folder.as_posix()}"


# --- passes ---------------------------------------------------------------------------------------


def module_of(name: str) -> str:
    return name.replace("-", "_")


def a_pass_is_one_file_one_name() -> Iterator[str]:
    for name, (module, cls) in PASSES.items():
        found = getattr(importlib.import_module(module), cls)
        where = "tadc.passes", phase_of(name), module_of(name)
        expected = ".".join(where), f"{name.title().replace('-', '')}Pass", name
        if (module, cls, found.name) != expected or not issubclass(found, ModulePass):
            yield name


def phase_of(name: str) -> str:
    """The folder that a pass lies in."""
    return PASSES[name][0].split(".")[2]


def no_pass_hides() -> Iterator[str]:
    for module in modules("passes"):
        for cls in vars(importlib.import_module(module)).values():
            defined = isinstance(cls, type) and cls.__module__ == module
            if (
                defined
                and issubclass(cls, ModulePass)
                and vars(cls).get("name", "") not in {*PASSES, ""}
            ):
                yield f"{module}.{cls.__name__}"


def a_pass_has_its_filecheck_file() -> Iterator[str]:
    for name in PASSES:
        path = ROOT / "lit_tests" / "passes" / phase_of(name) / f"{name}.mlir"
        if not path.exists() or not re.search(rf"-p '?[^|]*\b{name}\b", path.read_text()):
            yield short(path)


def a_pass_has_its_place_in_the_meaning_test() -> Iterator[str]:
    """Passes on the way to a derivative have it; others are called there by name."""
    module = tadc.compile("x: f64[3]\ny = sum[i](x[i])").program.module
    derivative = {name for name, _ in stages(module)}
    text = (ROOT / "tests" / "passes" / "test_meaning.py").read_text(encoding="utf-8")
    for name in PASSES:
        if name not in derivative and not re.search(rf"\b({name}|{module_of(name)})\b", text):
            yield name


# --- code -----------------------------------------------------------------------------------------


def files_are_short() -> Iterator[str]:
    for path in python_files(*CODE):
        if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST_FILE:
            yield short(path)


def classes_are_short() -> Iterator[str]:
    for path in python_files(*CODE):
        for node in definitions(path):
            if isinstance(node, ast.ClassDef) and length(node) > LONGEST_CLASS:
                yield f"{short(path)}: {node.name}"


def length(node: Definition) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def what_is_public_and_long_is_documented() -> Iterator[str]:
    for path in python_files(*PRODUCTION):
        if path.read_text().strip() and not ast.get_docstring(tree(path)):
            yield short(path)
        for node in public_definitions(tree(path).body):
            undocumented = not ast.get_docstring(node) and node.name not in CALLED_BY_XDSL
            if length(node) > LONGEST_WITHOUT_DOCSTRING and undocumented:
                yield f"{short(path)}: {node.name}"


def public_definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    """The public classes and functions of a module, and the public methods of these classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body)


def docstrings_are_no_questions() -> Iterator[str]:
    for path in python_files(*PRODUCTION):
        for line, text in docstrings(path):
            if QUESTIONS.match(text):
                yield f"{short(path)}:{line}: {text.splitlines()[0]}"


def calls_have_no_starred_displays() -> Iterator[str]:
    for path in python_files(*PRODUCTION):
        for node in nodes(path):
            if isinstance(node, ast.Call) and any(map(starred_display, node.args)):
                yield f"{short(path)}:{node.lineno}"


def starred_display(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple | ast.List)


def ignored_type_errors_name_their_rule() -> Iterator[str]:
    bare = re.compile(r"# *(?:type: *ignore|pyright: *ignore(?!\[\w+(?:, *\w+)*\]))")
    yield from (short(p) for p in python_files(*PRODUCTION, "tests") if bare.search(p.read_text()))


def nothing_names_one_machine() -> Iterator[str]:
    for path in tracked_files():
        content = b"" if path.samefile(__file__) else path.read_bytes()
        for word in BANNED:
            if b"\0" not in content and word.encode() in content:
                yield f"{short(path)}: {word}"


# --- the table ------------------------------------------------------------------------------------

RULES: tuple[Rule, ...] = (
    layers.everything_has_a_layer,
    layers.imports_point_down,
    layers.wings_import_no_pass,
    layers.imports_are_no_tests,
    layers.imports_make_no_circle,
    layers.mathematics_stands_alone,
    phases_hold_passes,
    packages_name_their_contents,
    folders_of_tests_mirror_the_house,
    a_pass_is_one_file_one_name,
    no_pass_hides,
    a_pass_has_its_filecheck_file,
    a_pass_has_its_place_in_the_meaning_test,
    files_are_short,
    classes_are_short,
    what_is_public_and_long_is_documented,
    docstrings_are_no_questions,
    calls_have_no_starred_displays,
    ignored_type_errors_name_their_rule,
    nothing_names_one_machine,
    mentions.named_files_exist,
    mentions.named_modules_exist,
    mentions.tours_name_what_there_is,
    mentions.links_exist,
    mentions.contributing_names_every_make_target,
)


def is_pending(rule: Rule, found: str) -> bool:
    return any(fnmatchcase(found, pattern) for pattern in PENDING.get(rule.__name__, ()))


@pytest.mark.parametrize("rule", RULES, ids=[rule.__name__ for rule in RULES])
def test_the_house_keeps(rule: Rule):
    assert [found for found in rule() if not is_pending(rule, found) and found not in LONG] == []


def test_what_is_pending_does_not_hold_yet():
    """An entry of `PENDING` that nothing breaks any more is taken out."""
    broken = {rule.__name__: list(rule()) for rule in RULES if rule.__name__ in PENDING}
    held = [
        (name, pattern)
        for name, patterns in PENDING.items()
        for pattern in patterns
        if not any(fnmatchcase(found, pattern) for found in broken[name])
    ]
    assert not held


if __name__ == "__main__":
    for each in RULES:
        print(f"{each.__name__}:", *each(), sep="\n    ")

"""The rules of the house that a machine can check: layers, names, sizes, tests of tests."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from xdsl.passes import ModulePass

from lit_tests.conftest import COMMENTS, BadRunLine, Stage, parse_run_line, run_lines
from tadc.universe import PASSES
from tests.support.paths import ROOT

LAYERS = ("dialects", "passes", "tadc")
FOLDERS = (*LAYERS, "tests", "lit_tests", "examples", "benchmarks", "docs", ".ci")

# Paths of one machine, and notes to oneself.
BANNED = ("/work/", "/tmp/", "/root/", "/home/", "TODO", "FIXME", "XXX:")

LONGEST_FILE = 500
LONGEST_WITHOUT_DOCSTRING = 12


def files(*folders: str) -> list[Path]:
    """The files in these folders, without what tools leave there."""
    found = sorted(p for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file())
    return [p for p in found if not {"__pycache__", "Output"} & set(p.parts)]


def tracked_files() -> list[Path]:
    """The files that git knows; in an unpacked archive, all those in our folders."""
    try:
        command = ["git", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return files(*FOLDERS)
    found = [ROOT / name for name in listed.stdout.split("\0") if name]
    return [p for p in found if p.is_file()]


def python_files(*folders: str) -> list[Path]:
    return [p for p in files(*folders) if p.suffix == ".py"]


def lit_files() -> list[Path]:
    return [p for p in files("lit_tests") if p.suffix in COMMENTS]


def pass_files() -> list[Path]:
    """The files of `passes/` that define a pass."""
    return [p for p in python_files("passes") if passes_in(p)]


def passes_in(path: Path) -> list[ast.ClassDef]:
    return [
        node
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ClassDef)
        and any(isinstance(base, ast.Name) and base.id == "ModulePass" for base in node.bases)
    ]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=short)


# --- layers ---------------------------------------------------------------------------------------


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{short(path)}: relative import"
            yield node.module or ""


@each(python_files(*LAYERS))
def test_imports_point_one_way(path: Path):
    layer = LAYERS.index(path.relative_to(ROOT).parts[0])
    upper = [m for m in imports(path) if m.split(".")[0] in (*LAYERS[layer + 1 :], "tests")]
    assert not upper


@each([p for p in python_files("passes") if "polyhedral" in p.parts])
def test_the_mathematics_stands_alone(path: Path):
    packages = [m for m in imports(path) if m.split(".")[0] in ("xdsl", *LAYERS)]
    assert all(m.startswith("passes.polyhedral") for m in packages)


# --- passes ---------------------------------------------------------------------------------------


@each(pass_files())
def test_a_pass_is_one_file_one_name_one_test(path: Path):
    (definition,) = passes_in(path)
    name = path.stem.replace("_", "-")
    module = importlib.import_module(f"passes.{path.stem}")
    cls = getattr(module, definition.name)
    assert issubclass(cls, ModulePass)
    assert cls.name == name
    assert definition.name == "".join(w.title() for w in path.stem.split("_")) + "Pass"
    assert PASSES[name] == (f"passes.{path.stem}", definition.name)
    assert ast.get_docstring(tree(path))
    test = ROOT / "lit_tests" / "passes" / f"{name}.mlir"
    assert test.exists(), f"{short(test)} is missing"
    assert re.search(rf"-p '?[^|]*\b{name}\b", test.read_text())


def test_every_registered_pass_has_its_file():
    assert {p.stem.replace("_", "-") for p in pass_files()} == set(PASSES)


# --- FileCheck files ------------------------------------------------------------------------------


@each(lit_files())
def test_every_run_line_is_checked(path: Path):
    for line in run_lines(path):
        stages = parse_run_line(line, path)
        assert stages[-1].tool == "filecheck", f"nothing looks at the output of: {line}"
        assert str(path) in stages[-1].arguments
        assert all(stage.tool != "filecheck" for stage in stages[:-1])


@pytest.mark.parametrize(
    "line",
    [
        "",
        "cat %s",
        "not",
        "tadc-opt %s |",
        "tadc-opt %s > out",
        "tadc-opt %s 2> out",
        "tadc-opt %s 2>&1 -p cse",
        "tadc-opt %s && filecheck %s",
        "tadc-opt %s; filecheck %s",
        "tadc-opt %t",
        "tadc-opt %S/f.mlir",
        "tadc-opt *.mlir",
        "tadc-opt $FILE",
        "tadc-opt 'unfinished",
        "tadc-opt a\\ b",
    ],
)
def test_what_run_lines_may_not_say(line: str):
    with pytest.raises(BadRunLine):
        parse_run_line(line, ROOT / "f.mlir")


@pytest.mark.parametrize(
    "text",
    ["", "// run: x", "  // RUN: tadc-opt", "// RUN: a \\", "// RUN: a\n// XFAIL: *", "# RUN: a"],
)
def test_what_files_may_not_say(text: str, tmp_path: Path):
    path = tmp_path / "f.mlir"
    path.write_text(text)
    with pytest.raises(BadRunLine):
        run_lines(path)


def test_run_lines_are_pipelines(tmp_path: Path):
    path = tmp_path / "f.tad"
    path.write_text(
        """# RUN: not tadc-opt %s -p 'a{b="c d"},e' \\\n# RUN:   2>&1 | filecheck %s\n"""
    )
    (line,) = run_lines(path)
    assert parse_run_line(line, path) == [
        Stage("tadc-opt", [str(path), "-p", 'a{b="c d"},e'], fails=True, merged=True),
        Stage("filecheck", [str(path)], fails=False, merged=False),
    ]


@each(lit_files())
def test_every_check_is_used(path: Path):
    used = {"CHECK"}
    for line in run_lines(path):
        used.update(*(p.split(",") for p in re.findall(r"--check-prefix(?:es)?[ =](\S+)", line)))
    mark = re.escape(COMMENTS[path.suffix])
    label = rf"^ *{mark} *([A-Z][A-Z0-9_-]*?)(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?:"
    written = set(re.findall(label, path.read_text(encoding="utf-8"), re.MULTILINE))
    assert written - {"RUN"} <= used


# --- code -----------------------------------------------------------------------------------------

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def public_definitions(body: list[ast.stmt]) -> Iterator[Definition]:
    """The public classes and functions of a module, and the public methods of these classes."""
    for node in body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body)


@each(python_files(*LAYERS))
def test_what_is_public_and_long_is_documented(path: Path):
    assert not path.read_text().strip() or ast.get_docstring(tree(path)), "no module docstring"
    bare = [
        node.name
        for node in public_definitions(tree(path).body)
        if node.end_lineno is not None
        and node.end_lineno - node.lineno >= LONGEST_WITHOUT_DOCSTRING
        and not ast.get_docstring(node)
        and not inherits_its_documentation(node)
    ]
    assert not bare


def inherits_its_documentation(node: Definition) -> bool:
    """The methods that xDSL calls, the same in every operation, attribute and pass."""
    return node.name in (
        *("parse", "print", "verify", "verify_", "apply", "emit"),
        *("parse_parameter", "print_parameter", "parse_parameters", "print_parameters"),
    )


@each(python_files(*LAYERS, "tests", "lit_tests", "examples", "benchmarks"))
def test_files_are_short(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE


def test_no_banned_words():
    contents = [(p, p.read_bytes()) for p in tracked_files() if p != Path(__file__)]
    found = [
        (short(p), word)
        for p, content in contents
        for word in BANNED
        if b"\0" not in content and word.encode() in content
    ]
    assert not found


def test_ignored_type_errors_name_their_rule():
    bare = re.compile(r"# *(?:type: *ignore|pyright: *ignore(?!\[\w+(?:, *\w+)*\]))")
    assert not [short(p) for p in python_files(*LAYERS, "tests") if bare.search(p.read_text())]


# --- documentation --------------------------------------------------------------------------------


@pytest.mark.skipif(not (ROOT / "README.md").exists(), reason="there is no README.md")
def test_readme_names_every_make_target():
    targets = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [t for t in targets if f"make {t}" not in readme] == []


def without_code(page: Path) -> str:
    return re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_links_in_the_documentation_exist():
    pages = [p for p in tracked_files() if p.suffix == ".md"]
    dead = [
        (short(page), link)
        for page in pages
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", without_code(page))
        if not (page.parent / link).exists()
    ]
    assert not dead

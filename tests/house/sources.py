"""The files of the project as the rules of the house see them: paths, syntax trees, imports."""

from __future__ import annotations

import ast
import io
import subprocess
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.paths import ROOT

PRODUCTION = ("dialects", "passes", "tadc")
INNER = ("dialects", "passes")
"""Folders at the top of the repository that are packages inside of `tadc`."""
CODE = (*PRODUCTION, "tests", "lit_tests", "examples", "benchmarks")
FOLDERS = (*CODE, "docs", ".ci")

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def files(*folders: str) -> list[Path]:
    """The files in these folders, without what tools leave there."""
    found = sorted(p for folder in folders for p in (ROOT / folder).rglob("*") if p.is_file())
    return [p for p in found if not {"__pycache__", "Output"} & set(p.parts)]


@cache
def tracked_files() -> tuple[Path, ...]:
    """The files that git knows; in an unpacked archive, all those in our folders."""
    try:
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return (*files(*FOLDERS), *(p for p in sorted(ROOT.iterdir()) if p.is_file()))
    found = [ROOT / name for name in listed.stdout.split("\0") if name]
    return tuple(p for p in found if p.is_file())


def python_files(*folders: str) -> list[Path]:
    return [p for p in files(*folders) if p.suffix == ".py"]


def packages() -> list[Path]:
    """The folders of the three packages that hold Python files."""
    return sorted({p.parent for p in python_files(*PRODUCTION)})


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All syntax of a file, which rules look through one after another."""
    return tuple(ast.walk(tree(path)))


def short(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def each(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=short)


def definitions(path: Path) -> Iterator[Definition]:
    return (node for node in nodes(path) if isinstance(node, Definition))


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """All docstrings of a file, those under fields among them, with the lines they start at."""
    for node in nodes(path):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
            case _:
                pass


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """All comments of a file with their lines."""
    with tokenize.open(path) as file:
        tokens = list(tokenize.generate_tokens(io.StringIO(file.read()).readline))
    return ((t.start[0], t.string) for t in tokens if t.type == tokenize.COMMENT)


# --- modules --------------------------------------------------------------------------------------


def module_name(path: Path) -> str:
    """`tadc.language.parse` for its file, `tadc.language` for its `__init__.py`.

    The folders `passes` and `dialects` are packages inside of `tadc`.
    """
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return f"tadc.{name}" if name.partition(".")[0] in INNER else name


@cache
def modules(*folders: str) -> dict[str, Path]:
    return {module_name(path): path for path in python_files(*(folders or PRODUCTION))}


@cache
def imports(path: Path) -> frozenset[str]:
    """The modules that a file imports, also in functions and for the type checker alone."""
    found: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{short(path)}: relative import"
            found.update(_imported(node.module or "", alias.name) for alias in node.names)
    return frozenset(found)


def _imported(module: str, name: str) -> str:
    inner = f"{module}.{name}"
    return inner if inner in modules() else module

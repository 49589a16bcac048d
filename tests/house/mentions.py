"""Rules for what prose names: files, modules and what is in them, links, targets of make.

Prose is the documentation, and the docstrings and comments of all Python files.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.house.sources import (
    CODE,
    comments,
    docstrings,
    module_name,
    modules,
    packages,
    python_files,
    short,
    tracked_files,
    tree,
)
from tests.support.paths import ROOT

NAMED_FOLDERS = (*CODE, "docs")
PATH = re.compile(rf"(?<![\w./-])(?:{'|'.join(NAMED_FOLDERS)})/[\w./-]*\w")
FILE = re.compile(r"(?<![\w./*-])[\w./-]+\.(?:py|md)\b(?!\w)")
MODULE = re.compile(r"(?<![\w./@-])(?:tadc|tests)(?:\.[A-Za-z_]\w*)+")
DOTTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)`")

INVENTED = {
    *("passes/simplify/multiply_squares.py", "tadc.passes.simplify.multiply_squares"),
    "lit_tests/passes/simplify/multiply-squares.mlir",
    *("results.md", "docs/gallery", "docs/tour"),
    "passes.py",
}
"""Names in examples: the pass of docs/new-pass.md, what benchmarks write, the site's tools, and a
file of a user's."""


@cache
def prose() -> tuple[tuple[str, str], ...]:
    """All texts with the places that they stand at."""
    found = [(short(p), p.read_text(encoding="utf-8")) for p in pages()]
    for path in python_files(*CODE):
        for line, text in (*docstrings(path), *comments(path)):
            found.append((f"{short(path)}:{line}", text))
    return tuple(found)


def pages() -> list[Path]:
    return [p for p in tracked_files() if p.suffix == ".md"]


def mentioned(pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    for place, text in prose():
        for found in sorted(set(pattern.findall(text)) - INVENTED):
            yield place, found


def named_files_exist() -> Iterator[str]:
    """A path may leave out how the name ends; a file may be named without its folder."""
    known = "\n".join(["", *(short(p) for p in tracked_files()), ""])
    for place, path in mentioned(PATH):
        if not re.search(rf"\n{re.escape(path)}(?!\w)", known):
            yield f"{place}: {path}"
    for place, path in mentioned(FILE):
        inside = re.sub(r"^(\.\./)+", "", path)
        if not re.search(rf"[\n/]{re.escape(inside)}\n", known):
            yield f"{place}: {path}"


def named_modules_exist() -> Iterator[str]:
    for place, name in mentioned(MODULE):
        if not resolves(name):
            yield f"{place}: {name}"


def tours_name_what_there_is() -> Iterator[str]:
    """Dotted names in the docstring of a package, in full or from the package on."""
    for folder in packages():
        package = module_name(folder / "__init__.py")
        text = ast.get_docstring(tree(folder / "__init__.py")) or ""
        for name in DOTTED.findall(text):
            first = name.partition(".")[0]
            inner = f"{package}.{first}" in modules()
            if (inner or first == "tadc") and not resolves(f"{package}.{name}" if inner else name):
                yield f"{package}: {name}"


@cache
def resolves(name: str) -> bool:
    """True if `name` is a module, or something in one."""
    module, rest = name, list[str]()
    while module:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
        else:
            return has(found, rest)
    return False


def has(found: object, names: list[str]) -> bool:
    for name in names:
        fields = getattr(found, "__annotations__", {})
        if not hasattr(found, name):
            return name in fields
        found = getattr(found, name)
    return True


def links_exist() -> Iterator[str]:
    for page in pages():
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", without_code(page)):
            if not (page.parent / link).exists():
                yield f"{short(page)}: {link}"


def without_code(page: Path) -> str:
    return re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def contributing_names_every_make_target() -> Iterator[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for target in re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE):
        if f"make {target}" not in text:
            yield target

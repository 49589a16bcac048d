"""Archives of modules as bytecode: Python then starts without compiling them.

Pyodide itself runs this when the site is built (`tadc/view/bytecode.mjs`), since bytecode belongs
to one version of Python. Of the standard library, it keeps the modules that the others import.
"""

from __future__ import annotations

import ast
import json
import marshal
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from pathlib import Path

SAME_TIME = (2020, 1, 1, 0, 0, 0)
"""The time of all files in an archive, so that the same modules give the same bytes."""

CODECS = ("utf_8", "ascii", "latin_1", "cp437", "idna")
"""The encodings that are kept: those that Python and its archives take."""

_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
"""The fields of syntax that hold statements, or parts of one that hold some."""


def rewrite(archive: Path, keep: Callable[[str], bool]) -> None:
    """Put bytecode in the place of all modules of an archive that are kept, and drop the others."""
    with zipfile.ZipFile(archive) as packed:
        sources = {name: packed.read(name) for name in packed.namelist() if name.endswith(".py")}
    with zipfile.ZipFile(archive, "w") as packed:
        for name, source in sources.items():
            if keep(name):
                entry = zipfile.ZipInfo(f"{name}c", SAME_TIME)
                packed.writestr(entry, compiled(source, name), zipfile.ZIP_DEFLATED, 9)


def compiled(source: bytes, name: str) -> bytes:
    """A module as the content of a file `.pyc` that has no source beside it.

    Docstrings become a dot: they are half of the text, and nobody asks for them in a browser. They
    do not go altogether, since a data class without one makes one, which takes longer.
    """
    tree = ast.parse(source)
    for node in _statements(tree):
        match node:
            case (
                ast.Module(body=[ast.Expr(value=ast.Constant(value=str()) as text), *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str()) as text), *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str()) as text), *_])
            ):
                text.value = "."
            case _:
                pass
    code = compile(tree, name, "exec", dont_inherit=True)
    # no flags, and no time and size of a source: PEP 552
    return MAGIC_NUMBER + bytes(12) + marshal.dumps(code)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """A module, or whatever else holds statements, and all statements in it, inner ones too."""
    yield node
    for block in _BLOCKS:
        for inner in getattr(node, block, ()):
            yield from _statements(inner)


def imported(archive: Path) -> set[str]:
    """The modules that those of an archive import anywhere, by the names in import statements."""
    with zipfile.ZipFile(archive) as packed:
        sources = [packed.read(name) for name in packed.namelist() if name.endswith(".py")]
    return {name for source in sources for name in _imports(ast.parse(source))}


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


def main(folder: Path) -> None:
    """Rewrite the archives of a site: its modules, and of the standard library what these take."""
    modules, library = folder / "modules.zip", folder / "python_stdlib.zip"
    for name in sorted(imported(modules)):
        if name.partition(".")[0] in sys.stdlib_module_names:
            _try_import(name)
    _use(modules)
    files = {str(getattr(module, "__file__", "")) for module in sys.modules.values()}
    codecs = tuple(f"encodings/{codec}.py" for codec in CODECS)
    rewrite(library, lambda name: name in codecs or any(f.endswith(f".zip/{name}") for f in files))
    rewrite(modules, lambda name: True)


def _try_import(name: str) -> None:
    """Import a module of the standard library, if there is one here: not all run in browsers."""
    try:
        import_module(name)
    except ImportError:
        return


def _use(modules: Path) -> None:
    """Let the modules answer, and say what is wrong: some of the library comes in only then."""
    os.environ["TADC_CACHE"] = "off"
    unpacked = tempfile.mkdtemp()
    shutil.unpack_archive(modules, unpacked)
    sys.path.insert(0, unpacked)
    view = import_module("tadc.view").view
    examples = json.loads((modules.parent / "examples.json").read_text())
    json.dumps([view(example["source"]) for example in examples[:3]])
    json.dumps(view("y[i] = expp(x[i])"))

"""Pages of the compiler: one for each package, with the docstrings of its modules.

They are written into `docs/tour` before Sphinx reads its sources, from the files alone: nothing is
imported. A name in code that is a module here, in full or from its package on, becomes a link.
"""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from docutils.nodes import literal
from prose import BLOCK, restructured
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PACKAGES = ("tadc", "dialects", "passes")
CODE = re.compile(r"`([\w./]+)`")


@cache
def docstrings() -> dict[str, str]:
    """The docstring of each module that has one, by name; packages come before what is in them."""
    files = [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    trees = {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in files}
    texts = {name: ast.get_docstring(tree, clean=False) for name, tree in trees.items()}
    return {name: text for name, text in sorted(texts.items()) if text}


def name_of(path: Path) -> str:
    """The module of a file: `passes` and `dialects` are packages inside of `tadc`."""
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return name if name.partition(".")[0] == "tadc" else f"tadc.{name}"


def is_package(name: str) -> bool:
    return (ROOT / name.replace(".", "/")).is_dir()


def inside(package: str) -> list[str]:
    """The modules and packages directly in a package."""
    return [name for name in docstrings() if name.rpartition(".")[0] == package]


def page(package: str) -> Iterator[str]:
    """The page of a package in reStructuredText: its own docstring, and those of its modules."""
    title = package if "." in package else f"The package {package}"
    yield from (title, "=" * len(title), "", ".. highlight:: text", "")
    yield from shown(package, package)
    yield from (".. toctree::", "   :hidden:", "")
    yield from (f"   {name}" for name in inside(package) if is_package(name))
    yield ""
    for name in inside(package):
        if not is_package(name):
            title = name.rpartition(".")[2]
            yield from (title, "-" * len(title), "")
            yield from shown(name, package)


def shown(module: str, package: str) -> Iterator[str]:
    yield from (f".. part:: {module}", "")
    for line in restructured(docstrings()[module].split("\n")):
        # what is indented is a program, or goes on with an entry of a list
        yield line if line.startswith(BLOCK) else CODE.sub(partial(link, module, package), line)
    yield ""


def link(module: str, package: str, code: re.Match[str]) -> str:
    """The code with a link, if it names a module other than the one whose docstring this is."""
    named = code[1].removesuffix(".py").replace("/", ".")
    names = (
        name for name in (f"{package}.{named}", named, f"tadc.{named}") if name in docstrings()
    )
    return next((f":part:`{code[1]} <{name}>`" for name in names if name != module), code[0])


def write(app: Sphinx) -> None:
    target = Path(app.srcdir) / "tour"
    pages = {name: "\n".join(page(name)) for name in docstrings() if is_package(name)}
    if target.is_dir() and {p.stem for p in target.glob("*.rst")} != set(pages):
        shutil.rmtree(target)
    target.mkdir(exist_ok=True)
    for name, text in pages.items():
        path = target / f"{name}.rst"
        # Sphinx reads again what is newer
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_crossref_type("part", "part", ref_nodeclass=literal)
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}

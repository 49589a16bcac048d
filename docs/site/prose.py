"""Docstrings as Sphinx reads them: ours are plain prose, Sphinx takes reStructuredText.

Prose has code between single backticks, lists that begin with a dash, headings that are underlined
with dashes, and blocks of code or formulas that are indented by four blanks after an empty line.
Other signs stand for themselves, while `*`, `|` and a final `_` are markup in reStructuredText.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"([\\*|]|_(?!\w))")
UNDERLINE = re.compile(r"-{3,}$")
BLOCK = " " * 4


def escaped(line: str) -> str:
    """A line whose signs stand for themselves, but for those in code."""
    parts = CODE.split(line)
    return "".join(p if i % 2 else MARKUP.sub(r"\\\1", p) for i, p in enumerate(parts))


def restructured(lines: list[str]) -> list[str]:
    """The lines of a docstring as reStructuredText; takes time in proportion to them."""
    text = "\n".join(lines)
    # code that is broken over two lines stays together
    text = re.sub(r"`[^`]+`", lambda code: re.sub(r"\n *", " ", code[0]), text)
    return [line for part in blocks(text.split("\n")) for line in part]


def blocks(lines: list[str]) -> Iterator[list[str]]:
    """Lines of prose one by one; blocks and headings with their marks."""
    inside = False
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else ""
        after = lines[number + 1] if number + 1 < len(lines) else ""
        indented = line.startswith(BLOCK)
        if UNDERLINE.match(line) and before:
            continue
        if indented and not before.strip() and not inside:
            inside = True
            yield ["::", "", line]
        elif not line.strip() or (indented and inside):
            yield [line]
        elif UNDERLINE.match(after):
            inside = False
            yield [f".. rubric:: {escaped(line)}", ""]
        else:
            inside = False
            yield [escaped(line)]


def rewrite(app: Sphinx, kind: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = restructured(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", rewrite)
    return {"parallel_read_safe": True}

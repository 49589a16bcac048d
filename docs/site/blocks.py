"""Blocks of pages that belong to the block before them: derivatives, errors and what is printed.

`tests/house/test_documentation.py` says what the words after the fences mean. Here they become
classes, which the style of the site gives a line of its own and a label.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

KINDS = {"tad derivative": "derivative", "text error": "error", "text": "printed"}
FENCE = re.compile(rf"^( *)```({'|'.join(KINDS)})\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


def directive(block: re.Match[str]) -> str:
    """The block as a directive of MyST, with its class."""
    indent, kind, text = block.groups()
    opening = f"{indent}```{{code-block}} {kind.split()[0]}\n{indent}:class: {KINDS[kind]}\n\n"
    return f"{opening}{text}{indent}```"


def read(app: Sphinx, page: str, source: list[str]) -> None:
    source[0] = FENCE.sub(directive, source[0])


def read_included(app: Sphinx, path: Path, page: str, source: list[str]) -> None:
    read(app, page, source)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", read)
    app.connect("include-read", read_included)
    return {"parallel_read_safe": True}

"""Colours for programs: the language has Python's syntax."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx


class TadLexer(PythonLexer):
    """Programs of the language: Python's tokens."""

    name = "tad"
    aliases: ClassVar[list[str]] = ["tad"]


class MlirLexer(TextLexer):
    """IR, for which there are no colours."""

    name = "mlir"
    aliases: ClassVar[list[str]] = ["mlir"]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("tad", TadLexer)
    app.add_lexer("mlir", MlirLexer)
    return {"parallel_read_safe": True}

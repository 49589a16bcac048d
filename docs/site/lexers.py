"""Colours for programs, as the language has Python's syntax, and for sessions of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from pygments.token import Generic, Text

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class TadLexer(PythonLexer):
    """Programs of the language: Python's tokens."""

    name = "tad"
    aliases: ClassVar[list[str]] = ["tad"]


class MlirLexer(TextLexer):
    """IR, for which there are no colours."""

    name = "mlir"
    aliases: ClassVar[list[str]] = ["mlir"]


class ConsoleLexer(RegexLexer):
    """Commands and what they print: lines that begin with `#`, as in plans, are no prompts."""

    name = "console"
    aliases: ClassVar[list[str]] = ["console"]
    tokens: ClassVar = {
        "root": [(r"^(\$ )(.*\n)", bygroups(Generic.Prompt, Text)), (r".*\n", Text)]
    }


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("tad", TadLexer)
    app.add_lexer("mlir", MlirLexer)
    app.add_lexer("console", ConsoleLexer)
    return {"parallel_read_safe": True}

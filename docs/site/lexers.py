"""Colours for programs, as the language has Python's syntax, and for sessions of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.lexers.python import PythonLexer
from pygments.lexers.special import TextLexer
from pygments.token import Generic, Text, Token

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class TadLexer(PythonLexer):
    """Programs of the language: Python's tokens. Pages show mistakes, too, whose signs are text."""

    name = "tad"
    aliases: ClassVar[list[str]] = ["tad"]

    def get_tokens_unprocessed(
        self, text: str, stack: Iterable[str] = ("root",)
    ) -> Iterator[tuple[int, Any, str]]:
        for place, token, value in super().get_tokens_unprocessed(text, stack):
            yield place, Text if token is Token.Error else token, value


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

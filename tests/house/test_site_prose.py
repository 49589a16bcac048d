"""Prose as the site shows it: docstrings become reStructuredText, blocks get their class."""

from __future__ import annotations

import runpy
from textwrap import dedent
from typing import Any

import pytest

from tests.support.paths import DOCS


def site(name: str) -> dict[str, Any]:
    """The names of a module of `docs/site`."""
    return runpy.run_path(str(DOCS / "site" / f"{name}.py"))


PROSE = {
    "J^T * v and |det J| of x_ and x_dot": r"J^T \* v and \|det J\| of x\_ and x_dot",
    "`a * b_` stays, a\\b too": r"`a * b_` stays, a\\b too",
    "code `over\n  two` lines": "code `over two` lines",
    "Heading\n-------\ntext": ".. rubric:: Heading\n\ntext",
    "so\n\n    f = a\n\n    g_ = a\n\nthen *": "so\n\n::\n\n    f = a\n\n    g_ = a\n\nthen \\*",
    "- `a`: one\n  of *\n- two": "- `a`: one\n  of \\*\n- two",
}


@pytest.mark.parametrize("text", PROSE)
def test_docstrings_are_restructured(text: str):
    assert "\n".join(site("prose")["restructured"](text.split("\n"))) == PROSE[text]


def test_blocks_get_their_class():
    page = dedent("""\
        ```tad
        y = x
        ```
        ```tad derivative
        dx = dy
        ```

           ```text
           1
           ```
        """)
    source = [page]
    site("blocks")["read"](None, "page", source)
    assert source[0] == page.replace(
        "```tad derivative\n", "```{code-block} tad\n:class: derivative\n\n"
    ).replace("```text\n", "```{code-block} text\n   :class: printed\n\n")


def test_what_commands_print_has_no_colours():
    from pygments.token import Generic, Text

    lexer = site("lexers")["ConsoleLexer"]()
    shown = "$ tadc derive f.tad --explain-plan\n# the program\ny[i]: plain  # 1.3 times\n"
    assert list(lexer.get_tokens(shown)) == [
        (Generic.Prompt, "$ "),
        (Text, "tadc derive f.tad --explain-plan\n"),
        (Text, "# the program\n"),
        (Text, "y[i]: plain  # 1.3 times\n"),
    ]


@pytest.mark.parametrize("mistake", ["y[i] = !x[i]\n", "y[i] = x[i] ? 1 : 0\n", "y = x − 2\n"])
def test_mistakes_have_colours_too(mistake: str):
    from pygments.token import Error, Name

    tokens = [*site("lexers")["TadLexer"]().get_tokens(mistake)]
    assert (Name, "x") in tokens and all(kind is not Error for kind, _ in tokens)

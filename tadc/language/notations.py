"""Notations of mathematics and of other languages, for texts that Python's parser refuses.

    y[i] = |x[i]|          Python says "invalid syntax", this module "write abs(x[i])"

What the parser takes is told where its meaning is looked for: `hints` knows the functions.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tadc.language.names import REDUCTIONS, UNARY_FUNCTIONS

_CHOICE = "write a if c else b"
_TIMES = "write * between the two"
_BRACKETS = "an element has its indices in brackets: x[i, j]"

_CHARACTERS = {
    "−–—": "-",
    "×·⋅∗": "*",
    "÷∕": "/",
    "²": "**2",
    "³": "**3",
    "√": "sqrt(x[i])",
    "∑": "sum[k](...)",
    "∏": "prod[k](...)",
    "∞": "1e999",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "←≔": "=",
    "\u00a0\u2009\u202f\u3000": "a plain space",
}
"""Forms of this language for characters that formulas have elsewhere."""

_MEANT = {character: text for some, text in _CHARACTERS.items() for character in some}

_KEYWORDS = (
    "as|assert|async|await|class|def|del|except|finally|from|global|import|in|is|lambda"
    "|nonlocal|pass|raise|try|with|yield"
)
_NO_OPERAND = rf"if|else|and|or|not|for|where|when|then|return|{_KEYWORDS}"
_NAME = r"(?!(?:if|else|and|or|in|is|for)\b)[^\W\d_]\w*"
_NUMBER = r"(?<![\w.])(?!0[xXbBoO])\d[\d.]*(?:[eE][-+]?\d+)?"
_FUNCTION = "|".join((*UNARY_FUNCTIONS, "atan2", "pad"))

_NOTATIONS: dict[str, tuple[str, str]] = {
    r"^\s*(?P<at>//|/\*|--|%|;|!)": ("this begins no comment", "comments begin with #"),
    r"&&": ("&& is not an operator here", "write and: 0 < i and i < 5"),
    r"\bif\b.*(?P<at>\|\|)": ("|| is not an operator here", "write or: i < 1 or i > 5"),
    r"\|\|": ("bars are not part of the language", "write sqrt(sum[i](x[i]**2)) for a norm"),
    r"\|[^|]+\|": ("bars are not part of the language", "write abs(x[i])"),
    r"<>": ("<> is not an operator here", "write !="),
    r"!(?!=)": ("! is not an operator here", "write not for the opposite of a condition"),
    r"\?": ("? is not an operator here", _CHOICE),
    r":=": ("a definition has one =", "write y[i] = ..."),
    r"->": ("a definition has one =", "write y[i] = ..."),
    r"^\s*(?P<at>(?:real|f32|f64|float|double|int)\s+\w+)": (
        "a declaration begins with the name",
        "write x: real[N]",
    ),
    r"^\s*(?P<at>let|var|const|function)\b": (
        "a definition begins with its name",
        "write y[i] = ...",
    ),
    r"^\s*(?P<at>\w+\([^()=]*\))\s*[-+*/]?=(?!=)": (
        "a definition has its indices in brackets",
        "write y[i, j] = ...",
    ),
    r"(?<!\d)(?P<at>\.(?:[*/^+-]|=(?!=)))": (
        "operators have no dots here",
        "a line is for one element anyway: y[i] = a[i] * b[i]",
    ),
    r"[\])\w]\s*(?P<at>\\)": (
        "a program solves no equations",
        "solve them before, by numpy.linalg.solve(a, b), and pass the solution",
    ),
    r"\w\s*(?P<at>\{)": ("braces are not part of the language", _BRACKETS),
    r"\w(?P<at>\[\s*\])": ("the brackets are empty", "write x[i], or x alone for a scalar"),
    r"\[[^\[\]]*(?P<at>;)": ("; ends a line", _BRACKETS),
    rf"\b(?:{'|'.join(REDUCTIONS)})\[[^\[\]]*\]\s*(?P<at>[\w\[-].*)": (
        "what is summed, or reduced, stands in parentheses",
        "write sum[k](a[i, k] * b[k])",
    ),
    r"\[(?P<at>\s*\w+\s*=[^=\]]*)": ("a range is written with in", "write sum[k in range(0, n)]"),
    r"(?<!\.)(?P<at>\.\.)(?!\.)": ("a range is written with range", "write k in range(0, n)"),
    r"\bif\b.*?[^=<>!](?P<at>=)(?!=)": ("= is no comparison", "write =="),
    r"=\s*(?P<at>if\b)": ("a choice begins with its first value", _CHOICE),
    r"[\])\w]\s+(?P<at>where|when|then)\b": ("a choice is written with if and else", _CHOICE),
    r"[\])\w]\s+(?P<at>for)\b": (
        "loops are not part of the language",
        "an index is a loop: y[i] = x[i], and sum[k](x[k]) adds over one",
    ),
    r"[\])\w.](?P<at>'+)": ("' is no transpose", "write a[j, i] for the transpose of a[i, j]"),
    rf"(?:[-+*/(=,\[]|^(?=\s*\w+\s*[=\[]))\s*(?P<at>{_KEYWORDS})\b": (
        "a word of Python cannot be a name",
        "choose another one, as lam for lambda",
    ),
    r"\b(?P<at>\d[\d.]*[eE][-+]?)(?!\d|[-+])": (
        "the exponent of the number is missing",
        "write 1e-3 for 0.001",
    ),
    rf"(?P<at>{_NUMBER}\s*{_NAME})": (
        "the factor behind a number needs an operator",
        "write 2 * x[i]",
    ),
    r"\]\s+(?P<at>\w+\s*:.*)": ("a declaration ends its line", "begin a new line here"),
    rf"\b(?P<at>(?:{_FUNCTION})\s+\w.*)": ("a function has parentheses", "write exp(x[i])"),
    rf"(?:[\])]|\b(?!(?:{_NO_OPERAND})\b)\w+)\s+(?P<at>(?!(?:{_NO_OPERAND})\b)\w)": (
        "an operator is missing between two values",
        _TIMES,
    ),
}
"""Messages and hints by what a line has where Python's parser stumbles: the first pattern counts.

A group `at` is the part to blame.
"""

_PYTHON = {
    "expected 'else' after 'if' expression": "a choice has both values: x[i] if i > 0 else 0",
    "only single target": "each has a line of its own: x: real[N]",
    "cannot assign to expression": "a definition has a name with indices on its left: y[i] = ...",
}
"""Hints for messages of Python's parser, by how they begin."""


_OF_BRACKETS_OR_LINES = re.compile("closed|unmatched|does not match|indent")
"""Messages of Python's parser that are clear."""


class Explained(NamedTuple):
    """A part of a line that is wrong, whose characters count from 0."""

    start: int
    end: int
    message: str
    hint: str | None


def explained(line: str, message: str) -> Explained | None:
    """The notation in a line that Python's parser refuses with this message, if it is known."""
    if _OF_BRACKETS_OR_LINES.search(message):
        return None
    code = line.partition("#")[0]
    for place, character in enumerate(code):
        if character in _MEANT:
            named = f"{character} (U+{ord(character):04X})" if character.strip() else "this space"
            text = f"{named} is not part of the language"
            return Explained(place, place + 1, text, f"write {_MEANT[character]}")
    for pattern, (text, hint) in _NOTATIONS.items():
        if found := re.search(pattern, code):
            start, end = found.span("at") if found.groupdict() else found.span()
            return Explained(start, start + len(code[start:end].rstrip()), text, hint)
    return None


def hint_for(message: str) -> str | None:
    """A hint for a message of Python's parser."""
    return next((hint for begin, hint in _PYTHON.items() if message.startswith(begin)), None)

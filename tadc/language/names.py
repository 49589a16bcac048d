"""Words of the language, and names that are free."""

from __future__ import annotations

import keyword
from collections.abc import Collection

from tadc.dialects.tix import UNARY

ELEMENT_WORDS = ("f32", "f64", "real")
UNARY_FUNCTIONS = tuple(word for word in UNARY if word != "neg")
BOUNDARIES = ("clamp", "reflect", "wrap")
"""Words around an index of an element; elsewhere they are names like others."""
REDUCTIONS = ("sum", "max", "min", "prod")
FUNCTIONS = (*UNARY_FUNCTIONS, "atan2", "max", "min", "pad")
RESERVED = frozenset((*FUNCTIONS, *REDUCTIONS, *ELEMENT_WORDS, "range"))
"""Words that cannot name a tensor, an index or a size."""
INFINITY = "1e999"
"""The text of infinity, in programs and where they are printed: Python has no number for it."""


def fresh(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or `wanted2`, `wanted3`, ... where it is taken."""

    def free(name: str) -> bool:
        return name not in taken and name not in RESERVED and not keyword.iskeyword(name)

    name, n = wanted, 1
    while not free(name):
        n += 1
        name = f"{wanted}{n}"
    return name

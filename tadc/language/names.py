"""Words of the language, suggestions for misspelt names, and fresh names."""

from __future__ import annotations

import keyword
from collections.abc import Collection, Iterable

from dialects.tix import UNARY
from tadc.errors import did_you_mean

ELEMENT_WORDS = ("f32", "f64", "real")
UNARY_FUNCTIONS = tuple(word for word in UNARY if word != "neg")
REDUCTIONS = ("sum", "max", "min", "prod")
FUNCTIONS = (*UNARY_FUNCTIONS, "atan2", "max", "min", "pad")
RESERVED = frozenset((*FUNCTIONS, *REDUCTIONS, *ELEMENT_WORDS, "range"))
"""Words that cannot name a tensor, an index or a size."""


_ELSEWHERE = {
    "maximum": "max",
    "minimum": "min",
    "fabs": "abs",
    "absolute": "abs",
    "ln": "log",
    **{f"arc{word}": f"a{word}" for word in ("sin", "cos", "tan", "tan2")},
}
"""Functions under their names in other libraries."""


def function_hint(name: str, defined: Iterable[str] = ()) -> str:
    """What to write instead of a function that does not exist here, besides the user's own."""
    if name in ("pow", "power"):
        return "write x**n"
    if name in _ELSEWHERE:
        return f"did you mean {_ELSEWHERE[name]}?"
    known = (*FUNCTIONS, *defined)
    return did_you_mean(name, (*known, *REDUCTIONS)) or f"there are {', '.join(known)}"


def method_hint(name: str) -> str:
    """What to write instead of `np.name(...)` or `x.name(...)`."""
    word = _ELSEWHERE.get(name, name)
    if word in ("pow", "power"):
        return "write x**n"
    if word == "sum":
        return "write sum[k](...)"
    return f"write {word}(...)" if word in FUNCTIONS else "write exp(x), not np.exp(x)"


def fresh(wanted: str, taken: Collection[str]) -> str:
    """`wanted`, or `wanted2`, `wanted3`, ... where it is taken."""

    def free(name: str) -> bool:
        return name not in taken and name not in RESERVED and not keyword.iskeyword(name)

    name, n = wanted, 1
    while not free(name):
        n += 1
        name = f"{wanted}{n}"
    return name

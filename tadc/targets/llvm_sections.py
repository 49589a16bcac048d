"""The sections of a text of LLVM IR: functions that need LLVM's passes, and those that do not.

    define internal void @y(...                functions that LLVM makes vectors for
    ; functions of explicit vectors
    define internal void @z(...                functions in which it has nothing to find
    ; what they call
    define internal <16 x float> @tadc.exp...  what functions of both kinds call

The text is one module; `by_passes` makes two of it, to be compiled in two ways and linked.
"""

from __future__ import annotations

from collections.abc import Sequence

EXPLICIT = "; functions of explicit vectors"
COMMON = "; what they call"

TIMES_FOR_PASSES = 10
"""LLVM takes so many times as long for functions that need its passes as for others of as many
characters."""


def effort(characters: int, explicit: bool) -> int:
    """The effort of LLVM for functions: so many characters of explicit vectors take as long."""
    return characters if explicit else TIMES_FOR_PASSES * characters


def effort_of(module: str) -> int:
    """The effort of LLVM for a module of functions of one kind."""
    return effort(len(module), EXPLICIT in module)


def sectioned(plain: Sequence[str], explicit: Sequence[str], common: Sequence[str]) -> str:
    """The text of functions and of what they call; without explicit vectors it has no sections."""
    parts = [EXPLICIT, *explicit, COMMON] if explicit else []
    return "\n\n".join([*plain, *parts, *common]) + "\n"


def by_passes(text: str) -> tuple[str, str]:
    """The module of functions that need passes, and that of explicit vectors; "" where it has none.

    What functions call is in both.
    """
    plain, mark, rest = text.partition(EXPLICIT)
    if not mark:
        return text, ""
    explicit, _, common = rest.partition(COMMON)
    return plain + common if plain else "", explicit + common

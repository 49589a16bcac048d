"""Words of pictures: conditions at given sizes, counts and lists of points."""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialects.tix import Affine, Constraint
from tadc.dialects.tix.constraints import show_constraint
from tadc.passes.polyhedral.inequalities import tightened
from tadc.passes.polyhedral.matrix import Row

MOST_LISTED = 12
"""The number of points that a description lists."""


def row_text(row: Row, names: Sequence[str]) -> str:
    """A row as a condition on variables of these names: `i <= 9`."""
    row = tightened(row)
    form = Affine(dict(zip(names, row[:-1], strict=True)), row[-1])
    return show_constraint(Constraint(form), str, lambda _: True).replace(" * ", "*")


def counted(count: int, what: str) -> str:
    """`1 point`, `3 points`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def listed(points: Sequence[Sequence[int]]) -> str:
    """The first points in parentheses, and how many more there are."""
    texts = [f"({', '.join(map(str, p))})" for p in points[:MOST_LISTED]]
    more = len(points) - len(texts)
    return " ".join([*texts, f"and {more} more"] if more else texts)

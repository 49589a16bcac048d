"""Bounds of forms in sizes and indices, where it is known how large sizes are at least and at most.

By interval arithmetic: of `N - K + 1`, with N in [lN, mN] and K in [lK, mK], the bounds are
[lN - mK + 1, mN - lK + 1]. An unknown bound is infinite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import inf, prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, DerivedSizeAttr
from tadc.dialects.tix.affine import factors_of

Bounds = tuple[float, float]
ANY_SIZE: Bounds = (0, inf)


class SizeBounds:
    """The bounds of all sizes of a program, those that it derives among them."""

    def __init__(
        self, program: tix.ProgramOp | None, least: Mapping[str, int], most: Mapping[str, int]
    ):
        self.known: dict[str, Bounds] = {
            name: (least.get(name, 0), most.get(name, inf)) for name in {*least, *most}
        }
        for derived in program.derived if program else ():
            self.known.setdefault(derived.data.name, self._derived(derived))

    @staticmethod
    def in_calls(program: tix.ProgramOp, least: Mapping[str, int] | None = None) -> SizeBounds:
        """The bounds of sizes in calls of a program: no larger than it says."""
        return SizeBounds(program, least or {}, program.largest_sizes)

    @staticmethod
    @cache
    def unknown() -> SizeBounds:
        """The bounds of sizes of which nothing is known."""
        return SizeBounds(None, {}, {})

    def _derived(self, size: DerivedSizeAttr) -> Bounds:
        found = [(self.of(form), divisor) for form, divisor in size.bounds]
        low = min(_divided(bounds[0], divisor) for bounds, divisor in found)
        high = min(_divided(bounds[1], divisor) for bounds, divisor in found)
        return max(0, low), max(0, high)

    def of(self, form: Affine, indices: Mapping[SSAValue, Bounds] | None = None) -> Bounds:
        """The bounds of a form, given those of its indices."""
        low = high = float(form.constant)
        sizes = [(form[name], self._size(name)) for name in form.sizes]
        known = indices or {}
        own = [(form[v], known.get(v, (-inf, inf))) for v in form.indices]
        for factor, bounds in (*sizes, *own):
            ends = sorted(factor * end for end in bounds)
            low, high = low + ends[0], high + ends[1]
        return low, high

    def decided(self, constraint: Constraint) -> bool | None:
        """True if a constraint holds for all of these sizes and all indices, False if it does for
        none; None where nothing tells."""
        low, high = self.of(constraint.form)
        if high < 0 or (constraint.equality and low > 0):
            return False
        return True if low >= 0 and (not constraint.equality or high <= 0) else None

    def lengths(self, index: SSAValue, constraints: Sequence[Constraint]) -> Bounds:
        """The least and the largest number of values of an index under its constraints.

        The first value is the largest of several, and the end the least one: of all pairs of both
        the one with the fewest values tells.
        """
        forms = [c.form for c in constraints]
        if any(abs(form[index]) != 1 for form in forms):
            return ANY_SIZE
        low = [form for form in forms if form[index] > 0]
        high = [form for form in forms if form[index] < 0]
        found = [self.of(a + b + 1) for a in low for b in high]
        least, most = (min(ends) for ends in zip(*found, strict=True))
        return max(0, least), max(0, most)

    def _size(self, name: str) -> Bounds:
        factors = [self.known.get(factor, ANY_SIZE) for factor in factors_of(name)]
        return prod(low for low, _ in factors), prod(high for _, high in factors)


def _divided(end: float, divisor: int) -> float:
    return end if end in (inf, -inf) else end // divisor

"""Quotients by a number of a row, by its reciprocal: the same bits without divisions.

    y[i, j] = e[i, j] / s[i]          r = 1 / s                              once for the row
                                      q = e r                                for each vector,
                                      y = q - (q s - e) r                    with fused products

A division of vectors takes as long as some twenty products, and this as long as three.

**The same bits.** Let r be 1 / s rounded, and q = e r rounded. Then `q s - e` is exact in one fused
operation, and `q - (q s - e) r` in another one is e / s rounded to the nearest (Markstein, IBM J.
Res. Dev. 34, 1990; Brisebarre, Muller and Raina, Accelerating correctly rounded floating-point
division when the divisor is known in advance, IEEE Trans. Computers 53, 2004), as long as nothing
on the way leaves the normal numbers. So s must be in a range around 1, which is tested once for a
row; else the row is divided. What is left is at the ends of the range of e:

- where q is infinite or not a number, so is e / s, or it rounds to the largest number there is:
  the correction is not a number, and q itself is taken;
- where it is equal to q, q is taken: zeros keep their sign;
- where e is so small that `q s - e` rounds, below 2**-86 in f32, the error is at most one unit in
  the last place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float64Type
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import CompareLanesOp, SelectLanesOp
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.lanes.vector_lowering import VectorLowering
from tadc.passes.lowering.loop_builders import all_of
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.elementary import AS_WRITTEN

MOST_BITS = {32: 40, 64: 400}
"""The largest exponent of 2 in the size of a safe divisor, and of 1 over it, by bits of a float."""


def divisors(op: tix.DefineOp, column: SSAValue, at: BodyLowering) -> dict[SSAValue, SSAValue]:
    """The divisors of elements that are invariant along a row and already computed."""
    uses = IndexUses()
    return {
        o.rhs: at.scalars[o.rhs]
        for o in op.body.walk()
        if isinstance(o, ew.DivOp)
        and o.rhs in at.scalars
        and column in uses.of(o.lhs)
        and o not in at.as_written
    }


def are_safe(at: BodyLowering, numbers: Iterable[SSAValue]) -> SSAValue:
    """A test that all of one or more divisors are in the range where reciprocals are safe."""
    return all_of(at, [test for number in numbers for test in _tests(at, number)])


def _tests(at: BodyLowering, number: SSAValue) -> Iterator[SSAValue]:
    most = 2.0 ** MOST_BITS[64 if isinstance(at.element, Float64Type) else 32]
    size = at.insert(math.AbsFOp(number)).result
    yield at.insert(arith.CmpfOp(size, at.constant(1 / most), "oge")).result
    yield at.insert(arith.CmpfOp(size, at.constant(most), "ole")).result


def reciprocal(at: BodyLowering, number: SSAValue) -> SSAValue:
    """The reciprocal of a divisor."""
    return at.insert(arith.DivfOp(at.constant(1.0), number, AS_WRITTEN)).result


def quotient_of(
    at: VectorLowering, dividend: SSAValue, divisor: SSAValue, reciprocal: SSAValue
) -> SSAValue:
    """Divide a vector by a safe number: a product with its reciprocal, and a correction."""
    s, r = at.splat(divisor), at.splat(reciprocal)
    q = at.insert(arith.MulfOp(dividend, r, AS_WRITTEN)).result
    rest = at.insert(math.FmaOp(q, s, _minus(at, dividend))).result
    better = at.insert(math.FmaOp(_minus(at, rest), r, q)).result
    test = at.insert(CompareLanesOp("ueq", better, q)).result
    return at.insert(SelectLanesOp(test, q, better)).result


def _minus(at: VectorLowering, value: SSAValue) -> SSAValue:
    return at.insert(arith.NegfOp(value, AS_WRITTEN)).result

"""Values that are finite numbers at every point, also where the program never asks for them.

An empty sum is 0. Its product with `1 / x` is not, where `x` is 0, and neither is that with an
element that is infinite: such a factor may only leave a sum that has a term.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.rewriting.products import Product

_EVERYWHERE = (
    *(ew.AddOp, ew.SubOp, ew.MulOp, ew.NegOp, ew.AbsOp, ew.StepOp, ew.MaximumOp, ew.MinimumOp),
    *(ew.SinOp, ew.CosOp, ew.TanhOp, ew.AtanOp, ew.Atan2Op, ew.ErfOp, ew.ErfcOp),
    *(ew.SigmoidOp, ew.ReluOp),
    *(tix.ConstantOp, tix.ReadOp, tix.IndexToRealOp, tix.FloorDivOp, tix.AtOp, tix.IfOp),
    *(tix.SumOp, tix.ProdOp, tix.WhereOp),
)
"""`exp` is missing, since it overflows, and so are extrema, which may be of no value at all."""


def is_speculatable(value: SSAValue) -> bool:
    """True if `value` is finite for all finite arguments of the program."""
    return all(map(_is_defined_everywhere, _made_of(value)))


def is_speculatable_product(product: Product) -> bool:
    """True if all factors are finite for finite arguments, and nothing is divided."""
    return not product.divisors and all(map(is_speculatable, product.factors))


def is_number(value: SSAValue) -> bool:
    """True if `value` is finite whatever the arguments are: it is made of numbers and indices."""
    made_of = [*_made_of(value)]
    return all(map(_is_defined_everywhere, made_of)) and not any(
        isinstance(op, tix.ReadOp) for op in made_of
    )


def is_number_product(product: Product) -> bool:
    """True if all factors are finite whatever the arguments are, and nothing is divided."""
    return not product.divisors and all(map(is_number, product.factors))


def _made_of(value: SSAValue) -> Iterator[Operation]:
    """The operations in a definition that a value is made of; what only decides is none of them."""
    pending, seen = [value], set[SSAValue]()
    while pending:
        v = pending.pop()
        op = v.owner
        if v not in seen and isinstance(op, Operation) and not isinstance(op, tix.DefineOp):
            seen.add(v)
            yield op
            pending += [] if isinstance(op, tix.WhereOp) else op.operands
            pending += [tix.yielded(region) for region in op.regions]


def _is_defined_everywhere(op: Operation) -> bool:
    match op:
        case ew.PowOp():
            exponent = tix.constant_value(op.rhs)
            return exponent is not None and exponent >= 0 and exponent == int(exponent)
        case ew.DivOp():
            return bool(tix.constant_value(op.rhs))
        case _:
            return isinstance(op, _EVERYWHERE)

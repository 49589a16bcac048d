"""The factors of a product, taken apart and multiplied again.

x * (y / z) * -w      is   -(x * y * w) / z
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from xdsl.ir import Block, SSAValue

from tadc.dialects.tix import elementwise as ew
from tadc.passes.rewriting.cloner import Cloner


@dataclass
class Product:
    """A value as (-1)^negative · Π factors / Π divisors, taken apart within one block."""

    factors: list[SSAValue] = field(default_factory=list[SSAValue])
    divisors: list[SSAValue] = field(default_factory=list[SSAValue])
    negative: bool = False

    @staticmethod
    def of(value: SSAValue, block: Block) -> Product:
        """Take `value` apart as far as its operations lie in `block` itself."""
        product = Product()
        pending = [(value, product.factors)]
        while pending:
            v, into = pending.pop()
            owner = v.owner if v.owner.parent is block else None
            match owner:
                case ew.MulOp():
                    pending += [(owner.rhs, into), (owner.lhs, into)]
                case ew.NegOp():
                    product.negative = not product.negative
                    pending.append((owner.operand, into))
                case ew.DivOp() if into is product.factors:
                    pending += [(owner.rhs, product.divisors), (owner.lhs, into)]
                case _:
                    into.append(v)
        return product

    def split(self, leaves: Callable[[SSAValue], bool]) -> tuple[Product, Product]:
        """The factors that leave, with the sign, and those that stay."""
        outside = Product(negative=self.negative)
        inside = Product()
        for v in self.factors:
            (outside if leaves(v) else inside).factors.append(v)
        for v in self.divisors:
            (outside if leaves(v) else inside).divisors.append(v)
        return outside, inside

    def take_divisors(self, other: Product) -> None:
        """Divide by what `other` divides by."""
        self.divisors += other.divisors
        other.divisors = []


def multiply(cloner: Cloner, product: Product, start: Iterable[SSAValue] = ()) -> SSAValue:
    """Copy a product through `cloner`; the values of `start` are further factors, there already."""
    e = cloner.builder
    for v in [*product.factors, *product.divisors]:
        cloner.fetch(v)
    value = None
    for v in [*map(cloner.value, product.factors), *start]:
        value = v if value is None else e.mul(value, v)
    if value is None:
        value = e.constant(1)
    for v in product.divisors:
        value = e.div(value, cloner.value(v))
    return e.neg(value) if product.negative else value

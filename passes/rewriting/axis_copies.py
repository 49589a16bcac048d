"""Copies of tensors with their axes in another order, and definitions that read them.

    y[i, j] = sum[k](a[i, k] * b[j, k])

with a copy of b, in which neighbours along j lie side by side:

    b_packed[k, j] = b[j, k]
    y[i, j] = sum[k](a[i, k] * b_packed[k, j])

Which reads want a copy is for passes to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import ProgramBuilder, index_names, location_of, type_of

T = TypeVar("T")


class Order(NamedTuple):
    """The axes of a tensor in the order in which a copy has them."""

    axes: tuple[int, ...]
    backwards: bool = False
    """True if the elements along the last one are in reverse order: then reads at `i - j` are
    neighbours along j."""

    @staticmethod
    def with_last(axis: int, rank: int, backwards: bool = False) -> Order:
        """The order in which an axis comes last."""
        return Order((*(n for n in range(rank) if n != axis), axis), backwards)

    @staticmethod
    def with_rows(axis: int, rank: int) -> Order:
        """The order in which an axis comes last but for the one that is last anyway."""
        *others, last = (n for n in range(rank) if n != axis)
        return Order((*others, axis, last))

    @property
    def last(self) -> int:
        """The axis that comes last."""
        return self.axes[-1]

    def of(self, items: Sequence[T]) -> list[T]:
        """The items of all axes of the tensor, in the order of the copy."""
        return [items[axis] for axis in self.axes]

    def places(self, forms: Sequence[Affine], shape: Sequence[Affine]) -> list[Affine]:
        """The place in the copy of what the tensor of this shape has at these forms."""
        *others, form = self.of(forms)
        return [*others, self._along_last(form, shape)]

    def origins(self, forms: Sequence[Affine], shape: Sequence[Affine]) -> list[Affine]:
        """The place in the tensor of this shape of what the copy has at these forms."""
        *others, form = forms
        at = dict(zip(self.axes, [*others, self._along_last(form, shape)], strict=True))
        return [at[axis] for axis in range(len(forms))]

    def type_of_copy(self, type: TensorType) -> TensorType:
        """The type of the copy of a tensor of this type."""
        return TensorType.of(self.of(type.shape), tix.ELEMENT_TYPES[type.dtype])

    def _along_last(self, form: Affine, shape: Sequence[Affine]) -> Affine:
        return shape[self.last] - 1 - form if self.backwards else form


Orders = Mapping[tix.ReadOp, Order]
"""The reads that are to read a copy, each with the order of its axes."""

Copy = tuple[SSAValue, Order]
"""A copy: of which tensor, and in which order."""


class CopyReader(Cloner):
    """Copies bodies; some reads read copies on the way."""

    orders: Orders
    copies: dict[Copy, SSAValue]
    """The copies that are there, by their tensors in the program as it was."""

    def make_copies(
        self, builder: ProgramBuilder, reads: Iterable[tix.ReadOp], names: Mapping[SSAValue, str]
    ) -> None:
        """Append the copies that are not there yet, with these names of tensors as labels."""
        for read in reads:
            copy = read.tensor, self.orders[read]
            if copy not in self.copies:
                self.copies[copy] = self._define(builder, copy, names[read.tensor])

    def _define(self, builder: ProgramBuilder, copy: Copy, name: str) -> SSAValue:
        old, order = copy
        tensor, shape = self.value(old), type_of(old).shape

        def element(e: BodyBuilder, own: Sequence[SSAValue]) -> SSAValue:
            return e.read(tensor, order.origins([Affine.of(v) for v in own], shape))

        label, type = builder.fresh_label(name), order.type_of_copy(type_of(tensor))
        names = order.of(index_names(tensor))
        return builder.define(label, type, names, location_of(tensor), element)

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        """Copy a read, or read from the copy if there is one for it."""
        if op not in self.orders:
            return super().copy_read(op)
        order = self.orders[op]
        places = order.places([self.form(f) for f in op.forms], op.shape)
        return self.builder.read(self.copies[op.tensor, order], places)

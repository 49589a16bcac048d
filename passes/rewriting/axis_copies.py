"""Copies of tensors with another axis at the end, and definitions that read them.

    y[i, j] = sum[k](a[i, k] * b[j, k])

with a copy of b, in which neighbours along j lie side by side:

    b_packed[k, j] = b[j, k]
    y[i, j] = sum[k](a[i, k] * b_packed[k, j])

The other axes keep their order. Which reads want a copy is for passes to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine, TensorType
from passes.rewriting.builder import BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.programs import ProgramBuilder, index_names, location_of, type_of


class Last(NamedTuple):
    """The axis of a tensor that comes last in a copy."""

    axis: int
    backwards: bool = False
    """True if its elements are in reverse order: then reads at `i - j` are neighbours along j."""

    def place(self, form: Affine, size: Affine) -> Affine:
        """The place in the copy of what the tensor, of this size along the axis, has at `form`."""
        return size - 1 - form if self.backwards else form


Axes = Mapping[tix.ReadOp, Last]
"""The reads that are to read a copy, each with the axis that comes last in it."""

Copy = tuple[SSAValue, Last]
"""A copy: of which tensor, and which of its axes comes last."""

T = TypeVar("T")


class CopyReader(Cloner):
    """Copies bodies; some reads read copies on the way."""

    axes: Axes
    copies: dict[Copy, SSAValue]
    """The copies that are there, by their tensors in the program as it was."""

    def make_copies(
        self, builder: ProgramBuilder, reads: Iterable[tix.ReadOp], names: Mapping[SSAValue, str]
    ) -> None:
        """Append the copies that are not there yet, with these names of tensors as labels."""
        for read in reads:
            copy = read.tensor, self.axes[read]
            if copy not in self.copies:
                self.copies[copy] = self._define(builder, copy, names[read.tensor])

    def _define(self, builder: ProgramBuilder, copy: Copy, name: str) -> SSAValue:
        old, last = copy
        axis, size, tensor = last.axis, type_of(old).shape[last.axis], self.value(old)

        def element(e: BodyBuilder, own: Sequence[SSAValue]) -> SSAValue:
            forms = [Affine.of(v) for v in own]
            return e.read(tensor, [*forms[:axis], last.place(forms[-1], size), *forms[axis:-1]])

        label, type = builder.fresh_label(name), moved_type(type_of(tensor), axis)
        names = _moved(index_names(tensor), axis)
        return builder.define(label, type, names, location_of(tensor), element)

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        """Copy a read, or read from the copy if there is one for it."""
        if op not in self.axes:
            return super().copy_read(op)
        last = self.axes[op]
        *others, form = _moved([self.form(f) for f in op.forms], last.axis)
        place = last.place(form, op.shape[last.axis])
        return self.builder.read(self.copies[op.tensor, last], [*others, place])


def moved_type(type: TensorType, axis: int) -> TensorType:
    """The type of a tensor with the axis at the end."""
    return TensorType.of(_moved(type.shape, axis), tix.ELEMENT_TYPES[type.dtype])


def _moved(items: Sequence[T], axis: int) -> list[T]:
    """The items of all axes, that of the axis at the end."""
    return [*items[:axis], *items[axis + 1 :], items[axis]]

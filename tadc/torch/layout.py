"""`Layout`: the arguments that an operation takes as tensors, and those that it takes as shapes.

    y[i] = x[i] * w[i]
    dw[i] = x[i] * dy[i]

The gradient by w reads x and dy. Of w it needs the shape alone: so this is what PyTorch hands over,
and no w is kept for `backward`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from tadc.frameworks.operation import Numbers, Operation
from tadc.torch.package import Tensor, torch

Shape = Sequence[Any]
"""Integers or, where PyTorch traces a program for any sizes, symbolic ones."""

Value: TypeAlias = Any
"""A tensor, or a shape."""

Results = Sequence[Tensor]


class Layout(NamedTuple):
    """The numbers of the arguments that an operation reads, and of the others."""

    read: Numbers
    unread: Numbers

    @staticmethod
    def of(operation: Operation) -> Layout:
        """The layout of an operation; one with arguments takes at least one tensor, as it is by
        tensors that PyTorch knows where an operation runs. A size that callers give is the shape of
        an argument, of one dimension."""
        count = len(operation.names)
        sizes = {n for n, t in enumerate(operation.function.args) if t.dtype == "size"}
        unread = operation.unread | sizes
        if len(unread) == count:
            unread -= set(sorted(unread - sizes)[-1:])
        return Layout(tuple(n for n in range(count) if n not in unread), tuple(sorted(unread)))

    def parts(self, values: Sequence[Value]) -> tuple[list[Tensor], tuple[Shape, ...]]:
        """The tensors and the shapes of these arguments."""
        tensors: Any = [values[n] for n in self.read]
        return tensors, tuple([shape_of(values[n]) for n in self.unread])

    def values(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> list[Value]:
        """All arguments in order."""
        pairs = (*zip(self.read, tensors, strict=True), *zip(self.unread, shapes, strict=True))
        return [value for _, value in sorted(pairs, key=lambda pair: pair[0])]


def shape_of(value: Value) -> Shape:
    """The shape of a tensor, or the one that stands for it."""
    return value.shape if isinstance(value, torch.Tensor) else value


def is_symbolic(shape: Shape) -> bool:
    """True if a dimension stands for any size."""
    return any(isinstance(n, torch.SymInt) for n in shape)

"""`Operator`: an operation as PyTorch calls it: on tensors, real or fake, single or batched.

It takes the tensors that the program reads and, after them, the shapes of its other arguments.
Gradients, tangents and `torch.vmap` are answered by other operators of the same kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from tadc.frameworks.operation import Operation
from tadc.sizes import NUMBERS, Integers
from tadc.torch.checks import DTYPES
from tadc.torch.kernel import Kernel
from tadc.torch.layout import Layout, Results, Shape, Value, is_symbolic, shape_of
from tadc.torch.package import Tensor, torch

library = torch.library.Library("tadc", "FRAGMENT")
"""The operators of this process."""

SYMBOLIC = Integers(torch.sym_max, torch.sym_min)
"""Sizes where PyTorch traces a program for any of them."""


class Operator(ABC):
    """An operation as an operator of PyTorch. Safe to call from several threads."""

    splits = True
    """True if its gradients may take values that it kept."""

    def __init__(self, operation: Operation):
        self.operation = operation
        self.layout = Layout.of(operation)
        self.kernel = Kernel(operation, self.layout)
        self.count = len(operation.function.results)
        """The number of results."""
        self.rules: dict[object, Any] = {}
        """The ways to derive it: see `autograd`."""
        args, read = operation.function.args, operation.function.program.summary.read
        self.derivable = frozenset(
            n
            for n in self.layout.read
            if args[n].is_real and (args[n].name in read or operation.is_pullback)
        )
        """The arguments of real numbers on whose elements results depend."""

    def __call__(self, values: Sequence[Value]) -> Results:
        """The results for all arguments in order, some of which may be shapes alone."""
        return self.run(*self.layout.parts(values))

    @abstractmethod
    def dispatch(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results:
        """The results, by PyTorch's dispatcher: modes and transforms see the call."""

    def run(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results:
        """The results, by the dispatcher where that is needed."""
        return self.dispatch(tensors, shapes)

    @staticmethod
    def fits(operation: Operation) -> bool:
        """True if an operation can be an operator of this kind."""
        return True

    def again(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results | None:
        """The results, if that is quick for a call like the last one."""
        return None

    @abstractmethod
    def like(self, operation: Operation) -> Operator:
        """Another operation as an operator of the same kind."""

    def fake(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results:
        """Results without elements, of the right types and shapes, which may be symbolic."""
        precision = self.kernel.precision(tensors)
        every = [shape_of(value) for value in self.layout.values(tensors, shapes)]
        integers = SYMBOLIC if any(map(is_symbolic, every)) else NUMBERS
        made = self.operation.function.result_shapes(every, integers)
        device = tensors[0].device if tensors else torch.device("cpu")
        dtypes = [DTYPES[name] for name in self.operation.result_dtypes(precision)]
        return [
            torch.empty(shape, dtype=dtype, device=device)
            for shape, dtype in zip(made, dtypes, strict=True)
        ]

    def vmapped(
        self,
        size: int,
        dimensions: Sequence[int | None],
        tensors: Sequence[Tensor],
        shapes: Sequence[Shape],
    ) -> tuple[Results, list[int | None]]:
        """The results where some tensors have one more dimension, of this size.

        `dimensions` say which; the answer says where results have it: in front, or not at all.
        """
        where = dict(zip(self.layout.read, dimensions, strict=True))
        which = tuple(n for n, dimension in where.items() if dimension is not None)
        batched = self.operation.batched(which)
        values = self.layout.values(tensors, shapes)
        for n, value in enumerate(values):
            dimension = where.get(n)
            if dimension is not None:
                assert isinstance(value, torch.Tensor)
                values[n] = value.movedim(dimension, 0)
            elif batched.arguments[n]:
                values[n] = _repeated(value, size)
        return self.like(batched.operation)(values), [0 if r else None for r in batched.results]


def _repeated(value: Value, size: int) -> Value:
    """A tensor, or a shape, with one more dimension in front."""
    if isinstance(value, torch.Tensor):
        return value.expand(size, *value.shape)
    return (size, *value)

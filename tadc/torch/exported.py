"""`ExportedOperator`: `tadc::run`, one operator for all programs, which it is given as text.

`torch.export` saves operators by name, and those of `registered` are of one process. So an exported
graph holds calls of this one, each with its program: a process that only imports `tadc.torch` loads
it. The text is the IR of the program with the functions of the user in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from tadc.frameworks.operation import Operation
from tadc.function import Function
from tadc.once import cached_property
from tadc.program import deserialised, serialised
from tadc.torch.autograd import differentiable
from tadc.torch.layout import Results, Shape
from tadc.torch.operator import Operator, library
from tadc.torch.package import Tensor, torch

MOST_PROGRAMS = 1024
"""The number of exported programs that a process remembers."""


class ExportedOperator(Operator):
    """An operation under the name `tadc::run`."""

    splits = False  # what a pullback means is not in its text

    @staticmethod
    @lru_cache(MOST_PROGRAMS)
    def of(operation: Operation) -> ExportedOperator:
        """The operator of an operation."""
        return ExportedOperator(operation)

    def like(self, operation: Operation) -> Operator:
        return ExportedOperator.of(operation)

    @cached_property
    def text(self) -> str:
        """The program as a graph holds it."""
        return serialised(self.operation.function.program)

    def dispatch(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results:
        sizes = [n for shape in shapes for n in shape]
        run: Callable[..., Any] = torch.ops.tadc.run.default
        return run(list(tensors), sizes, self.text)

    def shapes_of(self, sizes: Sequence[Any]) -> list[Shape]:
        """The shapes that these sizes are of, one after the other."""
        shapes: list[Shape] = []
        for n in self.layout.unread:
            rank = self.operation.function.runner.parameters[n].rank
            shapes.append(sizes[:rank])
            sizes = sizes[rank:]
        return shapes


@lru_cache(MOST_PROGRAMS)
def _known(text: str) -> ExportedOperator:
    return ExportedOperator.of(Operation.of(Function(deserialised(text), "cpu")))


def _entry(function_of: Callable[[ExportedOperator], Any]) -> Callable[..., Any]:
    """A kernel of `tadc::run` that hands over to a function of the operator of the program."""

    def kernel(tensors: Sequence[Tensor], sizes: Sequence[Any], program: str) -> Any:
        operator = _known(program)
        return list(function_of(operator)(tensors, operator.shapes_of(sizes)))

    return kernel


def _vmap(info: Any, dimensions: Any, tensors: Any, sizes: Any, program: str) -> Any:
    operator = _known(program)
    shapes = operator.shapes_of(sizes)
    results, where = operator.vmapped(info.batch_size, dimensions[0], tensors, shapes)
    return list(results), where


def _register() -> None:
    library.define(
        "run(Tensor[] tensors, SymInt[] sizes, str program) -> Tensor[]",
        tags=[torch.Tag.pt2_compliant_tag],
    )
    kernel, fake = _entry(lambda operator: operator.kernel), _entry(lambda operator: operator.fake)
    library.impl("run", kernel, "CompositeExplicitAutograd")
    library.impl("run", _entry(differentiable), "Autograd")
    torch.library.register_fake("tadc::run", fake, lib=library)
    torch.library.register_vmap("tadc::run", _vmap, lib=library)


_register()

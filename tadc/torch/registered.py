"""`RegisteredOperator`: an operation as an operator of its own, `torch.ops.tadc.p_<hash>`.

It is registered when it is first asked for, and lives as long as the process. The hash is that of
the program: caches of `torch.compile` hit in the next process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.frameworks.operation import Operation
from tadc.once import Lock
from tadc.torch.autograd import differentiable
from tadc.torch.eager import Eager
from tadc.torch.exported import ExportedOperator
from tadc.torch.layout import Results, Shape
from tadc.torch.operator import Operator, library
from tadc.torch.package import Tensor, torch

MOST_ARGUMENTS = 64
"""The number of arguments, and that of results, up to which PyTorch takes operators."""


def operator_of(operation: Operation) -> Operator:
    """The operator of an operation: that of all programs, where it has too many arguments."""
    if RegisteredOperator.fits(operation):
        return RegisteredOperator.of(operation)
    return ExportedOperator.of(operation)


class RegisteredOperator(Operator):
    """An operator with a name of its own, and a tensor or a shape for each argument."""

    def __init__(self, operation: Operation):
        super().__init__(operation)
        self.eager = Eager(self)
        self.again = self.eager.again
        self.name = f"p_{operation.key[:32]}"
        self._register()
        self.overload: Callable[..., Any] = getattr(torch.ops.tadc, self.name).default

    @staticmethod
    def of(operation: Operation) -> RegisteredOperator:
        """The operator of an operation."""
        with _lock:
            found = _operators.get(operation.key)
            if found is None:
                found = _operators[operation.key] = RegisteredOperator(operation)
            return found

    @staticmethod
    def fits(operation: Operation) -> bool:
        return max(len(operation.names), len(operation.function.results)) <= MOST_ARGUMENTS

    def like(self, operation: Operation) -> Operator:
        return operator_of(operation)

    def run(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results:
        if torch.compiler.is_dynamo_compiling():
            return self.dispatch(tensors, shapes)
        found = self.again(tensors, shapes)
        if found is None:
            found = self.eager(tensors, shapes)
        return self.dispatch(tensors, shapes) if found is None else found

    def dispatch(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results:
        found = self.overload(*tensors, *shapes)
        return (found,) if self.count == 1 else found

    # --- what PyTorch calls ---

    def _register(self) -> None:
        inputs = [f"Tensor a{n}" for n in self.layout.read]
        inputs += [f"SymInt[] a{n}" for n in self.layout.unread]
        results = ", ".join(["Tensor"] * self.count)
        results = results if self.count == 1 else f"({results})"
        tags = [torch.Tag.pt2_compliant_tag]
        library.define(f"{self.name}({', '.join(inputs)}) -> {results}", tags=tags)
        if self.layout.read:
            library.impl(self.name, self._entry(self.kernel), "CPU")
            library.impl(self.name, self._entry(differentiable(self)), "Autograd")
        else:  # nothing says where it runs, and there is nothing to derive
            library.impl(self.name, self._entry(self.kernel), "CompositeExplicitAutograd")
        name = f"tadc::{self.name}"
        torch.library.register_fake(name, self._entry(self.fake), lib=library)
        torch.library.register_vmap(name, self._vmap, lib=library)

    def _entry(self, function: Callable[[Any, Any], Results]) -> Callable[..., Any]:
        """A function of tensors and shapes as one of the arguments in the schema."""
        count = len(self.layout.read)
        return lambda *inputs: self._answer(function(inputs[:count], inputs[count:]))

    def _answer(self, results: Sequence[Any]) -> Any:
        return results[0] if self.count == 1 else tuple(results)

    def _vmap(self, info: Any, dimensions: Sequence[Any], *inputs: Any) -> Any:
        count = len(self.layout.read)
        size = info.batch_size
        results, where = self.vmapped(size, dimensions[:count], inputs[:count], inputs[count:])
        return self._answer(results), self._answer(where)


_operators: dict[str, RegisteredOperator] = {}
_lock = Lock()

"""Inverse modes of programs on tensors: `tadc/frameworks/inverse.py` with functions of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tadc.frameworks.inverse import Arrays, InverseMode
from tadc.frameworks.operation import Operation
from tadc.function import Function
from tadc.runtime.arguments import Parameter
from tadc.torch import private
from tadc.torch.checks import DTYPES, NAMES, as_tensors, check
from tadc.torch.exported import ExportedOperator
from tadc.torch.layout import Results, Value
from tadc.torch.package import Tensor, torch
from tadc.torch.registered import RegisteredOperator


class Tensors(Arrays):
    """Tensors of PyTorch."""

    numpy: Any = torch

    def function_of(self, operation: Operation) -> Callable[[Sequence[Tensor]], Results]:
        registered, exported = RegisteredOperator.of(operation), ExportedOperator.of(operation)

        def run(values: Sequence[Value]) -> Results:
            return exported(values) if torch.compiler.is_exporting() else registered(values)

        return run

    def precision(self, array: Tensor) -> str:
        return NAMES[array.dtype]

    def converted(self, array: Tensor, precision: str) -> Tensor:
        return array.to(DTYPES[precision])

    def solve(self, matrix: Tensor, rhs: Tensor) -> Tensor:
        return torch.linalg.solve_ex(matrix, rhs).result

    def solve_triangular(self, matrix: Tensor, rhs: Tensor, lower: bool) -> Tensor:
        return torch.linalg.solve_triangular(matrix, rhs, upper=not lower)

    def elements(self, array: Tensor) -> np.ndarray[Any, Any] | None:
        if torch.compiler.is_dynamo_compiling():
            return None
        return private.elements(array)


TENSORS = Tensors()


class InverseModes:
    """The inverse modes of a function, each made when it is first asked for.

    Safe to call from several threads.
    """

    def __init__(self, function: Function):
        self._function = function
        self._made: dict[str, tuple[InverseMode, list[Parameter]]] = {}

    def __call__(
        self, mode: str, arguments: Sequence[Any], vectors: Sequence[Any] = ()
    ) -> list[Tensor]:
        """The results of a mode, for arguments in the order of the function's.

        Raises as `tadc.inverse_jvp` does, and `TadcError` for tensors that do not fit.
        """
        run, parameters = self._made.get(mode) or self._of(mode)
        values = as_tensors(parameters, [*arguments, *vectors])
        if not torch.compiler.is_dynamo_compiling():
            check(parameters, values)
        count = len(arguments)
        return run(values[:count], values[count:])

    @torch.compiler.assume_constant_result
    def _of(self, mode: str) -> tuple[InverseMode, list[Parameter]]:
        """The mode, and its parameters: those of the function, and its vectors."""
        f, inverse = self._function, self._function.inverse(mode)
        parameters = list(f.runner.parameters)
        if mode != "log-abs-det":
            names = inverse.args[len(f.args) : len(f.args) + len(f.results)]
            locate = f.program.span_of_argument
            parameters += [
                Parameter(name, t.dtype, len(t.shape), partial(locate, t.name))
                for name, t in zip(names, f.results, strict=True)
            ]
        self._made[mode] = InverseMode(inverse, TENSORS), parameters
        return self._made[mode]

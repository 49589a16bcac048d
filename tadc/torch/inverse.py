"""Inverse modes of programs on tensors: `tadc/frameworks/inverse.py` with functions of PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tadc.frameworks.inverse import Arrays, InverseMode
from tadc.frameworks.operation import Operation
from tadc.function import Function
from tadc.runtime.parameters import Parameter
from tadc.torch import private
from tadc.torch.checks import DTYPES, NAMES, as_tensors, check
from tadc.torch.exported import ExportedOperator
from tadc.torch.layout import Results, Value
from tadc.torch.package import Tensor, torch
from tadc.torch.registered import operator_of


class Tensors(Arrays):
    """Tensors of PyTorch."""

    numpy: Any = torch

    def function_of(self, operation: Operation) -> Callable[[Sequence[Tensor]], Results]:
        registered, exported = operator_of(operation), ExportedOperator.of(operation)

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


class InverseOp:
    """An inverse mode of a function, made when it is first asked for.

    Safe to call from several threads.
    """

    def __init__(self, function: Function, mode: str):
        self._function = function
        self._mode = mode
        self._run: InverseMode | None = None
        self._parameters = list(function.runner.parameters)

    def __call__(self, arguments: Sequence[Any], vectors: Sequence[Any] = ()) -> list[Tensor]:
        """The results for arguments in the order of the function's, and one vector per result.

        Raises as `tadc.inverse_jvp` does, and `TadcError` for tensors that do not fit.
        """
        self._make()
        run = self._run
        assert run is not None
        values = as_tensors(self._parameters, [*arguments, *vectors])
        if not torch.compiler.is_dynamo_compiling():
            check(self._parameters, values)
        count = len(arguments)
        return run(values[:count], values[count:])

    @private.run_by_the_compiler
    def _make(self) -> None:
        """Make the mode, where it is not there yet, and its parameters: vectors stand last."""
        if self._run:
            return
        f, inverse = self._function, self._function.inverse(self._mode)
        parameters = list(f.runner.parameters)
        if self._mode != "log-abs-det":
            names = inverse.args[len(f.args) : len(f.args) + len(f.results)]
            locate = f.program.span_of_argument
            parameters += [
                Parameter(name, t.dtype, len(t.shape), partial(locate, t.name))
                for name, t in zip(names, f.results, strict=True)
            ]
        self._parameters, self._run = parameters, InverseMode(inverse, TENSORS)

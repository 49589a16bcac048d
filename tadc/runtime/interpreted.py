"""The target `interpret`: the reference interpreter, which the tests compare with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from xdsl.dialects.func import FuncOp

from passes.schedule import forms_of
from tadc.runtime.arguments import Array
from tadc.runtime.executable import LARGEST_SAFE_FACTOR, Executable, KernelCall, Plan


class InterpretedExecutable(Executable):
    """The reference interpreter, on the program itself."""

    reuses_buffers = False

    def _print(self) -> str:
        return str(self.program)

    @cached_property
    def steps(self) -> list[KernelCall]:
        """A call for each definition, by its label; there are no functions."""
        return [KernelCall(d.label.data, (d.label.data,), ()) for d in self.program.definitions]

    @cached_property
    def large_functions(self) -> list[FuncOp]:
        forms = (form for op in self.program.walk() for form in forms_of(op))
        numbers = (n for form in forms for n in (*form.terms.values(), form.constant))
        return super().large_functions if any(abs(n) > LARGEST_SAFE_FACTOR for n in numbers) else []

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        from tadc.interpreter.tensor_index import evaluate

        return list(evaluate(self.program, arguments))

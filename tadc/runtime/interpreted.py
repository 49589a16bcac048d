"""The target `interpret`: the reference interpreter, which the tests compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.func import FuncOp

from tadc.dialects.tix import ProgramOp
from tadc.once import cached_property
from tadc.passes.rewriting.programs import forms_of
from tadc.runtime.executable import LARGEST_SAFE_FACTOR, Executable, KernelCall, Plan, Strides, into

if TYPE_CHECKING:
    from tadc.runtime.arguments import Array


class InterpretedExecutable(Executable):
    """The reference interpreter, on the program itself."""

    locates_elements = False
    factors_sums = False
    reuses_buffers = False

    @cached_property
    def op(self) -> ProgramOp:
        """The program in this precision."""
        from tadc.passes.lowering.set_precision import set_precision

        return set_precision(self.program.op, self.precision)

    def _print(self) -> str:
        return str(self.op)

    @cached_property
    def steps(self) -> Sequence[KernelCall]:
        """A call for each definition, by its label; there are no functions."""
        return [KernelCall(d.label, (d.label,), ()) for d in self.summary.definitions]

    @cached_property
    def large_functions(self) -> Sequence[FuncOp]:
        forms = (form for op in self.op.walk() for form in forms_of(op))
        numbers = (n for form in forms for n in (*form.terms.values(), form.constant))
        return super().large_functions if any(abs(n) > LARGEST_SAFE_FACTOR for n in numbers) else []

    def _plan(self, sizes: Mapping[str, int], strides: Strides | None) -> Plan:
        return _InterpretedPlan(self, sizes)


class _InterpretedPlan(Plan):
    def __init__(self, executable: InterpretedExecutable, sizes: Mapping[str, int]):
        super().__init__(executable, sizes)
        self._op = executable.op

    def run_on(self, arrays: Sequence[Array], out: Sequence[Array] | None = None) -> list[Any]:
        from tadc.interpreter.tensor_index import evaluate

        results = evaluate(self._op, dict(zip(self._op.arguments, arrays, strict=True)))
        return into(list(results), out)

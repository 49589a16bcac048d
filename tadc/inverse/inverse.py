"""The inverse modes of a compiled program: its parts and the linear systems between them.

`passes/derive/inversion/` makes one program, which `split-solves` cuts where it needs the solution
of a linear system. An `Inverse` runs the parts in order, each on the target of the program, and
solves the systems between them (`tadc/runtime/linear_systems.py`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from tadc.dialects.tix import DeterminantOp, ProgramOp, SolveOp
from tadc.errors import ArgumentError, IllConditionedWarning, SingularError, Span
from tadc.inverse.text import texts
from tadc.passes.pipeline import inverse_part_passes, whole_inverse_passes
from tadc.program import Program
from tadc.runtime.arguments import DTYPES, Array, is_number
from tadc.runtime.compiled import Compiled
from tadc.runtime.inspected import runner_of
from tadc.runtime.linear_systems import Matrix, Singular, log_abs_det, position
from tadc.runtime.runner import Runner
from tadc.support.entries import frames_of_tadc


@dataclass(frozen=True)
class Result:
    """A tensor that the whole program returns: its name, and its label in the parts."""

    name: str
    label: str
    location: LocationAttr


class Inverse:
    """`J⁻¹ ẏ`, `J⁻ᵀ x̄` or the determinant of the Jacobian of a program, as `mode` says.

    Raises `UnsupportedError` where the program is none that has them, and where its Jacobian must
    be singular.
    """

    def __init__(self, program: Program, target: str, mode: str):
        self.program = program
        self.target = target
        self.mode = mode
        module = program.transformed(whole_inverse_passes(mode).passes)
        whole = next(op for op in module.ops if isinstance(op, ProgramOp))
        self.args = list(whole.arguments)
        count = 2 if mode == "log-abs-det" else len(program.results)
        places: dict[SSAValue, tuple[str, LocationAttr]] = {
            op.result: (op.label.data, op.location) for op in whole.definitions
        }
        returned = [
            Result(name, *places[v])
            for name, v in zip(whole.result_names, whole.returned, strict=True)
        ]
        self.results = returned[:count]
        self.pivots = {r.label: r for r in returned if r.name in whole.pivots}
        program.transform(module, inverse_part_passes().passes)
        self.steps = [self._step(op) for op in list(module.ops)]

    def _step(self, op: Operation) -> Runner | SolveOp | DeterminantOp:
        op.detach()
        if isinstance(op, ProgramOp):
            return runner_of(self.program.derived(ModuleOp([op])), self.target)
        assert isinstance(op, SolveOp | DeterminantOp)
        return op

    def __call__(self, arguments: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        """The results, given the arguments of the program and one vector per result.

        Raises `SingularError` where a lump has no inverse; warns with `IllConditionedWarning`.
        """
        args = self.program.args
        if len(arguments) != len(args):
            names = ", ".join(t.name for t in args)
            raise ArgumentError(
                f"the program takes {len(args)} arguments, not {len(arguments)}",
                hint=f"arguments are {names}",
            )
        known: dict[str, Any] = dict(zip(self.args, [*arguments, *seeds], strict=False))
        determinant = _Determinant()
        for step in self.steps:
            match step:
                case Runner():
                    computed = step.call([known[t.name] for t in step.program.args], {})
                    known.update(zip(step.program.result_labels, computed, strict=True))
                    for pivot in self.pivots_of(step):
                        self.check_pivot(pivot, np.asarray(known[pivot.label]))
                case SolveOp():
                    known.update(self._named(step, self.solutions(step, known), known))
                case DeterminantOp():
                    blocks = [np.asarray(known[n]) for n in step.matrix_names]
                    determinant.multiply(*log_abs_det(step.form, blocks))
        results = [known[r.label] for r in self.results]
        return determinant.times(*results) if self.mode == "log-abs-det" else results

    def pivots_of(self, step: Runner) -> list[Result]:
        """The divisors that a part returns to be checked."""
        return [self.pivots[n] for n in step.program.result_labels if n in self.pivots]

    def check_pivot(self, pivot: Result, values: Array) -> None:
        """Raise where a divisor is 0 or not finite, warn where they differ beyond the precision."""
        bad = np.argwhere(~np.isfinite(values) | (values == 0))
        if len(bad):
            element = tuple(map(int, bad[0]))
            value = values[element] + 0.0  # not -0.0
            raise self._singular(
                f"the derivative of element {list(element)} by the value that it replaces is "
                f"{value}",
                pivot.location,
                element,
            )
        sizes = np.abs(values)
        if sizes.size and sizes.min() < np.finfo(values.dtype).eps * sizes.max():
            self._warn(float(sizes.min() / sizes.max()), pivot.location)

    def _named(
        self, system: SolveOp, solutions: Sequence[Array], known: Mapping[str, Any]
    ) -> dict[str, Array]:
        """Solutions by name, in the precisions of the arguments of parts that they become."""
        given = {name: _precision(known[name]) for name in self.args if name in known}
        wanted = self.precisions(system.solution_names, given)
        pairs = zip(system.solution_names, solutions, wanted, strict=True)
        return {name: np.asarray(x, DTYPES[p] if p else x.dtype) for name, x, p in pairs}

    def solutions(self, system: SolveOp, known: Mapping[str, Any]) -> list[Array]:
        """The solutions of a system, in its precision; raises and warns as a call does."""
        matrix = Matrix.of(system.form, [np.asarray(known[n]) for n in system.matrix_names])
        rhs = [np.asarray(known[n]) for n in system.rhs_names]
        try:
            solutions, condition = matrix.solve(rhs, system.transposed is not None)
        except Singular as error:
            raise self._without_inverse(system, matrix, error) from None
        if condition < np.finfo(matrix.array.dtype).eps:
            self._warn(condition, system.location)
        return solutions

    def precisions(self, names: Sequence[str], given: Mapping[str, str | None]) -> list[str | None]:
        """The precisions, f32 or f64, of solutions; None for that of the system.

        Systems of both precisions are solved in the wider one. `given` are those of the arguments,
        None for numbers.
        """
        parts = [step.program for step in self.steps if isinstance(step, Runner)]
        declared = {t.name: t.dtype for part in parts for t in part.args}
        solved = {n for s in self.steps if isinstance(s, SolveOp) for n in s.solution_names}
        free = [given[n] for n in self.args if n not in solved and declared.get(n) == "real"]
        narrow = set(free) - {None} == {"f32"}
        common = ("f32" if narrow else "f64") if free else None
        return [declared[n] if declared[n] in DTYPES else common for n in names]

    def _without_inverse(self, system: SolveOp, matrix: Matrix, error: Singular) -> SingularError:
        """The error about a system: rows and columns as elements of tensors."""
        regular = math.isfinite(error.value)
        shapes = matrix.columns if regular else matrix.rows
        number, index = position(shapes, error.index)
        axis = (system.column_axes if regular else system.row_axes)[number]
        element = axis.element((*error.batch, *index))
        text = f"{axis.tensor}[{', '.join(map(str, element))}]" if element else axis.tensor
        reason = (
            f"its column for {text} is a combination of others"
            if regular
            else f"a derivative of {text} is {error.value}"
        )
        return self._singular(reason, system.location, element)

    def _singular(
        self, reason: str, location: LocationAttr, element: tuple[int, ...]
    ) -> SingularError:
        return SingularError(
            f"the Jacobian is singular: {reason}",
            self.program.span(location),
            "there is no inverse at these arguments",
            element=element,
        )

    def _warn(self, condition: float, location: LocationAttr) -> None:
        span = self.program.span(location)
        warning = IllConditionedWarning(_with_place(span, condition))
        warnings.warn(warning, stacklevel=frames_of_tadc())  # where the mode was called

    def __str__(self) -> str:
        """The programs in the language, and the systems between them as comments."""
        return texts(Compiled(self.program, self.target), self.mode, "source")


def _precision(value: Any) -> str | None:
    if is_number(value):
        return None
    return "f32" if np.asarray(value).dtype == np.float32 else "f64"


def _with_place(span: Span | None, condition: float) -> str:
    place = "" if span is None else f"{span.file}:{span.line}:{span.column}: "
    return (
        f"{place}the Jacobian of this statement is nearly singular (reciprocal condition "
        f"{condition:.1e}): few digits of the result are right"
    )


class _Determinant:
    """The product of the determinants of matrices."""

    def __init__(self) -> None:
        self.sign, self.logarithm = 1.0, 0.0

    def multiply(self, sign: float, logarithm: float) -> None:
        self.sign *= sign
        self.logarithm += logarithm

    def times(self, sign: Any, logarithm: Any) -> list[float]:
        """Times the determinant of these, as sign and logarithm."""
        return [float(sign) * self.sign + 0.0, float(logarithm) + self.logarithm]

"""`Runner`: runs a program on a target, and keeps what the next call can use again.

A call goes this way: arguments by name -> arrays -> precision and sizes -> `Executable` and `Plan`
-> results. Everything after the arrays is kept for the shapes that came last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from dialects.tix import Affine
from tadc.errors import ArgumentError, SizeError, TargetError, unknown_name
from tadc.program import Program, recursing
from tadc.runtime.arguments import (
    DTYPES,
    Array,
    Parameter,
    as_array,
    bind,
    bind_shapes,
    common_precision,
    shape_error,
    strides_to_read,
)
from tadc.runtime.executable import Executable, Plan, Strides
from tadc.runtime.factored import Factored
from tadc.runtime.out import run_into
from tadc.runtime.size_class import LONG_CALLS, SizeClass, size_class
from tadc.runtime.targets import executable_class
from tadc.sizes import (
    NUMBERS,
    Integers,
    Size,
    SizeEquations,
    SizeMismatch,
    SizeUnknown,
    argument_shapes,
    dimensions_of,
)
from tadc.support.recent import Recent

if TYPE_CHECKING:
    from tadc.runtime.native_plan import NativePlan

MOST_PLANS = 1024
"""The number of shapes of arguments whose plans a program remembers."""


class Prepared(NamedTuple):
    """Everything that a call runs with."""

    plan: Plan
    arrays: Sequence[Array]
    """The arguments, of any strides."""


class Runner:
    """A program on a target. Safe to call from several threads.

    Raises `TargetError` where there is no such target.
    """

    def __init__(self, program: Program, target: str):
        self.program = program
        self.target = target
        self._kind = executable_class(target)
        self._parameters = [
            Parameter(t.name, t.dtype, len(t.shape), partial(program.span_of_argument, t.name))
            for t in program.args
        ]
        self._names = [t.name for t in program.args]
        self._executables: dict[tuple[str, SizeClass], Executable] = {}
        self._factored = Factored(program, self._kind)
        self._plans: Recent[object, Plan] = Recent(MOST_PLANS)
        self._last: Plan | None = None

    @property
    def parameters(self) -> Sequence[Parameter]:
        """The arguments as the program declares them."""
        return self._parameters

    def call(
        self,
        positional: Sequence[Any],
        named: Mapping[str, Any],
        out: Any = None,
    ) -> list[Any]:
        """The results as a list, also where there is one.

        `out` is an array or a tuple of arrays to hold them, or the argument of that name. Raises
        `TadcError` for bad arguments.
        """
        if self._last is not None and out is None:  # most calls are like an earlier one
            arrays = self.in_order(positional, named) if named else positional
            results = self._last.try_run(arrays)
            if results is None:
                results = self._run_like_before(arrays)
            if results is not None:
                return results
        return self._call(positional, named, out)

    def _run_like_before(self, arrays: Sequence[Any]) -> list[Any] | None:
        """The results, if there was a call with dense arrays of these shapes and types."""
        shapes = [a.shape if type(a) is np.ndarray else None for a in arrays]
        for precision in DTYPES:
            plan = self._plans.peek((precision, *shapes))
            results = plan and plan.try_run(arrays)
            if results is not None:
                self._last = plan
                return results
        return None

    def in_order(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The arguments of the program, if all are there; else nothing."""
        missing = self._names[len(positional) :]
        count = len(positional) + len(named)
        if count != len(self._names) or any(name not in named for name in missing):
            return ()
        return [*positional, *(named[name] for name in missing)]

    @recursing
    def _call(self, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> list[Any]:
        if out is not None and "out" in self._names:
            named, out = {**named, "out": out}, None
        plan, arrays = self.prepare(positional, named)
        with self.program.located_errors():
            self._last = plan
            inputs = list(map(plan.readable, arrays, plan.executable.argument_dtypes))
            return plan.run_on(inputs) if out is None else run_into(plan, inputs, out)

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments of a call in the order of the program's."""
        return bind(self._parameters, positional, named)

    @recursing
    def prepare(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Prepared:
        """Find what runs for these arguments; nothing is run."""
        values = self.bind(positional, named)
        arrays = [as_array(p, v) for p, v in zip(self._parameters, values, strict=True)]
        precision = common_precision(self._parameters, values, arrays)
        with self.program.located_errors():
            return Prepared(self._plan_of(precision, arrays), arrays)

    @recursing
    def plan(
        self, shapes: Sequence[Sequence[int]], precision: str, strides: Strides | None = None
    ) -> Plan:
        """The plan for arguments of these shapes, in the order of the program's."""
        _check_precision(precision)
        numbers = list(bind_shapes(self._names, shapes, NUMBERS).values())
        with self.program.located_errors():
            return self._plan(precision, numbers, strides)

    def executable(self, precision: str, sizes: SizeClass = LONG_CALLS) -> Executable:
        """The program as code of its target, for one class of sizes."""
        key = precision, sizes if self._kind.tiles else SizeClass()
        if key not in self._executables:
            return self._executables.setdefault(key, self._kind(self._factored.of(*key), *key))
        return self._executables[key]

    @recursing
    def code(self, sizes: Mapping[str, int] | None = None, precision: str = "f64") -> Executable:
        """The code that a call with these sizes, and undeclared tensors of this precision, runs;
        nothing is kept of it.

        Without sizes, in a program that has some, it is code for large calls of any sizes. Raises
        `SizeError` for sizes that no call can have.
        """
        _check_precision(precision)
        known = self._named_sizes(sizes) if sizes or not self.program.summary.size_names() else None
        kind = LONG_CALLS if known is None else size_class(self.program.summary, known)
        made = self._executables.get((precision, kind))
        return made or self._kind(self._factored.of(precision, kind), precision, kind)

    def _plan_of(self, precision: str, arrays: Sequence[Array]) -> Plan:
        shapes = [a.shape for a in arrays]
        if not self._kind.strided:
            return self._plan(precision, shapes)
        dtypes = [DTYPES[precision if p.dtype == "real" else p.dtype] for p in self._parameters]
        return self._plan(precision, shapes, strides_to_read(arrays, dtypes))

    def _plan(
        self, precision: str, shapes: Sequence[tuple[int, ...]], strides: Strides | None = None
    ) -> Plan:
        key = precision, *shapes, *(strides or ())
        plan = self._plans.get(key)
        if plan is None:
            names = (p.name for p in self._parameters)
            sizes = self._sizes(dict(zip(names, shapes, strict=True)))
            kind = replace(size_class(self.program.summary, sizes), strided=strides is not None)
            plan = self.executable(precision, kind).plan(sizes, strides)
            self._plans.put(key, plan)
        return plan

    # --- sizes ---

    @recursing
    def sizes(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Mapping[str, int]:
        """Every size of the program for the arguments of a call."""
        values = self.bind(positional, named)
        arrays = (as_array(p, v) for p, v in zip(self._parameters, values, strict=True))
        return self.sizes_of([a.shape for a in arrays])

    @recursing
    def sizes_of(self, shapes: Sequence[tuple[int, ...]]) -> Mapping[str, int]:
        """Every size of the program for arguments of these shapes, in the order of its own."""
        return self._sizes(dict(zip(self._names, shapes, strict=True)))

    @recursing
    def result_shapes(
        self, shapes: Sequence[Sequence[Size]], integers: Integers
    ) -> list[tuple[Size, ...]]:
        """The shapes of the results for arguments of these shapes; nothing is compiled or run."""
        sizes = self._sizes(bind_shapes(self._names, shapes, integers), integers)
        return [dimensions_of(forms, sizes, integers) for forms in self._result_forms]

    @cached_property
    def _equations(self) -> SizeEquations:
        return SizeEquations(self.program.summary)

    @cached_property
    def _result_forms(self) -> Sequence[Sequence[Affine]]:
        return [t.type.shape for t in self.program.summary.results]

    def _sizes(
        self, shapes: Mapping[str, tuple[Size, ...]], integers: Integers = NUMBERS
    ) -> Mapping[str, Size]:
        """Every size of the program for arguments of these shapes.

        Where all are numbers, `RangeError` tells of reads outside of tensors; of symbolic ones the
        calls tell that run the program.
        """
        try:
            sizes = self._equations.solve(shapes, integers)
        except SizeMismatch as error:
            raise shape_error(self._parameters, error) from None
        except SizeUnknown as error:
            raise SizeError(
                f"no argument determines the size {error.name}",
                hint=f"declare an argument that has it alone: z: f64[{error.name}]",
                file=self.program.file,
                size=error.name,
            ) from None
        # sizes that are numbers in the program were checked when it was compiled
        if sizes and all(isinstance(size, int) for size in sizes.values()):
            self.program.origin.check_sizes(sizes)
        return sizes

    def _named_sizes(self, given: Mapping[str, int] | None) -> Mapping[str, int]:
        """Every size of the program, where callers choose those that are given."""
        chosen = chosen_sizes(self.program, given or {})
        return self._sizes(argument_shapes(self.program.summary, chosen))


def _check_precision(precision: str) -> None:
    if precision not in ("f32", "f64"):
        raise ArgumentError(f"a precision is f32 or f64, not {precision!r}")


def chosen_sizes(program: Program, given: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes that callers choose; raises `SizeError` where one is missing or impossible."""
    names = program.summary.size_names()
    for name, size in given.items():
        if name not in names:
            raise unknown_name("size", name, names)
        if size < 0:
            raise SizeError(f"the size {name} is {size}: no size is negative", size=name)
    missing = [name for name in names if name not in given]
    if missing:
        raise SizeError(
            f"the size {missing[0]} is missing",
            hint=f"the sizes of the program are {', '.join(names)}",
            file=program.file,
            size=missing[0],
        )
    return given


def native_plan(
    runner: Runner,
    shapes: Sequence[Sequence[int]],
    precision: str,
    strides: Strides | None = None,
) -> NativePlan:
    """The plan of a program of the target `cpu` for arguments of these shapes.

    Arguments are dense or, with strides in bytes, of neighbouring elements in rows anywhere.

    Raises `SizeError` for shapes that do not fit, `TargetError` for other targets.
    """
    if runner.target != "cpu":
        raise TargetError(
            f"there is no native plan for the target {runner.target!r}",
            hint="with_target('cpu') gives a function that has some",
        )
    return cast("NativePlan", runner.plan(shapes, precision, strides))

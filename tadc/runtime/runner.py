"""`Runner`: runs a program on a target, and keeps what the next call can use again.

A call goes this way: arguments by name -> arrays -> precision and sizes -> `Executable` and `Plan`
-> results. Everything after the arrays is kept for the shapes that came last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from tadc.errors import TargetError
from tadc.once import once
from tadc.program import Program, recursing
from tadc.runtime.arguments import (
    DTYPES,
    FLOATS,
    Array,
    as_arrays,
    common_precision,
    order_of_axes,
    strides_to_read,
)
from tadc.runtime.compiled import Compiled, check_precision
from tadc.runtime.executable import Plan, Strides
from tadc.runtime.out import run_into
from tadc.runtime.parameters import bind, bind_shapes
from tadc.sizes import NUMBERS
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


class Runner(Compiled):
    """A compiled program that is called. Safe to call from several threads.

    Raises `TargetError` where there is no such target.
    """

    def __init__(self, program: Program, target: str):
        super().__init__(program, target)
        self._plans: Recent[object, Plan] = Recent(MOST_PLANS)
        self._last: Plan | None = None

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
        for precision in FLOATS:
            plan = self._plans.peek((precision, *shapes))
            results = plan and plan.try_run(arrays)
            if results is not None:
                self._last = plan
                return results
        return None

    def in_order(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Sequence[Any]:
        """The arguments of the program, if all are there; else nothing."""
        missing = self.names[len(positional) :]
        count = len(positional) + len(named)
        if count != len(self.names) or any(name not in named for name in missing):
            return ()
        return [*positional, *(named[name] for name in missing)]

    @recursing
    def _call(self, positional: Sequence[Any], named: Mapping[str, Any], out: Any) -> list[Any]:
        if out is not None and "out" in self.names:
            named, out = {**named, "out": out}, None
        plan, arrays = self.prepare(positional, named)
        with self.program.located_errors():
            self._last = plan
            dtypes = plan.executable.argument_dtypes
            inputs = [self._readable(plan, a, d) for a, d in zip(arrays, dtypes, strict=True)]
            return plan.run_on(inputs) if out is None else run_into(plan, inputs, out)

    def _readable(self, plan: Plan, array: Array, dtype: np.dtype[Any]) -> Array:
        """The array as a plan can read it, copied if need be."""
        order = order_of_axes(array, dtype) if self.kind.strided else None
        if order is None:
            return plan.readable(array, dtype)
        (copy,) = copier(order).call([array.transpose(order)], {})
        return copy

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments of a call in the order of the program's."""
        return bind(self.parameters, positional, named)

    @recursing
    def prepare(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Prepared:
        """Find what runs for these arguments; nothing is run."""
        values = self.bind(positional, named)
        arrays = as_arrays(self.parameters, values)
        precision = common_precision(self.parameters, values, arrays)
        with self.program.located_errors():
            return Prepared(self._plan_of(precision, arrays), arrays)

    @recursing
    def plan(
        self, shapes: Sequence[Sequence[int]], precision: str, strides: Strides | None = None
    ) -> Plan:
        """The plan for arguments of these shapes, in the order of the program's."""
        check_precision(precision)
        numbers = list(bind_shapes(self.names, shapes, NUMBERS).values())
        with self.program.located_errors():
            return self._plan(precision, numbers, strides)

    def _plan_of(self, precision: str, arrays: Sequence[Array]) -> Plan:
        shapes = [a.shape for a in arrays]
        if not self.kind.strided:
            return self._plan(precision, shapes)
        dtypes = [DTYPES[precision if p.dtype == "real" else p.dtype] for p in self.parameters]
        return self._plan(precision, shapes, strides_to_read(arrays, dtypes))

    def _plan(
        self, precision: str, shapes: Sequence[tuple[int, ...]], strides: Strides | None = None
    ) -> Plan:
        key = precision, *shapes, *(strides or ())
        plan = self._plans.get(key)
        if plan is None:
            names = (p.name for p in self.parameters)
            sizes = self.sizes_for(dict(zip(names, shapes, strict=True)))
            kind = replace(self.size_class(sizes), strided=strides is not None)
            plan = self.executable(precision, kind).plan(sizes, strides)
            self._plans.put(key, plan)
        return plan

    # --- sizes ---

    @recursing
    def sizes(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Mapping[str, int]:
        """Every size of the program for the arguments of a call."""
        values = self.bind(positional, named)
        return self.sizes_of([a.shape for a in as_arrays(self.parameters, values)])


@once
def copier(order: tuple[int, ...]) -> Runner:
    """The program that copies arrays whose axes lie in memory in this order, of any precision.

    It takes `array.transpose(order)`, whose rows are dense, and gives `array`, row-major.
    """
    axes = [f"i{n}" for n in range(len(order))]
    source = f"y[{', '.join(axes)}] = x[{', '.join(axes[n] for n in order)}]"
    return Runner(Program.parsed(source), "cpu")


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

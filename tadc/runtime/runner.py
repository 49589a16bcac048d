"""`Runner`: runs a program on a target, and keeps what the next call can use again.

A call goes this way: arguments by name -> arrays -> precision and sizes -> `Executable` and `Plan`
-> results. Everything after the arrays is kept for the shapes that came last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from dialects.tix import TensorType, Variable
from passes.rewriting.programs import type_of
from tadc.errors import ArgumentError, SizeError, unknown_name
from tadc.language.check import check_ranges
from tadc.program import Program, recursing
from tadc.runtime.arguments import (
    Array,
    Parameter,
    as_array,
    bind,
    common_precision,
    dense,
    size_error,
)
from tadc.runtime.cost import total_work
from tadc.runtime.executable import Executable, Plan
from tadc.runtime.targets import executable_class
from tadc.sizes import SizeMismatch, SizeUnknown, bind_sizes

MOST_WORK_WITHOUT_TILES = 1_000_000
"""Operations of a call that take about a millisecond whatever the loops look like."""

MOST_WORK_OF_FIXED_SIZES_WITHOUT_TILES = 100_000
"""The limit where sizes are numbers, so that no call can ever be larger."""

MOST_PLANS = 64
"""The number of shapes of arguments whose plans a program remembers."""


@dataclass(frozen=True)
class Prepared:
    """Everything that a call runs with."""

    executable: Executable
    sizes: Mapping[str, int]
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
            Parameter(t.name, t.dtype, len(t.shape), partial(program.span, v.location))
            for t, v in zip(program.args, program.op.arguments.values(), strict=True)
        ]
        self._executables: dict[tuple[str, bool], Executable] = {}
        self._plans: dict[object, tuple[Executable, Mapping[str, int], Plan]] = {}

    @recursing
    def call(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The results as a list, also where there is one. Raises `TadcError` for bad arguments."""
        prepared = self.prepare(positional, named)
        dtypes = prepared.executable.argument_dtypes
        with self.program.located_errors():  # it is compiled when it first runs
            triples = zip(self._parameters, prepared.arrays, dtypes, strict=True)
            inputs = {p.name: dense(a, d) for p, a, d in triples}
            return prepared.executable.run(inputs, prepared.sizes, prepared.plan)

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
            return Prepared(*self._plan(precision, arrays), arrays)

    def executable(
        self, precision: str, tile: bool = True, example: Mapping[str, int] | None = None
    ) -> Executable:
        """The program as code of its target, made best for the sizes `example` that come first.

        There is one for each precision, and one without tiles for sizes that turn out small: it
        compiles several times faster. So calls of any number of sizes compile twice at most.
        """
        key = precision, tile and self._kind.tiles
        if key not in self._executables:
            made = self._kind(self.program.op, *key, example)
            return self._executables.setdefault(key, made)
        return self._executables[key]

    @recursing
    def code(self, sizes: Mapping[str, int] | None = None, precision: str = "f64") -> Executable:
        """The code that the next call with these sizes, and undeclared tensors of this precision,
        runs; nothing is kept of it.

        Without sizes, in a program that has some, it is code for large calls of any sizes. Raises
        `SizeError` for sizes that no call can have.
        """
        if precision not in ("f32", "f64"):
            raise ArgumentError(f"a precision is f32 or f64, not {precision!r}")
        known = self._named_sizes(sizes) if sizes or not self._size_names() else None
        tile = self._kind.tiles and (known is None or self._pays_tiles(known))
        made = self._executables.get((precision, tile))
        return made or self._kind(self.program.op, precision, tile, known)

    def _plan(
        self, precision: str, arrays: Sequence[Array]
    ) -> tuple[Executable, Mapping[str, int], Plan]:
        key = (precision, *(a.shape for a in arrays))
        known = self._plans.get(key)
        if known is None:
            shapes = {p.name: a.shape for p, a in zip(self._parameters, arrays, strict=True)}
            sizes = self._sizes(shapes)
            executable = self.executable(precision, self._pays_tiles(sizes), sizes)
            if len(self._plans) >= MOST_PLANS:
                self._plans.clear()
            known = self._plans[key] = executable, sizes, executable.plan(sizes)
        return known

    def _pays_tiles(self, sizes: Mapping[str, int]) -> bool:
        """True if a call of these sizes is long enough for code that takes longer to compile."""
        least = MOST_WORK_WITHOUT_TILES if sizes else MOST_WORK_OF_FIXED_SIZES_WITHOUT_TILES
        return total_work(self.program.op, sizes) > least

    # --- sizes ---

    def _sizes(self, shapes: Mapping[str, tuple[int, ...]]) -> Mapping[str, int]:
        """Every size of the program for arguments of these shapes."""
        try:
            sizes = bind_sizes(self.program.op, shapes)
        except SizeMismatch as error:
            raise size_error(self._parameters, error) from None
        except SizeUnknown as error:
            raise SizeError(
                f"no argument determines the size {error.name}",
                hint=f"declare an argument that has it alone: z: f64[{error.name}]",
                file=self.program.file,
                size=error.name,
            ) from None
        if sizes:  # numbers were checked when the program was compiled
            check_ranges(self.program.op, sizes, self.program.text)
        return sizes

    def _size_names(self) -> list[str]:
        """The sizes that callers choose, in order of first use in the arguments."""
        derived = {d.data.name for d in self.program.op.derived}
        shapes = (type_of(v).shape for v in self.program.op.arguments.values())
        names = dict.fromkeys(s for shape in shapes for form in shape for s in form.sizes)
        return [name for name in names if name not in derived]

    def _named_sizes(self, given: Mapping[str, int] | None) -> Mapping[str, int]:
        """Every size of the program, where callers choose those that are given."""
        given, names = given or {}, self._size_names()
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
                file=self.program.file,
                size=missing[0],
            )
        sizes: dict[Variable, int] = dict(given.items())
        for derived in self.program.op.derived:
            sizes[derived.data.name] = derived.evaluate(sizes)
        arguments = self.program.op.arguments.items()
        return self._sizes({name: _shape(type_of(v), sizes) for name, v in arguments})


def _shape(type: TensorType, sizes: Mapping[Variable, int]) -> tuple[int, ...]:
    return tuple(max(0, form.evaluate(sizes)) for form in type.shape)

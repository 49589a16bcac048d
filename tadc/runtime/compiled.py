"""`Compiled`: a program as code of a target, and the sizes of its calls; nothing is run.

It needs no NumPy: `tadc/runtime/runner.py` adds what calls need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from tadc.dialects.tix import Affine
from tadc.errors import ArgumentError, SizeError, unknown_name
from tadc.once import Once, cached_property
from tadc.program import Program, recursing
from tadc.runtime.executable import Executable
from tadc.runtime.factored import Factored
from tadc.runtime.located import located
from tadc.runtime.parameters import Parameter, bind_shapes, shape_error
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


class Compiled:
    """A program on a target. Safe to use from several threads.

    `kind` is the kind of code, by default the target's. Raises `TargetError` where there is no such
    target.
    """

    def __init__(self, program: Program, target: str, kind: type[Executable] | None = None):
        self.program = program
        self.target = target
        self.kind = kind or executable_class(target)
        self.names = [t.name for t in program.args]
        self._executables: Once[tuple[str, SizeClass], Executable] = Once()
        self._factored = Factored(program, self.kind)

    @cached_property
    def parameters(self) -> Sequence[Parameter]:
        """The arguments as the program declares them."""
        locate = self.program.span_of_argument
        return [
            Parameter(t.name, t.type.dtype, t.type.rank, partial(locate, t.name))
            for t in self.program.summary.inputs
        ]

    @cached_property
    def executor(self) -> Compiled:
        """The program as it runs: with views of its index tensors as further arguments."""
        program = located(self.program) if self.kind.locates_elements else self.program
        return self if program is self.program else Compiled(program, self.target, self.kind)

    # --- code ---

    def executable(self, precision: str, sizes: SizeClass = LONG_CALLS) -> Executable:
        """The program as code of its target, for one class of sizes."""
        key = precision, sizes if self.kind.largest_example else SizeClass()

        def make() -> Executable:
            definitions = len(self.program.summary.definitions)
            expect = partial(self.kind.expect, definitions, key[1].tiles)
            return self.kind(self._factored.of(*key, before=expect), *key)

        return self._executables.of(key, make)

    @recursing
    def code(self, sizes: Mapping[str, int] | None = None, precision: str = "f64") -> Executable:
        """The code that a call with these sizes, and undeclared tensors of this precision, runs;
        nothing is kept of it.

        Without sizes, in a program that has some, it is code for large calls of any sizes. Raises
        `SizeError` for sizes that no call can have.
        """
        check_precision(precision)
        known = self._named_sizes(sizes) if sizes or not self.program.summary.size_names() else None
        kind = LONG_CALLS if known is None else self.size_class(known)
        made = self._executables.get((precision, kind))
        return made or self.kind(self._factored.of(precision, kind), precision, kind)

    # --- sizes ---

    def size_class(self, sizes: Mapping[str, int]) -> SizeClass:
        """The class of calls of these sizes, all that the program has."""
        return size_class(self.program.summary, sizes, self.kind.largest_example)

    @recursing
    def sizes_of(self, shapes: Sequence[tuple[int, ...]]) -> Mapping[str, int]:
        """Every size of the program for arguments of these shapes, in the order of its own."""
        return self.sizes_for(dict(zip(self.names, shapes, strict=True)))

    @recursing
    def result_shapes(
        self, shapes: Sequence[Sequence[Size]], integers: Integers
    ) -> list[tuple[Size, ...]]:
        """The shapes of the results for arguments of these shapes; nothing is compiled or run."""
        sizes = self.sizes_for(bind_shapes(self.names, shapes, integers), integers)
        return [dimensions_of(forms, sizes, integers) for forms in self._result_forms]

    @cached_property
    def _equations(self) -> SizeEquations:
        return SizeEquations(self.program.summary)

    @cached_property
    def _result_forms(self) -> Sequence[Sequence[Affine]]:
        return [t.type.shape for t in self.program.summary.results]

    def sizes_for(
        self, shapes: Mapping[str, tuple[Size, ...]], integers: Integers = NUMBERS
    ) -> Mapping[str, Size]:
        """Every size of the program for arguments of these shapes.

        Where all are numbers, `RangeError` tells of reads outside of tensors; of symbolic ones the
        calls tell that run the program.
        """
        try:
            sizes = self._equations.solve(shapes, integers)
        except SizeMismatch as error:
            raise shape_error(self.parameters, error) from None
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
        return self.sizes_for(argument_shapes(self.program.summary, chosen))


def check_precision(precision: str) -> None:
    """Raise `ArgumentError` for what is no precision."""
    if str(precision) not in ("f32", "f64"):
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

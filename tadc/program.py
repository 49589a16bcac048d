"""`Program`: the IR of one program, with the text that it was written as."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from dialects.tix import ProgramOp, TensorType
from dialects.tix.affine import show
from passes.rewriting.failure import PassFailure
from passes.rewriting.programs import label_of, type_of
from passes.run_passes import run_passes
from tadc.errors import Span, TargetError, UnsupportedError
from tadc.language.printing.program import print_program
from tadc.language.source import PROGRAM, Source
from tadc.support.garbage import rarely_collecting
from tadc.support.ir_text import context, module_text, parse_module
from tadc.support.recursion import with_large_stack
from tadc.support.stopwatch import timed

SHOW_IR = "tadc derive --emit shows the program at each stage, and tadc-opt runs single passes"


@dataclass(frozen=True)
class Tensor:
    """An argument or result: `dtype` is f32, f64 or real; sizes are numbers or text."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    @staticmethod
    def of(name: str, type: TensorType) -> Tensor:
        shape = (show(f, str) if f.terms else max(0, f.constant) for f in type.shape)
        return Tensor(name, type.dtype, tuple(shape))


class Program:
    """A module with one program, and the text that errors about it point into.

    Nothing changes a `Program`: passes run on copies of its module. `str` gives it in the language.
    """

    def __init__(self, module: ModuleOp, source: str):
        self.module = module
        self.source = source
        (self.op,) = (op for op in module.ops if isinstance(op, ProgramOp))
        self.args = tuple(Tensor.of(name, type_of(v)) for name, v in self.op.arguments.items())
        returned = zip(self.op.result_names, self.op.returned, strict=True)
        self.results = tuple(Tensor.of(name, type_of(v)) for name, v in returned)

    @property
    def result_labels(self) -> list[str]:
        """The names of the results inside of the program, where no two tensors have the same."""
        return [label_of(v) for v in self.op.returned]

    @property
    def definition_labels(self) -> list[str]:
        """The names of all definitions inside of the program, in order."""
        return [d.label.data for d in self.op.definitions]

    # --- its text ---

    @cached_property
    def file(self) -> str:
        """The file that the program comes from."""
        locations = [self.op.location, *(d.location for d in self.op.definitions)]
        return next((place[0] for place in map(_place, locations) if place), PROGRAM)

    @cached_property
    def text(self) -> Source:
        """The text, read once."""
        return Source(self.source, self.file)

    def span(self, location: LocationAttr) -> Span | None:
        """A place in the program as a place in its text."""
        return self.text.span_at(location)

    @contextmanager
    def located_errors(self) -> Generator[None]:
        """Raise what passes cannot do, and lack of memory, as errors about the text."""
        try:
            yield
        except PassFailure as failure:
            span, hint = self.span(failure.location), failure.hint or SHOW_IR
            raise UnsupportedError(failure.reason, span, hint, file=self.file) from failure
        except PassFailedException as failure:
            raise UnsupportedError(str(failure), None, SHOW_IR, file=self.file) from failure
        except MemoryError as error:
            reason = f"there is not enough memory: {error}".removesuffix(": ")
            hint = "arguments of smaller sizes need less"
            raise TargetError(reason, None, hint, file=self.file) from None

    def recurse(self, work: Callable[[], R]) -> R:
        """`work()`, which recurses along the nesting of the program, however deep that is.

        Nesting that is too deep even for a large stack is an error at its innermost part.
        """
        try:
            return with_large_stack(work)
        except RecursionError:
            raise self.text.too_deep() from None

    def __str__(self) -> str:
        with self.located_errors(), rarely_collecting:
            return self.recurse(lambda: print_program(self.op))

    # --- passes ---

    def transformed(self, passes: Sequence[ModulePass]) -> ModuleOp:
        """The module that these passes make of a copy of the program."""

        def copied() -> ModuleOp:
            result = self.module.clone()
            self.transform(result, passes)
            return result

        with rarely_collecting:
            return self.recurse(copied)

    def transform(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """Run passes on a module that was made of the program; errors are about its text."""
        with self.located_errors(), rarely_collecting:
            self.recurse(lambda: run_passes(passes, context(), module, timed))

    def derived(self, module: ModuleOp) -> Program:
        """A module that was made of this program, with the same text."""
        return Program(module, self.source)

    # --- keeping ---

    def __reduce__(self) -> tuple[Any, ...]:
        places = [_place(v.location) for v in self.op.arguments.values()]
        return _restore, (self.recurse(lambda: module_text(self.module)), self.source, places)


P = ParamSpec("P")
R = TypeVar("R")


class OfProgram(Protocol):
    """An object that works on a program."""

    @property
    def program(self) -> Program: ...


T = TypeVar("T", bound=OfProgram)


def recursing(method: Callable[Concatenate[T, P], R]) -> Callable[Concatenate[T, P], R]:
    """A method that recurses along the nesting of its program: see `Program.recurse`."""

    @wraps(method)
    def run(self: T, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.program.recurse(lambda: method(self, *args, **kwargs))

    return run


Place = tuple[str, int, int] | None
"""File, line and column."""


def _restore(text: str, source: str, places: Sequence[Place]) -> Program:
    """The program; arguments get back their places, which their IR has no text for."""
    program = Program(with_large_stack(lambda: parse_module(text)), source)
    for argument, place in zip(program.op.body.block.args, places, strict=True):
        if place:
            file, line, column = place
            argument.location = FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
    return program


def _place(location: LocationAttr) -> Place:
    if not isinstance(location, FileLineColLoc):
        return None
    return location.filename.data, location.line.data, location.column.data

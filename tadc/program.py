"""`Program`: the IR of one program, with the text that it was written as."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import PassFailedException

from tadc.dialects.quick import clone
from tadc.dialects.tix import ProgramOp, TensorType
from tadc.dialects.tix.affine import show
from tadc.errors import Span, TargetError, UnsupportedError, check_names
from tadc.language.check import check_ranges
from tadc.language.custom_functions import known_functions
from tadc.language.printing.program import print_program
from tadc.language.source import PROGRAM, Source
from tadc.once import cached_property
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.written_sizes import write_sizes
from tadc.passes.run_passes import run_passes
from tadc.passes.simplify.specialise import SpecialisePass
from tadc.summary import Summary
from tadc.support.disk_store import compiler_version, digest, disk_store
from tadc.support.garbage import rarely_collecting
from tadc.support.ir_text import context, module_text, parse_module
from tadc.support.recent import Recent
from tadc.support.recursion import with_large_stack
from tadc.support.stopwatch import timed

MOST_CHECKED_SIZES = 1024
"""The number of sizes of calls for which it is remembered that their ranges fit."""

SHOW_IR = "tadc derive --emit shows the program at each stage, and tadc-opt runs single passes"


@dataclass(frozen=True)
class Tensor:
    """An argument or result: `dtype` is f32, f64 or real, of an index tensor int, of a size that
    callers give size; sizes are numbers or text."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]

    @property
    def is_real(self) -> bool:
        """True if the elements are real numbers, by which programs are derived."""
        return self.dtype not in ("int", "size")

    @staticmethod
    def of(name: str, type: TensorType) -> Tensor:
        forms = () if type.is_size else type.shape
        shape = (show(f, str) if f.terms else max(0, f.constant) for f in forms)
        return Tensor(name, type.dtype, tuple(shape))


Passes: TypeAlias = Sequence[ModulePass] | Callable[[], Sequence[ModulePass]]


def nothing() -> None:
    """Do nothing."""


class Program:
    """A module with one program, and the text that errors about it point into.

    Nothing changes a `Program`: passes run on copies of its module. `str` gives it in the language.
    That of a program from the disk is made when first asked for. Derived programs keep `loop_plan`.
    """

    def __init__(
        self,
        module: ModuleOp | Callable[[], ModuleOp],
        source: str,
        summary: Summary | None = None,
        key: Callable[[], str] | None = None,
        origin: Program | None = None,
        loop_plan: str = "",
    ):
        self._module = module
        self.source = source
        self.summary = summary or Summary.of(self.op)
        self._key = key
        self._checked_sizes: Recent[object, bool] = Recent(MOST_CHECKED_SIZES)
        self.origin = origin or self
        """The program that it was derived from: where its ranges fit, those of this one do."""
        self.loop_plan = loop_plan
        self.args = tuple(Tensor.of(*t) for t in self.summary.inputs)
        self.results = tuple(Tensor.of(*t) for t in self.summary.results)

    @staticmethod
    def parsed(source: str, file: str = PROGRAM, loop_plan: str = "") -> Program:
        """The program that a text says, with the functions of the user as they are now."""
        from tadc.language.parse import parse

        functions = known_functions()

        def key() -> str:
            return repr((compiler_version(), file, source, sorted(functions.items())))

        with rarely_collecting:
            return Program(parse(source, file, functions), source, key=key, loop_plan=loop_plan)

    @cached_property
    def module(self) -> ModuleOp:
        """The module, which holds the program alone."""
        return self._module if isinstance(self._module, ModuleOp) else self._module()

    @cached_property
    def op(self) -> ProgramOp:
        """The program in it."""
        (op,) = (op for op in self.module.ops if isinstance(op, ProgramOp))
        return op

    @cached_property
    def key(self) -> str:
        """A hash of what decides the program's code: what it means, and how loops are to run."""
        return digest(self._meaning, self.loop_plan)

    @cached_property
    def _meaning(self) -> str:
        """The text that the program was made of or, where that is not known, its IR."""
        return self._key() if self._key else self.recurse(lambda: module_text(self.module))

    @property
    def result_labels(self) -> Sequence[str]:
        """The names of the results inside of the program, where no two tensors have the same."""
        return self.summary.result_labels

    @property
    def definition_labels(self) -> list[str]:
        """The names of all definitions inside of the program, in order."""
        return [d.label for d in self.summary.definitions]

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

    def span_of_argument(self, name: str) -> Span | None:
        """The declaration or first use of an argument."""
        return self.span(self.op.arguments[name].location)

    def check_arguments(self, names: Sequence[str]) -> None:
        """Raise `UnknownNameError` where one is not an argument."""
        check_names("argument", names, [t.name for t in self.args])

    def check_sizes(self, sizes: Mapping[str, int]) -> None:
        """Raise `RangeError` where calls of these sizes would read outside of a tensor."""
        key = tuple([sizes.get(name) for name in self._size_names])
        if not self._checked_sizes.get(key):
            check_ranges(self.op, sizes, self.text)
            self._checked_sizes.put(key, True)

    @cached_property
    def _size_names(self) -> Sequence[str]:
        return self.summary.size_names()

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
            result = clone(self.module)
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
        return Program(module, self.source, loop_plan=self.loop_plan)

    def derive(
        self, passes: Passes, before: Callable[[], object] = nothing, name: Sequence[object] = ()
    ) -> Sequence[Program]:
        """The programs that these passes make of this one, with the same text: those on the disk,
        else `before` is called first. Passes may be given by a function, and by what decides them:
        a `name`."""
        key = digest(compiler_version(), self._meaning, *_names(passes, name))
        stored = disk_store().load(key)
        if stored is not None:
            kept = enumerate(stored)
            return [self._part(partial(_parsed, *ir), s, key, n) for n, (*ir, s) in kept]
        before()
        module = self.transformed(passes() if callable(passes) else passes)
        programs: list[Program] = []
        for n, op in enumerate(op for op in list(module.ops) if isinstance(op, ProgramOp)):
            op.detach()
            programs.append(self._part(ModuleOp([op]), None, key, n))
        _save(key, programs)
        return programs

    def specialised(self, sizes: Mapping[str, int]) -> Program:
        """The program with numbers for these sizes."""
        (program,) = self.derive([SpecialisePass(write_sizes(sizes))])
        return program

    def _part(
        self, module: ModuleOp | Callable[[], ModuleOp], summary: Summary | None, key: str, n: int
    ) -> Program:
        """Number `n` of the programs that were derived under this key."""
        made = partial("{} {}".format, key, n)
        return Program(module, self.source, summary, made, self.origin, self.loop_plan)

    # --- keeping ---

    def kept(self) -> tuple[str, Sequence[Place]]:
        """The module as text, and the places of its arguments, for which IR has no text."""
        places = [_place(v.location) for v in self.op.arguments.values()]
        return self.recurse(lambda: module_text(self.module)), places

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (*self.kept(), self.source, self.loop_plan)


def _names(passes: Passes, name: Sequence[object]) -> Iterator[str]:
    """Names that tell these passes from others."""
    return map(repr, name if callable(passes) else passes)


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


def serialised(program: Program) -> str:
    """A program as text for `deserialised`, in this process or another one.

    It is IR, with the functions of the user in it as they were when the program was compiled.
    """
    return json.dumps((*program.kept(), program.source, program.loop_plan))


def deserialised(text: str) -> Program:
    """The program that `serialised` gave as text."""
    return _restore(*json.loads(text))


def _restore(text: str, places: Sequence[Place], source: str, loop_plan: str = "") -> Program:
    return Program(_parsed(text, places), source, loop_plan=loop_plan)


def _parsed(text: str, places: Sequence[Place]) -> ModuleOp:
    """The module of a program, its arguments in their places."""
    module = with_large_stack(lambda: parse_module(text))
    (program,) = (op for op in module.ops if isinstance(op, ProgramOp))
    for argument, place in zip(program.body.block.args, places, strict=True):
        if place:
            file, line, column = place
            argument.location = FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
    return module


def _save(key: str, programs: Sequence[Program]) -> None:
    """Let later processes find these programs, if there is a place for them."""
    if disk_store().keeps:
        disk_store().save(key, [(*p.kept(), p.summary) for p in programs])


def _place(location: LocationAttr) -> Place:
    if not isinstance(location, FileLineColLoc):
        return None
    return location.filename.data, location.line.data, location.column.data

"""`Function`: a compiled program - called, printed, looked at, and derived."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from dialects.tix import DefineOp, ProgramOp, TensorType
from dialects.tix.affine import show
from passes.differentiation.names import adjoint_names
from passes.pipeline import (
    STAGES,
    code_passes,
    derivative_passes,
    inverse_passes,
    pullback_passes,
)
from passes.run_passes import run_passes
from tadc.emit import EMITTERS
from tadc.errors import ArgumentError, SizeError, Span, TadcError, TargetError, UnknownNameError
from tadc.failures import located_errors
from tadc.modes import INVERSE_MODES, MODES, OTHER_WORDS
from tadc.runtime.arguments import Array, Parameter, as_array, bind, common_precision, dense
from tadc.runtime.cost import total_work
from tadc.runtime.executable import TARGETS, Executable, Plan
from tadc.runtime.memory import Memory, PullbackMemory, memory_of, pullback_memory_of
from tadc.sizes import SizeMismatch, SizeUnknown, bind_sizes
from tadc.support.garbage import rarely_collecting
from tadc.support.recursion import with_large_stack
from tadc.support.stopwatch import timed

if TYPE_CHECKING:
    from tadc.inverse import Inverse
    from tadc.language.source import Source

SMALL = 1_000_000
"""Operations of a call that take about a millisecond whatever the loops look like."""

TINY = 100_000
"""The same where sizes are numbers, so that no call can ever be larger."""

PLANS = 64
"""How many sizes a function remembers the plans of."""


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


P = ParamSpec("P")
R = TypeVar("R")


def _deep(method: Callable[Concatenate[Function, P], R]) -> Callable[Concatenate[Function, P], R]:
    """A method that recurses along the nesting of the program, however deep that is.

    What is too deep even for a large stack is an error at the innermost part of the program.
    """

    @wraps(method)
    def run(self: Function, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return with_large_stack(lambda: method(self, *args, **kwargs))
        except RecursionError:
            raise self.too_deep() from None

    return run


class Function:
    """A program of the language, ready to run on a target.

    Call it with arrays, by position or by name: one result comes as an array, several as a tuple.
    Sizes that the program does not declare come from the arrays; no size needs compiling again.
    `str(f)` is the program in the language, and compiles to the same again.

    Raises `TadcError` for whatever is wrong with the arguments. Safe to call from several threads,
    to pickle and to use after a fork.
    """

    def __init__(self, module: ModuleOp, source: str, target: str):
        if target not in TARGETS:
            raise TargetError(
                f"there is no target {target!r}", hint=f"targets are {', '.join(TARGETS)}"
            )
        self.module = module
        self.target = target
        self._source = source
        self.program = _only_program(module)
        self.args = tuple(Tensor.of(name, _type(v)) for name, v in self.program.arguments.items())
        self.results = tuple(
            Tensor.of(name, _type(v))
            for name, v in zip(self.program.result_names, self.program.returned, strict=True)
        )
        self._parameters = [
            Parameter(t.name, t.dtype, len(t.shape), _span(v.location, source))
            for t, v in zip(self.args, self.program.arguments.values(), strict=True)
        ]
        self._executables: dict[tuple[str, bool], Executable] = {}
        self._plans: dict[object, tuple[Executable, Mapping[str, int], Plan]] = {}
        self._derived: dict[object, Function] = {}
        self._inverses: dict[str, Inverse] = {}
        self._pullbacks: dict[Sequence[str], tuple[Function, Function]] = {}

    @property
    def labels(self) -> list[str]:
        """The names of the results inside of the program, where no two tensors have the same."""
        return [_definition(v).label.data for v in self.program.returned]

    @property
    def labels_of_definitions(self) -> list[str]:
        """The names of all definitions inside of the program, in order."""
        return [d.label.data for d in self.program.definitions]

    # --- calling ---

    def __call__(self, *positional: Any, **named: Any) -> Any:
        results = self.call(positional, named)
        return results[0] if len(results) == 1 else tuple(results)

    @_deep
    def call(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The results as a list, also where there is one."""
        executable, sizes, plan, arrays = self.prepare(positional, named)
        dtypes = executable.argument_dtypes
        with self._located_errors():  # it is compiled when it first runs
            triples = zip(self._parameters, arrays, dtypes, strict=True)
            inputs = {p.name: dense(a, d) for p, a, d in triples}
            return executable.run(inputs, sizes, plan)

    @_deep
    def prepare(
        self, positional: Sequence[Any], named: Mapping[str, Any]
    ) -> tuple[Executable, Mapping[str, int], Plan, list[Array]]:
        """What runs for these arguments, with their sizes, and the arguments as arrays."""
        values = self.bound(positional, named)
        arrays = [as_array(p, v) for p, v in zip(self._parameters, values, strict=True)]
        precision = common_precision(self._parameters, values, arrays)
        with self._located_errors():
            return *self._plan(precision, arrays), arrays

    def memory(self, *positional: Any, **named: Any) -> Memory:
        """What a call with these arguments allocates at its worst moment; it is not run."""
        return memory_of(self, positional, named)

    def pullback_memory(self, *positional: Any, **named: Any) -> PullbackMemory:
        """The same of `tadc.vjp` with these arguments and of its pullback, and what that keeps."""
        return pullback_memory_of(self, positional, named)

    def bound(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The arguments of a call in the order of `args`."""
        return bind(self._parameters, positional, named)

    def executable(self, precision: str, tile: bool = True) -> Executable:
        """The program as code of its target, made when it is first called.

        There is one for each precision, and one without tiles for sizes that turn out small: it
        compiles several times faster. So calls of any number of sizes compile twice at most.
        """
        kind = TARGETS[self.target]
        key = precision, tile and kind.tiles
        if key not in self._executables:
            made = kind(self.program, *key)
            return self._executables.setdefault(key, made)
        return self._executables[key]

    def _plan(
        self, precision: str, arrays: Sequence[Array]
    ) -> tuple[Executable, Mapping[str, int], Plan]:
        key = (precision, *(a.shape for a in arrays))
        known = self._plans.get(key)
        if known is None:
            sizes = self._sizes(arrays)
            tile = total_work(self.program, sizes) > (SMALL if sizes else TINY)
            executable = self.executable(precision, tile)
            if len(self._plans) >= PLANS:
                self._plans.clear()
            known = self._plans[key] = executable, sizes, executable.plan(sizes)
        return known

    def _sizes(self, arrays: Sequence[Array]) -> Mapping[str, int]:
        from tadc.language.check import check_ranges

        shapes = {p.name: a.shape for p, a in zip(self._parameters, arrays, strict=True)}
        try:
            sizes = bind_sizes(self.program, shapes)
        except SizeMismatch as error:
            raise self._size_error(error) from None
        except SizeUnknown as error:
            raise SizeError(
                f"no argument determines the size {error.name}",
                hint=f"declare an argument that has it alone: z: f64[{error.name}]",
                file=_file(self.program),
                size=error.name,
            ) from None
        if sizes:  # numbers were checked when the program was compiled
            check_ranges(self.program, sizes, self._text)
        return sizes

    @property
    def _text(self) -> Source:
        from tadc.language.source import Source

        return Source(self._source, _file(self.program))

    def too_deep(self) -> TadcError:
        """The error about a program that is nested too deeply, at its innermost part."""
        return self._text.too_deep()

    def _size_error(self, error: SizeMismatch) -> TadcError:
        parameter = next(p for p in self._parameters if p.name == error.argument)
        return SizeError(
            f"dimension {error.dimension} of {error.argument} is {error.actual}, "
            f"expected {error.expected}",
            parameter.span,
            _size_hint(error),
            argument=error.argument,
            dimension=error.dimension,
            size=error.actual,
        )

    # --- looking ---

    @_deep
    def __str__(self) -> str:
        from tadc.language.printing.program import print_program

        with self._located_errors(), rarely_collecting:
            return print_program(self.program)

    def __repr__(self) -> str:
        arguments = ", ".join(t.name for t in self.args)
        results = ", ".join(t.name for t in self.results)
        return f"<tadc.Function ({arguments}) -> {results}, target {self.target}>"

    @_deep
    def ir(self, stage: str, mode: str = "reverse") -> str:
        """The program at a stage of the compiler.

        `source` is the language; `derivative` to `simplified` show the derivative program with
        respect to all arguments, in a mode of `tadc derive --mode`, on its way; `scheduled` and
        `code` show this program as loops, and as text of its target.
        """
        match stage:
            case "source":
                return str(self)
            case "tensor-index":
                return str(self.module)
            case "code":
                return self.emit("cuda" if self.target == "cuda" else "llvm")
            case _:
                if stage not in STAGES:
                    raise _unknown("stage", stage, STAGES)
                return str(self.at(stage, mode=mode))

    @_deep
    def at(self, stage: str, wrt: Sequence[str] = (), mode: str = "reverse") -> ModuleOp:
        """The module at a stage from `tensor-index` to `scheduled`, the latter for its target."""
        if stage == "tensor-index":
            return self.module
        if stage == "scheduled":
            return self.scheduled(tile=self.target == "cpu")
        mode = OTHER_WORDS.get(mode, mode)
        if mode not in MODES:
            raise _unknown("mode", mode, MODES)
        inverse = mode in INVERSE_MODES
        passes = inverse_passes(mode, False) if inverse else derivative_passes(wrt, mode=mode)
        names = [name for name, _ in passes]
        return self.transformed([p for _, p in passes[: len(names) - names[::-1].index(stage)]])

    @_deep
    def scheduled(self, tile: bool) -> ModuleOp:
        """The program as loops, in tiles for processors with caches and vectors."""
        return self.transformed([p for _, p in code_passes(tile=tile)])

    @_deep
    def emit(self, kind: str) -> str:
        """The program as text: `source`, `llvm`, `llvm-optimized`, `assembly`, `cuda` or `ptx`."""
        if kind not in EMITTERS:
            raise _unknown("kind of text", kind, tuple(EMITTERS))
        with self._located_errors():
            return EMITTERS[kind](self)

    def with_target(self, target: str) -> Function:
        """The same program for another target."""
        return Function(self.module, self._source, target)

    # --- deriving ---

    def derivative(self, *wrt: str, observe: Sequence[str] = ()) -> Function:
        """The derivative with respect to these arguments, all of them by default.

        A function of the same arguments and of one adjoint `df` per result `f`; its results are
        `dx` for each argument `x`, and then the adjoints of the definitions that `observe` names.
        """
        known = self.labels_of_definitions
        for name in observe:
            if name not in known:
                raise _unknown("definition", name, known)
        return self._derive(wrt, observe=observe)

    def forward(self, *wrt: str, keep_values: bool = False) -> Function:
        """The derivative in the direction of tangents of these arguments, all by default.

        A function of the same arguments and of one tangent `x_dot` for each argument `x` in `wrt`;
        its results are `f_dot` for each result `f`, after the results if these are kept.
        """
        return self._derive(wrt, mode="forward", keep_values=keep_values)

    def gradient(self, *wrt: str) -> Function:
        """The gradient of the only result, a scalar: a function of the same arguments."""
        if len(self.results) != 1 or self.results[0].shape:
            names = ", ".join(f"{t.name}[{', '.join(map(str, t.shape))}]" for t in self.results)
            raise ArgumentError(
                f"a gradient needs one scalar result, not {names}",
                hint="derivative(...) and vjp(...) take adjoints of any results",
            )
        return self._derive(wrt, unit_adjoint=True)

    @_deep
    def with_pullback(self, *wrt: str) -> tuple[Function, Function]:
        """Two functions: one returns the results and then what is saved for the other one, which
        takes the arguments, what was saved and one adjoint per result, and returns the gradients
        by these arguments, by default all. Nothing is saved or computed for others.
        """
        self._check_arguments(wrt)
        if wrt not in self._pullbacks:
            passes = pullback_passes(adjoint_names(self.program), wrt)
            module = self.transformed([p for _, p in passes])
            parts = [op for op in module.ops if isinstance(op, ProgramOp)]
            for part in parts:
                part.detach()
            value, pullback = (
                Function(ModuleOp([part]), self._source, self.target) for part in parts
            )
            self._pullbacks[wrt] = value, pullback
        return self._pullbacks[wrt]

    @_deep
    def _derive(
        self,
        wrt: Sequence[str],
        unit_adjoint: bool = False,
        keep_values: bool = False,
        mode: str = "reverse",
        observe: Sequence[str] = (),
    ) -> Function:
        self._check_arguments(wrt)
        if not self.args:
            raise ArgumentError("the program has no argument to derive with respect to")
        key = tuple(wrt), unit_adjoint, keep_values, mode, False, tuple(observe)
        if key not in self._derived:
            passes = [p for _, p in derivative_passes(*key)]
            self._derived[key] = Function(self.transformed(passes), self._source, self.target)
        return self._derived[key]

    def _check_arguments(self, wrt: Sequence[str]) -> None:
        names = [t.name for t in self.args]
        for name in wrt:
            if name not in names:
                raise _unknown("argument", name, names)

    def transformed(self, passes: Sequence[ModulePass]) -> ModuleOp:
        """What these passes make of a copy of the program."""
        with rarely_collecting:
            result = self.module.clone()
            self.transform(result, passes)
        return result

    @_deep
    def transform(self, module: ModuleOp, passes: Sequence[ModulePass]) -> None:
        """Run passes on a module that was made of the program; errors are about its text."""
        from tadc.support.ir_text import context

        with self._located_errors(), rarely_collecting:
            run_passes(passes, context(), module, timed)

    def part(self, module: ModuleOp) -> Function:
        """A function for a module that was made of the program."""
        return Function(module, self._source, self.target)

    def inverse(self, mode: str) -> Inverse:
        """The program of an inverse mode, made when it is first asked for."""
        from tadc.inverse import Inverse

        if mode not in self._inverses:
            self._inverses[mode] = Inverse(self, mode)
        return self._inverses[mode]

    def span(self, location: LocationAttr) -> Span | None:
        """A place in the program as a place in its text."""
        return self._text.span_at(location)

    def _located_errors(self) -> AbstractContextManager[None]:
        return located_errors(self._source, _file(self.program))

    # --- keeping ---

    @_deep
    def __reduce__(self) -> tuple[Any, ...]:
        from tadc.support.ir_text import module_text

        places = [_place(v.location) for v in self.program.arguments.values()]
        return _restore, (module_text(self.module), self._source, self.target, places)


Place = tuple[str, int, int] | None
"""File, line and column."""


def _restore(text: str, source: str, target: str, places: Sequence[Place]) -> Function:
    """The function; arguments get back their places, which their IR has no text for."""
    from tadc.support.ir_text import parse_module

    module = with_large_stack(lambda: parse_module(text))
    for argument, place in zip(_only_program(module).body.block.args, places, strict=True):
        if place:
            file, line, column = place
            argument.location = FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
    return Function(module, source, target)


def _place(location: LocationAttr) -> Place:
    if not isinstance(location, FileLineColLoc):
        return None
    return location.filename.data, location.line.data, location.column.data


def _size_hint(error: SizeMismatch) -> str:
    """What would fit in place of a size that does not."""
    if error.expected.isdigit():
        return f"the program fixes this size to {error.expected}; a name, like N, takes any size"
    if "=" in error.expected:
        return "sizes of the same name must agree"
    return f"no size makes {error.expected} equal to {error.actual}"


def _file(program: ProgramOp) -> str:
    """The file that the program comes from."""
    from tadc.language.source import PROGRAM

    locations = [program.location, *(d.location for d in program.definitions)]
    return next((place[0] for place in map(_place, locations) if place), PROGRAM)


def _only_program(module: ModuleOp) -> ProgramOp:
    (program,) = (op for op in module.ops if isinstance(op, ProgramOp))
    return program


def _type(tensor: SSAValue) -> TensorType:
    assert isinstance(tensor.type, TensorType)
    return tensor.type


def _definition(tensor: SSAValue) -> DefineOp:
    assert isinstance(tensor.owner, DefineOp)
    return tensor.owner


def _span(location: LocationAttr, source: str) -> Span | None:
    """The place of a name in the text, where it has one."""
    if not isinstance(location, FileLineColLoc):
        return None
    line, column = location.line.data, location.column.data
    lines = source.split("\n")
    if not 0 < line <= len(lines):
        return None
    text = lines[line - 1]
    word = re.compile(r"\w*").match(text, column - 1)
    end = word.end() + 1 if word else column + 1
    return Span(location.filename.data, line, column, end, text)


def _unknown(what: str, name: str, names: Sequence[str]) -> UnknownNameError:
    near = get_close_matches(name, names, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names) or 'none'}"
    return UnknownNameError(f"there is no {what} {name!r}", hint=hint)

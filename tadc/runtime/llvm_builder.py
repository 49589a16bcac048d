"""LLVM IR written as functions of Python: the functions, what runs next in them, and modules.

    @function
    def open_gate(gate: Gate, count: U32) -> None:
        gate.number.fetch_add(1, Order.SEQ_CST)
        with when(gate.sleepers.load(Order.SEQ_CST).differs(0)):
            wake(gate.number, count)         another function: here it adds a call

`module_of(open_gate)` runs the body once: each operation on a value (`llvm_values`) adds an
instruction behind the last one, and `when`, `loop`, `each` and `Block` say what runs next. All
functions and globals that it uses become part of the module.

Code that nothing leads to, and blocks that lead nowhere, raise a `RuntimeError` there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import NoneType
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, get_type_hints

from tadc.once import cached_property
from tadc.runtime.llvm_values import (
    Callee,
    Flag,
    Module,
    Number,
    Place,
    Pointer,
    Row,
    Value,
    builder,
    checked,
    get_class,
    ir,
    kind,
    made,
    open_module,
)

P = ParamSpec("P")
R = TypeVar("R")
V = TypeVar("V", bound=Value)
N = TypeVar("N", bound=Number)
E = TypeVar("E", bound=Pointer)


# --- what runs next -------------------------------------------------------------------------------


class Block:
    """A place in the function that code elsewhere goes to.

    Its code is what follows `begin()`, up to the next jump.
    """

    def __init__(self, name: str) -> None:
        self._function = builder().function
        self.llvm = ir().Block(self._function, name)
        self.is_reached = False

    def go(self) -> None:
        builder().branch(self.reached())

    def go_if(self, flag: Flag) -> None:
        """Go there where this is true, else on."""
        on = Block("on")
        builder().cbranch(checked(flag, Flag), self.reached(), on.reached())
        on.begin()

    def go_unless(self, flag: Flag) -> None:
        """Go there where this is false, else on."""
        on = Block("on")
        builder().cbranch(checked(flag, Flag), on.reached(), self.reached())
        on.begin()

    def reached(self) -> Any:
        """The block as a target."""
        self.is_reached = True
        return self.llvm

    def begin(self) -> None:
        """Let what follows be the code of the block, where the code before has ended."""
        before = open_module.get().builder
        if not before.block.is_terminated:
            raise RuntimeError(f"the block {before.block.name!r} leads nowhere")
        if not self.is_reached:
            raise RuntimeError(f"nothing leads to the block {self.llvm.name!r}")
        self._function.blocks.append(self.llvm)
        before.position_at_end(self.llvm)


def _has_ended() -> bool:
    return open_module.get().builder.block.is_terminated


@contextmanager
def when(flag: Flag) -> Generator[None]:
    """Run what follows if this is true."""
    end = Block("end")
    end.go_unless(flag)
    yield
    if not _has_ended():
        end.go()
    end.begin()


class Loop(NamedTuple):
    """The begin of the next round, and what is behind the loop."""

    again: Block
    end: Block


@contextmanager
def loop() -> Generator[Loop]:
    """Run what follows again and again, until it goes to the end."""
    again, end = Block("again"), Block("end")
    again.go()
    again.begin()
    yield Loop(again, end)
    if not _has_ended():
        again.go()
    if end.is_reached:
        end.begin()


@contextmanager
def each(count: N) -> Generator[tuple[N, Loop]]:
    """Run what follows for 0, 1, ... below the count."""
    place = variable(type(count)(0))
    with loop() as rounds:
        n = place.value
        rounds.end.go_unless(n < count)
        following = Block("following")
        yield n, Loop(following, rounds.end)
        if not _has_ended():
            following.go()
        following.begin()
        place.value = n + 1


def ret(value: Value | None = None) -> None:
    """End the function here, with this result."""
    wanted = builder().function.ftype.return_type
    found = value.llvm.type if value else kind(None)
    if wanted != found:
        raise TypeError(f"expected the result {wanted}, found {found}")
    if value:
        builder().ret(value.llvm)
    else:
        builder().ret_void()


# --- local memory ---------------------------------------------------------------------------------


def variable(value: V) -> Place[V]:
    """A place of the function's own for values of one class, with the first one."""
    place = made(Place[value.type], _allocate(value.llvm.type))
    place.value = value
    return place


def local(type: type[V], align: int | None = None) -> V:
    """A record of the function's own."""
    return made(type, _allocate(get_class(type).stored(type), align))


def row(element: type[E], count: Number, align: int | None = None) -> Row[E]:
    """Places of the function's own, or records, of a number that is known when it gets here."""
    stored = get_class(element).stored(element)
    place = builder().alloca(stored, size=count.llvm)
    place.type, place.align = ir().PointerType(), align
    return made(Row[element], place)


def _allocate(type: Any, align: int | None = None) -> Any:
    """Memory that all rounds of a loop share."""
    entry = builder().function.entry_basic_block
    place = ir().AllocaInstr(entry, type, None, "")
    place.type, place.align = ir().PointerType(), align
    entry.instructions.insert(0, place)
    builder().position_at_end(builder().block)
    return place


# --- functions and modules ------------------------------------------------------------------------


class Function(Generic[P, R]):
    """A function of LLVM IR: to call it adds a call to the one that is being built."""

    def __init__(self, body: Callable[P, R], name: str, linkage: str) -> None:
        self.body: Any = body
        self.name, self._linkage = name, linkage

    def __call__(self, *arguments: P.args, **_: P.kwargs) -> R:
        parameters, result, is_variadic = self._types
        more = [Value] * (len(arguments) - len(parameters) if is_variadic else 0)
        values = [checked(*pair) for pair in zip(arguments, [*parameters, *more], strict=True)]
        return made(result, builder().call(self.llvm(), values))

    def address(self) -> Callee[P]:
        """The address for others to call, where the function returns nothing."""
        parameters, _, _ = self._types
        named = ir().FormattedConstant(ir().PointerType(), self.llvm().get_reference())
        return made(Callee[parameters], named)

    def llvm(self) -> Any:
        """The function in the module, which has it from then on."""
        module = open_module.get()
        if self not in module.known:
            parameters, result, is_variadic = self._types
            type = ir().FunctionType(kind(result), map(kind, parameters), is_variadic)
            module.known[self] = found = ir().Function(module.llvm, type, self.name)
            found.linkage = self._linkage
            if self._linkage != "external":
                module.waiting.append(self._define)
        return module.known[self]

    def _define(self) -> None:
        """Run the body."""
        found, (parameters, _, _) = self.llvm(), self._types
        for name, argument in zip(self.body.__code__.co_varnames, found.args, strict=False):
            argument.name = name
        found.attributes = ir().FunctionAttributes(("nounwind", "uwtable"))
        open_module.get().builder = ir().IRBuilder(found.append_basic_block("begin"))
        result = self.body(*map(made, parameters, found.args))
        if not _has_ended():
            ret(result)
        for target in (t for block in found.blocks for t in block.terminator.operands):
            if isinstance(target, ir().Block) and target not in found.blocks:
                raise RuntimeError(f"the block {target.name!r} has no code")

    @cached_property
    def _types(self) -> tuple[list[Any], Any, bool]:
        """The types of parameters and of the result; and whether the function is variadic."""
        *types, result = get_type_hints(self.body).values()
        fixed = self.body.__code__.co_argcount
        return types[:fixed], None if result is NoneType else result, len(types) > fixed


def function(body: Callable[P, R]) -> Function[P, R]:
    """A function for others of the module."""
    return Function(body, body.__name__, "internal")


def exported(body: Callable[P, R]) -> Function[P, R]:
    """A function that is found by its name."""
    return Function(body, body.__name__, "")


def external(name: str) -> Callable[[Callable[P, R]], Function[P, R]]:
    """A function that is elsewhere, under this name."""
    return lambda body: Function(body, name, "external")


class Global(Generic[V]):
    """Memory of the module, 0 at first; or memory that is elsewhere, if it is `external`."""

    def __init__(self, name: str, type: type[V], linkage: str = "internal", align: int = 16):
        self._name, self._type, self._linkage, self._align = name, type, linkage, align

    def address(self) -> V:
        return made(self._type, self.llvm())

    def llvm(self) -> Any:
        """The memory in the module, which has it from then on."""
        module = open_module.get()
        if self not in module.known:
            stored = get_class(self._type).stored(self._type)
            module.known[self] = found = ir().GlobalVariable(module.llvm, stored, self._name)
            found.linkage, found.align = self._linkage, self._align
            found.type = ir().PointerType()
            if self._linkage != "external":
                found.initializer = ir().Constant(stored, None)
        return module.known[self]


def module_of(*wanted: Function[Any, Any] | Global[Any]) -> Any:
    """The module of these and of all that they use; its `str` is its text."""
    module = Module()
    before = open_module.set(module)
    try:
        for part in wanted:
            part.llvm()
        while module.waiting:
            module.waiting.pop(0)()
    finally:
        open_module.reset(before)
    return module.llvm

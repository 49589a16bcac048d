"""Values of LLVM IR as objects of Python whose types pyright checks: a thin layer over llvmlite.

    class Gate(Record):                      a struct; a value of this class is a pointer to one
        number: Place[U32]
        sleepers: Place[U32]

    gate.sleepers.load(Order.SEQ_CST).differs(0)

Each operation on a value adds an instruction to the function that is being built
(`llvm_builder`). A value of another type than is asked for raises a `TypeError` there.

Integers are signed (`I64`) or not (`U64`), which decides how they are divided, shifted, compared.
Places are ordinary memory by `value`, and atomic by accesses that name a memory order.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from enum import StrEnum
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    get_origin,
    get_type_hints,
)
from typing import get_args as arguments_of

from tadc.once import once
from tadc.support.packages import installed

P = ParamSpec("P")
T = TypeVar("T")
V = TypeVar("V", bound="Value")
N = TypeVar("N", bound="Number")


class Order(StrEnum):
    """The memory order of an atomic access."""

    MONOTONIC = "monotonic"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SEQ_CST = "seq_cst"


@once
def ir() -> Any:
    """The part of llvmlite that makes LLVM IR."""
    return installed("llvmlite.ir", "the target cpu")


class Module:
    """The module that is being made."""

    def __init__(self) -> None:
        self.llvm = ir().Module(context=ir().Context())
        self.builder: Any = None
        """The `IRBuilder` that adds instructions to one of its functions."""
        self.known: dict[object, Any] = {}
        """The functions and globals that it has, as LLVM knows them, and the fields of structs."""
        self.waiting: list[Callable[[], None]] = []
        """Calls that define the functions which are only declared yet."""


open_module: ContextVar[Module] = ContextVar("open_module")


def builder() -> Any:
    """The `IRBuilder` at work; raises `RuntimeError` where what it adds would never run."""
    found = open_module.get().builder
    if found.block.is_terminated:
        raise RuntimeError(f"nothing leads to what follows the block {found.block.name!r}")
    return found


# --- types ----------------------------------------------------------------------------------------


def get_class(type: Any) -> Any:
    """`Place` of `Place[U64]`, and `U64` of itself."""
    return get_origin(type) or type


def kind(type: Any) -> Any:
    """LLVM's type for values of a class, such as `U64` or `Place[U64]`, or for None."""
    return ir().VoidType() if type is None else get_class(type).kind(type)


def made(type: Any, llvm: Any) -> Any:
    """The value of a class that LLVM knows by that name."""
    return None if type is None else get_class(type)(llvm, type)


def checked(value: object, type: Any) -> Any:
    """LLVM's name of a value, or of a number of Python; raises `TypeError` for another type."""
    wanted = get_class(type)
    if isinstance(value, int) and issubclass(wanted, Number):
        return wanted(value).llvm
    found = value.type if isinstance(value, Value) else value
    is_right = isinstance(value, wanted) and arguments_of(type) in ((), arguments_of(found))
    if not (is_right and isinstance(value, Value)):
        raise TypeError(f"expected {type}, found {found}")
    return value.llvm


class Value:
    """A value that machine code computes; `type` is its class, with what it points at."""

    def __init__(self, llvm: Any, type: Any = None) -> None:
        self.llvm, self.type = llvm, type or self.__class__

    def _compared(self, relation: str, other: Self | int) -> Flag:
        signed = isinstance(self, Number) and self.signed
        compare = builder().icmp_signed if signed else builder().icmp_unsigned
        return Flag(compare(relation, self.llvm, checked(other, self.type)))

    def equals(self, other: Self | int) -> Flag:
        return self._compared("==", other)

    def differs(self, other: Self | int) -> Flag:
        return self._compared("!=", other)


def _operation(unsigned: str, signed: str = "") -> Callable[[N, N | int], N]:
    def apply(left: N, right: N | int) -> N:
        add_instruction = getattr(builder(), (left.signed and signed) or unsigned)
        return made(left.type, add_instruction(left.llvm, checked(right, left.type)))

    return apply


class Number(Value):
    """An integer; one of Python is a constant."""

    bits: ClassVar[int]
    signed: ClassVar[bool] = False

    def __init__(self, llvm: Any, type: Any = None) -> None:
        super().__init__(ir().Constant(self.kind(None), llvm) if isinstance(llvm, int) else llvm)

    @classmethod
    def kind(cls, type: Any) -> Any:
        return ir().IntType(cls.bits)

    __add__ = _operation("add")
    __sub__ = _operation("sub")
    __mul__ = _operation("mul")
    __floordiv__ = _operation("udiv", "sdiv")
    __mod__ = _operation("urem", "srem")
    __lshift__ = _operation("shl")
    __rshift__ = _operation("lshr", "ashr")
    __and__ = _operation("and_")
    __or__ = _operation("or_")
    __xor__ = _operation("xor")

    def __lt__(self, other: Self | int) -> Flag:
        return self._compared("<", other)

    def __gt__(self, other: Self | int) -> Flag:
        return self._compared(">", other)

    def to(self, type: type[N]) -> N:
        """The number with as many bits as those of the other class."""
        longer = builder().sext if self.signed else builder().zext
        change = longer if type.bits > self.bits else builder().trunc
        return type(change(self.llvm, type.kind(None)))


class Flag(Number):
    """The answer of a comparison."""

    bits = 1

    def choose(self, yes: V, no: V) -> V:
        """The first value where this is true, else the second one."""
        return made(yes.type, builder().select(self.llvm, yes.llvm, checked(no, yes.type)))


class I32(Number):
    bits, signed = 32, True


class I64(Number):
    bits, signed = 64, True


class U8(Number):
    bits = 8


class U32(Number):
    bits = 32


class U64(Number):
    bits = 64


# --- memory ---------------------------------------------------------------------------------------


class Pointer(Value):
    """An address; the classes that follow say of what."""

    @classmethod
    def kind(cls, type: Any) -> Any:
        return ir().PointerType()

    @classmethod
    def stored(cls, type: Any) -> Any:
        """LLVM's type of what lies there."""
        raise TypeError(f"nothing is known of what lies at {type}")

    @classmethod
    def null(cls) -> Self:
        return cls(ir().Constant(ir().PointerType(), None))

    def exists(self) -> Flag:
        """True unless it is null."""
        null = ir().Constant(ir().PointerType(), None)
        return Flag(builder().icmp_unsigned("!=", self.llvm, null))

    def address(self) -> U64:
        return U64(builder().ptrtoint(self.llvm, U64.kind(None)))

    def plus(self, count: Number) -> Pointer:
        """The address so many bytes later."""
        return Pointer(builder().gep(self.llvm, [count.llvm], source_etype=ir().IntType(8)))

    def as_a(self, record: type[V]) -> V:
        """The address of a record, where it is known to be one."""
        return made(record, self.llvm)

    def element(self, element: Any, *indices: Any) -> Any:
        """The address of a part, as a value of another class."""
        stored = get_class(self.type).stored(self.type)
        return made(element, builder().gep(self.llvm, indices, source_etype=stored))


class Place(Pointer, Generic[V]):
    """The address of one value."""

    @classmethod
    def stored(cls, type: Any) -> Any:
        return kind(*arguments_of(type))

    def __init__(self, llvm: Any, type: Any = None) -> None:
        super().__init__(llvm, type)
        (self._type,) = arguments_of(type)

    @property
    def value(self) -> V:
        return self._made(builder().load(self.llvm, typ=kind(self._type)))

    @value.setter
    def value(self, value: V) -> None:
        builder().store(checked(value, self._type), self.llvm)

    def load(self, order: Order) -> V:
        stored = kind(self._type)
        return self._made(builder().load_atomic(self.llvm, order, stored.width // 8, typ=stored))

    def store(self, value: V | int, order: Order) -> None:
        block, new = builder().block, checked(value, self._type)
        # not `store_atomic`, which asks the pointer for what it points at, as pointers once said
        made = ir().StoreAtomicInstr(block, new, self.llvm, order, new.type.width // 8)
        block.instructions.append(made)
        builder().position_at_end(block)

    def fetch_add(self, value: V | int, order: Order) -> V:
        """Add to the value; returns what it was."""
        return self._changed("add", value, order)

    def fetch_subtract(self, value: V | int, order: Order) -> V:
        """Subtract from the value; returns what it was."""
        return self._changed("sub", value, order)

    def _changed(self, how: str, value: V | int, order: Order) -> V:
        new = checked(value, self._type)
        return self._made(builder().atomic_rmw(how, self.llvm, new, order))

    def replace(self, old: V | int, new: V | int, order: Order) -> Flag:
        """Store the new value where the old one is; true if it was there."""
        values = (checked(value, self._type) for value in (old, new))
        pair = builder().cmpxchg(self.llvm, *values, order, Order.MONOTONIC)
        return Flag(builder().extract_value(pair, 1))

    def _made(self, llvm: Any) -> V:
        return made(self._type, llvm)


class Row(Pointer, Generic[T]):
    """The address of the first of several places or records, one after the other."""

    @classmethod
    def stored(cls, type: Any) -> Any:
        (element,) = arguments_of(type)
        return get_class(element).stored(element)

    def __getitem__(self, n: Number | int) -> T:
        (element,) = arguments_of(self.type)
        return self.element(element, (U64(n) if isinstance(n, int) else n).llvm)


class Callee(Pointer, Generic[P]):
    """The address of a function that returns nothing."""

    def __call__(self, *arguments: P.args, **_: P.kwargs) -> None:
        ((*parameters,),) = arguments_of(self.type)
        called = ir().FormattedConstant(self.llvm.type, self.llvm.get_reference())
        called.function_type = ir().FunctionType(ir().VoidType(), map(kind, parameters))
        values = [checked(*pair) for pair in zip(arguments, parameters, strict=True)]
        builder().call(called, values)


class Record(Pointer):
    """The address of a struct, whose fields the annotations of a class tell, in order.

    A field is a place, a record that lies inside, or `Annotated[Row[...], length]`.
    """

    def __init_subclass__(cls) -> None:
        if taken := [name for name in cls.__annotations__ if hasattr(cls, name)]:
            raise TypeError(f"fields of {cls.__name__} have names of methods: {taken}")

    @classmethod
    def stored(cls, type: Any) -> Any:
        struct = open_module.get().llvm.context.get_identified_type(cls.__name__)
        if struct.is_opaque:
            struct.set_body(*map(_stored, cls._fields().values()))
        return struct

    @classmethod
    def _fields(cls) -> dict[str, Any]:
        known = open_module.get().known
        if cls not in known:
            known[cls] = get_type_hints(cls, include_extras=True)
        return known[cls]

    @classmethod
    def size(cls) -> U64:
        """The bytes of such a struct."""
        return cls.null().element(cls, U64(1).llvm).address()

    def __getattr__(self, name: str) -> Any:
        fields = self._fields()
        if name not in fields:
            raise AttributeError(name)
        field, *length = _with_length(fields[name])
        indices = [0, [*fields].index(name), *(0 for _ in length)]
        return self.element(field, *(U32(n).llvm for n in indices))


def _stored(field: Any) -> Any:
    """LLVM's type of what lies in a field."""
    type, *length = _with_length(field)
    if not length:
        return get_class(type).stored(type)
    return ir().ArrayType(get_class(type).stored(type), *length)


def _with_length(field: Any) -> tuple[Any, ...]:
    return arguments_of(field) if get_origin(field) is Annotated else (field,)

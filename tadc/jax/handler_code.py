"""The machine code of handlers and doors: see `handler`.

The records are those of the header `xla/ffi/api/c_api.h`.
"""

from __future__ import annotations

from typing import Annotated

from tadc.jax.door import DOORS_OF_A_MODULE, NEWEST_MINOR_VERSION, SILENT_MINOR_VERSION
from tadc.runtime.llvm_builder import (
    Function,
    Global,
    each,
    external,
    function,
    module_of,
    ret,
    row,
    variable,
    when,
)
from tadc.runtime.llvm_values import I32, I64, U32, Callee, Flag, Place, Pointer, Record, Row

ABOUT_THE_HANDLER = 1
"""The kind of question that asks for the version of a handler."""


class Door(Record):
    """The way to a plan."""

    function: Place[Callee[Pointer, Row[Place[Pointer]]]]
    record: Place[Pointer]
    count: Place[I64]
    """The number of slots."""
    sources: Place[Row[Place[I64]]]


class Doors(Record):
    """All of a module."""

    doors: Annotated[Row[Door], DOORS_OF_A_MODULE]


class Version(Record):
    """The version of the interface."""

    struct_size: Place[I64]
    extension: Place[Pointer]
    major: Place[U32]
    minor: Place[U32]


class Metadata(Record):
    """The answer of a handler about itself."""

    struct_size: Place[I64]
    version: Version
    traits: Place[U32]


class Library(Record):
    """The functions of XLA."""

    struct_size: Place[I64]
    extension: Place[Pointer]
    version: Version


class Extension(Record):
    """A question."""

    struct_size: Place[I64]
    question: Place[I32]
    next: Place[Pointer]
    metadata: Place[Metadata]


class Buffer(Record):
    """An array."""

    struct_size: Place[I64]
    extension: Place[Pointer]
    dtype: Place[I32]
    elements: Place[Pointer]


class Buffers(Record):
    """Arguments or results."""

    struct_size: Place[I64]
    extension: Place[Pointer]
    count: Place[I64]
    types: Place[Pointer]
    buffers: Place[Row[Place[Buffer]]]


class Frame(Record):
    """A call of a handler."""

    struct_size: Place[I64]
    extension: Place[Extension]
    library: Place[Library]
    context: Place[Pointer]
    stage: Place[I32]
    arguments: Buffers
    results: Buffers


@function
def handle(frame: Frame, door: Door) -> Pointer:
    """Answer a question, or run the plan behind a door."""
    extension = frame.extension.value
    with when(extension.exists()), when(extension.question.value.equals(ABOUT_THE_HANDLER)):
        tell(extension.metadata.value, frame.library.value)
        ret(Pointer.null())
    arguments, results = frame.arguments.buffers.value, frame.results.buffers.value
    run, record = door.function.value, door.record.value
    count, sources = door.count.value, door.sources.value
    addresses = row(Place[Pointer], count)
    with each(count) as (n, _):
        source, address = sources[n].value, variable(Pointer.null())
        with when(source.differs(0)):
            buffers = (source > 0).choose(arguments, results)
            buffer = buffers[magnitude(source, Flag(0)) - 1].value
            address.value = buffer.elements.value
        addresses[n].value = address.value
    run(record, addresses)
    return Pointer.null()


@function
def tell(metadata: Metadata, library: Library) -> None:
    """Tell the version that the library has, up to the latest one that is known here."""
    newest = variable(U32(SILENT_MINOR_VERSION))
    with when(library.exists()):
        newest.value = library.version.minor.value
    metadata.version.major.value = U32(0)
    metadata.version.minor.value = smaller(newest.value, U32(NEWEST_MINOR_VERSION))
    metadata.traits.value = U32(0)


@external("llvm.umin.i32")
def smaller(a: U32, b: U32) -> U32: ...


@external("llvm.abs.i64")
def magnitude(number: I64, is_poison: Flag) -> I64: ...


doors = Global("doors", Doors, linkage="", align=16)


def door(number: int) -> Function[[Frame], Pointer]:
    """The handler of a door."""

    def body(frame: Frame) -> Pointer:
        return handle(frame, doors.address().doors[number])

    return Function(body, f"door.{number}", "")


def handler_code() -> str:
    """The module."""
    return str(module_of(*map(door, range(DOORS_OF_A_MODULE))))

"""Handlers that XLA calls: machine code of this process which runs plans, without Python.

XLA calls a handler with a frame of pointers, which the header `xla/ffi/api/c_api.h` describes
(`jax.ffi.include_dir()` has it). What is behind a handler, XLA does not say: so each plan has a
*door*, a function of its own that adds where its plan lies. Doors are made many at a time, and
filled one by one:

    %Door    the function that runs plans, the record of the plan, the number of its slots, and
             for each slot where the address comes from: argument n of XLA as n, result n as -n,
             both counted from 1, and nowhere as 0

A handler is asked first for the version of the interface that it was made for. Versions 0.x differ
in what they have beyond the fields below, so the answer is that of the library, up to what is known
here. A library that takes only later ones refuses the handler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tadc.once import Lock
from tadc.runtime.cpu import stored_module
from tadc.runtime.native_plan import NativePlan
from tadc.runtime.plan_record import address

NEWEST_MINOR_VERSION = 3
"""The latest version 0.x of the interface in which the fields below were checked."""

SILENT_MINOR_VERSION = 1
"""The version 0.x of libraries that do not tell it when they ask: jaxlib up to 0.7 at least."""

DOORS_OF_A_MODULE = 64

HANDLER = """\
%Door = type { ptr, ptr, i64, ptr }
; size, extension, library, context, stage, arguments, results
%Frame = type { i64, ptr, ptr, ptr, i32, %Buffers, %Buffers }
; size, extension, number, types, buffers
%Buffers = type { i64, ptr, i64, ptr, ptr }
; size, extension, dtype, elements
%Buffer = type { i64, ptr, i32, ptr }
; size, kind, next, and what a handler tells of itself
%Extension = type { i64, i32, ptr, ptr }
; size, extension, major, minor
%Version = type { i64, ptr, i32, i32 }
; size, version, traits
%Metadata = type { i64, %Version, i32 }
; size, extension, version
%Library = type { i64, ptr, %Version }

; of a library that does not show itself in the question
@silent = constant %Library { i64 0, ptr null, %Version { i64 0, ptr null, i32 0, i32 SILENT } }

define internal ptr @handle(ptr %frame, ptr %door) {
start:
  %extension.at = getelementptr %Frame, ptr %frame, i32 0, i32 1
  %extension = load ptr, ptr %extension.at
  %extended = icmp ne ptr %extension, null
  br i1 %extended, label %asked, label %begin
asked:
  %kind.at = getelementptr %Extension, ptr %extension, i32 0, i32 1
  %kind = load i32, ptr %kind.at
  %about.handler = icmp eq i32 %kind, 1
  br i1 %about.handler, label %tell, label %begin
tell:
  %library.at = getelementptr %Frame, ptr %frame, i32 0, i32 2
  %library.given = load ptr, ptr %library.at
  %is.given = icmp ne ptr %library.given, null
  %library = select i1 %is.given, ptr %library.given, ptr @silent
  %newest.at = getelementptr %Library, ptr %library, i32 0, i32 2, i32 3
  %newest = load i32, ptr %newest.at
  %known = call i32 @llvm.umin.i32(i32 %newest, i32 NEWEST)
  %metadata.at = getelementptr %Extension, ptr %extension, i32 0, i32 3
  %metadata = load ptr, ptr %metadata.at
  %major = getelementptr %Metadata, ptr %metadata, i32 0, i32 1, i32 2
  store i32 0, ptr %major
  %minor = getelementptr %Metadata, ptr %metadata, i32 0, i32 1, i32 3
  store i32 %known, ptr %minor
  %traits = getelementptr %Metadata, ptr %metadata, i32 0, i32 2
  store i32 0, ptr %traits
  ret ptr null
begin:
  %arguments.at = getelementptr %Frame, ptr %frame, i32 0, i32 5, i32 4
  %arguments = load ptr, ptr %arguments.at
  %results.at = getelementptr %Frame, ptr %frame, i32 0, i32 6, i32 4
  %results = load ptr, ptr %results.at
  %run = load ptr, ptr %door
  %record.at = getelementptr %Door, ptr %door, i32 0, i32 1
  %record = load ptr, ptr %record.at
  %count.at = getelementptr %Door, ptr %door, i32 0, i32 2
  %count = load i64, ptr %count.at
  %sources.at = getelementptr %Door, ptr %door, i32 0, i32 3
  %sources = load ptr, ptr %sources.at
  %addresses = alloca ptr, i64 %count
  br label %next
next:
  %n = phi i64 [ 0, %begin ], [ %n.next, %found ]
  %more = icmp slt i64 %n, %count
  br i1 %more, label %slot, label %all
slot:
  %source.at = getelementptr i64, ptr %sources, i64 %n
  %source = load i64, ptr %source.at
  %somewhere = icmp ne i64 %source, 0
  br i1 %somewhere, label %look, label %found
look:
  %is.argument = icmp sgt i64 %source, 0
  %number = call i64 @llvm.abs.i64(i64 %source, i1 false)
  %before = sub i64 %number, 1
  %list = select i1 %is.argument, ptr %arguments, ptr %results
  %buffer.at = getelementptr ptr, ptr %list, i64 %before
  %buffer = load ptr, ptr %buffer.at
  %elements.at = getelementptr %Buffer, ptr %buffer, i32 0, i32 3
  %elements = load ptr, ptr %elements.at
  br label %found
found:
  %address = phi ptr [ null, %slot ], [ %elements, %look ]
  %address.at = getelementptr ptr, ptr %addresses, i64 %n
  store ptr %address, ptr %address.at
  %n.next = add i64 %n, 1
  br label %next
all:
  call void %run(ptr %record, ptr %addresses)
  ret ptr null
}
declare i32 @llvm.umin.i32(i32, i32)
declare i64 @llvm.abs.i64(i64, i1)
"""

DOOR = """\
define ptr @door.NUMBER(ptr %frame) {
  %result = tail call ptr @handle(
      ptr %frame, ptr getelementptr (%Door, ptr @doors, i64 NUMBER))
  ret ptr %result
}
"""


def _text() -> str:
    doors = f"@doors = global [{DOORS_OF_A_MODULE} x %Door] zeroinitializer, align 16\n"
    functions = (DOOR.replace("NUMBER", str(n)) for n in range(DOORS_OF_A_MODULE))
    handler = HANDLER.replace("NEWEST", str(NEWEST_MINOR_VERSION))
    handler = handler.replace("SILENT", str(SILENT_MINOR_VERSION))
    return "".join([handler, doors, *functions])


class _Door(ctypes.Structure):
    """`%Door`."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("record", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("sources", ctypes.c_void_p),
    )


class Doors:
    """The handlers of this process. They are never freed: XLA keeps what it was given."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._free: list[tuple[_Door, int]] = []
        self._kept: list[Any] = []

    def handler(self, plan: NativePlan, sources: Sequence[int]) -> int:
        """The address of a new handler that runs a plan, which lives from now on.

        `sources` says where the addresses of the plan's arguments and results come from, in order:
        see `%Door` above.
        """
        words = np.array(sources, np.int64)
        with self._lock:
            if not self._free:
                self._build()
            door, handler = self._free.pop()
            self._kept.append((plan, words))
        door.function, door.record = plan.function, plan.address
        door.count, door.sources = len(words), address(words)
        return handler

    def _build(self) -> None:
        module = stored_module("doors", _text)
        doors = (_Door * DOORS_OF_A_MODULE).from_address(module.address("doors"))
        self._free += [
            (door, module.address(f"door.{n}")) for n, door in reversed(list(enumerate(doors)))
        ]
        module.keep()


doors = Doors()
"""The handlers of this process."""

"""Functions of machine code to run on the team: `machine_code().count` and others are addresses."""

from __future__ import annotations

import ctypes
from functools import cache
from types import SimpleNamespace

from tadc.runtime.cpu import CpuModule
from tadc.runtime.team import team

TEXT = """\
declare void @tadc_region(ptr, ptr, ptr, i64, i64, i64, i64, ptr)

; Add 1 to each of the numbers at %params from %begin to %end.
define void @count(ptr %params, i64 %begin, i64 %end, ptr %stop) {
start:
  br label %look
look:
  %i = phi i64 [ %begin, %start ], [ %next, %add ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %add, label %done
add:
  %at = getelementptr i64, ptr %params, i64 %i
  %old = load i64, ptr %at
  %new = add i64 %old, 1
  store i64 %new, ptr %at
  %next = add i64 %i, 1
  br label %look
done:
  ret void
}

; For each i, a region over the 64 numbers from 64*i of what follows the address of the team.
define void @nested(ptr %params, i64 %begin, i64 %end, ptr %stop) {
start:
  %team = load ptr, ptr %params
  %numbers = getelementptr i64, ptr %params, i64 1
  br label %look
look:
  %i = phi i64 [ %begin, %start ], [ %next, %run ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %run, label %done
run:
  %first = mul i64 %i, 64
  %row = getelementptr i64, ptr %numbers, i64 %first
  call void @tadc_region(ptr %team, ptr @count, ptr %row, i64 0, i64 64, i64 3, i64 7,
                         ptr %stop)
  %next = add i64 %i, 1
  br label %look
done:
  ret void
}

; Run until the word at %stop is not 0; a piece that has begun says so in the number of its index.
define void @until_stopped(ptr %params, i64 %begin, i64 %end, ptr %stop) {
start:
  call void @count(ptr %params, i64 %begin, i64 %end, ptr %stop)
  br label %look
look:
  %word = load volatile i64, ptr %stop
  %stopped = icmp ne i64 %word, 0
  br i1 %stopped, label %done, label %look
done:
  ret void
}

; A region as a function of one argument, the words of its call.
define void @call(ptr %words) {
  %entry.at = getelementptr i64, ptr %words, i64 1
  %params.at = getelementptr i64, ptr %words, i64 2
  %begin.at = getelementptr i64, ptr %words, i64 3
  %end.at = getelementptr i64, ptr %words, i64 4
  %grain.at = getelementptr i64, ptr %words, i64 5
  %pieces.at = getelementptr i64, ptr %words, i64 6
  %stop.at = getelementptr i64, ptr %words, i64 7
  %team = load ptr, ptr %words
  %entry = load ptr, ptr %entry.at
  %params = load ptr, ptr %params.at
  %begin = load i64, ptr %begin.at
  %end = load i64, ptr %end.at
  %grain = load i64, ptr %grain.at
  %pieces = load i64, ptr %pieces.at
  %stop = load ptr, ptr %stop.at
  call void @tadc_region(ptr %team, ptr %entry, ptr %params,
                         i64 %begin, i64 %end, i64 %grain, i64 %pieces, ptr %stop)
  ret void
}
"""

NAMES = ("count", "nested", "until_stopped", "call")


@cache
def machine_code() -> SimpleNamespace:
    """The addresses of the functions above, and `region` as a function of Python."""
    region = team.load().region
    module = CpuModule(TEXT, quick=True)
    word, number = ctypes.c_void_p, ctypes.c_int64
    type = ctypes.CFUNCTYPE(None, *[word] * 3, *[number] * 4, word)
    addresses = {name: module.address(name) for name in NAMES}
    return SimpleNamespace(owner=module, region=type(region), **addresses)

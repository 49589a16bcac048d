"""Two widths of vectors compared: what 512 bits bring over 256, measured in machine code.

Processors with AVX-512 differ: some execute two multiply-adds of 512 bits at a time, others one, or
two halves; then vectors of 256 bits are as fast, and leave less to do twice at the ends of loops.
No table of names tells them apart for long. A loop with more independent multiply-adds than can be
under way at a time takes 2.0 or 1.0 times as long with vectors of 256 bits.

The ratio is kept in the user's cache, so that all processes of a machine agree about it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import takewhile
from time import perf_counter_ns
from typing import Any

from tadc.runtime.llvm_library import llvm
from tadc.support.disk_store import digest, disk_store

INDEPENDENT_SUMS = 16
"""Sums in the loop: latency times ports is 8 to 10, and 32 registers hold twice as many."""

ITERATIONS = 2000
"""Of the loop in one run, which takes about ten microseconds: too short to be interrupted often."""

RUNS = 50
"""Runs of each width, in turn, in one round. The fastest one of all rounds counts."""

ROUNDS = range(5, 50)
"""Rounds: the least, as processors take some time to switch on the upper halves of their vectors;
and the most, until the ratio is one that a processor can have: on busy machines others disturb."""


def speed_of_512_bits(cpu: str, features: str) -> float:
    """The operations per time with vectors of 512 bits, over those with 256, on this machine.

    From the user's cache where it is there; measured, in a few milliseconds, where it is not.
    """
    store = disk_store()
    key = digest("vectors", cpu, features, *_model())  # tells machines apart that share a home
    known: float | None = store.load(key)
    if known is not None:
        return known
    measured = round(_measure(cpu, features), 3)
    first: float = store.save_first(key, measured)
    return first


def _model() -> list[str]:
    """The words of the operating system about the first processor, without what changes."""
    words = ("vendor_id", "cpu family", "model", "stepping")
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            first = takewhile(str.strip, file)
            return [line for line in first if line.startswith(words)]
    except OSError:
        return []


# --- the measurement ------------------------------------------------------------------------------


def _measure(cpu: str, features: str) -> float:
    machine = (
        llvm()
        .Target.from_default_triple()
        .create_target_machine(cpu=cpu, features=features, opt=2, codemodel="jitdefault", jit=True)
    )
    module = llvm().parse_assembly("\n".join(_loop(bits) for bits in (256, 512)))
    engine: Any = llvm().create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p)
    loops = [kind(engine.get_function_address(f"sums_{bits}")) for bits in (256, 512)]
    memory = (ctypes.c_float * (16 * INDEPENDENT_SUMS))()
    fastest = _time(loops, memory)
    for n in range(1, ROUNDS.stop):
        fastest = [min(pair) for pair in zip(fastest, _time(loops, memory), strict=True)]
        if n >= ROUNDS.start and _is_plausible(fastest):
            break
    engine.close()
    return _ratio(fastest)


def _ratio(fastest: Sequence[int]) -> float:
    narrow, wide = fastest
    return 2 * narrow / wide


def _is_plausible(fastest: Sequence[int]) -> bool:
    return any(abs(_ratio(fastest) - ports) < 0.1 for ports in (1, 2))


def _time(loops: Sequence[Callable[..., None]], memory: Any) -> list[int]:
    """The time of the fastest run of each loop in one round, in nanoseconds."""
    turns = ([_time_once(loop, memory) for loop in loops] for _ in range(RUNS))
    return [min(times) for times in zip(*turns, strict=True)]


def _time_once(loop: Callable[..., None], memory: Any) -> int:
    start = perf_counter_ns()
    loop(ITERATIONS, memory)
    return perf_counter_ns() - start


def _loop(bits: int) -> str:
    """`s[n] = x * x + s[n]` for independent s[n], all in registers."""
    vector, numbers = f"<{bits // 32} x float>", range(INDEPENDENT_SUMS)
    phis = [f"%s{n} = phi {vector} [ %x, %start ], [ %t{n}, %loop ]" for n in numbers]
    fma = f"{vector} @llvm.fma.v{bits // 32}f32"
    sums = [f"%t{n} = call {fma}({vector} %x, {vector} %x, {vector} %s{n})" for n in numbers]
    stores = [
        f"%p{n} = getelementptr {vector}, ptr %memory, i64 {n}\n"
        f"store {vector} %t{n}, ptr %p{n}, align 4"
        for n in numbers
    ]
    lines = [
        f"declare {fma}({vector}, {vector}, {vector})",
        f"define void @sums_{bits}(i64 %count, ptr %memory)"
        ' "prefer-vector-width"="512" "min-legal-vector-width"="512" {',
        "start:",
        f"%x = load {vector}, ptr %memory, align 4",
        "br label %loop",
        "loop:",
        "%i = phi i64 [ 0, %start ], [ %next, %loop ]",
        *phis,
        *sums,
        "%next = add i64 %i, 1",
        "%more = icmp slt i64 %next, %count",
        "br i1 %more, label %loop, label %end",
        "end:",
        *stores,
        "ret void",
        "}",
    ]
    return "\n".join(lines)

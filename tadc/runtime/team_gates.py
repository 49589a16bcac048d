"""LLVM IR of gates, at which threads sleep until a number has grown.

The thread that sleeps counts itself first and then compares the number; the one that opens the gate
adds to the number first and then looks for sleepers. All four are sequentially consistent, so one
of the two sees the other, and no opening is missed.

Threads sleep in a futex on Linux and at a condition variable elsewhere, which wakes all that sleep
(docs/decisions/0024-a-team-in-machine-code.md).
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Annotated, NamedTuple

from tadc.runtime.llvm_builder import Global, each, external, function, local, ret, when
from tadc.runtime.llvm_values import I32, U32, U64, Order, Place, Pointer, Record, Row, Value

SPINS = 10_000
"""The looks at a gate of an idle thread, some hundred microseconds in all, before it sleeps: what
Python does between two calls should not cost a wake, which takes tens of them."""

FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call on Linux, by architecture."""

FUTEX_WAIT, FUTEX_WAKE = 128, 129
"""Operations of that call, for words of this process alone."""


class System(NamedTuple):
    """The machine that the code is for."""

    architecture: str
    linux: bool

    @property
    def futex(self) -> int | None:
        return FUTEX.get(self.architecture) if self.linux else None


system: ContextVar[System] = ContextVar("system")


class Gate(Record):
    """A number, and how many threads sleep until it grows; a cache line of its own."""

    number: Place[U32]
    sleepers: Place[U32]
    rest: Annotated[Row[Place[U32]], 14]


@function
def wait(gate: Gate, seen: U32, nanoseconds: U64) -> None:
    """Sleep until the number is not what was seen, or shorter: the caller looks again."""
    gate.sleepers.fetch_add(1, Order.SEQ_CST)
    with when(gate.number.load(Order.SEQ_CST).equals(seen)):
        sleep(gate.number, seen, nanoseconds)
    gate.sleepers.fetch_subtract(1, Order.SEQ_CST)


@function
def rouse(gate: Gate, count: U32) -> None:
    """Wake up to so many sleepers, after the number has grown."""
    with when(gate.sleepers.load(Order.SEQ_CST).differs(0)):
        wake(gate.number, count)


@function
def open_gate(gate: Gate, count: U32) -> None:
    """Let the number grow, and wake up to so many sleepers."""
    gate.number.fetch_add(1, Order.SEQ_CST)
    rouse(gate, count)


@function
def idle(gate: Gate, seen: U32) -> None:
    """Spin for a while until the number is not what was seen, then sleep."""
    with each(U32(SPINS)):
        with when(gate.number.load(Order.ACQUIRE).differs(seen)):
            ret()
        pause()
    wait(gate, seen, U64(0))


def pause() -> None:
    """Let the processor rest while it spins."""
    match system.get().architecture:
        case "x86_64":
            pause_x86()
        case "aarch64" | "arm64":
            pause_arm(U32(15))
        case _:
            pass


@external("llvm.x86.sse2.pause")
def pause_x86() -> None: ...


@external("llvm.aarch64.isb")
def pause_arm(domain: U32) -> None: ...


# --- how threads sleep ----------------------------------------------------------------------------


class Time(Record):
    """`struct timespec` of POSIX."""

    seconds: Place[U64]
    nanoseconds: Place[U64]


@function
def sleep(word: Place[U32], seen: U32, nanoseconds: U64) -> None:
    """Sleep until woken, unless the word is not what was seen; for so long at most, or for ever."""
    if number := system.get().futex:
        time = local(Time)
        time.seconds.value = U64(0)
        time.nanoseconds.value = nanoseconds
        limit = nanoseconds.equals(0).choose(Time.null(), time)
        syscall(U64(number), word, U64(FUTEX_WAIT), seen.to(U64), limit)
    else:
        sleep_in_turn(word, seen, nanoseconds)


@function
def wake(word: Place[U32], count: U32) -> None:
    """Wake so many of those that sleep on a word, or all: they look at their words again."""
    if number := system.get().futex:
        syscall(U64(number), word, U64(FUTEX_WAKE), count.to(U64))
    else:
        lock(mutex.address())
        unlock(mutex.address())
        broadcast(woken.address())


def prepare_gates() -> None:
    """Make ready what threads sleep at."""
    if not system.get().futex:
        mutex_init(mutex.address(), Pointer.null())
        cond_init(woken.address(), Pointer.null())


@function
def sleep_in_turn(word: Place[U32], seen: U32, nanoseconds: U64) -> None:
    """Sleep at the condition variable, which all words share."""
    lock(mutex.address())
    with when(word.load(Order.SEQ_CST).equals(seen)):
        sleep_at_condition(nanoseconds)
    unlock(mutex.address())


@function
def sleep_at_condition(nanoseconds: U64) -> None:
    with when(nanoseconds.equals(0)):
        cond_wait(woken.address(), mutex.address())
        ret()
    time = local(Time)
    clock_gettime(I32(CLOCK_REALTIME), time)
    seconds = time.seconds.value
    rest = time.nanoseconds.value + nanoseconds
    time.seconds.value = seconds + rest // NANOSECONDS_OF_A_SECOND
    time.nanoseconds.value = rest % NANOSECONDS_OF_A_SECOND
    cond_timedwait(woken.address(), mutex.address(), time)


CLOCK_REALTIME = 0
NANOSECONDS_OF_A_SECOND = 1_000_000_000


class Opaque(Record):
    """Room for what the system keeps there."""

    words: Annotated[Row[Place[U64]], 16]


mutex = Global("mutex", Opaque, align=64)
woken = Global("woken", Opaque, align=64)


@external("syscall")
def syscall(number: U64, *arguments: Value) -> U64: ...


@external("pthread_mutex_init")
def mutex_init(mutex: Opaque, attributes: Pointer) -> I32: ...


@external("pthread_mutex_lock")
def lock(mutex: Opaque) -> I32: ...


@external("pthread_mutex_unlock")
def unlock(mutex: Opaque) -> I32: ...


@external("pthread_cond_init")
def cond_init(condition: Opaque, attributes: Pointer) -> I32: ...


@external("pthread_cond_wait")
def cond_wait(condition: Opaque, mutex: Opaque) -> I32: ...


@external("pthread_cond_timedwait")
def cond_timedwait(condition: Opaque, mutex: Opaque, until: Time) -> I32: ...


@external("pthread_cond_broadcast")
def broadcast(condition: Opaque) -> I32: ...


@external("clock_gettime")
def clock_gettime(clock: I32, time: Time) -> I32: ...

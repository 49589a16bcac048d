"""LLVM IR of the deputy: a thread that runs a long call while Python's main thread takes signals.

Python runs the handlers of signals, and so raises `KeyboardInterrupt`, in its main thread only.
"""

from __future__ import annotations

from tadc.runtime.llvm_builder import Block, exported, external, loop, ret, variable, when
from tadc.runtime.llvm_values import I32, I64, U32, U64, Callee, Order, Place, Pointer
from tadc.runtime.team_gates import open_gate, wait
from tadc.runtime.team_state import Team

NANOSECONDS_BETWEEN_SIGNALS = 30_000_000
"""The time that the main thread sleeps before it looks for signals again."""


@exported
def tadc_deputize(team: Team) -> Pointer:
    """Run the calls that are given to the deputy, for ever."""
    with when(team.deputies_begun.fetch_add(1, Order.MONOTONIC).differs(0)):
        ret(Pointer.null())  # an exception came between the beginning of a deputy and its note
    with loop() as looks:
        ended = team.ended.number.load(Order.MONOTONIC)
        given = team.given.number.load(Order.ACQUIRE)
        with when(given.equals(ended)):
            wait(team.given, given, U64(0))
            looks.again.go()
        function, argument = team.function.value, team.argument.value
        function(argument)
        open_gate(team.ended, U32(1))
    return Pointer.null()


@exported
def tadc_supervise(
    team: Team, function: Callee[Pointer], argument: Pointer, stop: Place[U64]
) -> I64:
    """Run function(argument), and return -1 with the exception of a signal, or 0."""
    alone = Block("alone")
    alone.go_unless(team.exists())
    # other threads never run the handlers of signals
    main = team.main.load(Order.MONOTONIC)
    alone.go_unless(own_thread().equals(main))
    # the handler of a signal may have come here while its thread waits for the deputy
    is_there = team.deputies.load(Order.MONOTONIC).differs(0)
    is_free = team.waits.load(Order.MONOTONIC).equals(0)
    alone.go_unless(is_there & is_free)
    team.waits.store(1, Order.MONOTONIC)
    team.function.value = function
    team.argument.value = argument
    ended = team.ended.number.load(Order.MONOTONIC)
    forks = team.forks.load(Order.MONOTONIC)
    result, thread = variable(I64(0)), variable(give_lock())
    open_gate(team.given, U32(1))
    with loop() as waits:
        wait(team.ended, ended, U64(NANOSECONDS_BETWEEN_SIGNALS))
        is_over = team.ended.number.load(Order.ACQUIRE).differs(ended)
        take_lock(thread.value)
        waits.end.go_if(is_over)
        raised = look_for_signals().differs(0)
        with when(team.forks.load(Order.MONOTONIC).differs(forks)):
            # a handler has forked: the deputy is in the other process, so begin again without one
            alone.go_unless(raised)
            ret(I64(-1))
        with when(raised):
            stop.store(1, Order.SEQ_CST)
            waiting = give_lock()
            with loop() as halts:
                wait(team.ended, ended, U64(0))
                halts.end.go_if(team.ended.number.load(Order.ACQUIRE).differs(ended))
            take_lock(waiting)
            result.value = I64(-1)
            waits.end.go()
        thread.value = give_lock()
    team.waits.store(0, Order.MONOTONIC)
    ret(result.value)
    alone.begin()
    waiting = give_lock()
    function(argument)
    take_lock(waiting)
    return I64(0)


@external("pthread_self")
def own_thread() -> U64: ...


@external("PyEval_SaveThread")
def give_lock() -> Pointer:
    """Let others have the interpreter's lock."""
    ...


@external("PyEval_RestoreThread")
def take_lock(thread: Pointer) -> None: ...


@external("PyErr_CheckSignals")
def look_for_signals() -> I32: ...

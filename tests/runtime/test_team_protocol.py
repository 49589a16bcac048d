"""The protocol of the team in all interleavings of its threads, with as small a team as there is.

Each test of a fault shows that the exploration finds what it is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from tadc.runtime import team_deputy, team_gates, team_regions, team_state
from tadc.runtime.llvm_builder import Function, each, function, loop, module_of, ret, when
from tadc.runtime.llvm_values import U32, U64, Order, Pointer
from tadc.runtime.team_gates import Gate, System, idle, open_gate, rouse, sleep, wait
from tadc.runtime.team_regions import NEXT, finish, has_piece, run_piece, take
from tadc.runtime.team_state import Job, Team
from tests.support.interleavings import Call, Memory, Outside, Program, Thread, explore

TEAM, RUN, CALL, COUNTS, STOP = (100_000 * n for n in range(1, 6))
"""Addresses of the team, of functions that regions and the deputy run, and of words for them."""

GATE = 64
CHANGES, HELPERS = TEAM + GATE, TEAM + 4 * GATE
DEPUTIES, WAITS, MAIN = (TEAM + 4 * GATE + 8 * n for n in (2, 3, 4))
"""Addresses of some words of the team."""


@pytest.fixture(autouse=True)
def small_team(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (team_state, team_regions):
        monkeypatch.setattr(module, "SLOTS", 1)
        monkeypatch.setattr(module, "SHARES", 1)
    monkeypatch.setattr(team_gates, "SPINS", 1)


def count(memory: Memory, arguments: Sequence[int]) -> Sequence[int]:
    """The function that regions run: notes that an index has come once more."""
    _, begin, end, _ = arguments
    for index in range(begin, end):
        memory[COUNTS + index] = memory.get(COUNTS + index, 0) + 1
    return [0]


def call_once(memory: Memory, arguments: Sequence[int]) -> Sequence[int]:
    """The function that the deputy runs."""
    memory[COUNTS] = memory.get(COUNTS, 0) + 1
    return [0]


def returns(*results: int) -> Outside:
    return lambda memory, arguments: results


OUTSIDE: dict[str, Outside] = {
    "llvm.x86.sse2.pause": returns(0),
    "llvm.umin.i64": lambda memory, arguments: [min(arguments)],
    "pthread_self": returns(7),
    "PyEval_SaveThread": returns(0),
    "PyEval_RestoreThread": returns(0),
    "PyErr_CheckSignals": returns(0, 1),
}


def module(*functions: Function[Any, Any]) -> Any:
    before = team_gates.system.set(System("x86_64", True))
    try:
        return module_of(*functions)
    finally:
        team_gates.system.reset(before)


def states(
    functions: Sequence[Function[Any, Any]],
    memory: Memory,
    threads: Sequence[Sequence[Call]],
    at_return: Callable[[Memory, Sequence[Thread]], None],
    at_end: Callable[[Memory, Sequence[Thread]], None],
) -> int:
    program = Program(module(*functions), OUTSIDE, {RUN: count, CALL: call_once})
    return explore(program, memory, threads, at_return, at_end)


# --- the table ------------------------------------------------------------------------------------

ROW = re.compile(r"    (\S+) +(\S+) +(monotonic|acquire|release|acq_rel|seq_cst) +(\S+)  ")
RECORDS = {record.__name__: record for record in (Gate, Job, Team)}


def accesses() -> Iterator[tuple[str, str, str, str]]:
    """The word, kind, memory order and function of each atomic access of the code."""
    for body in module(*team_regions.EXPORTS).functions:
        for instruction in (i for block in body.blocks for i in block.instructions):
            order = getattr(instruction, "ordering", None)
            if order:
                kind, _, atomic = instruction.opname.partition(" ")
                place = instruction.operands[kind == "store"]
                kind = kind if atomic else getattr(instruction, "operation", kind)
                yield word(place) or "stop", kind, str(order), body.name


def word(place: Any) -> str:
    """The fields that lead to a place."""
    if getattr(place, "opname", "") != "getelementptr":
        return ""
    outer, record = word(place.pointer), getattr(place.source_etype, "name", "")
    if len(place.indices) < 2:
        return "" if record in RECORDS else outer  # one of several
    field = [*RECORDS[record].__annotations__][place.indices[1].constant]
    return f"{outer or record}.{field}"


def test_the_table_tells_all_atomic_accesses():
    table = [ROW.match(line) for line in (team_state.__doc__ or "").splitlines()]
    assert sorted(row.groups() for row in table if row) == sorted(set(accesses()))


# --- gates ----------------------------------------------------------------------------------------


@function
def pass_gate(gate: Gate) -> None:
    """Wait until the gate has been opened."""
    with loop() as looks:
        looks.end.go_unless(gate.number.load(Order.ACQUIRE).equals(0))
        wait(gate, U32(0), U64(0))


def all_pass(waiting: int, opened_for: int) -> None:
    threads = [[("open_gate", (TEAM, opened_for))], *[[("pass_gate", (TEAM,))]] * waiting]

    def at_end(memory: Memory, threads: Sequence[Thread]) -> None:
        assert all(thread.results for thread in threads), "a thread sleeps for ever"
        assert memory.get(TEAM + 4, 0) == 0, "sleepers are left"

    states((open_gate, pass_gate), {}, threads, lambda memory, threads: None, at_end)


def test_no_opening_is_missed():
    all_pass(waiting=1, opened_for=1)
    all_pass(waiting=2, opened_for=2)
    with pytest.raises(AssertionError, match="for ever"):
        all_pass(waiting=2, opened_for=1)


def looks_first(gate: Gate, count: U32) -> None:
    """Look for sleepers before the number grows."""
    sleepers = gate.sleepers.load(Order.SEQ_CST)
    gate.number.fetch_add(1, Order.SEQ_CST)
    with when(sleepers.differs(0)):
        rouse(gate, count)


def sleeps_uncounted(gate: Gate, seen: U32, nanoseconds: U64) -> None:
    """Sleep without a word to those who open the gate."""
    sleep(gate.number, seen, nanoseconds)


@pytest.mark.parametrize(("where", "fault"), [(open_gate, looks_first), (wait, sleeps_uncounted)])
def test_faults_of_gates_are_found(where: Any, fault: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(where, "body", fault)
    with pytest.raises(AssertionError, match="for ever"):
        all_pass(waiting=1, opened_for=1)


# --- regions --------------------------------------------------------------------------------------


def region(pieces: int) -> Call:
    return "tadc_region", (TEAM, RUN, 0, 0, pieces, 1, pieces, STOP)


REGION, HELP = region(2), ("tadc_help", (TEAM,))


def all_is_done_once(calls: Sequence[Call], helpers: int = 1) -> None:
    """The caller does these calls, and each piece of its regions is done once when they return."""

    def at_return(memory: Memory, threads: Sequence[Thread]) -> None:
        returned = calls[: len(threads[0].results)]
        done = sum(call == REGION for call in returned)
        assert [memory.get(COUNTS + n, 0) for n in range(2)] == [done, done], "not done once"

    def at_end(memory: Memory, threads: Sequence[Thread]) -> None:
        caller, *others = threads
        assert len(caller.results) == len(calls), "the caller sleeps for ever"
        place = TEAM if memory[HELPERS] else CHANGES
        assert {thread.asleep for thread in others} == {place}, "a helper is left"

    functions = team_regions.tadc_region, team_regions.tadc_help, team_regions.tadc_resize
    threads = [calls, *[[HELP]] * helpers]
    states(functions, {HELPERS: helpers}, threads, at_return, at_end)


def test_each_piece_is_done_once():
    all_is_done_once([REGION, REGION])


def test_helpers_rest_and_come_back():
    all_is_done_once([("tadc_resize", (TEAM, 0, 0))])
    all_is_done_once([("tadc_resize", (TEAM, 0, 0)), REGION])
    all_is_done_once([("tadc_resize", (TEAM, 0, 0)), ("tadc_resize", (TEAM, 1, 0))])


def takes_what_it_saw(job: Job, own: U64) -> None:
    """Run the piece that was seen, though another thread may have taken it since."""
    with each(U64(1)) as (n, shares), loop():
        seen = job.shares[n].load(Order.ACQUIRE)
        shares.again.go_unless(has_piece(seen))
        job.shares[n].fetch_add(1, Order.ACQ_REL)
        count = job.count.value
        run_piece(job, seen & NEXT, count)
        done = job.done.number.fetch_add(1, Order.SEQ_CST) + 1
        with when(done.equals(count.to(U32))):
            rouse(job.done, U32(1))
            ret()


def wakes_nobody(job: Job, own: U64) -> None:
    """Leave the caller asleep when the last piece is done."""
    with each(U64(1)) as (n, shares), loop():
        taken = job.shares[n].fetch_add(1, Order.ACQ_REL)
        shares.again.go_unless(has_piece(taken))
        run_piece(job, taken & NEXT, job.count.value)
        job.done.number.fetch_add(1, Order.SEQ_CST)


def does_not_wait(job: Job, count: U32) -> None:
    """Return while others are at work."""


def opens_one_gate(team: Team, helpers: U64, deputies: U64) -> None:
    """Leave those asleep that wait for jobs."""
    team.helpers.store(helpers, Order.SEQ_CST)
    open_gate(team.changes, U32(1))


def looks_late(team: Team) -> Pointer:
    """Look at the number of jobs when it may stand for that of helpers, too."""
    with loop() as work:
        changes = team.changes.number.load(Order.SEQ_CST)
        with when(team.helpers.load(Order.SEQ_CST) > 0):
            seen = team.written.number.load(Order.SEQ_CST)
            take(team.jobs[0], U64(1))
            idle(team.written, seen)
            work.again.go()
        wait(team.changes, changes, U64(0))
    return Pointer.null()


RESIZE = [("tadc_resize", (TEAM, 0, 0))]
REGION_FAULTS = [
    (take, takes_what_it_saw, [REGION], "not done once|for ever"),
    (take, wakes_nobody, [REGION], "for ever"),
    (finish, does_not_wait, [REGION], "not done once"),
    (team_regions.tadc_resize, opens_one_gate, RESIZE, "is left"),
    (team_regions.tadc_help, looks_late, RESIZE, "is left"),
]


@pytest.mark.parametrize(("where", "fault", "calls", "message"), REGION_FAULTS)
def test_faults_of_regions_are_found(
    where: Any, fault: Any, calls: Any, message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(where, "body", fault)
    with pytest.raises(AssertionError, match=message):
        all_is_done_once(calls)


# --- the deputy -----------------------------------------------------------------------------------


def test_a_call_is_run_once_while_signals_come():
    """A handler of a signal may run, and raise, whenever the main thread looks."""
    calls = [("tadc_supervise", (TEAM, CALL, 0, STOP))] * 2
    results: set[int] = set()

    def at_return(memory: Memory, threads: Sequence[Thread]) -> None:
        main, _ = threads
        results.update(main.results)
        assert memory.get(COUNTS, 0) == len(main.results)
        assert memory[WAITS] == 0

    def at_end(memory: Memory, threads: Sequence[Thread]) -> None:
        assert len(threads[0].results) == 2, "the main thread sleeps for ever"

    memory = {MAIN: 7, DEPUTIES: 1}
    threads = [calls, [("tadc_deputize", (TEAM,))]]
    functions = team_deputy.tadc_supervise, team_deputy.tadc_deputize
    states(functions, memory, threads, at_return, at_end)
    assert results == {0, 2**64 - 1}

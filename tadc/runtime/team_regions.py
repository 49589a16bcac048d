"""The machine code of a team of threads, and of regions: loops cut into pieces that threads take.

Threads are of two kinds. *Helpers* take pieces of regions. The *deputy* runs long calls in place of
Python's main thread; it is a caller of regions like any other.

A caller writes its region down as a *job* in one of a few slots, wakes helpers, takes pieces like
them, and waits for the pieces that others have taken. So nobody ever waits for a thread that has
not begun, and what a caller waits for is always deeper in the nesting of regions: no circle. Where
there is no helper and no slot, the job lies on the stack of the caller, who takes all pieces.

    word of a share    end << 32 | next      one addition takes a piece

Each thread has a share of the pieces, side by side, and takes those of others when there is none
left. So a thread finds in the caches of its core what it computed of the same rows before.

End and next piece share one word, because a helper may be late: it sees a piece left, sleeps, and
takes one when this job has ended and the slot holds the next job. It then has a piece of the next
job, by the share of the next job. Everything else in the slot it reads after that, and nobody
changes what a job says while one of its pieces is not done.
"""

from __future__ import annotations

from tadc.runtime.llvm_builder import (
    Global,
    each,
    exported,
    external,
    function,
    local,
    loop,
    module_of,
    ret,
    variable,
    when,
)
from tadc.runtime.llvm_values import (
    U8,
    U32,
    U64,
    Flag,
    Order,
    Place,
    Pointer,
    Record,
)
from tadc.runtime.team_deputy import tadc_deputize, tadc_supervise
from tadc.runtime.team_gates import System, idle, open_gate, prepare_gates, rouse, system, wait
from tadc.runtime.team_state import ALL, SHARES, SLOTS, Entry, Job, Team

# --- jobs -----------------------------------------------------------------------------------------


@function
def take(job: Job, own: U64) -> None:
    """Take pieces of a job until there are none, those of a thread's own share first."""
    with each(U64(SHARES)) as (n, shares):
        share = job.shares[(own + n) & (SHARES - 1)]
        with loop():
            # without writing: most slots that helpers look at are empty
            shares.again.go_unless(has_piece(share.load(Order.ACQUIRE)))
            taken = share.fetch_add(1, Order.ACQ_REL)
            shares.again.go_unless(has_piece(taken))
            count = job.count.value  # as the slot may have the next job once this piece is done
            run_piece(job, taken & NEXT, count)
            done = job.done.number.fetch_add(1, Order.SEQ_CST) + 1
            with when(done.equals(count.to(U32))):
                # the slot may have the next job by now, whose caller looks at its gate once more
                rouse(job.done, U32(1))
                ret()


NEXT = 2**32 - 1
"""The bits of the word of a share that are the next piece."""


def has_piece(word: U64) -> Flag:
    """True if the next piece is ahead of the end."""
    return (word & NEXT) < (word >> 32)


@function
def run_piece(job: Job, piece: U64, count: U64) -> None:
    """Run a piece of a job, unless that is to stop.

    Pieces are cut at cut(c) = begin + (grains * c / count) * grain, the last one at the end.
    """
    stop = job.stop.value
    with when(stop.load(Order.MONOTONIC).equals(0)):
        entry, params = job.entry.value, job.params.value
        begin, end = job.begin.value, job.end.value
        grain, grains = job.grain.value, job.grains.value
        low = begin + grains * piece // count * grain
        following = piece + 1
        cut = begin + grains * following // count * grain
        entry(params, low, following.equals(count).choose(end, cut), stop)


@function
def claim(team: Team) -> Job:
    """A slot for a job that helpers can take pieces of, or null."""
    with when(team.helpers.load(Order.MONOTONIC).differs(0)), each(U64(SLOTS)) as (n, slots):
        job = team.jobs[n]
        slots.again.go_unless(job.owned.load(Order.MONOTONIC).equals(0))
        slots.again.go_unless(job.owned.replace(0, 1, Order.ACQUIRE))
        ret(job)
    return Job.null()


@function
def part(job: Job, count: U64, threads: U64) -> None:
    """Give each thread a share of the pieces. Helpers may take pieces from now on."""
    shares = smaller(threads, U64(SHARES))
    with each(U64(SHARES)) as (n, _):
        first, end = count * n // shares, count * (n + 1) // shares
        word = ((n < shares).choose(end, U64(0)) << 32) | first
        job.shares[n].store(word, Order.RELEASE)


@external("llvm.umin.i64")
def smaller(a: U64, b: U64) -> U64: ...


@function
def finish(job: Job, count: U32) -> None:
    """Wait until all pieces of a job are done."""
    with loop() as looks:
        done = job.done.number.load(Order.ACQUIRE)
        looks.end.go_if(done.equals(count))
        idle(job.done, done)


@exported
def tadc_region(
    team: Team,
    entry: Entry,
    params: Pointer,
    begin: U64,
    end: U64,
    grain: U64,
    pieces: U64,
    stop: Place[U64],
) -> None:
    """Run `entry` over [begin, end), in pieces."""
    own = local(Job, align=64)
    several = pieces > 1
    count = several.choose(pieces, U64(1))
    found = variable(Job.null())
    with when(several & team.exists()):
        found.value = claim(team)
    slot = found.value
    is_shared = slot.exists()
    job = is_shared.choose(slot, own)
    job.done.number.store(0, Order.MONOTONIC)
    job.done.sleepers.store(0, Order.MONOTONIC)
    job.entry.value = entry
    job.params.value = params
    job.begin.value = begin
    job.end.value = end
    job.grain.value = grain
    job.grains.value = (end - begin + grain - 1) // grain
    job.stop.value = stop
    job.count.value = count
    with when(is_shared):
        others, helpers = count - 1, team.helpers.load(Order.MONOTONIC)
        wanted = (others < helpers).choose(others, helpers)
        part(job, count, wanted + 1)
        open_gate(team.written, wanted.to(U32))
        take(job, U64(0))
        finish(job, count.to(U32))
        job.owned.store(0, Order.RELEASE)
        ret()
    part(job, count, U64(1))
    take(job, U64(0))


# --- copies ---------------------------------------------------------------------------------------


class Copy(Record):
    """The addresses of a copy."""

    target: Place[Pointer]
    source: Place[Pointer]


@function
def copy_part(params: Pointer, begin: U64, end: U64, stop: Place[U64]) -> None:
    copy = params.as_a(Copy)
    target, source = copy.target.value.plus(begin), copy.source.value.plus(begin)
    copy_memory(target, source, end - begin, Flag(0))


@external("llvm.memcpy.p0.p0.i64")
def copy_memory(target: Pointer, source: Pointer, count: U64, is_volatile: Flag) -> None: ...


@exported
def tadc_copy(team: Team, target: Pointer, source: Pointer, count: U64) -> None:
    """Copy memory that does not overlap, each thread what its core is likely to have in a cache."""
    copy = local(Copy)
    copy.target.value = target
    copy.source.value = source
    stop = variable(U64(0))
    tadc_region(team, copy_part.address(), copy, U64(0), count, U64(4096), U64(64), stop)


# --- helpers --------------------------------------------------------------------------------------


@exported
def tadc_help(team: Team) -> Pointer:
    """Work on jobs for ever."""
    self = team.helpers_begun.fetch_add(1, Order.MONOTONIC)
    with loop() as work:
        changes = team.changes.number.load(Order.SEQ_CST)
        # ahead of the number of helpers: `tadc_resize` opens both gates when it has changed, so a
        # helper that does not see the change does not sleep at either
        seen = team.written.number.load(Order.SEQ_CST)
        with when(team.helpers.load(Order.SEQ_CST) > self):
            with each(U64(SLOTS)) as (n, _):
                take(team.jobs[n], self + 1)
            idle(team.written, seen)
            work.again.go()
        wait(team.changes, changes, U64(0))
    return Pointer.null()


@exported
def tadc_resize(team: Team, helpers: U64, deputies: U64) -> None:
    """Let so many helpers work, and say how many deputies there are; other helpers rest from their
    next look at the team on."""
    team.helpers.store(helpers, Order.SEQ_CST)
    team.deputies.store(deputies, Order.SEQ_CST)
    open_gate(team.changes, U32(ALL))
    open_gate(team.written, U32(ALL))


@exported
def tadc_reset(team: Team, main: U64) -> None:
    """Make it a team without threads, in a new process whose main thread is given."""
    forks = team.forks.value + 1
    fill_memory(team, U8(0), Team.size(), Flag(0))
    team.forks.value = forks
    team.main.value = main
    prepare_gates()


@external("llvm.memset.p0.i64")
def fill_memory(target: Pointer, byte: U8, count: U64, is_volatile: Flag) -> None: ...


# --- the module -----------------------------------------------------------------------------------


def team_code(architecture: str, linux: bool) -> str:
    """The module of the team, for threads as they are on that machine."""
    before = system.set(System(architecture, linux))
    try:
        return str(module_of(*EXPORTS))
    finally:
        system.reset(before)


EXPORTS = (
    Global("tadc_team", Team, linkage="", align=64),
    tadc_region,
    tadc_copy,
    tadc_help,
    tadc_resize,
    tadc_reset,
    tadc_deputize,
    tadc_supervise,
)
"""All that others find by name."""

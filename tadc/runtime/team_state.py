"""The state of the team in memory, and its protocol: who changes which word, in which order.

A thread is in one of these states, each of which is a loop or a call of that function:

    thread         state     function          goes on when
    helper         looks     take              no share of a slot has a piece left; to the next slot
                   works     run_piece         its piece is done
                   spins     idle              a job was written, or after `SPINS` looks: it sleeps
                   sleeps    wait              a job was written: it looks again
                   rests     wait              the number of helpers has changed
    caller         writes    tadc_region       the job is written, its shares last: it looks
                   looks     take              as above; it works, too
                   waits     finish            all pieces are done: its slot is free again
    deputy         sleeps    wait              a call was given
                   works     tadc_deputize     the call is over
    main thread    waits     tadc_supervise    the call is over; it looks for signals
                   halts     tadc_supervise    the call is over, which its handler has stopped

What they say to each other are the atomic accesses below; a word that is not here is written ahead
of one that is, and read behind it. `acquire` sees what was written ahead of the `release` that it
reads from. `seq_cst` is for two threads that each write one word and then read that of the other:
one of them sees the other. `monotonic` words say nothing of others.

    word                  access   order      function        reason
    Gate.number           add      seq_cst    open_gate       ahead of the look for sleepers
    Gate.sleepers         load     seq_cst    rouse           behind the number, or all would sleep
    Gate.sleepers         add      seq_cst    wait            ahead of the comparison
    Gate.number           load     seq_cst    wait            behind the sleepers, or it sleeps on
    Gate.sleepers         sub      seq_cst    wait            as many as were added
    Gate.number           load     acquire    idle            what the opener did is seen
    Job.owned             load     monotonic  claim           a first look, without writing
    Job.owned             cmpxchg  acquire    claim           the job before is over
    Job.owned             store    release    tadc_region     this job is over
    Job.done.number       store    monotonic  tadc_region     nobody has a piece yet
    Job.done.sleepers     store    monotonic  tadc_region     the caller of this slot sleeps alone
    Job.shares            store    release    part            the job is written
    Job.shares            load     acquire    take            a first look, without writing
    Job.shares            add      acq_rel    take            one piece each; the job is read behind
    Job.done.number       add      seq_cst    take            the piece is done, ahead of sleepers
    Job.done.number       load     acquire    finish          all that pieces wrote is seen
    Team.helpers          load     monotonic  claim           a guess: the job is done either way
    Team.helpers          load     monotonic  tadc_region     a guess, of how many to wake
    Team.helpers_begun    add      monotonic  tadc_help       a number for each helper
    Team.changes.number   load     seq_cst    tadc_help       ahead of the helpers
    Team.written.number   load     seq_cst    tadc_help       ahead of the helpers and the slots
    Team.helpers          load     seq_cst    tadc_help       behind the changes and the jobs
    Team.helpers          store    seq_cst    tadc_resize     ahead of the changes
    Team.deputies         store    seq_cst    tadc_resize     as the helpers
    Team.deputies_begun   add      monotonic  tadc_deputize   only the first one stays
    Team.ended.number     load     monotonic  tadc_deputize   only this thread adds to it
    Team.given.number     load     acquire    tadc_deputize   the function and argument are read
    Team.main             load     monotonic  tadc_supervise  it changes in new processes only
    Team.deputies         load     monotonic  tadc_supervise  the deputy begins and stays
    Team.waits            load     monotonic  tadc_supervise  only the main thread uses it
    Team.waits            store    monotonic  tadc_supervise  only the main thread uses it
    Team.ended.number     load     monotonic  tadc_supervise  no call is under way
    Team.ended.number     load     acquire    tadc_supervise  what the call wrote is seen
    Team.forks            load     monotonic  tadc_supervise  it changes in new processes only
    stop                  store    seq_cst    tadc_supervise  pieces that come later are not run
    stop                  load     monotonic  run_piece       a piece more or less may run

`tests/runtime/test_team_protocol.py` holds this table against the code, and the code against all
interleavings of two or three threads.
"""

from __future__ import annotations

from typing import Annotated

from tadc.runtime.llvm_values import U64, Callee, Place, Pointer, Record, Row
from tadc.runtime.team_gates import Gate

SLOTS = 8
"""The number of regions that helpers can work on at once."""

SHARES = 8
"""The shares that the pieces of a region are in at most; a power of two."""

ALL = 2**31 - 1
"""As many threads as there are."""

Entry = Callee[Pointer, U64, U64, Place[U64]]
"""`void entry(params, begin, end, stop)`."""


class Job(Record):
    """A region."""

    shares: Annotated[Row[Place[U64]], SHARES]
    """A word for each share."""
    count: Place[U64]
    """The number of pieces."""
    done: Gate
    """The number of pieces that are done."""
    owned: Place[U64]
    """1 while a caller has the slot."""
    entry: Place[Entry]
    params: Place[Pointer]
    begin: Place[U64]
    end: Place[U64]
    grain: Place[U64]
    grains: Place[U64]
    stop: Place[Place[U64]]


class Team(Record):
    """The state of the team."""

    written: Gate
    """Jobs written down so far."""
    changes: Gate
    """Changes of the number of helpers."""
    given: Gate
    """Calls given to the deputy."""
    ended: Gate
    """Calls that the deputy has ended."""
    helpers: Place[U64]
    """Helpers that may work."""
    helpers_begun: Place[U64]
    deputies: Place[U64]
    """Deputies that may work, 0 or 1."""
    waits: Place[U64]
    """1 while the main thread waits for the deputy."""
    main: Place[U64]
    """The main thread."""
    forks: Place[U64]
    """Processes that this team was of."""
    function: Place[Callee[Pointer]]
    argument: Place[Pointer]
    deputies_begun: Place[U64]
    rest: Place[U64]
    jobs: Annotated[Row[Job], SLOTS]

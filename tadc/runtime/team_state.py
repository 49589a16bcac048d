"""The state of the team of threads in memory: jobs and gates, and who may change which word."""

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

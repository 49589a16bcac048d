"""Numbers that the machine code of inspectors and its callers agree about."""

from __future__ import annotations

BLOCK = 4096
"""The elements that a check reads before it looks at what it has found."""

BUCKETS = 256
"""The most parts of a range that elements are divided into ahead of sorting: each has a place of
its own to write to, of which the first cache has room for some hundred."""

WORK = (
    *("array", "count", "below", "starts", "places"),
    *("chunks", "shift", "table", "begins", "pairs"),
)
"""The words of `inspector_code.Work`, in order."""

MOST_PIECES = 64
"""The most pieces of an array that threads share: each of some sixteen has several."""

PIECE_COMPARED = 1 << 16
"""The bytes of an array that one thread compares. From two such pieces on, some microseconds, a
comparison gives the interpreter's lock back."""

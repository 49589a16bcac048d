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

FEWEST_BYTES_RELEASED = 1 << 17
"""The bytes of an array from which on a comparison gives the interpreter's lock back."""

"""Numbers that the machine code of plans and its callers agree about: modes, and NumPy's ABI."""

from __future__ import annotations

HELD, RELEASED, SUPERVISED = range(3)
"""The modes of a call, as to the lock of the interpreter: see `plan_runner`."""

FIELDS = {
    "TYPE": 8,
    "DATA": 16,
    "RANK": 24,
    "SHAPE": 32,
    "STRIDES": 40,
    "DTYPE": 56,
    "FLAGS": 64,
}
"""Bytes from the begin of an object of Python, and of a NumPy array, to what is read there."""

C_CONTIGUOUS, ALIGNED = 0x1, 0x100
"""Flags of an array."""

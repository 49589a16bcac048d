"""Handlers that XLA calls: machine code of this process which runs plans, without Python.

XLA calls a handler with a frame of pointers, which the header `xla/ffi/api/c_api.h` describes
(`jax.ffi.include_dir()` has it). What is behind a handler, XLA does not say: so each plan has a
*door*, a function of its own that adds where its plan lies. Doors are made many at a time, and
filled one by one:

    Door     the function that runs plans, the record of the plan, the number of its slots, and
             for each slot where the address comes from: argument n of XLA as n, result n as -n,
             both counted from 1, and nowhere as 0

A handler is asked first for the version of the interface that it was made for. Versions 0.x differ
in what they have beyond the fields below, so the answer is that of the library, up to what is known
here. A library that takes only later ones refuses the handler.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tadc.jax.door import DOORS_OF_A_MODULE
from tadc.once import Lock
from tadc.runtime.cpu import stored_module
from tadc.runtime.native_plan import NativePlan
from tadc.runtime.plan_record import address


def _text() -> str:
    """The machine code, which few processes make themselves: the others import nothing for it."""
    from tadc.jax.handler_code import handler_code

    return handler_code()


class _Door(ctypes.Structure):
    """`Door` of `handler_code`."""

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("record", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("sources", ctypes.c_void_p),
    )


class Doors:
    """The handlers of this process. They are never freed: XLA keeps what it was given."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._free: list[tuple[_Door, int]] = []
        self._kept: list[Any] = []

    def handler(self, plan: NativePlan, sources: Sequence[int]) -> int:
        """The address of a new handler that runs a plan, which lives from now on.

        `sources` says where the addresses of the plan's arguments and results come from, in order:
        see `Door` above.
        """
        words = np.array(sources, np.int64)
        with self._lock:
            if not self._free:
                self._build()
            door, handler = self._free.pop()
            self._kept.append((plan, words))
        door.function, door.record = plan.function, plan.address
        door.count, door.sources = len(words), address(words)
        return handler

    def _build(self) -> None:
        module = stored_module("doors", _text)
        doors = (_Door * DOORS_OF_A_MODULE).from_address(module.address("doors"))
        self._free += [
            (door, module.address(f"door.{n}")) for n, door in reversed(list(enumerate(doors)))
        ]
        module.keep()


doors = Doors()
"""The handlers of this process."""

"""The machine code that runs plans: all steps of a program in one call, from Python or from anyone.

    tadc_run_plan(plan, addresses)     runs a plan on the addresses of its arguments and results
    tadc_call(number, arrays...)       the same as a builtin function of Python, on NumPy arrays
    tadc_call_at(number, numbers...)   and on addresses

A plan is a record in memory (`native_plan` writes it). Each step gets its parameters as 64-bit
words: `word = base + addend`, where the base is 0 (so the word is a size), the address of the
workspace, or that of an argument or result.

    bases      0 | workspace | arguments ... | results ...
    operands   (source, addend), (source, addend), ...      of all steps, one after the other
    steps      code, begin, end, grain, parts, first operand, number of operands

Steps of several parts run on the team of threads (`team`). A call of Python keeps the lock of the
interpreter if it is over at once, gives it back if it takes longer, and lets a thread of the team
run the plan if it takes so long that somebody may want to interrupt it.

`tadc_call` looks into arrays by itself, which takes a tenth of the time that Python needs to ask
for an address: it compares type, dtype, flags and shape with what the plan is made for, and answers
0 where anything differs, for Python to find out what to do. Where the fields of an array lie is
NumPy's ABI, the same in all its versions; `arrays_are_readable` makes sure of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tadc.once import once
from tadc.runtime.cpu import add_python_function, add_symbol, stored_module
from tadc.runtime.plan_layout import ALIGNED, C_CONTIGUOUS, FIELDS
from tadc.runtime.team import team

MOST_WORKSPACE_ON_STACK = 1 << 14
"""Bytes of workspace that a call takes from the stack of its thread."""

PYTHON_FUNCTIONS = (
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
    "PyErr_Occurred",
    "PyLong_AsVoidPtr",
    "PyLong_FromLong",
)


class _MethodDefinition(ctypes.Structure):
    """`PyMethodDef` of Python's C API."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


METH_FASTCALL = 0x80


class Builtin:
    """Machine code that is a builtin function of Python; it is kept as long as its functions."""

    def __init__(self, address: int) -> None:
        self._method = _MethodDefinition(b"call", address, METH_FASTCALL, None)
        new: Any = ctypes.pythonapi.PyCFunction_NewEx
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, *[ctypes.py_object] * 2)
        self._new = new

    def of(self, own: object) -> Callable[..., int]:
        """The function that is given this object beside its arguments."""
        return cast("Callable[..., int]", self._new(ctypes.addressof(self._method), own, "tadc"))


def _text() -> str:
    """The machine code, which few processes make themselves: the others import nothing for it."""
    from tadc.runtime.plan_code import plan_code

    return plan_code()


class PlanRunner:
    """The compiled code above; one lives as long as the process, as threads may be in it."""

    def __init__(self) -> None:
        for name in PYTHON_FUNCTIONS:
            add_python_function(name)
        add_symbol("tadc_ndarray", id(np.ndarray))
        team.load()
        module = stored_module("plan", _text)
        self.address = module.address("tadc_run_plan")
        """The address of `void tadc_run_plan(plan, addresses)`."""
        self._call, self._call_at = map(Builtin, map(module.address, ("tadc_call", "tadc_call_at")))
        module.keep()

    def on_arrays(self, plan: int) -> Callable[..., int]:
        """A function of arrays that runs the plan at this address; 0 where arrays do not fit."""
        return self._call.of(plan)

    def on_addresses(self, plan: int) -> Callable[..., int]:
        """A function of addresses that runs the plan at this address; 0 where there are too few."""
        return self._call_at.of(plan)


@once
def plan_runner() -> PlanRunner:
    """The runner of this process: builtin functions point into it."""
    return PlanRunner()


@once
def arrays_are_readable() -> bool:
    """True if arrays of this NumPy have their fields where the machine code looks for them."""
    array = np.zeros((2, 3), np.float32)

    def field(name: str, kind: Any = ctypes.c_void_p) -> Any:
        return kind.from_address(id(array) + FIELDS[name]).value

    shape, strides = ((ctypes.c_int64 * 2).from_address(field(n)) for n in ("SHAPE", "STRIDES"))
    flags = field("FLAGS", ctypes.c_int)
    return (
        field("TYPE") == id(np.ndarray)
        and field("DATA") == array.ctypes.data
        and field("RANK", ctypes.c_int) == 2
        and tuple(shape) == (2, 3)
        and tuple(strides) == (12, 4)
        and field("DTYPE") == id(array.dtype)
        and bool(flags & C_CONTIGUOUS)
        and bool(flags & ALIGNED)
        and not array.T.flags.c_contiguous
    )

"""Contenders for a workload: tadc in its variants, hand-written C, and rivals that are installed.

A contender's maker takes a workload with arrays and gives calls for the value and for both, or
nothing where it has no such program; `ready` says which makers work on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

import tadc
from benchmarks import hand_written
from benchmarks.hand_written import Unavailable
from benchmarks.workloads.workload import Array, Contender, Workload

Arrays = dict[str, Array]
Maker = Callable[[Workload, Arrays, Array], Contender | None]


def ready(threads: int, names: Sequence[str]) -> tuple[dict[str, Maker], dict[str, str]]:
    """The makers among `names` (all if there are none), and why the others have to be left out.

    Ends the process with a message where a name is not one of a contender.
    """
    makers: dict[str, Maker] = {}
    reasons: dict[str, str] = {}
    for name in names or CONTENDERS:
        if name not in CONTENDERS:
            raise SystemExit(f"no contender is called {name}: {', '.join(CONTENDERS)}")
        try:
            makers[name] = CONTENDERS[name](threads)
        except Unavailable as reason:
            reasons[name] = str(reason)
    return makers, reasons


# --- tadc -----------------------------------------------------------------------------------------


def undeclared(threads: int) -> Maker:
    """The text alone: sizes and precision are those of the arrays."""
    return lambda workload, arrays, dy: _tadc(tadc.compile(workload.free()), arrays, dy)


def declared(threads: int) -> Maker:
    """The text with all sizes as numbers."""
    return lambda workload, arrays, dy: _tadc(tadc.compile(workload.declared(arrays)), arrays, dy)


def _tadc(f: tadc.Function, arrays: Arrays, dy: Array) -> Contender:
    assert [t.name for t in f.args] == list(arrays), "arguments stand in the order of the text"
    values = list(arrays.values())

    def both() -> tuple[Any, Sequence[Any]]:
        y, pullback = tadc.vjp(f, *values)
        return y, pullback(dy)

    return Contender(lambda: f(*values), both)


# --- others ---------------------------------------------------------------------------------------


def in_c(threads: int) -> Maker:
    kernels = hand_written.library(threads)
    return lambda workload, arrays, dy: hand_written.contender(kernels, workload, arrays, dy)


def in_numpy(threads: int) -> Maker:
    def make(workload: Workload, arrays: Arrays, dy: Array) -> Contender:
        values = list(arrays.values())

        def both() -> tuple[Any, Sequence[Any]]:
            y = workload.value(*values)
            return y, workload.gradients(y, dy, *values)

        return Contender(lambda: workload.value(*values), both)

    return make


def in_numba(threads: int) -> Maker:
    """Loops by hand, compiled by numba, of the workloads that have some."""
    nb = _library("numba", "numba")

    def make(workload: Workload, arrays: Arrays, dy: Array) -> Contender | None:
        if workload.numba is None:
            return None
        value, gradients = workload.numba(nb)
        values, y = list(arrays.values()), np.empty_like(dy)
        results = [np.empty_like(a) for a in values]

        def forward() -> Any:
            value(*values, y)
            return y

        def both() -> tuple[Any, Sequence[Any]]:
            value(*values, y)
            gradients(*values, y, dy, *results)
            return y, results

        return Contender(forward, both)

    return make


def in_torch(threads: int, compiled: bool = False) -> Maker:
    """The workload in PyTorch, eagerly or under `torch.compile`; gradients by its autograd."""
    t = _library("torch", "torch")
    t.set_num_threads(threads)

    def make(workload: Workload, arrays: Arrays, dy: Array) -> Contender:
        def f(*tensors: Any) -> Any:
            return workload.torch(t, *tensors)

        if compiled:
            t.compiler.reset()
        run = t.compile(f, fullgraph=True, dynamic=False) if compiled else f
        plain = [t.from_numpy(a) for a in arrays.values()]
        leaves = [t.from_numpy(a).requires_grad_() for a in arrays.values()]
        adjoint = t.from_numpy(dy)

        def value() -> Any:
            with t.no_grad():
                return run(*plain)

        def both() -> tuple[Any, Sequence[Any]]:
            y = run(*leaves)
            return y.detach(), t.autograd.grad(y, leaves, adjoint)

        return Contender(value, both)

    return make


def in_compiled_torch(threads: int) -> Maker:
    return in_torch(threads, compiled=True)


def in_jax(threads: int) -> Maker:
    """The workload under `jax.jit`; gradients by `jax.vjp`."""
    j = _library("jax", "jax")

    def make(workload: Workload, arrays: Arrays, dy: Array) -> Contender:
        def f(*values: Any) -> Any:
            return workload.jax(j, *values)

        def step(values: Sequence[Any], adjoint: Any) -> Any:
            y, pullback = j.vjp(f, *values)
            return y, pullback(adjoint)

        value, both = j.jit(f), j.jit(step)
        values = [j.numpy.array(a) for a in arrays.values()]
        adjoint = j.numpy.array(dy)
        return Contender(
            lambda: j.block_until_ready(value(*values)),
            lambda: j.block_until_ready(both(values, adjoint)),
        )

    return make


def _library(module: str, package: str) -> Any:
    if not find_spec(module):
        raise Unavailable(f"not installed: pip install {package}")
    return import_module(module)


CONTENDERS: Mapping[str, Callable[[int], Maker]] = {
    "C": in_c,
    "tadc": undeclared,
    "tadc declared": declared,
    "NumPy": in_numpy,
    "numba": in_numba,
    "torch": in_torch,
    "torch.compile": in_compiled_torch,
    "jax.jit": in_jax,
}
"""By the name in tables: the number of threads to a maker, or `Unavailable`."""

"""The machine code between XLA and plans."""

from __future__ import annotations

import ctypes
import threading

import numpy as np
import pytest

import tadc

pytest.importorskip("jax", reason="JAX is not installed")

import jax
import jax.numpy as jnp

import tadc.jax
from tadc.jax.door import DOORS_OF_A_MODULE, NEWEST_MINOR_VERSION
from tadc.jax.handler import Doors
from tadc.jax.package import ffi
from tests.support.jax_calls import assert_same


def test_every_plan_has_a_door_of_its_own():
    doors, plans = Doors(), []
    f = tadc.compile("y[i] = s * x[i]\nz = 2 * s")
    for size in range(1, DOORS_OF_A_MODULE + 6):
        plan = f.plan([(), (size,)])
        plans.append((size, doors.handler(plan, [1, 2, -1, -2])))
    assert len({handler for _, handler in plans}) == len(plans)
    for size, handler in plans[:2] + plans[-8:]:
        name = f"test_door_{size}"
        ffi.register_ffi_target(name, ffi.pycapsule(ctypes.c_void_p(handler)), platform="cpu")
        types = jax.ShapeDtypeStruct((size,), np.float64), jax.ShapeDtypeStruct((), np.float64)
        x = np.arange(float(size))
        assert_same(
            ffi.ffi_call(name, types)(np.float64(3), x), (jnp.asarray(3 * x), jnp.array(6.0))
        )


def test_slots_without_an_array_are_null():
    plan = tadc.compile("x: f64[N]\ny[i in range(N)] = 3 * i").plan([(5,)])
    handler = Doors().handler(plan, [0, -1])
    ffi.register_ffi_target("test_null", ffi.pycapsule(ctypes.c_void_p(handler)), platform="cpu")
    found = ffi.ffi_call("test_null", jax.ShapeDtypeStruct((5,), np.float64))()
    np.testing.assert_array_equal(found, 3 * np.arange(5.0))


@pytest.mark.parametrize(
    "library, expected", [(None, 1), (0, 0), (2, 2), (99, NEWEST_MINOR_VERSION)]
)
def test_a_handler_says_the_version_that_it_was_made_for(library: int | None, expected: int):
    """A frame with the question for metadata, as in `xla/ffi/api/c_api.h`, by words of 8 bytes."""
    Words = ctypes.c_int64 * 16
    plan = tadc.compile("y[i] = x[i]").plan([(1,)])
    handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(Doors().handler(plan, [1, -1]))
    metadata, extension, api, frame = Words(), Words(), Words(), Words()
    metadata[3] = -1
    extension[1], extension[3] = 1, ctypes.addressof(metadata)
    frame[1] = ctypes.addressof(extension)
    if library is not None:
        api[4] = library << 32
        frame[2] = ctypes.addressof(api)
    assert handler(ctypes.addressof(frame)) is None
    assert metadata[3] == expected << 32


def test_arrays_may_be_aligned_to_their_elements_only():
    f = tadc.jax.op("y[i] = sum[k](x[i, k])")
    block = np.arange(1 + 64 * 33, dtype=np.float64)
    x = block[1:].reshape(64, 33)
    np.testing.assert_array_equal(f(x), f.function(x))
    np.testing.assert_array_equal(f(jnp.asarray(x)), f.function(x))


def test_calls_leave_the_lock_of_the_interpreter_to_others():
    """Another thread counts while a long call runs, which waits for its result without the lock."""
    f = jax.jit(tadc.jax.op("y = sum[i, j](exp(-x[i] * x[j]))"))
    x = np.linspace(0, 1, 6000)
    f(x).block_until_ready()
    count, over = 0, threading.Event()
    result: list[jax.Array] = []

    def call() -> None:
        result.append(f(x).block_until_ready())
        over.set()

    thread = threading.Thread(target=call)
    thread.start()
    while not over.wait(0.001):
        count += 1
    thread.join()
    assert count > 3

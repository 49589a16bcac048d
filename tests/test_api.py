"""Calling functions from Python: arguments in every form, results, names, threads."""

from __future__ import annotations

import multiprocessing
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import tadc
from tadc.errors import (
    ArgumentError,
    UnknownNameError,
)
from tadc.runtime import compilation
from tadc.runtime.machine import Machine
from tadc.runtime.plan_runner import plan_runner

MATRIX = "c[i, j] = sum[k](a[i, k] * b[k, j])"
RNG = np.random.default_rng(0)
A, B = RNG.uniform(-1, 1, (3, 4)), RNG.uniform(-1, 1, (4, 2))


@pytest.fixture(scope="module")
def product() -> tadc.Function:
    return tadc.compile(MATRIX)


# --- arguments ------------------------------------------------------------------------------------


def test_arguments_come_by_position_or_by_name(product: tadc.Function) -> None:
    for c in (product(A, B), product(A, b=B), product(b=B, a=A)):
        np.testing.assert_allclose(c, A @ B)


def test_arguments_come_in_order_of_declaration_then_of_use() -> None:
    """Declared ones in order of declaration, the others after them in order of first use."""
    f = tadc.compile("z: f64[]\na: f64[N]\nf[i] = y[i] + a[i] * x[i] + z")
    assert [t.name for t in f.args] == ["z", "a", "y", "x"]
    assert [t.name for t in tadc.compile("f[i] = y[i] + a[i]").args] == ["y", "a"]


def misaligned(array: np.ndarray) -> np.ndarray:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    result = memory[1:].view(array.dtype).reshape(array.shape)
    result[...] = array
    assert not result.flags.aligned
    return result


def read_only(array: np.ndarray) -> np.ndarray:
    result = array.copy()
    result.flags.writeable = False
    return result


FORMS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "misaligned": misaligned,
    "broadcast": lambda a: np.broadcast_to(a[:1, :1], a.shape),
}


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("form", FORMS)
def test_any_memory_layout_gives_the_same(form: str, target: str) -> None:
    a, b = FORMS[form](A), FORMS[form](B)
    c, pullback = tadc.vjp(tadc.compile(MATRIX, target), a, b)
    np.testing.assert_allclose(c, np.asarray(a) @ np.asarray(b))
    dc = FORMS[form](np.ones((3, 2)))
    np.testing.assert_allclose(pullback(dc)[0], dc @ np.asarray(b).T)


@pytest.mark.parametrize("shapes", [(0, 4, 2), (3, 0, 2), (3, 4, 0), (0, 0, 0), (1, 1, 1)])
def test_arrays_may_be_empty_or_hold_one_element(
    product: tadc.Function, shapes: tuple[int, int, int]
) -> None:
    n, k, m = shapes
    a, b = np.ones((n, k)), np.ones((k, m))
    c, pullback = tadc.vjp(product, a, b)
    np.testing.assert_array_equal(c, np.full((n, m), float(k)))
    da, db = pullback(np.ones((n, m)))
    np.testing.assert_array_equal(da, np.full((n, k), float(m)))
    np.testing.assert_array_equal(db, np.full((k, m), float(n)))


def test_masked_arrays_without_masked_elements_are_arrays(product: tadc.Function) -> None:
    np.testing.assert_allclose(product(np.ma.masked_invalid(A), B), A @ B)


@pytest.mark.parametrize("scalar", [2, 2.0, np.float64(2), np.array(2.0)])
def test_scalars_come_in_every_form(scalar: object) -> None:
    f = tadc.compile("f[i] = s * x[i]**2")
    x = np.array([1.0, 3.0])
    y, pullback = tadc.vjp(f, scalar, x)
    np.testing.assert_array_equal(y, [2, 18])
    ds, dx = pullback(np.ones(2))
    assert ds.shape == () and ds == 10
    np.testing.assert_array_equal(dx, [4, 12])


def test_a_call_computes_in_the_widest_precision_of_its_arrays() -> None:
    f = tadc.compile("f[i] = s * x[i] / 3")
    x = np.array([1, 2], np.float32)
    assert f(np.float32(1), x).dtype == np.float32
    assert f(np.float32(1), x.astype(np.float64)).dtype == np.float64
    assert f(2, x).dtype == np.float32, "a number of Python has no precision"
    assert f(2.0, x.astype(np.float64)).dtype == np.float64
    assert all(g.dtype == np.float32 for g in tadc.vjp(f, 2.0, x)[1](x))
    np.testing.assert_array_equal(f(1, x), x / np.float32(3))
    declared = tadc.compile("x: f32[N]\nf[i] = x[i] + 1")
    assert declared(x).dtype == np.float32


class Wrapped:
    """Something that is not an array and offers one."""

    def __init__(self, array: np.ndarray):
        self.array = array

    @property
    def __array_interface__(self) -> object:
        return self.array.__array_interface__


def test_the_array_interface(product: tadc.Function) -> None:
    np.testing.assert_allclose(product(Wrapped(A), Wrapped(B)), A @ B)


def test_tensors_of_torch(product: tadc.Function) -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.tensor(A), torch.tensor(B)
    np.testing.assert_allclose(product(a, b.T.contiguous().T), A @ B)
    with pytest.raises(ArgumentError):
        product(a.requires_grad_(), b)


def test_arguments_are_not_written() -> None:
    f = tadc.compile("f[i] = x[i]\ng[i] = f[i] * 2\nreturn g, f")
    x = np.ones(3)
    g, y = f(x)
    y[:] = 7
    g[:] = 8
    np.testing.assert_array_equal(x, 1)


def test_results_of_a_value_and_of_its_pullback_do_not_share_memory() -> None:
    f = tadc.compile("f[i] = exp(x[i])")
    y, pullback = tadc.vjp(f, np.zeros(2))
    y[:] = 100
    np.testing.assert_array_equal(pullback(np.ones(2))[0], 1)


# --- results --------------------------------------------------------------------------------------


def test_several_results_come_in_order() -> None:
    f = tadc.compile("f[i] = x[i] * y\ng = sum[i](x[i])\nh[i] = f[i] * 3\nreturn h, g")
    x = np.array([1.0, 2.0])
    (h, g), pullback = tadc.vjp(f, x, 5.0)
    assert [t.name for t in f.results] == ["h", "g"] and g.shape == () and g == 3
    np.testing.assert_array_equal(h, 15 * x)
    dx, dy = pullback(np.ones(2), 10.0)
    np.testing.assert_array_equal(dx, [25, 25])
    assert dy == 9
    with pytest.raises(ArgumentError, match="2 adjoints: dh, dg"):
        pullback(np.ones(2))


def test_unused_arguments_have_gradients_of_zeros() -> None:
    f = tadc.compile("x: f64[3]\ny: f64[2, 2]\nf[i] = 2 * x[i]")
    _, pullback = tadc.vjp(f, np.ones(3), np.ones((2, 2)))
    dx, dy = pullback(np.ones(3))
    np.testing.assert_array_equal(dx, [2, 2, 2])
    np.testing.assert_array_equal(dy, np.zeros((2, 2)))


def test_programs_without_arguments_have_pullbacks_without_gradients() -> None:
    y, pullback = tadc.vjp(tadc.compile("y[i in range(3)] = 0.5 * i"))
    np.testing.assert_array_equal(y, [0, 0.5, 1])
    assert pullback(np.ones(3)) == ()


def test_grad_is_the_pullback_of_one() -> None:
    loss = tadc.compile("loss = sum[i](a[i]**2 * b[i])")
    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    da, db = tadc.grad(loss)(a, b)
    np.testing.assert_array_equal(da, 2 * a * b)
    np.testing.assert_array_equal(db, a**2)
    np.testing.assert_array_equal(tadc.grad(loss, "b")(a, b), a**2)
    db, da = tadc.grad(loss, ("b", "a"))(a=a, b=b)
    np.testing.assert_array_equal(da, 2 * a * b)
    with pytest.raises(ArgumentError, match="one scalar result"):
        tadc.grad(tadc.compile(MATRIX))
    with pytest.raises(UnknownNameError, match="'c'"):
        tadc.grad(loss, "c")


def test_what_lies_between_has_a_size_of_its_own() -> None:
    """The size of `u` is that of no argument and no result."""
    loss = tadc.compile("u[i in range(N - 1)] = x[i + 1] * x[i]\ns = sum[i](u[i]**2)\nx: f64[N]")
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(tadc.grad(loss)(x), [8, 4 + 36, 24])


def test_derivatives_of_derivatives() -> None:
    f = tadc.compile("f[i] = a[i]**3")
    first = f.derivative("a")
    assert [t.name for t in first.args] == ["a", "df"]
    assert [t.name for t in first.results] == ["da"]
    second = first.derivative("a", "df")
    assert [t.name for t in second.args] == ["a", "df", "dda"]
    a, df, dda = np.full(2, 2.0), np.full(2, 3.0), np.ones(2)
    np.testing.assert_allclose(second(a, df, dda)[0], 6 * a * df)
    np.testing.assert_allclose(second(a, df, dda)[1], 3 * a**2)


def test_printed_derivatives_compile_to_the_same() -> None:
    f = tadc.compile(MATRIX)
    g = f.derivative()
    again = tadc.compile(str(g))
    inputs = [A, B, np.ones((3, 2))]
    for x, y in zip(g(*inputs), again(*inputs), strict=True):
        np.testing.assert_array_equal(x, y)
    h, repeated = g.derivative("a"), again.derivative("a")
    adjoints = [np.ones_like(t) for t in g(*inputs)]
    np.testing.assert_allclose(h(*inputs, *adjoints), repeated(*inputs, *adjoints))


# --- names ----------------------------------------------------------------------------------------


NAMES = (
    *("df", "da", "df_1", "ddf", "int", "double", "while_", "register", "main", "y0", "exp2"),
    *("j0", "printf", "blockIdx", "threadIdx", "memref", "N", "f_sum", "ρ", "größe", "变量"),
    *("program", "fma", "NULL", "INFINITY", "extent", "entry"),
)


@pytest.mark.parametrize(("name", "other"), list(pairwise((*NAMES, NAMES[0]))))
def test_names_of_any_language_work(name: str, other: str) -> None:
    """Names of C, of its library and of generated things are fine, for arguments and results."""
    a = np.array([0.5, 0.25])
    f = tadc.compile(f"{name}[i] = exp(-sum[k]({other}[k]) * a[i])\nf[i] = {name}[i]")
    y, pullback = tadc.vjp(f, a, a)
    np.testing.assert_allclose(y, np.exp(-0.75 * a))
    derivative = f.derivative()
    assert len({t.name for t in derivative.args}) == 3
    for g, wanted in zip(pullback(np.ones(2)), gradients(f, a), strict=True):
        np.testing.assert_allclose(g, wanted)
    assert "__global__" in derivative.emit("cuda")
    again = pickle.loads(pickle.dumps(derivative))
    np.testing.assert_allclose(again(a, a, np.ones(2))[0], pullback(np.ones(2))[0])


def gradients(f: tadc.Function, a: np.ndarray) -> list[np.ndarray]:
    """Of `exp(-sum(x) * a)` with `x = a`, in the order of the arguments."""
    y = np.exp(-0.75 * a)
    found = {"a": -0.75 * y, "other": np.full(2, -np.sum(a * y))}
    return [found["a" if t.name == "a" else "other"] for t in f.args]


# --- threads, processes ---------------------------------------------------------------------------


def test_threads_may_share_a_function() -> None:
    f = tadc.compile("f[i] = exp(x[i]) * 2")

    def work(n: int) -> bool:
        x = np.arange(float(n % 100 + 1)) / 100
        y, pullback = tadc.vjp(f, x)
        return np.allclose(y, 2 * np.exp(x)) and np.allclose(pullback(np.ones_like(x))[0], y)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(800)))


def test_large_arrays_use_all_cores_from_several_threads() -> None:
    f = tadc.compile("f[i] = x[i] * 2 + 1")
    x = np.arange(300_000.0)
    with ThreadPoolExecutor(8) as pool:
        for y in pool.map(lambda n: f(x + n), range(32)):
            assert y[1] - y[0] == 2 and y[-1] == y[0] + 2 * (len(x) - 1)


def test_pickle_with_indices_that_are_not_ascii() -> None:
    f = tadc.compile("f[α, β] = sum[κ](a[α, κ] * b[κ, β])")
    again = pickle.loads(pickle.dumps(f.derivative("a")))
    np.testing.assert_allclose(again(A, B, np.ones((3, 2))), np.ones((3, 2)) @ B.T)


def test_a_pickled_function_is_the_same(product: tadc.Function) -> None:
    for f in (product, product.derivative("b"), tadc.compile(MATRIX, "interpret")):
        again = pickle.loads(pickle.dumps(f))
        assert (again.target, again.args, again.results) == (f.target, f.args, f.results)
        inputs = [A, B, np.ones((3, 2))][: len(f.args)]
        np.testing.assert_array_equal(again(*inputs), f(*inputs))
        with pytest.raises(ArgumentError) as error:
            again(A)
        assert error.value.line == 1


def _forked(queue: multiprocessing.Queue[float], f: tadc.Function, x: np.ndarray) -> None:
    queue.put(float(f(x)[-1]))
    queue.put(float(f.derivative("x")(x, np.ones_like(x))[-1]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_use_after_a_fork() -> None:
    f = tadc.compile("f[i] = x[i] * 3")
    x = np.arange(200_000.0)  # large enough for threads, which a fork does not copy
    assert f(x)[-1] == 3 * x[-1]
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_forked, args=(queue, f, x))
    child.start()
    assert queue.get(timeout=60) == 3 * x[-1] and queue.get(timeout=60) == 3
    child.join(60)
    assert child.exitcode == 0


def test_sizes_do_not_compile_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan_runner()  # what runs plans is compiled with the first of them
    compiled: list[bool] = []
    object_of = compilation.object_of

    def counted(text: str, quick: bool, m: Machine) -> bytes:
        compiled.append(quick)
        return object_of(text, quick, m)

    monkeypatch.setattr(compilation, "object_of", counted)
    f = tadc.compile("y[i, j] = sum[k](a[i, k] * b[k, j])")
    shapes = [(0, 0, 0), (0, 2, 3), (2, 0, 3), (2, 3, 0), (1, 1, 1)]
    shapes += [(n, 1 + n % 7, 2 * n) for n in range(1, 10)]
    rng = np.random.default_rng(0)
    for n, m, k in shapes:
        a, b = rng.normal(size=(n, k)), rng.normal(size=(k, m))
        np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-12, atol=1e-12)
    assert compiled == [True]
    a, b = rng.normal(size=(128, 128)), rng.normal(size=(128, 128))
    for _ in range(2):  # large sizes are worth code with tiles, made once
        np.testing.assert_allclose(f(a, b), a @ b, rtol=1e-12, atol=1e-12)
    f(a[:5, :6], b[:6, :7])
    assert compiled == [True, False]
    f(a[:5, :6].astype(np.float32), b[:6, :7].astype(np.float32))
    assert compiled == [True, False, True]

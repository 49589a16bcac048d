"""Operations: what they compute equals what functions do on NumPy, to any order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tadc
from tadc.frameworks.operation import Operation
from tadc.function import Function
from tadc.passes.derive.batch import BatchPass

Arrays = Sequence[np.ndarray]

CONVOLUTION = "y[i] = sum[k](w[k] * x[2*i + k])"
TWO = "y[i] = exp(sum[k](a[i + k] * x[k]))\nz[i] = sum[k](x[k]**2) * y[i]\nreturn y, z"


def run(operation: Operation, arrays: Arrays) -> list[np.ndarray]:
    """The results on dense arrays, by their addresses alone; those of unread arguments are 0."""
    dtypes = ["f32" if a.dtype == np.float32 else "f64" for a in arrays]
    precision = operation.precision(dtypes)
    plan = operation.plan([a.shape for a in arrays], precision)
    results = [np.empty(t.shape, t.dtype) for t in plan.results]
    addresses = [0 if n in operation.unread else a.ctypes.data for n, a in enumerate(arrays)]
    plan.run(*addresses, *(r.ctypes.data for r in results))
    assert [str(r.dtype) for r in results] == [
        {"f32": "float32", "f64": "float64"}[d] for d in operation.result_dtypes(precision)
    ]
    return results


def operation_of(source: str) -> Operation:
    return Operation.of(tadc.compile(source))


@pytest.fixture
def arrays() -> Arrays:
    numbers = np.random.default_rng(0)
    return [numbers.uniform(0.5, 1, 3), numbers.uniform(0.5, 1, 9)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_are_those_of_the_function(arrays: Arrays, dtype: str) -> None:
    given = [a.astype(dtype) for a in arrays]
    f = tadc.compile(CONVOLUTION)
    (found,) = run(Operation.of(f), given)
    assert np.array_equal(found, f(*given))


def test_one_program_is_one_operation() -> None:
    assert operation_of(CONVOLUTION) is operation_of(CONVOLUTION)
    assert operation_of(CONVOLUTION) != operation_of(TWO)


def test_a_function_that_is_defined_again_is_another_operation() -> None:
    tadc.define_function("bend", "x", value="x * x", derivative="2 * x")
    first = operation_of("y[i] = bend(x[i])")
    tadc.define_function("bend", "x", value="x * x * x", derivative="3 * x * x")
    second = operation_of("y[i] = bend(x[i])")
    assert first.key != second.key
    (x,) = [np.full(4, 2.0)]
    assert [float(run(o, [x])[0][0]) for o in (first, second)] == [4, 8]


def test_gradients_are_those_of_the_pullback(arrays: Arrays) -> None:
    y, pullback = tadc.vjp(tadc.compile(CONVOLUTION), *arrays)
    split = operation_of(CONVOLUTION).split((0, 1), [a.shape for a in arrays])
    computed = run(split.value, arrays)
    assert np.array_equal(computed[0], y)
    adjoint = np.ones_like(y)
    found = run(split.pullback, [*arrays, *(computed[n] for n in split.kept), adjoint])
    for a, b in zip(found, pullback(adjoint), strict=True):
        assert np.array_equal(a, b)


def test_a_pullback_is_derived_by_its_meaning() -> None:
    numbers = np.random.default_rng(1)
    x, direction = numbers.uniform(0.5, 1, (2, 4))
    a, dy, dz = numbers.uniform(0.5, 1, 7), *numbers.uniform(0.5, 1, (2, 4))
    whole = operation_of(TWO)
    split = whole.split((0, 1))
    computed = run(split.value, [a, x])
    kept = [computed[n] for n in split.kept]
    given = [a, x, *kept, dy, dz]
    derived = split.pullback.forward((1,))
    assert derived
    tangents = run(derived.operation, [*(given[n] for n in derived.inputs), direction])
    reverse = tadc.compile(TWO).derivative()
    step = 1e-6
    for n, tangent in enumerate(tangents):
        ahead, behind = (reverse(a, x + h * direction, dy, dz)[n] for h in (step, -step))
        assert np.allclose(tangent, (ahead - behind) / (2 * step), rtol=1e-8)


def test_results_may_have_no_adjoint() -> None:
    numbers = np.random.default_rng(3)
    a, x, dz = numbers.uniform(0.5, 1, 7), *numbers.uniform(0.5, 1, (2, 4))
    derived = operation_of(TWO).reverse((1,), (1,))
    assert derived
    (found,) = run(derived.operation, [a, x, dz])
    expected = tadc.compile(TWO).derivative("x")(a, x, np.zeros(4), dz)
    assert np.allclose(found, expected, rtol=1e-14)


def test_arguments_that_only_give_sizes_are_unread() -> None:
    whole = operation_of("y[i] = 2 * x[i] + a[i] * a[i]")
    by_x, by_a = whole.reverse((0,), (0,)), whole.reverse((1,), (0,))
    assert by_x and by_x.operation.unread == {0, 1}
    assert by_a and by_a.operation.unread == {0}


def test_kept_values_have_no_derivative() -> None:
    split = operation_of(TWO).split((0, 1))
    assert split.kept
    kept = tuple(range(2, 2 + len(split.kept)))
    assert split.pullback.forward(kept) is None
    assert split.pullback.reverse(kept, (0, 1)) is None


def test_what_decides_the_precision_is_read() -> None:
    assert operation_of("x: real[N]\ny[i in range(N)] = 2 * i").unread == frozenset()


def test_the_listing_has_no_declarations() -> None:
    assert repr(operation_of("x: f64[3]\ny[i] = 2 * x[i]")) == "y[i] = 2 * x[i]; return y"


def test_batches_are_made_of_slices(arrays: Arrays) -> None:
    w, x = arrays
    batch = np.stack([x, 2 * x])
    batched = operation_of(CONVOLUTION).batched((1,))
    assert (batched.arguments, batched.results) == ((False, True), (True,))
    (found,) = run(batched.operation, [w, batch])
    f = tadc.compile(CONVOLUTION)
    assert np.array_equal(found, np.stack([f(w, slice) for slice in batch]))


def test_batched_pullbacks_are_derived_by_their_meaning() -> None:
    """Though only the adjoints are batched, all gradients are: also those that do not read them."""
    numbers = np.random.default_rng(2)
    a, x, direction = numbers.uniform(0.5, 1, 7), *numbers.uniform(0.5, 1, (2, 4))
    dy, dz = numbers.uniform(0.5, 1, (2, 3, 4))
    whole = operation_of(TWO)
    split = whole.split((0, 1))
    computed = run(split.value, [a, x])
    given = [a, x, *(computed[n] for n in split.kept), dy, dz]
    count = len(split.pullback.names)
    batched = split.pullback.batched((count - 2, count - 1))
    assert all(batched.results)
    derived = batched.operation.forward((1,))
    assert derived
    tangents = run(derived.operation, [*(given[n] for n in derived.inputs), direction])
    forward = tadc.compile(TWO).derivative().forward("x")
    for n in range(3):
        expected = forward(a, x, dy[n], dz[n], direction)
        for tangent, wanted in zip(tangents, expected, strict=True):
            assert np.allclose(tangent[n], wanted, rtol=1e-13)


def test_results_that_depend_on_no_batched_argument_may_be_batched() -> None:
    f = tadc.compile("y[i] = 2 * x[i]\nz[i] = 3 * w[i]\nreturn y, z")
    (program,) = f.program.derive([BatchPass(("x",), ("z",))])
    x, w = np.arange(6.0).reshape(3, 2), np.arange(2.0)
    y, z = Function(program, "cpu")(x, w)
    assert np.array_equal(y, 2 * x) and np.array_equal(z, np.stack([3 * w] * 3))

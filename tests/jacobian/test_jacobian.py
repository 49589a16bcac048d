"""Jacobians and Hessians as users meet them: matrices, patterns, texts, errors."""

from __future__ import annotations

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import spsolve

import tadc
from tadc.errors import ArgumentError, SizeError, UnknownNameError
from tadc.passes.index_sets import band_flow

LAPLACIAN = "u: f64[N]\nr[i] = pad(u[i - 1]) - 2*u[i] + pad(u[i + 1]) - u[i]**3"


def test_a_stencil_has_three_diagonals() -> None:
    jacobian = tadc.compile(LAPLACIAN).jacobian("u")
    u = np.arange(1.0, 6.0)
    matrix = jacobian(u)
    assert isinstance(matrix, sparse.csr_array)
    assert matrix.nnz == 13
    expected = np.eye(5, k=1) + np.eye(5, k=-1) - np.diag(2 + 3 * u**2)
    np.testing.assert_allclose(matrix.toarray(), expected, rtol=1e-15)
    np.testing.assert_array_equal(
        jacobian.pattern(N=4).toarray(), abs(np.eye(4)) + np.eye(4, k=1) + np.eye(4, k=-1) > 0
    )


def test_explicit_zeros_are_entries() -> None:
    jacobian = tadc.compile("y[i] = w[i] * x[i]").jacobian("x")
    matrix = jacobian(np.array([0.0, 2.0]), np.ones(2))
    assert matrix.nnz == 2 and matrix.data.tolist() == [0, 2]


PATTERNS = [
    ("y[i] = x[N - 1 - i]", 4, "0,3 1,2 2,1 3,0"),
    ("y[i] = x[i] * x[N - 1 - i]", 3, "0,0 0,2 1,1 2,0 2,2"),
    ("y[i in range(2*N)] = x[i // 2]", 2, "0,0 1,0 2,1 3,1"),
    ("y[i in range(N)] = x[(i + 1) % N]", 3, "0,1 1,2 2,0"),
    ("y[i in range(N)] = sum[k](x[k] if 2*k == i else 0)", 5, "0,0 2,1 4,2"),
    ("y[i in range(N)] = sum[k](x[k] if k < i else 0)", 3, "1,0 2,0 2,1"),
    ("y[i in range(N)] = sum[k](x[k] if k != i else 0)", 3, "0,1 0,2 1,0 1,2 2,0 2,1"),
    ("y[i in range(2)] = sum[k in range(2)](x[6*i + 4*k])", 11, "0,0 0,4 1,6 1,10"),
    ("s = sum[i](x[i])\ny[i] = s + x[i]", 2, "0,0 0,1 1,0 1,1"),
    ("z[i] = sin(x[i])\ny[i in range(N - 1)] = z[i] * z[i + 1]", 3, "0,0 0,1 1,1 1,2"),
    ("y = max[i](x[i])", 2, "0,0 0,1"),
    ("y[i] = x[i] if x[i] > 0 else 0", 2, "0,0 1,1"),
    ("y[i] = sign(x[i])", 2, ""),
    ("x[i] += 1", 2, "0,0 1,1"),
    ("y[i in range(N)] = x[clamp(i - 1)]", 3, "0,0 1,0 2,1"),
    ("y[i] = x[i]", 0, ""),
]


@pytest.mark.parametrize("line, size, entries", PATTERNS)
def test_patterns_derived_by_hand(line: str, size: int, entries: str) -> None:
    jacobian = tadc.compile(f"x: f64[N]\n{line}", target="interpret").jacobian("x")
    found = sparse.coo_array(jacobian.pattern(N=size))
    pairs = zip(found.row.tolist(), found.col.tolist(), strict=True)
    assert " ".join(f"{row},{column}" for row, column in pairs) == entries


def test_elements_are_numbered_in_c_order() -> None:
    jacobian = tadc.compile("y[i, j] = x[j, i, i]").jacobian("x")
    x = np.zeros((2, 3, 3))
    matrix = jacobian(x)
    assert matrix.shape == (6, 18)
    for i, j in np.ndindex(3, 2):
        assert matrix[2 * i + j, np.ravel_multi_index((j, i, i), x.shape)] == 1
    assert matrix.nnz == 6


def test_numbers_have_matrices_too() -> None:
    square = tadc.compile("x: f64[]\ny = x**2")
    assert square.jacobian("x")(3.0).toarray().tolist() == [[6.0]]
    assert square.hessian("x")(3.0).toarray().tolist() == [[2.0]]


def test_several_results_come_by_name_or_one_of_them() -> None:
    f = tadc.compile("x: f64[N]\ny[i] = x[i]**2\ns = sum[i](x[i])\nc = 2\nreturn y, s, c")
    x = np.arange(3.0)
    found = f.jacobian("x")(x)
    np.testing.assert_array_equal(found.y.toarray(), np.diag(2 * x))
    assert found.s.toarray().tolist() == [[1, 1, 1]]
    assert found.c.shape == (1, 3) and found.c.nnz == 0
    assert f.jacobian("x", of="s")(x).toarray().tolist() == [[1, 1, 1]]
    assert f.jacobian("x", of=["s", "y"])(x)._fields == ("y", "s")


def test_entries_of_several_bands_are_added_once() -> None:
    jacobian = tadc.compile("x: f64[N]\ny[i] = 2*x[i] + 3*x[N - 1 - i]").jacobian("x")
    assert jacobian(np.zeros(3)).toarray().tolist() == [[2, 0, 3], [0, 5, 0], [3, 0, 2]]
    assert jacobian(np.zeros(3)).has_canonical_format


def test_the_text_says_where_entries_are_and_compiles_again() -> None:
    f = tadc.compile("x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + k])**2 + pad(x[i - 1])")
    jacobian = f.jacobian("x")
    text = str(jacobian)
    assert "# dy_dx[i, k]: the derivative of y[i] by x[2*i + k]" in text
    assert "# dy_dx_1[i]: the derivative of y[i] by x[i - 1]" in text
    x, w = np.linspace(0, 1, 9), np.ones(3)
    again = tadc.compile(text)
    for found, expected in zip(again(x=x, w=w), jacobian.program(x=x, w=w), strict=True):
        np.testing.assert_array_equal(found, expected)
    again.derivative("w")


def test_places_of_strided_entries_are_quotients() -> None:
    f = tadc.compile(
        "x: f64[N]\ny[i in range(2*N)] = x[i // 2] + sum[k in range(3)](pad(x[i + k]))"
    )
    first, second, *_ = str(f.jacobian("x")).splitlines()
    assert first == "# dy_dx[i]: the derivative of y[i] by x[i // 2]"
    assert second == "# dy_dx_1[i, k]: the derivative of y[i] by x[i + k]"


def test_matrices_of_equal_shapes_share_their_indices() -> None:
    jacobian = tadc.compile(LAPLACIAN).jacobian("u")
    first, second = jacobian(np.zeros(50)), jacobian(np.ones(50))
    assert np.shares_memory(first.indices, second.indices)
    assert np.shares_memory(first.indptr, second.indptr)
    assert not np.shares_memory(first.data, second.data)
    with pytest.raises(ValueError):
        first.indices[0] = 3


def test_scipy_computes_with_them() -> None:
    jacobian = tadc.compile(LAPLACIAN).jacobian("u")
    u, b = np.linspace(0, 1, 30), np.ones(30)
    matrix = jacobian(u)
    x = spsolve(matrix, b)
    np.testing.assert_allclose(matrix @ x, b, rtol=1e-12)
    dense = matrix.toarray()
    np.testing.assert_allclose((matrix.T @ matrix + matrix).toarray(), dense.T @ dense + dense)
    np.testing.assert_allclose(matrix.tocsc().toarray(), dense)


def test_a_long_stencil_takes_memory_in_proportion() -> None:
    jacobian = tadc.compile(LAPLACIAN).jacobian("u")
    jacobian(np.zeros(10))
    peaks: list[int] = []
    for size in (25_000, 100_000):
        tracemalloc.start()
        assert jacobian.pattern(N=size).nnz == 3 * size - 2
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0] and peaks[1] < 100_000 * 500


def test_precision_is_that_of_the_program() -> None:
    f = tadc.compile("y[i] = x[i]**2")
    assert f.jacobian("x")(np.ones(2, np.float32)).dtype == np.float32
    assert f.jacobian("x")(np.ones(2)).dtype == np.float64


def test_too_many_bands_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "x: f64[N]\nz[i] = x[i] + pad(x[i - 2])\ny[i] = z[i]**2 + pad(z[i + 1])"
    x = np.arange(5.0)
    expected = tadc.compile(source).jacobian("x")(x)
    monkeypatch.setattr(band_flow, "MOST_BANDS", 1)
    found = tadc.compile(source.replace("y", "y2"), target="interpret").jacobian("x")(x)
    assert found.nnz == 25
    np.testing.assert_allclose(found.toarray(), expected.toarray())


def test_the_hessian_of_neighbours_is_a_band() -> None:
    energy = tadc.compile("x: f64[N]\nE = sum[i in range(N - 1)]((x[i + 1] - x[i])**4)")
    hessian = energy.hessian("x")
    x = np.array([0.0, 1.0, 3.0, 4.0])
    matrix = hessian(x).toarray()
    steps = 12 * np.diff(x) ** 2
    expected = np.zeros((4, 4))
    for n, s in enumerate(steps):
        expected[n : n + 2, n : n + 2] += s * np.array([[1, -1], [-1, 1]])
    np.testing.assert_allclose(matrix, expected)
    assert hessian(x).nnz == 10


def test_jacobians_are_kept_pickled_and_shared_by_threads() -> None:
    f = tadc.compile(LAPLACIAN)
    jacobian = f.jacobian("u")
    assert f.jacobian("u") is jacobian
    u = np.linspace(0, 1, 8)
    expected = jacobian(u).toarray()
    copy = pickle.loads(pickle.dumps(jacobian))
    np.testing.assert_array_equal(copy(u).toarray(), expected)
    with ThreadPoolExecutor(4) as pool:
        for matrix in pool.map(copy, [u] * 20):
            np.testing.assert_array_equal(matrix.toarray(), expected)


def test_misuse_is_explained() -> None:
    f = tadc.compile("y[i] = x[i] * s")
    with pytest.raises(UnknownNameError, match="no argument 'z'"):
        f.jacobian("z")
    with pytest.raises(UnknownNameError, match="result"):
        f.jacobian("x", of="z")
    with pytest.raises(ArgumentError, match="a Hessian needs one scalar result"):
        f.hessian("x")
    with pytest.raises(ArgumentError, match="by its name"):
        f.jacobian(0)
    with pytest.raises(ArgumentError, match="by its name"):
        tadc.compile("y = x**2").hessian(np.ones(1))
    with pytest.raises(ArgumentError, match="missing"):
        f.jacobian("x")(np.ones(3))
    with pytest.raises(SizeError, match="size"):
        tadc.compile(LAPLACIAN).jacobian("u").pattern(N=-1)
    with pytest.raises(UnknownNameError, match="size"):
        tadc.compile(LAPLACIAN).jacobian("u").pattern(M=3)
    with pytest.raises(UnknownNameError, match="there are none"):
        tadc.compile("c = 2").jacobian("x")

"""Linear systems in stored forms, against dense ones of NumPy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from tadc.dialects.tix import MatrixForm
from tadc.runtime.linear_systems import (
    MOST_EQUATIONS_SOLVED_AT_ONCE,
    Matrix,
    Singular,
    permutation_sign,
    position,
)

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(3)


def regular(size: int, dtype: type = np.float64) -> Array:
    return (RNG.uniform(-1, 1, (size, size)) + 3 * np.eye(size)[::-1]).astype(dtype)


def pushed_together(form: MatrixForm, matrix: Array) -> Array:
    """A band as it is stored: column `c` of row `r` holds the one `j` with `j % width == c`."""
    size, width = len(matrix), form.lower + form.upper + 1
    found = np.zeros((size, width), matrix.dtype)
    for r in range(size):
        for j in range(max(0, r - form.lower), min(size, r + form.upper + 1)):
            found[r, j % width] = matrix[r, j]
    return found


def banded(size: int, lower: int, upper: int, dtype: type = np.float64) -> Array:
    return np.triu(np.tril(RNG.uniform(0.5, 1.5, (size, size)), upper), -lower).astype(dtype)


def check(matrix: Matrix, dense: Array, tolerance: float = 1e-9) -> None:
    """Solutions, transposed too, and the determinant, as those of the dense matrices."""
    for transposed in (False, True):
        unknown, given = matrix.columns, matrix.rows
        if transposed:
            unknown, given = given, unknown
        rhs = [RNG.uniform(-1, 1, (*matrix.batch, *s)).astype(dense.dtype) for s in given]
        flat = np.concatenate([b.reshape((*matrix.batch, -1)) for b in rhs], -1)
        operator = np.swapaxes(dense, -1, -2) if transposed else dense
        expected = np.linalg.solve(operator, flat[..., None])[..., 0]
        solutions, condition = matrix.solve(rhs, transposed)
        assert [x.shape for x in solutions] == [(*matrix.batch, *s) for s in unknown]
        assert all(x.dtype == dense.dtype for x in solutions)
        found = np.concatenate([x.reshape((*matrix.batch, -1)) for x in solutions], -1)
        np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
        exact = min(1 / np.linalg.cond(m, 1) for m in dense.reshape(-1, *dense.shape[-2:]))
        assert 0.1 * exact <= condition <= 10 * exact
    sign, logarithm = np.linalg.slogdet(dense.astype(np.float64))
    found_sign, found_logarithm = matrix.log_abs_det()
    assert found_sign == np.prod(sign)
    assert abs(found_logarithm - np.sum(logarithm)) <= tolerance * (1 + dense.size)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_dense_systems_are_solved(size: int, dtype: type) -> None:
    dense = regular(size, dtype)
    check(
        Matrix.of(MatrixForm("dense", 0, (1,)), [dense]),
        dense,
        1e-9 if dtype == np.float64 else 1e-4,
    )


@pytest.mark.parametrize("kind", ["lower", "upper"])
@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_triangular_systems_are_solved(kind: str, size: int) -> None:
    part = np.tril if kind == "lower" else np.triu
    dense = part(RNG.uniform(-1, 1, (size, size))) + 2 * np.diag((-1.0) ** np.arange(size))
    check(Matrix.of(MatrixForm(kind, 0, (1,)), [dense]), dense)


@pytest.mark.parametrize(("lower", "upper"), [(0, 0), (1, 1), (2, 0), (0, 2), (1, 3), (4, 4)])
@pytest.mark.parametrize("size", [1, 2, 3, 6, 9])
def test_banded_systems_are_solved(lower: int, upper: int, size: int) -> None:
    form = MatrixForm("banded", 0, (1,), lower, upper)
    dense = banded(size, lower, upper)
    check(Matrix.of(form, [pushed_together(form, dense)]), dense)


def test_batches_are_solved_each_alone() -> None:
    dense = np.array([[regular(3) for _ in range(4)] for _ in range(2)])
    check(Matrix.of(MatrixForm("dense", 2, (1,)), [dense]), dense)
    large = np.array([regular(MOST_EQUATIONS_SOLVED_AT_ONCE + 1) for _ in range(2)])
    check(Matrix.of(MatrixForm("dense", 1, (1,)), [large]), large)
    form = MatrixForm("banded", 1, (1,), 1, 1)
    bands = np.array([banded(6, 1, 1) for _ in range(3)])
    check(Matrix.of(form, [np.array([pushed_together(form, b) for b in bands])]), bands)


def test_blocks_of_several_ranks() -> None:
    """Rows of a scalar, a vector of 2 and a matrix of 2 by 2; columns of 4 and of 3."""
    rows: list[tuple[int, ...]] = [(), (2,), (2, 2)]
    columns: list[tuple[int, ...]] = [(4,), (3,)]
    dense = regular(7)
    blocks: list[Array] = []
    starts = np.cumsum([0, *map(prod, rows)]), np.cumsum([0, *map(prod, columns)])
    for r, row in enumerate(rows):
        for c, column in enumerate(columns):
            part = dense[starts[0][r] : starts[0][r + 1], starts[1][c] : starts[1][c + 1]]
            blocks.append(part.reshape((*row, *column)))
    matrix = Matrix.of(MatrixForm("dense", 0, (0, 1, 2)), blocks)
    assert (matrix.rows, matrix.columns) == (rows, columns)
    check(matrix, dense)


@pytest.mark.parametrize("kind", ["dense", "lower", "upper", "banded"])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3)])
def test_systems_without_elements_have_solutions_without(
    kind: str, shape: tuple[int, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    *batch, size = shape
    form = MatrixForm(kind, len(batch), (1,), 1, 1)
    stored = np.zeros((*shape, 3 if kind == "banded" else size))
    matrix = Matrix.of(form, [stored])
    (solution,), condition = matrix.solve([np.zeros(shape)], transposed=False)
    assert solution.shape == shape and condition == 1
    assert matrix.log_abs_det() == (1, 0)
    assert capfd.readouterr() == ("", "")


def form_of(kind: str) -> MatrixForm:
    return MatrixForm(kind, 1, (1,), 1, 1)


@pytest.mark.parametrize("kind", ["dense", "lower", "upper", "banded"])
def test_the_first_dependent_column_is_named(kind: str) -> None:
    dense = np.stack([np.diag(np.arange(1.0, 6)), np.diag([1.0, 2, 0, 3, 0])])
    form = form_of(kind)
    stored = np.array([pushed_together(form, m) for m in dense]) if kind == "banded" else dense
    matrix = Matrix.of(form, [stored])
    with pytest.raises(Singular) as error:
        matrix.solve([np.ones((2, 5))], transposed=False)
    assert (error.value.batch, error.value.index, error.value.value) == ((1,), 2, 0)
    assert matrix.log_abs_det() == (0, -np.inf)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["dense", "lower", "upper", "banded"])
def test_the_row_of_what_is_not_finite_is_named(kind: str, value: float) -> None:
    dense = np.stack([np.eye(5), np.eye(5)])
    dense[1, 3, 4 if kind == "upper" else 2] = value
    form = form_of(kind)
    stored = np.array([pushed_together(form, m) for m in dense]) if kind == "banded" else dense
    matrix = Matrix.of(form, [stored])
    with pytest.raises(Singular) as error:
        matrix.solve([np.ones((2, 5))], transposed=False)
    assert (error.value.batch, error.value.index) == ((1,), 3)
    np.testing.assert_array_equal(error.value.value, value)
    assert np.isnan(matrix.log_abs_det()).all()


def test_the_condition_of_a_band_is_not_that_of_its_pivots() -> None:
    """Ones, and -2 next to them: all pivots are alike, and the inverse reaches 2**39."""
    form = MatrixForm("banded", 0, (1,), 0, 1)
    dense = np.eye(40) - 2 * np.eye(40, k=1)
    _, condition = Matrix.of(form, [pushed_together(form, dense)]).solve([np.ones(40)], False)
    assert condition == pytest.approx(1 / np.linalg.cond(dense, 1), rel=0.5)


def test_a_row_number_is_a_tensor_and_an_index() -> None:
    shapes: list[tuple[int, ...]] = [(), (2, 3), (0,), (2,)]
    assert position(shapes, 0) == (0, ())
    assert position(shapes, 5) == (1, (1, 1))
    assert position(shapes, 8) == (3, (1,))
    with pytest.raises(IndexError):
        position(shapes, 9)


@pytest.mark.parametrize("seed", range(20))
def test_the_sign_of_a_permutation(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(seed)
    expected = np.linalg.det(np.eye(seed)[order]) if seed else 1.0
    assert permutation_sign(order + 1e-9) == pytest.approx(expected)


def test_the_sign_of_no_permutation() -> None:
    assert permutation_sign(np.array([0.0, 0.0])) == 1
    assert permutation_sign(np.array([np.nan, 1.0, np.inf])) == 1

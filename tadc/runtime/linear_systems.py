"""Linear systems with matrices by structure, through LAPACK (SciPy): solutions and determinants.

Matrices come as the blocks that `dialects/tix/linear.py` describes. Solving takes l³/3 operations
per system of l dense equations, l² where the matrix is triangular, l·w² where it has w diagonals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tadc.dialects.tix import MatrixForm
from tadc.runtime.arguments import Array
from tadc.support.packages import installed


class Singular(Exception):
    """A matrix without inverse; `batch` says which one of several.

    Column `index` is a combination of the ones before it; or row `index` has an entry `value` that
    is not finite.
    """

    def __init__(self, batch: tuple[int, ...], index: int, value: float = 0.0):
        super().__init__(batch, index, value)
        self.batch = batch
        self.index = index
        self.value = value


MOST_EQUATIONS_SOLVED_AT_ONCE = 16
"""The size of systems up to which all of a batch are solved at once."""


def _lapack(name: str, array: Array) -> Any:
    """The routine of LAPACK for the precision of an array."""
    lapack = installed("scipy.linalg.lapack", "a linear system without structure")
    return lapack.get_lapack_funcs((name,), (array,))[0]


@dataclass
class Matrix:
    """A matrix, or one for each index of a batch, `[batch..., row, column]`, in a stored form."""

    form: MatrixForm
    array: Array
    columns: list[tuple[int, ...]]
    """The shapes of what the blocks of a row number."""
    rows: list[tuple[int, ...]]

    @staticmethod
    def of(form: MatrixForm, blocks: Sequence[Any], numpy: Any = np) -> Matrix:
        """The matrix of these blocks, row by row; `numpy` has `concatenate` for such arrays."""
        batch = form.batch
        width = len(blocks) // len(form.rows)
        grid = [blocks[n : n + width] for n in range(0, len(blocks), width)]
        ranks = zip(form.rows, grid, strict=True)
        rows = [row[0].shape[batch : batch + rank] for rank, row in ranks]
        columns = [b.shape[batch + form.rows[0] :] for b in grid[0]]
        lead = blocks[0].shape[:batch]
        lines = [
            [b.reshape((*lead, prod(r), prod(c))) for b, c in zip(row, columns, strict=True)]
            for row, r in zip(grid, rows, strict=True)
        ]
        parts = [line[0] if len(line) == 1 else numpy.concatenate(line, -1) for line in lines]
        array = parts[0] if len(parts) == 1 else numpy.concatenate(parts, -2)
        if form.kind == "banded":
            columns = rows  # stored are as many as the band is wide
        return Matrix(form, array, columns, rows)

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the batch."""
        return self.array.shape[: self.form.batch]

    def factors(self) -> Iterator[tuple[tuple[int, ...], Factors]]:
        """Every matrix of the batch that has elements, factored, with its index.

        Raises `Singular`.
        """
        if not self.array.size:  # LAPACK refuses it
            return
        for index in np.ndindex(*self.batch):
            self._require_finite(index)
            yield index, _FACTORS[self.form.kind](self.form, self.array[index], index)

    def _require_finite(self, index: tuple[int, ...]) -> None:
        matrix = self.array[index]
        bad = np.argwhere(~np.isfinite(matrix))
        if len(bad):
            row, column = map(int, bad[0])
            raise Singular(index, row, float(matrix[row, column]))

    def solve(self, rhs: Sequence[Array], transposed: bool) -> tuple[list[Array], float]:
        """The solutions, each `[batch..., shape...]`, and the least reciprocal condition number.

        Raises `Singular`.
        """
        lead = self.batch
        flat = np.concatenate([_in_a_row(b, len(lead)) for b in rhs], axis=-1)
        out, worst = self._at_once(flat, transposed) or self._one_by_one(flat, transposed)
        shapes = self.rows if transposed else self.columns
        ends: list[int] = [sum(map(prod, shapes[:n])) for n in range(1, len(shapes))]
        parts = np.split(out, ends, axis=-1)
        return [p.reshape((*lead, *s)) for p, s in zip(parts, shapes, strict=True)], worst

    def _one_by_one(self, rhs: Array, transposed: bool) -> tuple[Array, float]:
        out: Any = np.empty_like(rhs)
        worst = 1.0
        for index, factors in self.factors():
            worst = min(worst, factors.condition)
            out[index] = factors.solve(rhs[index], transposed)
        return out, worst

    def _at_once(self, rhs: Array, transposed: bool) -> tuple[Array, float] | None:
        """Many small dense systems, 50 times as fast; None for others, and if one is singular."""
        many = self.form.kind == "dense" and prod(self.batch) > 1
        if not many or not 0 < self.array.shape[-1] <= MOST_EQUATIONS_SOLVED_AT_ONCE:
            return None
        try:
            with np.errstate(all="ignore"):
                inverse = np.linalg.inv(self.array)
                sizes = [np.abs(a).sum(axis=-2).max(axis=-1) for a in (self.array, inverse)]
                matrix = np.swapaxes(self.array, -1, -2) if transposed else self.array
                out = np.linalg.solve(matrix, rhs[..., None])[..., 0]
        except np.linalg.LinAlgError:
            return None
        condition = float(np.min(1 / (sizes[0] * sizes[1])))
        return (out, min(1.0, condition)) if condition > 0 else None

    def log_abs_det(self) -> tuple[float, float]:
        """Sign and logarithm of the product of all determinants; 0 and -inf where one is 0.

        Not a number where an entry is not finite.
        """
        if not np.isfinite(self.array).all():
            return np.nan, np.nan
        if self.form.kind == "dense":
            signs, logarithms = map(np.asarray, np.linalg.slogdet(self.array))
            return float(np.prod(signs)), float(np.sum(logarithms, dtype=np.float64))
        sign, total = 1.0, 0.0
        try:
            for _, factors in self.factors():
                assert not isinstance(factors, _Dense)
                sign *= factors.sign
                total += float(np.sum(np.log(np.abs(factors.pivots))))
        except Singular:
            return 0.0, -np.inf
        return float(sign), total


def log_abs_det(form: MatrixForm, blocks: Sequence[Array]) -> tuple[float, float]:
    """Sign and logarithm of the absolute value of the determinant of what `blocks` store."""
    if form.kind == "permutation":
        return permutation_sign(np.concatenate([np.ravel(b) for b in blocks])), 0.0
    return Matrix.of(form, blocks).log_abs_det()


def permutation_sign(places: Array) -> float:
    """The sign of a permutation by its cycles: 1 if it takes an even number of exchanges, else -1.

    Numbers that are no permutation give 1: some element was 0 or not finite.
    """
    count = len(places)
    order: Any = np.rint(np.nan_to_num(places, nan=-1, posinf=-1, neginf=-1)).astype(np.int64)
    if not np.array_equal(np.sort(order), np.arange(count)):
        return 1.0
    following: list[int] = order.tolist()
    seen, cycles = bytearray(count), 0
    for start in range(count):
        cycles += not seen[start]
        while not seen[start]:
            seen[start], start = 1, following[start]
    return -1.0 if (count - cycles) % 2 else 1.0


class _Dense:
    """LU with partial pivoting: `P A = L U`."""

    def __init__(self, form: MatrixForm, matrix: Array, batch: tuple[int, ...]):
        self.matrix = matrix
        factorize = _lapack("getrf", matrix)
        self.lu, self.order, *_ = factorize(matrix)
        self.pivots: Array = np.diagonal(self.lu)
        _require_pivots(self.pivots, batch)

    @property
    def condition(self) -> float:
        estimate = _lapack("gecon", self.lu)
        return float(estimate(self.lu, np.linalg.norm(self.matrix, 1))[0])

    def solve(self, rhs: Array, transposed: bool) -> Array:
        backward = _lapack("getrs", self.lu)
        return backward(self.lu, self.order, rhs, trans=int(transposed))[0]


class _Triangular:
    """A triangle is its own factor."""

    def __init__(self, form: MatrixForm, matrix: Array, batch: tuple[int, ...]):
        self.lower = form.kind == "lower"
        self.matrix = matrix
        self.pivots: Array = np.diagonal(matrix)
        self.sign = float(np.prod(np.sign(self.pivots)))
        _require_pivots(self.pivots, batch)

    @property
    def condition(self) -> float:
        estimate = _lapack("trcon", self.matrix)
        return float(estimate(self.matrix, uplo="L" if self.lower else "U")[0])

    def solve(self, rhs: Array, transposed: bool) -> Array:
        backward = _lapack("trtrs", self.matrix)
        return backward(self.matrix, rhs, lower=self.lower, trans=int(transposed))[0]


class _Banded:
    """LU with partial pivoting within `lower` more diagonals above."""

    def __init__(self, form: MatrixForm, matrix: Array, batch: tuple[int, ...]):
        self.lower, self.upper = form.lower, form.upper
        self.diagonals = diagonals(form, matrix)
        factorize = _lapack("gbtrf", self.diagonals)
        self.lu, self.order, *_ = factorize(self.diagonals, form.lower, form.upper)
        self.pivots: Array = self.lu[form.lower + form.upper]
        _require_pivots(self.pivots, batch)

    @property
    def sign(self) -> float:
        swaps = np.count_nonzero(self.order != np.arange(len(self.order)))
        return float(np.prod(np.sign(self.pivots))) * (-1) ** swaps

    @property
    def condition(self) -> float:
        """By Hager, "Condition estimates", 1984: a few steps uphill to the norm of the inverse."""
        size = len(self.pivots)
        norm = float(np.abs(self.diagonals).sum(axis=0).max())
        at, found = np.full(size, 1 / size, self.lu.dtype), 0.0
        for _ in range(5):
            image = self.solve(at, transposed=False)
            if not np.abs(image).sum() > found:
                break
            found = float(np.abs(image).sum())
            slope = self.solve(np.where(image < 0, -1, 1).astype(at.dtype), transposed=True)
            best = int(np.argmax(np.abs(slope)))
            if np.abs(slope[best]) <= slope @ at:
                break
            at = np.zeros_like(at)
            at[best] = 1
        return 1 / (norm * found) if np.isfinite(found) else 0.0

    def solve(self, rhs: Array, transposed: bool) -> Array:
        backward, trans = _lapack("gbtrs", self.lu), int(transposed)
        out, _ = backward(self.lu, self.lower, self.upper, rhs, self.order, trans=trans)
        return out


Factors: TypeAlias = _Dense | _Triangular | _Banded

_FACTORS: dict[str, type[_Dense] | type[_Triangular] | type[_Banded]] = {
    "dense": _Dense,
    "lower": _Triangular,
    "upper": _Triangular,
    "banded": _Banded,
}


def diagonals(form: MatrixForm, matrix: Array) -> Array:
    """A band as LAPACK wants it: `A[i, j]` in row `lower + upper + i - j`, column `j`.

    Column `c` of `matrix` holds the one element of each row with `j % width == c`.
    """
    size, width = matrix.shape
    rows = _count(size)[:, None]
    first = rows - form.lower
    columns = first + (_count(width)[None, :] - first) % width
    inside = (columns >= 0) & (columns < size)
    found = np.zeros((2 * form.lower + form.upper + 1, size), matrix.dtype, order="F")
    found[(form.lower + form.upper + rows - columns)[inside], columns[inside]] = matrix[inside]
    return found


def position(shapes: Sequence[tuple[int, ...]], index: int) -> tuple[int, tuple[int, ...]]:
    """The number of the shape, of several in a row, that an index falls in, and its place there."""
    for number, shape in enumerate(shapes):
        if index < prod(shape):
            return number, tuple(map(int, np.unravel_index(index, shape)))
        index -= prod(shape)
    raise IndexError(index)


def _in_a_row(array: Array, batch: int) -> Array:
    """All dimensions but those of the batch as one."""
    shape = array.shape
    return array.reshape((*shape[:batch], prod(shape[batch:])))


def _count(n: int) -> Any:
    return np.arange(n)


def _require_pivots(pivots: Array, batch: tuple[int, ...]) -> None:
    bad = np.flatnonzero(~(np.abs(pivots) > 0))
    if bad.size:
        raise Singular(batch, int(bad[0]))

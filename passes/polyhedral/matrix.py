"""Integer matrices as tuples of rows. A matrix without rows does not know its columns."""

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import mul
from typing import TypeAlias

Row: TypeAlias = tuple[int, ...]
Matrix: TypeAlias = tuple[Row, ...]


def matrix(rows: Iterable[Iterable[int]]) -> Matrix:
    """The immutable copy of any nested iterable."""
    return tuple(tuple(row) for row in rows)


def identity(size: int) -> Matrix:
    """The unit matrix, `size` x `size`."""
    return tuple(unit(size, i) for i in range(size))


def unit(size: int, position: int) -> Row:
    """The unit vector with its one at `position`."""
    return (0,) * position + (1,) + (0,) * (size - position - 1)


def zeros(rows: int, columns: int) -> Matrix:
    """The zero matrix."""
    return ((0,) * columns,) * rows


def dot(a: Sequence[int], b: Sequence[int]) -> int:
    """The inner product of two vectors of equal length."""
    return sum(map(mul, a, b))


def apply(a: Matrix, vector: Sequence[int]) -> Row:
    """`a @ vector`: m x n times n gives m."""
    return tuple(sum(map(mul, row, vector)) for row in a)


def multiply(a: Matrix, b: Matrix, columns: int | None = None) -> Matrix:
    """`a @ b`: m x k times k x n gives m x n; `columns` is n where `b` has no rows."""
    turned = transpose(b, columns)
    return tuple(apply(turned, row) for row in a)


def transpose(a: Matrix, columns: int | None = None) -> Matrix:
    """The transpose; `columns` is the width of an `a` that may have no rows."""
    return tuple(zip(*a, strict=True)) if a else ((),) * (columns or 0)


def hstack(*blocks: Matrix) -> Matrix:
    """The blocks side by side; all have the same number of rows."""
    return tuple(tuple(chain.from_iterable(rows)) for rows in zip(*blocks, strict=True))


def negate(row: Row) -> Row:
    """`-row`."""
    return tuple(-x for x in row)


def add_multiple(row: Row, factor: int, other: Sequence[int]) -> Row:
    """`row + factor * other`."""
    return tuple(x + factor * y for x, y in zip(row, other, strict=True)) if factor else row

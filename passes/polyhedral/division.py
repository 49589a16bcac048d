"""Integer division with a positive divisor, and the bounds it gives to a loop.

Python's `//` rounds down; C and LLVM round towards zero. Every division of the compiler is one
of the two below with a positive divisor, so that the back ends need one pair of helpers.
"""

from collections.abc import Sequence
from operator import mul


def floordiv(numerator: int, divisor: int) -> int:
    """The greatest integer ≤ numerator / divisor. Raises ValueError unless divisor > 0."""
    if divisor <= 0:
        raise ValueError(f"the divisor must be positive, got {divisor}")
    return numerator // divisor


def ceildiv(numerator: int, divisor: int) -> int:
    """The least integer ≥ numerator / divisor. Raises ValueError unless divisor > 0."""
    if divisor <= 0:
        raise ValueError(f"the divisor must be positive, got {divisor}")
    return -(-numerator // divisor)


def nearest(numerator: int, divisor: int) -> int:
    """The integer nearest to numerator / divisor, for divisor > 0; of two, the lesser.

    That is the q with `-divisor < 2 (numerator - q divisor) ≤ divisor`.
    """
    return -((divisor - 2 * numerator) // (2 * divisor))


def lower_bound(row: Sequence[int], j: int, values: Sequence[int]) -> int:
    """The least value of column j with `row·(values, 1) ≥ 0`.

    `c v_j + rest ≥ 0` with `c = row[j] > 0` means `v_j ≥ ⌈-rest / c⌉`. `values` holds one
    value per column but the constant; the one at j is ignored.
    Raises ValueError where `row[j]` is not positive.
    """
    return ceildiv(row[j] * values[j] - _value(row, values), row[j])


def upper_bound(row: Sequence[int], j: int, values: Sequence[int]) -> int:
    """The greatest value of column j with `row·(values, 1) ≥ 0`.

    `-c v_j + rest ≥ 0` with `c = -row[j] > 0` means `v_j ≤ ⌊rest / c⌋`; `values` as for
    `lower_bound`. Raises ValueError where `row[j]` is not negative.
    """
    return floordiv(_value(row, values) - row[j] * values[j], -row[j])


def _value(row: Sequence[int], values: Sequence[int]) -> int:
    """`row·(values, 1)`."""
    return sum(map(mul, row, values)) + row[-1]

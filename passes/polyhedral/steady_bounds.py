"""Bounds that are the same for all values of the other variables in them.

    0 <= 8 k + p <= 31  with  0 <= p <= 7        is        0 <= k <= 3

A row `c v + f >= 0`, where f stands for all but v, bounds v by the whole part of f / |c|: it is
`v + q >= 0` for c > 0, and `-v + q >= 0` for c < 0, with q = ⌊f / |c|⌋. Where the least and the
largest value of f have the same q, so has each between them, and q takes the place of f.
"""

from collections.abc import Sequence

from passes.polyhedral.matrix import Row


def steady(row: Row, variable: int, known: Sequence[Row]) -> Row:
    """A row without all variables but one, where the rows `known` make that the same; else itself.

    The same is meant for integers; of `known` count the rows with one variable.
    """
    divisor = abs(row[variable])
    others = [(n, x) for n, x in enumerate(row[:-1]) if x and n != variable]
    if divisor < 2 or not others:
        return row
    low = high = row[-1]
    for n, x in others:
        values = _range_of(n, known)
        if values is None:
            return row
        ends = [x * value for value in values]
        low, high = low + min(ends), high + max(ends)
    if low // divisor != high // divisor:
        return row
    sign = 1 if row[variable] > 0 else -1
    return (*(sign * (n == variable) for n in range(len(row) - 1)), low // divisor)


def _range_of(variable: int, known: Sequence[Row]) -> tuple[int, int] | None:
    """The least and the largest value of a variable by the rows that have no other one."""
    rows = [row for row in known if row[variable] and not any(_others(row, variable))]
    low = [-(row[-1] // row[variable]) for row in rows if row[variable] > 0]
    high = [row[-1] // -row[variable] for row in rows if row[variable] < 0]
    return (max(low), min(high)) if low and high else None


def _others(row: Row, variable: int) -> Sequence[int]:
    return (*row[:variable], *row[variable + 1 : -1])

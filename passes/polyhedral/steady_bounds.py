"""Bounds that are the same for all values of the other variables in them.

    0 <= 8 k + p <= 31  with  0 <= p <= 7        is        0 <= k <= 3
    2 k + p + 7 <= 2 N  with  0 <= p <= 1        is        k + 4 <= N

A row `c v + f >= 0`, where f stands for all but v, bounds v by the whole part of f / |c|: it is
`v + q >= 0` for c > 0, and `-v + q >= 0` for c < 0, with q = ⌊f / |c|⌋. Let f = |c| g + h, where g
has the variables whose coefficients |c| divides: then q = g + ⌊h / |c|⌋. Where the least and the
largest value of h have the same whole part, so has each between them, and it takes the place of h.
"""

from collections.abc import Sequence

from tadc.passes.polyhedral.matrix import Row


def steady(row: Row, variable: int, known: Sequence[Row]) -> Row:
    """A row without the variables that do not move a bound of one, where the rows `known` say so;
    else itself.

    It is the same for integers; of `known` count the rows with one variable.
    """
    divisor = abs(row[variable])
    rest = [(n, x) for n, x in enumerate(row[:-1]) if divisor and x % divisor]
    if divisor < 2 or not rest:
        return row
    low = high = row[-1]
    for n, x in rest:
        values = _range_of(n, known)
        if values is None:
            return row
        ends = [x * value for value in values]
        low, high = low + min(ends), high + max(ends)
    if low // divisor != high // divisor:
        return row
    return (*(0 if x % divisor else x // divisor for x in row[:-1]), low // divisor)


def _range_of(variable: int, known: Sequence[Row]) -> tuple[int, int] | None:
    """The least and the largest value of a variable by the rows that have no other one."""
    rows = [row for row in known if row[variable] and not any(_others(row, variable))]
    low = [-(row[-1] // row[variable]) for row in rows if row[variable] > 0]
    high = [row[-1] // -row[variable] for row in rows if row[variable] < 0]
    return (max(low), min(high)) if low and high else None


def _others(row: Row, variable: int) -> Sequence[int]:
    return (*row[:variable], *row[variable + 1 : -1])

"""Random systems of inequalities in a box, their points by brute force, and as sets of isl."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

import islpy as isl
import numpy as np

from tadc.passes.polyhedral.division import lower_bound, upper_bound
from tadc.passes.polyhedral.inequalities import implied, tightened
from tadc.passes.polyhedral.loop_nests import LoopNest
from tadc.passes.polyhedral.matrix import Row, dot, negate

Point = tuple[int, ...]


def span(nest: LoopNest, j: int, values: Sequence[int]) -> range:
    """The values of loop j; `values` holds a number for each column."""
    low = max(lower_bound(row, j, values) for row in nest.lower[j])
    return range(low, min(upper_bound(row, j, values) for row in nest.upper[j]) + 1)


def run(nest: LoopNest, p: Point, depth: int | None = None) -> Iterator[Point]:
    """The points that the first `depth` loops run through, in order."""
    loops = len(nest.lower)
    if nest.empty or any(dot(row, (*[0] * loops, *p, 1)) < 0 for row in nest.guards):
        return
    yield from _run(nest, p, (), loops if depth is None else depth)


def _run(nest: LoopNest, p: Point, outer: Point, depth: int) -> Iterator[Point]:
    if len(outer) == depth:
        yield outer
        return
    padded = (*outer, *[0] * (len(nest.lower) - len(outer)), *p)
    for value in span(nest, len(outer), padded):
        yield from _run(nest, p, (*outer, value), depth)


def box(loops: int, parameters: int, reach: int) -> list[Row]:
    """`-reach ≤ z ≤ reach` for each loop."""
    rows: list[Row] = []
    for j in range(loops):
        linear = [0] * (loops + parameters)
        linear[j] = 1
        rows += [(*linear, reach), (*(-x for x in linear), reach)]
    return rows


def random_system(random_: random.Random, most: int) -> tuple[list[Row], list[Row], int, int]:
    """Rows of up to `most` loops in a box, a context, and the numbers of loops and parameters."""
    loops, parameters = random_.randint(1, most), random_.randint(0, 2)
    width, big = loops + parameters, random_.choice([1, 1, 2, 3])
    rows = box(loops, parameters, {1: 6, 2: 4, 3: 3, 4: 2}.get(loops, 1))
    for _ in range(random_.randint(0, 2 * loops + 1)):
        linear = [random_.choice([0, random_.randint(-big, big)]) for _ in range(width)]
        rows.append((*linear, random_.randint(-2, 6)))
    if random_.random() < 0.2:
        equation = rows[-1]
        rows.append(negate(equation))
    context: list[Row] = []
    if parameters and random_.random() < 0.7:
        context.append((*[0] * loops, 1, *[0] * (parameters - 1), random_.randint(-1, 1)))
    random_.shuffle(rows)
    return rows, context, loops, parameters


def brute_force(rows: list[Row], loops: int, p: Point) -> list[Point]:
    """The points of a system at parameters p, out of all in the box, in order."""
    grid = np.array(list(product(range(-6, 7) if loops == 1 else range(-4, 5), repeat=loops)))
    table = np.array(rows)
    constants = table[:, loops:] @ np.array([*p, 1])
    keep = np.all(grid @ table[:, :loops].T + constants >= 0, axis=1)
    return [tuple(int(x) for x in point) for point in grid[keep]]


def parameter_points(context: list[Row], loops: int, parameters: int) -> list[Point]:
    """Some parameters that meet the context."""
    points = product(range(-2, 6), repeat=parameters)
    return [p for p in points if all(dot(r, (*[0] * loops, *p, 1)) >= 0 for r in context)]


def irredundant_as_promised(nest: LoopNest, context: list[Row]) -> bool:
    """True if no row follows from context, guards, outer loops and its own loop."""
    known = [tightened(row) for row in context]
    known += nest.guards
    for lower, upper in zip(nest.lower, nest.upper, strict=True):
        level = [*lower, *upper]
        for row in level:
            if implied(row, [*known, *(other for other in level if other != row)]):
                return False
        known += level
    return True


def to_isl(rows: list[Row], loops: int, parameters: int) -> isl.BasicSet:
    """The set of all solutions as a set of isl."""
    z, p = [f"z{j}" for j in range(loops)], [f"p{j}" for j in range(parameters)]
    texts = [
        " + ".join(f"{x}*{name}" for x, name in zip(row, [*z, *p, "1"], strict=True)) + " >= 0"
        for row in rows
    ]
    return isl.BasicSet(f"[{', '.join(p)}] -> {{ [{', '.join(z)}] : {' and '.join(texts)} }}")

"""Bounds on the iterations of loops."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from itertools import product

import pytest
from xdsl.dialects import arith, scf
from xdsl.ir import Operation, SSAValue

from tadc.dialects.loops import ParallelOp
from tadc.dialects.quick import constant_integer
from tadc.targets.trip_counts import TripCounts
from tests.support.campaign import seeds
from tests.targets.llvm_kernels import function, parse

LOOP = """
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %ten = arith.constant 10 : index
  loops.parallel (%i) to (%N) {{
    {bounds}
    scf.for %k = %low to %high step %{step} {{
      scf.for %l = %zero to %ten step %one {{
        memref.store %x, %y[%k] : memref<?xf64>
      }}
    }}
  }}"""


def loops_in(lines: str) -> list[scf.ForOp]:
    """The loops of a function with these lines and a size N."""
    lines = f"%x = arith.constant 0.0 : f64\n{lines}"
    module = parse(function({"y": "f64"}, ["N"], lines))
    return [op for op in module.walk() if isinstance(op, scf.ForOp)]


@pytest.mark.parametrize(
    ("low", "high", "step", "trips"),
    [
        ("arith.constant 3", "arith.constant 10", "one", 7),
        ("arith.constant 3", "arith.constant 10", "two", 4),
        ("arith.constant 10", "arith.constant 3", "one", 0),
        ("arith.subi %i, %two", "arith.addi %i, %ten", "one", 12),
        ("arith.maxsi %zero, %i", "arith.minsi %more, %N", "two", 5),
        ("arith.maxsi %N, %N", "arith.minsi %more, %N", "one", 0),
        ("arith.maxsi %zero, %i", "arith.addi %N, %ten", "one", None),
        ("arith.minsi %zero, %i", "arith.addi %i, %ten", "one", None),
        ("arith.maxsi %zero, %i", "arith.maxsi %more, %N", "one", None),
        ("arith.constant 0", "arith.addi %i, %i", "one", None),
        # an index is below the size of its loop, and neither is negative
        ("arith.addi %i, %two", "arith.addi %N, %ten", "one", None),
        ("arith.subi %N, %two", "arith.addi %i, %ten", "one", 11),
        ("arith.addi %i, %N", "arith.constant 100", "one", 100),
    ],
)
def test_the_most_trips(low: str, high: str, step: str, trips: int | None):
    bounds = ["%more = arith.addi %i, %ten : index"]
    bounds += [f"%low = {low} : index", f"%high = {high} : index"]
    loop = loops_in(LOOP.format(bounds="\n".join(bounds), step=step))[0]
    counts = TripCounts()
    assert counts.trips(loop) == trips
    assert counts.iterations(loop.body.block) == 10
    around = loop.parent_block()
    assert around
    assert counts.iterations(around) == (None if trips is None else max(1, 10 * trips))


PIECE = """
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %length = arith.constant 4096 : index
  %end = arith.constant {end} : index
  loops.parallel (%p) to (%N) {{
    %low = arith.muli %p, %length : index
    %next = arith.addi %low, %length : index
    %least = arith.minsi %next, %{most} : index
    %high = arith.maxsi %low, %least : index
    %width = arith.subi %high, %low : index
    %vectors = arith.floordivsi %width, %eight : index
    %lanes = arith.muli %vectors, %eight : index
    %middle = arith.addi %low, %lanes : index
    scf.for %k = %low to %middle step %eight {{
      memref.store %x, %y[%k] : memref<?xf64>
    }}
    scf.for %k = %middle to %high step %{step} {{
      memref.store %x, %y[%k] : memref<?xf64>
    }}
  }}"""


@pytest.mark.parametrize(
    ("end", "most", "step", "trips"),
    [
        (10**12, "end", "eight", [512, 1]),
        (10**12, "end", "one", [512, 7]),
        (100, "end", "one", [13, 7]),
        (100, "N", "one", [512, 7]),
        (2**70, "end", "eight", [512, 1]),
    ],
)
def test_whole_vectors_and_the_rest_of_a_piece(end: int, most: str, step: str, trips: list[int]):
    found = loops_in(PIECE.format(end=end, most=most, step=step))
    assert [*map(TripCounts().trips, found)] == trips


@pytest.mark.parametrize(
    ("high", "trips"),
    [("%N", 1000), ("%i", 999), ("%twice", 1998), ("%rest", 0), ("%near", 10)],
)
def test_the_largest_value_of_a_size_bounds_loops(high: str, trips: int):
    values = [
        "%twice = arith.muli %i, %two : index",
        "%rest = arith.subi %i, %N : index",
        "%near = arith.minsi %N, %ten : index",
        "%low = arith.addi %zero, %zero : index",
        f"%high = arith.addi {high}, %zero : index",
    ]
    loop = loops_in(LOOP.format(bounds="\n".join(values), step="one"))[0]
    around = loop.parent_op()
    assert isinstance(around, ParallelOp)
    assert TripCounts({around.sizes[0]: 1000}).trips(loop) == trips


def test_the_search_for_a_bound_ends():
    """Of 60 minima and maxima within each other."""
    values = ["%v0 = arith.addi %i, %N : index", "%w0 = arith.addi %N, %N : index"]
    for n in range(60):
        kind = "maxsi" if n % 2 else "minsi"
        values.append(f"%v{n + 1} = arith.{kind} %v{n}, %w{n} : index")
        values.append(f"%w{n + 1} = arith.subi %N, %v{n} : index")
    values += ["%low = arith.addi %v60, %zero : index", "%high = arith.addi %w60, %w59 : index"]
    loop = loops_in(LOOP.format(bounds="\n".join(values), step="one"))[0]
    assert TripCounts().trips(loop) is None


# --- random ends ----------------------------------------------------------------------------------

RANDOM = """
  {constants}
  loops.parallel (%i, %j) to (%N, %c5) {{
    %first = arith.subi %j, %i : index
    scf.for %l = %first to %c6 step %c1 {{
      {values}
      scf.for %k = %{low} to %{high} step %c{step} {{
        memref.store %x, %y[%k] : memref<?xf64>
      }}
    }}
  }}"""
CONSTANTS = {f"c{n}".replace("-", "m"): n for n in (*range(-3, 10), 64)}

VALUE_OF: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: int.__add__,
    arith.SubiOp: int.__sub__,
    arith.MuliOp: int.__mul__,
    arith.FloorDivSIOp: int.__floordiv__,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
}


def random_ends(rng: random.Random) -> str:
    names, lines = ["N", "i", "j", "l", *CONSTANTS], list[str]()
    for n in range(rng.randint(1, 9)):
        kind = rng.choice(["addi", "subi", "minsi", "maxsi", "muli", "floordivsi"])
        recent = names[-6:] + names[:4]
        a, b = rng.choice(recent), rng.choice(rng.choice([recent, [*CONSTANTS]]))
        if kind == "floordivsi" or (kind == "muli" and rng.random() < 0.9):
            b = rng.choice(["c1", "c2", "c3", "c4", "c6"] + ["cm2"] * (kind == "muli"))
        lines.append(f"%v{n} = arith.{kind} %{a}, %{b} : index")
        names.append(f"v{n}")
    constants = "\n".join(f"%{c} = arith.constant {n} : index" for c, n in CONSTANTS.items())
    low, high = rng.choices(names[-4:] + names[:4], k=2)
    step = rng.choice([1, 2, 8])
    return RANDOM.format(
        constants=constants, values="\n".join(lines), low=low, high=high, step=step
    )


def points(around: ParallelOp, first: scf.ForOp) -> Iterator[Mapping[SSAValue, int]]:
    """The values of N and of the indices around the last loop."""
    (i, j), size = around.body.block.args, around.sizes[0]
    for n in (1, 2, 7, 100):
        for at, column in product({0, 1, n // 2, n - 1} & {*range(n)}, range(5)):
            for inner in range(column - at, 6):
                yield {size: n, i: at, j: column, first.body.block.args[0]: inner}


def value(v: SSAValue, point: Mapping[SSAValue, int]) -> int:
    number = point.get(v, constant_integer(v))
    if number is not None:
        return number
    assert isinstance(v.owner, Operation)
    a, b = (value(operand, point) for operand in v.owner.operands)
    return VALUE_OF[type(v.owner)](a, b)


@pytest.mark.parametrize("seed", seeds(100, of=1000))
def test_no_loop_has_more_trips_than_its_bound(seed: int):
    around, last = loops_in(random_ends(random.Random(seed)))
    bound, parallel = TripCounts().trips(last), around.parent_op()
    assert isinstance(parallel, ParallelOp)
    step = constant_integer(last.step)
    assert step
    trips = (
        len(range(value(last.lb, point), value(last.ub, point), step))
        for point in points(parallel, around)
    )
    assert bound is None or bound >= max(trips)

"""Conditions become part of index sets: loops as the mathematics needs them, and no test inside."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from xdsl.dialects import scf
from xdsl.ir import Operation

import tadc
from tadc.dialects import tix
from tadc.passes.derive.absorb_conditions import absorb_conditions, bounded_without_conditions
from tadc.passes.lowering.shape_loops import shape_loops
from tadc.passes.splitting.solve_conditions import solve_conditions
from tadc.sizes import bind_sizes
from tests.support.campaign import seeds
from tests.support.derivations import (
    assert_close,
    assert_derivative,
    check_seeds,
    interpret,
    random_case,
)
from tests.support.loop_walk import walk


def parents(op: Operation) -> Iterator[Operation]:
    while (parent := op.parent_op()) is not None:
        yield (op := parent)


def conditions_in_loops(program: tix.ProgramOp) -> list[tix.IfOp]:
    """Conditions inside a reduction over at least one index."""
    return [
        op
        for op in program.walk()
        if isinstance(op, tix.IfOp)
        and any(isinstance(p, tix.ReductionOp) and p.indices for p in parents(op))
    ]


def depth(program: tix.ProgramOp) -> int:
    """How many loops are nested at most."""
    return max(map(_depth, program.walk()))


def _depth(op: Operation) -> int:
    around = [op, *parents(op)]
    return sum(len(p.indices) for p in around if isinstance(p, tix.ReductionOp))


def inputs_of(f: tadc.Function, shapes: dict[str, tuple[int, ...]]) -> list[np.ndarray]:
    rng = np.random.default_rng(7)
    return [rng.uniform(0.2, 1.0, shapes[t.name]) for t in f.args]


# --- derivatives ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chain:
    """A program, its arguments, and how deep loops are nested in its derivatives of each order."""

    source: str
    shapes: dict[str, tuple[int, ...]]
    loops: tuple[int, ...]


CHAINS = {
    "the square of the diagonal": Chain(
        "x: f64[N, N]\nf[i] = x[i, i]**2", {"x": (3, 3)}, (0, 0, 0)
    ),
    "a strided convolution": Chain(
        "w: f64[3]\nx: f64[N]\nf[i] = sum[k](w[k] * x[2*i + k])**2",
        {"w": (3,), "x": (8,)},
        (1, 1, 1),
    ),
    "a delta": Chain(
        "x: f64[N]\nf[i, j in range(N)] = x[i]**2 * (1 if i == j else 0)", {"x": (4,)}, (0, 0, 0)
    ),
    "a delta in a sum": Chain(
        "x: f64[N, N]\nf = sum[k, l](x[k, l]**2 if k == l else 0)", {"x": (3, 3)}, (0, 1, 1)
    ),
    "a padded convolution": Chain(
        "w: f64[3]\nx: f64[N]\nf[i in range(N)] = sum[k](w[k] * pad(x[i + k - 1]))**2",
        {"w": (3,), "x": (5,)},
        (1, 1),
    ),
    "a residue class": Chain(
        "x: f64[N]\nf[i in range(3)] = sum[k](x[k]**2 if (k - i) % 3 == 0 else 0)",
        {"x": (7,)},
        (0, 1, 1),
    ),
    "two branches": Chain(
        "x: f64[N]\nf[i in range(N)] = sum[k](x[k]**2 if k < i else exp(x[k]) * x[i])",
        {"x": (4,)},
        (1, 1),
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_derivatives_have_no_more_loops_than_they_need(name: str) -> None:
    chain = CHAINS[name]
    f = tadc.compile(chain.source, target="interpret")
    values = inputs_of(f, chain.shapes)
    rng = np.random.default_rng(1)
    for order, loops in enumerate(chain.loops, 1):
        adjoints = [rng.uniform(-1, 1, r.shape) for r in interpret(f.program.op, values)]
        program, f = f.program.op, f.derivative()
        assert not conditions_in_loops(f.program.op), f"order {order}\n{f.program.module}"
        assert depth(f.program.op) == loops, f"order {order}\n{f.program.module}"
        found = interpret(f.program.op, [*values, *adjoints])
        assert_derivative(
            lambda v, p=program: interpret(p, v), values, adjoints, found, f"order {order}"
        )
        values += adjoints


def check_random(seed: int) -> None:
    for options in ({}, {"kinks": True, "pads": True}):
        case = random_case(seed, **options)
        first = case.function.derivative()
        assert not conditions_in_loops(first.program.op), str(first.program.module)
        if seed % 6 == 0:
            by = random.Random(seed).choice(first.results).name[1:]
            second = case.function.derivative(by).derivative()
            assert not conditions_in_loops(second.program.op), str(second.program.module)


def test_random_derivatives_have_no_condition_in_a_loop() -> None:
    check_seeds(check_random, seeds(8, of=24, start=3000))


# --- programs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Forward:
    """A program, its arguments, and how often it reads `x`, for all elements together."""

    source: str
    shapes: dict[str, tuple[int, ...]]
    reads: int
    loops: int


PROGRAMS = {
    "from two on": Forward(
        "x: f64[9]\nw: f64[4]\ny[i in range(6)] = sum[k](w[k] * x[i + k] if k >= 2 else 0)",
        {"x": (9,), "w": (4,)},
        6 * 2,
        1,
    ),
    "below and above": Forward(
        "x: f64[N]\nz: f64[N]\ny[i in range(N)] = sum[k](x[k] if k < i else z[k])",
        {"x": (5,), "z": (5,)},
        0 + 1 + 2 + 3 + 4,
        1,
    ),
    "the trace": Forward(
        "x: f64[N, N]\ny = sum[k, l](x[k, l] if k == l else 0)", {"x": (5, 5)}, 5, 1
    ),
    "all but one": Forward(
        "x: f64[N]\ny[i in range(N)] = prod[k](x[k] if k != i else 1)", {"x": (4,)}, 4 * 3, 1
    ),
    "every third": Forward(
        "x: f64[N]\ny[i in range(N)] = sum[k](x[k] if (k - i) % 3 == 0 else 0)",
        {"x": (5,)},
        2 + 2 + 1 + 2 + 2,
        1,
    ),
    "two of three": Forward("x: f64[N]\ny = sum[k](x[k] if k % 3 < 2 else 0)", {"x": (8,)}, 6, 2),
    "a quotient": Forward(
        "x: f64[N]\ny[i in range(3)] = sum[k](x[k] if k // 3 == i else 0)", {"x": (8,)}, 8, 1
    ),
    "padding": Forward(
        "x: f64[N]\nw: f64[3]\ny[k in range(N)] = sum[i](pad(x[i + k - 1]) * w[i])",
        {"x": (5,), "w": (3,)},
        2 + 3 + 3 + 3 + 2,
        1,
    ),
    "padding in a function": Forward(
        "x: f64[N]\nw: f64[3]\ny[k in range(N)] = sum[i](exp(pad(x[i + k - 1]) * w[i]))",
        {"x": (5,), "w": (3,)},
        2 + 3 + 3 + 3 + 2,
        1,
    ),
    "outer indices": Forward(
        "x: f64[N, N]\ny[i] = sum[k](x[i, k] if i >= 3 else 1)", {"x": (5, 5)}, 2 * 5, 1
    ),
    "a sum in a sum": Forward(
        "x: f64[N, N]\ny = sum[k](sum[l](x[k, l] if k == l and k >= 1 else 0)**2)",
        {"x": (5, 5)},
        4,
        1,
    ),
    "one point for each": Forward(
        "x: f64[N]\ny = sum[p in range(1, N), i in range(p - 1, p)](x[i])", {"x": (5,)}, 4, 1
    ),
    "disjuncts": Forward(
        "x: f64[N]\ny[i in range(N)] = sum[k](x[k] if k == 0 or k > i and k != 3 else 0)",
        {"x": (5,)},
        (1 + 3) + (1 + 2) + (1 + 1) + (1 + 1) + 1,
        1,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_loop_over_the_points_that_count(name: str) -> None:
    forward = PROGRAMS[name]
    f = tadc.compile(forward.source)
    values = inputs_of(f, forward.shapes)
    expected = interpret(f.program.op, values)
    program = bounded_without_conditions(f.program.op)
    program.verify()
    assert not conditions_in_loops(program) and depth(program) == forward.loops, str(program)
    assert_close(interpret(program, values), expected, 1e-14, name)
    assert_close(f.call(values, {}), expected, 1e-14, "cpu")
    sizes = bind_sizes(program, forward.shapes)
    visits = [v for d in program.definitions for v in walk(d, sizes).values()]
    assert sum(v.reads[program.arguments["x"]] for v in visits) == forward.reads


def check_random_program(seed: int) -> None:
    for options in ({}, {"kinks": True, "pads": True}):
        case = random_case(seed, **options)
        f = case.function
        narrow = absorb_conditions(f.program.op)
        assert not conditions_in_loops(narrow), str(narrow)
        assert_close(interpret(narrow, case.values), case.results, 1e-11, "narrow")
        bounded = bounded_without_conditions(f.program.op)
        assert_close(interpret(bounded, case.values), case.results, 1e-11, "bounded")
        if conditions_in_loops(f.program.op):
            assert_close(f.call(case.values, {}), case.results, 1e-9, "cpu")


def test_random_programs_have_no_condition_in_a_loop() -> None:
    check_seeds(check_random_program, seeds(8, of=48, start=3000))


# --- loops ----------------------------------------------------------------------------------------

TESTED = {
    "a triangle in blocks": "x: f64[N, N]\nz: f64[N, N]\n"
    "y[i, j] = sum[k](x[i, k] * z[k, j] if k <= i else 0)",
}
BOUNDED = {
    "a short window": "x: f64[N]\nw: f64[3]\ny[i in range(N)] = sum[k](w[k] * pad(x[i + k - 1]))",
    "a triangle": "x: f64[N, N]\ny[i] = sum[k](x[i, k] if k <= i else 0)",
    "a band in blocks": "x: f64[N, N]\nz: f64[N, N]\n"
    "y[i, j] = sum[k](x[i, k] * z[k, j] if i - 1 <= k and k <= i + 1 else 0)",
    "numbers in blocks": "x: f64[N, N]\nz: f64[N, N]\n"
    "y[i, j] = sum[k](x[i, k] * z[k, j] if k >= 7 else 0)",
}


@pytest.mark.parametrize("name", [*TESTED, *BOUNDED])
def test_only_boxes_that_pay_have_tests(name: str) -> None:
    f = tadc.compile((TESTED | BOUNDED)[name])
    tests = [op for op in f.runner.code().module.walk() if isinstance(op, scf.IfOp) and op.results]
    inside = [op for op in tests if any(isinstance(p, scf.ForOp) for p in parents(op))]
    assert bool(inside) == (name in TESTED)
    size = 70  # more than a block
    shapes = {"x": (size,) * len(f.args[0].shape), "z": (size, size), "w": (3,)}
    values = inputs_of(f, shapes)

    assert_close(f.call(values, {}), interpret(f.program.op, values), 1e-13, name)


WIDTHS = {
    "a window at a border": (3, 1, True),
    "a band": (28, 2, False),
    "two of four": (4, 2, True),
}


@pytest.mark.parametrize("name", WIDTHS)
def test_without_vectors_only_narrow_boxes_have_tests(name: str) -> None:
    """Of 28 values of i, p - 2 * i is in a range of 4 for two: the others are not visited."""
    length, step, is_tested = WIDTHS[name]
    window = f"p - {step} * i" if step > 1 else "p + i - 1"
    term = f"x[i] * pad(w[{window}])"
    points = 2 * length + 2
    f = tadc.compile(f"x: f64[{length}]\nw: f64[4]\ny[p in range({points})] = sum[i]({term})")
    shaped = shape_loops(f.program.op, None)
    (total,) = [op for op in shaped.walk() if isinstance(op, tix.SumOp)]
    assert any(isinstance(op, tix.IfOp) for op in total.walk()) == is_tested
    values = inputs_of(f, {"x": (length,), "w": (4,)})
    assert_close(interpret(shaped, values), interpret(f.program.op, values), 1e-13, name)


BORDERS = {
    "around": "x: f64[N]\nc: f64[]\ny[i in range(N)] = c * x[i] * (x[wrap(i + 2)] "
    "- 8*x[wrap(i + 1)] + 8*x[wrap(i - 1)] - x[wrap(i - 2)])",
    "two axes": "x: f64[N, N]\nc: f64[]\ny[i in range(N), j in range(N)] = c * x[wrap(i + 1), "
    "wrap(j + 1)] * x[wrap(i - 1), wrap(j - 1)] * x[i, wrap(j + 1)]",
}


@pytest.mark.parametrize("name", BORDERS)
def test_few_points_at_borders_are_apart_from_most(name: str) -> None:
    """Too many conditions to decide all: the inside has none, and the result is the same where
    there is no inside."""
    f = tadc.compile(BORDERS[name])
    given = f.derivative("c").program.op
    solved = solve_conditions(given, {"N": 512})
    assert solved is not given
    assert any(not conditions_under(op) for op in solved.walk() if isinstance(op, tix.SumOp))
    assert all(conditions_under(op) for op in given.walk() if isinstance(op, tix.SumOp))
    for size in (5, 6, 9):
        x = np.random.default_rng(size).standard_normal([size] * len(f.args[0].shape))
        dy = np.cos(np.arange(x.size)).reshape(x.shape)
        known: dict[str, np.ndarray] = {"x": x, "c": np.array(2.0), "dy": dy}
        own = [known[t.name] for t in f.derivative("c").args]
        assert_close(interpret(solved, own), interpret(given, own), 1e-12, name)


def conditions_under(op: tix.SumOp) -> list[Operation]:
    return [o for o in op.walk() if isinstance(o, tix.IfOp)]

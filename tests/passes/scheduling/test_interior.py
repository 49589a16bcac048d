"""The inside of definitions: where no choice changes sides, whichever way they are written."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from itertools import groupby, product

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Constraint, Variable
from tadc.passes.scheduling.streams.interior import Inside, inside_of, ranges_of
from tests.support.campaign import seeds
from tests.support.long_calls import count_all_calls_as_long

Values = Mapping[Variable, int]


def inside(op: tix.DefineOp) -> Inside:
    return inside_of(op, {o for o in op.body.walk() if isinstance(o, tix.IfOp)}, ranges_of(op))


def holds(test: Constraint, values: Values) -> bool:
    value = test.form.constant + sum(c * values[v] for v, c in test.form.terms.items())
    return value == 0 if test.equality else value >= 0


def taken(op: tix.DefineOp, values: Values) -> tuple[tix.IfOp, ...]:
    """The choices that take their first sides."""
    choices = (o for o in op.body.walk() if isinstance(o, tix.IfOp))
    return tuple(o for o in choices if any(all(holds(c, values) for c in d) for d in o.condition))


def points(op: tix.DefineOp, size: int) -> list[Values]:
    sizes: dict[Variable, int] = {"N": size}
    ends = [range(n.evaluate({"N": size})) for n in op.shape]
    return [{**sizes, **dict(zip(op.indices, at, strict=True))} for at in product(*ends)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x[N - 1] if j <= 0 else x[j - 1]", range(1, 40)),
        ("x[N - 1] if j == 0 else x[j - 1]", range(1, 40)),
        ("x[0] if j == N - 1 else x[j + 1]", range(39)),
        ("x[j - 1] if j > 0 else x[N - 1]", range(1, 40)),
        ("x[j] if j == 0 or j == N - 1 else x[j + 1] + x[j - 1]", range(1, 39)),
        ("x[j + 1] + x[j - 1] if 0 < j and j != N - 1 else x[j]", range(1, 39)),
        ("x[0] if j < 1 else (x[j - 1] if j < N else x[N - 1])", range(1, 40)),
        ("x[0] if 3 <= j < 5 else x[j]", range(5, 40)),
        # far from both ends, and between two numbers
        ("(x[j - 2] if j > 1 else 0) + (0 if j > N - 4 else x[j + 3])", range(2, 37)),
        # nothing tells how long both parts are
        ("x[j] if 2*j < N else x[0]", range(20)),
        ("x[0] if 2*j >= N else x[j]", range(20, 40)),
    ],
)
def test_where_no_choice_changes(value: str, expected: range) -> None:
    program = tadc.compile(f"x: real[N]\ny[j in range(N)] = {value}").program.op
    (op,) = program.definitions
    tests = inside(op).tests
    found = [
        values[op.indices[0]] for values in points(op, 40) if all(holds(c, values) for c in tests)
    ]
    assert found == [*expected]


def test_a_corner_is_left_out_by_columns() -> None:
    program = tadc.compile("x: real[N, N]\ny[i, j] = 2*x[i, j] if i == 0 and j == 0 else x[i, j]")
    (op,) = program.program.op.definitions
    tests = inside(op).tests
    found = [[*v.values()][1:] for v in points(op, 4) if all(holds(c, v) for c in tests)]
    assert found == [[i, j] for i in range(4) for j in range(1, 4)]


def choice(rng: random.Random, indices: str, end: str, depth: int = 2) -> str:
    """A value by conditions at numbers, near both ends, and in both indices."""
    if depth == 0:
        return rng.choice(["1", "2", "3"])
    left = rng.choice([*indices, " + ".join(indices)])
    right = rng.choice([str(rng.randrange(9)), f"{end} - {rng.randrange(1, 6)}", "-2"])
    test = f"{left} {rng.choice(['<', '<=', '>=', '>', '==', '!='])} {right}"
    if rng.random() < 0.4:
        test += f" {rng.choice(['and', 'or'])} {indices[0]} {rng.choice('<>')} {rng.randrange(7)}"
    sides = [choice(rng, indices, end, depth - 1) for _ in range(2)]
    return f"({sides[0]} if {test} else {sides[1]})"


@pytest.mark.parametrize("seed", seeds(40, of=1000))
def test_choices_inside_take_their_sides(seed: int) -> None:
    rng = random.Random(seed)
    indices, end = rng.choice(["i", "ij"]), rng.choice(["N", "16"])
    body = " + ".join(choice(rng, indices, end) for _ in range(2))
    ranges = ", ".join(f"{v} in range({end})" for v in indices)
    source = f"x: f64[N]\ny[{ranges}] = x[0] + {body}"
    (op,) = tadc.compile(source).program.op.definitions
    found = inside(op)
    every = points(op, 16)
    there = [v for v in every if all(holds(c, v) for c in found.tests)]
    for values in there:
        first = taken(op, values)
        assert all((side is o.then) == (o in first) for o, side in found.sides.items())
    if indices == "i" and end == "16":
        runs = [len([*run]) for _, run in groupby(taken(op, v) for v in every)]
        assert len(there) >= max(runs) or len({*runs}) < len(runs)


CIRCLES = {
    "five": "x[{i} - 2] - 4*x[{i} - 1] * x[{i}] + 6*x[{i} + 1] * x[{i} + 2]",
    "seven": "x[{i} - 3] * x[{i} + 2] + x[{i} + 3] * x[{i} + 1]",
}


@pytest.mark.parametrize("size", [3, 5, 16, 131])
@pytest.mark.parametrize("name", CIRCLES)
def test_values_and_gradients_around_circles(name: str, size: int) -> None:
    body = re.sub(r"x\[\{i\}( [+-] \d)?\]", rf"x[(i\1) % {size}]", CIRCLES[name])
    source = f"x: f64[{size}]\ny[i in range({size})] = {body}"
    x, dy = np.random.default_rng(size).standard_normal((2, size))
    y, pullback = tadc.vjp(tadc.compile(source), x)
    expected, there = tadc.vjp(tadc.compile(source, target="interpret"), x)
    np.testing.assert_allclose(y, expected, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(pullback(dy)[0], there(dy)[0], rtol=1e-13, atol=1e-13)


SYMBOLIC = {
    "product": "x: f64[N]\ny[i in range(N)] = x[wrap(i + 1)] * x[wrap(i - 1)]",
    "far": "x: f64[N]\nc: f64[]\ny[i in range(N)] = c * x[i] * (x[wrap(i + 2)] "
    "- 2*x[wrap(i + 1)] + 2*x[wrap(i - 1)] - x[wrap(i - 2)])",
    "torus": "x: f64[N, M]\nc: f64[]\ny[i in range(N), j in range(M)] = c * x[wrap(i + 1), j] "
    "* x[wrap(i - 1), j] * x[i, wrap(j + 1)] * x[i, wrap(j - 1)]",
    "windows": "x: f64[N]\nw: f64[5]\n"
    "y[i in range(N)] = sum[k](w[k] * x[clamp(i + k - 2)] * x[wrap(i - k)])",
} | {
    word: "x: f64[N, M]\nw: f64[3, 3]\ny[i in range(N), j in range(M)] = "
    f"sum[a, b](w[a, b] * x[{word}(i + a - 1), {word}(j + b - 1)])"
    for word in ("clamp", "reflect", "wrap")
}


@pytest.mark.parametrize("sizes", [(5, 7), (16, 5), (131, 40)])
@pytest.mark.parametrize("name", SYMBOLIC)
def test_values_and_gradients_at_borders_of_any_size(
    name: str, sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    count_all_calls_as_long(monkeypatch)
    f, plain = (tadc.compile(SYMBOLIC[name], target=t) for t in ("cpu", "interpret"))
    rng = np.random.default_rng(0)
    numbers = {"N": sizes[0], "M": sizes[1], 3: 3, 5: 5}
    arguments = [rng.standard_normal([numbers[n] for n in t.shape]) for t in f.args]
    y, pullback = tadc.vjp(f, *arguments)
    expected, there = tadc.vjp(plain, *arguments)
    np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-12)
    dy = rng.standard_normal(y.shape)
    for own, other in zip(pullback(dy), there(dy), strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", SYMBOLIC)
def test_most_elements_at_borders_are_in_vectors(name: str) -> None:
    f = tadc.compile(SYMBOLIC[name])
    sizes = {n: 2048 for n in f.args[0].shape if isinstance(n, str)}
    for text in (f.emit("plan", sizes), f.derivative("x").emit("plan", sizes)):
        assert not re.search(r"^\w+\[.*\]: plain", text, re.MULTILINE), text

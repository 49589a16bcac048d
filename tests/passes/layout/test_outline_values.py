"""Values that many elements share as tensors: what programs mean, and which values these are."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix import elementwise as ew
from tadc.passes.layout import outline_values as outline
from tadc.passes.layout.outline_values import outline_values
from tadc.passes.rewriting.programs import reads_of
from tadc.runtime.loop_plan import loop_plan
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.long_calls import count_all_calls_as_long
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning


def outlined(program: tix.ProgramOp, size: int = 512) -> tix.ProgramOp:
    """The program with tensors that are worth it where all sizes are this number."""
    names = {s for t in program.arguments.values() for form in t.type.shape for s in form.sizes}
    return outline_values(program, dict.fromkeys(names, size))


def definitions_of(source: str, size: int = 512) -> list[tuple[str, int]]:
    """The labels of all definitions, and the numbers of their indices."""
    program = outlined(tadc.compile(source).program.op, size)
    return [(d.label.data, len(d.indices)) for d in program.definitions]


# --- meaning --------------------------------------------------------------------------------------


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of all values that elements or terms share: random programs have small sizes."""
    monkeypatch.setattr(outline, "SHARED_IN_BLOCKS", 1)
    monkeypatch.setattr(outline, "LONG_ROW", 1 << 30)
    monkeypatch.setattr(outline, "FEWEST_OPERATIONS_SAVED", 1)
    monkeypatch.setattr(outline, "storing", lambda elements: 0)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("seed", seeds(25, of=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check_meaning(outlined, random_case(seed, **(EVERYTHING if seed % 2 else {})))


SHARED = {
    "columns": "y[i, j] = x[i, j] / sqrt(1 + abs(v[j])) + exp(w[j])",
    "terms": "y[i] = max[j](x[i, j] + log(1 + abs(v[j])))",
    "several indices": "y[i, j, k] = z[i, j, k] * tanh(x[j, k] + 1)",
    "at one place": "y[i, j] = x[i, j] * sin(v[3])",
    "under a condition": "y[i, j] = x[i, j] * exp(v[j]) if j < i else 0",
    "moved": "y[i, j in range(4)] = x[i, j] * exp(v[j + 1])",
    "of indices": "y[i, j] = x[i, j] * exp(j / 9 - i)",
    "from below 0": "y[i in range(3)] = sum[u in range(-2, 3)](x[i, u + 2] * exp(v[u + 2] - u))",
    "terms with other bounds": "y[i] = sum[u in range(-1, 3)](v[i + u] * exp(u / 2)"
    " if 0 <= i + u < 5 else 0)",
    "short sums": "y[i, j, k] = sum[m in range(3)](x[i, m] * (1 + abs(v[j]))**m * z[k, i, j])",
    "within choices": "y[i, j] = x[i, j] + (exp(v[j]) if i > 2 else 1) * (log(w[j]**2) if w[i % 5]"
    " > 0 else 2)",
}


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("name", SHARED)
def test_values_move_with_all_that_they_need(name: str) -> None:
    rng = np.random.default_rng(0)
    shapes = {"x": (6, 5), "v": (5,), "w": (5,), "z": (7, 6, 5)}
    names = [t.name for t in tadc.compile(SHARED[name]).args]
    check_meaning(outlined, Case(SHARED[name], {n: rng.normal(size=shapes[n]) for n in names}))


def test_calls_and_gradients_are_those_of_the_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)
    source = "m[j] = sum[i](x[i, j])\ny[i, j] = x[i, j] / sqrt(1 + m[j]**2) * exp(v[j])\nreturn y"
    f, rng = tadc.compile(source), np.random.default_rng(0)
    values = [rng.normal(size=(300, 200)), rng.normal(size=200)]
    found, pullback = tadc.vjp(f, *values)
    expected, slow = tadc.vjp(f.with_target("interpret"), *values)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for a, b in zip(pullback(found), slow(found), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


# --- which values ---------------------------------------------------------------------------------


def test_values_of_columns_are_tensors() -> None:
    source = "y[i, j] = (x[i, j] - m[j]) / sqrt(v[j] + 1) + exp(m[j])"
    found = definitions_of(f"{source}\nreturn y")
    assert found == [("y_value", 1), ("y_value_1", 1), ("y", 2)]


def test_equal_ones_are_one_tensor() -> None:
    source = "y[i, j] = x[i, j] / sqrt(v[j])\nz[i, j] = x[i, j] + sqrt(v[j])\nreturn y, z"
    assert definitions_of(source) == [("y_value", 1), ("y", 2), ("z", 2)]


def test_a_value_has_all_of_itself_that_is_shared() -> None:
    (value, y) = outlined(
        tadc.compile("y[i, j] = x[i, j] * exp(sqrt(v[j]) + w[j])").program.op
    ).definitions
    assert [len(reads_of(value)), len(reads_of(y))] == [2, 2]
    assert [o.name for o in y.body.block.ops] == ["tix.read", "tix.read", "tix.mul", "tix.yield"]


APART = {
    "rows": "y[i, j] = x[i, j] * exp(v[i])",
    "elements": "y[i, j] = x[i, j] * exp(v[i] + v[j])",
    "cheap": "y[i, j] = x[i, j] * (v[j] + 1)",
    "indices": "y[i, j] = x[i, j] * j * v[j]",
    "few elements": "y[i in range(8), j] = x[i, j] * exp(v[j])",
    "sums": "y[i, j] = x[i, j] * sum[k](w[k, j])",
    "what is nowhere else": "y[i, j in range(600)] = x[i, j] * (exp(v[j]) if j < 512 else 1)",
    "inside of choices": "y[i, j] = exp(v[i - j]) if i >= j else x[i, j]",
}


@pytest.mark.parametrize("why", APART)
def test_others_stay(why: str) -> None:
    program = tadc.compile(f"{APART[why]}\nreturn y").program.op
    assert outlined(program) is program


def test_values_of_windows_are_tensors() -> None:
    inside = "exp(-abs(x[i + u] - x[i])) if 0 <= i + u < N else 0"
    source = f"x: f64[N]\ny[i] = sum[u in range(-20, 21)](exp(-u*u / s**2) * {inside})\nreturn y"
    program = outlined(tadc.compile(source).program.op, 1 << 14)
    shapes = [(d.label.data, *d.shape) for d in program.definitions]
    assert shapes == [("y_value", Affine(constant=41)), ("y", Affine.of("N"))]


def test_values_within_choices_are_tensors() -> None:
    source = "y[i, j] = x[i, j] * ((exp(v[j]) if x[i, j] > 0 else 1) if j > 3 else 0)\nreturn y"
    assert definitions_of(source) == [("y_value", 1), ("y", 2)]


def test_values_that_rows_shorter_than_vectors_share_are_tensors() -> None:
    source = "x: real[N]\nc: real[6, 6]\ny[n, k] = sum[m](c[k, m] * sin(x[n] * m))\nreturn y"
    assert definitions_of(source, 1 << 16) == [("y_value", 2), ("y", 2)]


def test_parts_move_where_the_whole_would_not_pay() -> None:
    """`exp(w[u] + 1) * log(v[i] + w[u])` has 4096 elements for each u, and eight j share these."""
    source = "y[i, j in range(8)] = sum[u](b[j, u] + log(exp(w[u] + 1) + v[i]))"
    rows = f"v: f64[4096]\nb: f64[8, 4096]\nw: f64[4096]\n{source}\nreturn y"
    assert definitions_of(rows) == [("y_value", 1), ("y", 2)]


def test_a_whole_moves_rather_than_its_parts() -> None:
    """Two parts save the two functions in each place and cost two reads there; the sum of both
    costs one, and is itself not computed there."""
    source = "y[t in range(60), r in range(64)] = sum[i, j](x[i, j] * exp(-(cos(a[i] * t) + "
    source += "sin(b[j] * t) - r)**2))"
    rows = f"x: f64[48, 48]\na: f64[48]\nb: f64[48]\n{source}\nreturn y"
    assert definitions_of(rows) == [("y_value", 3), ("y", 2)]


def test_what_is_not_compared_moves() -> None:
    """`dy / ties` has an element for each k and b, of which all i share it; the quotient that is
    compared with the extremum rounds where it stands, as it does there."""
    program = tadc.compile("y[b, k] = min[i](h[k, i] / s[b, i])").derivative("h").program.op
    value, gradient = outlined(program).definitions[-2:]
    assert [value.label.data, gradient.label.data] == ["dh_value", "dh"]
    divisions = [o for o in gradient.walk() if isinstance(o, ew.DivOp)]
    compared = [o.lhs.owner for o in gradient.walk() if isinstance(o, tix.WhereOp)]
    assert len(divisions) == 2 and {*compared} <= {*divisions}


def test_what_is_compared_stays() -> None:
    source = "y[b] = max[i](x[b, i] * exp(v[i]))"
    assert definitions_of(source) == [("y_value", 1), ("y", 1)]
    program = tadc.compile(source).derivative("x").program.op
    assert outlined(program) is program


def test_little_to_save_and_unknown_sizes_stay() -> None:
    program = tadc.compile("y[i, j] = x[i, j] * exp(v[j])").program.op
    assert outlined(program, 64) is program
    assert outlined(program, 128) is not program
    assert outline_values(program, {}) is program


def test_calls_of_programs_without_sums_have_such_tensors() -> None:
    f = tadc.compile("y[i, j] = x[i, j] * exp(v[j])\nz[i, j] = x[i, j] * exp(v[i])\nreturn y, z")
    plan = str(loop_plan(f.runner, dict.fromkeys(f.program.summary.size_names(), 512), "f32"))
    assert "y_value" in plan and "z_value" not in plan


def test_expressions_may_be_deep() -> None:
    total = " + ".join(f"{n} * v[j]" for n in range(3000))
    program = tadc.compile(f"y[i, j] = x[i, j] * exp({total})").program
    assert program.summary.definitions[0].cost.has_common_values

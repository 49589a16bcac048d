"""Values that many elements share as tensors: what programs mean, and which values these are."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes import outline_values as outline
from tadc.passes.outline_values import outline_values
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
    monkeypatch.setattr(outline, "FEWEST_IN_COMMON", 2)
    monkeypatch.setattr(outline, "FEWEST_OPERATIONS_SAVED", 1)


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
    "choices": "y[i, j] = x[i, j] * (exp(v[j]) if j > 3 else 1)",
    "inside of choices": "y[i, j] = exp(v[i - j]) if i >= j else x[i, j]",
}


@pytest.mark.parametrize("why", APART)
def test_others_stay(why: str) -> None:
    program = tadc.compile(f"{APART[why]}\nreturn y").program.op
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

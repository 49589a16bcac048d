"""Sums over all terms before or behind an element, weighed by products on the way."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.runtime.compiled import Compiled
from tadc.runtime.loop_plan import program_in

BACK = "sum[j in range(k, N)](t[i, j] * prod[l in range(k + 1, j + 1)](w[i, l]))"
FORTH = "sum[j in range(k + 1)](t[i, j] * prod[l in range(j + 1, k + 1)](w[i, l]))"
SUMS = {
    "from an element on": BACK,
    "up to an element": FORTH,
    "the term weighed, too": BACK.replace("k + 1,", "k,"),
    "up to one, weighed": FORTH.replace("range(j + 1, k + 1)", "range(j, k + 1)"),
    "of shared weights": FORTH.replace("w[i, l]", "w[0, l]"),
    "of shared terms": BACK.replace("t[i, j]", "t[0, j]"),
    "of several factors": BACK.replace("w[i, l]", "w[i, l] * sin(t[i, l])"),
    "with a divisor": FORTH.replace("t[i, j] *", "-t[i, j] / (2 + w[i, j]) *"),
    "of one before": "sum[j in range(k)](t[i, j] * prod[l in range(j + 1, k)](w[i, l]))",
    "of the first ones": BACK.replace("range(k, N)", "range(k, min(N, 40))"),
    "of the last ones": FORTH.replace("j in range(k + 1)", "j in range(5, k + 1)"),
    "times a function of the element": f"exp(t[i, k]) * {BACK}",
    "times a factor inside": BACK.replace("t[i, j] *", "t[i, j] * w[i, k] *"),
}
NONE = {
    "a window": FORTH.replace("j in range(k + 1)", "j in range(max(0, k - 50), k + 1)"),
    "terms that move": BACK.replace("t[i, j]", "(t[i, j] - t[i, k])"),
    "a longer way": BACK.replace("k + 1, j + 1", "k, min(N, j + 3)"),
}
DECLARED = "t: f64[I, N]\nw: f64[I, N]\n"


def definitions(body: str) -> list[tix.DefineOp]:
    """The definitions that a long call computes."""
    f = tadc.compile(f"{DECLARED}y[i, k in range(N)] = {body}")
    code = Compiled(f.program, "cpu").code({"I": 64, "N": 256}, "f64")
    return list(program_in(code.shaped).definitions)


@pytest.mark.parametrize("name", SUMS)
def test_loops_carry_totals(name: str) -> None:
    assert any(map(is_recurrence, definitions(SUMS[name])))


@pytest.mark.parametrize("name", NONE)
def test_other_sums_are_none(name: str) -> None:
    assert not any(map(is_recurrence, definitions(NONE[name])))


@pytest.mark.parametrize("size", [40, 130])
@pytest.mark.parametrize("name", [*SUMS, *NONE])
def test_values_are_those_of_the_interpreter(name: str, size: int) -> None:
    """Zeros among the weights, of which a quotient of running products knows nothing."""
    rng = np.random.default_rng(size)
    t, w = rng.normal(size=(3, size)), rng.uniform(-1.2, 1.2, (3, size))
    w[:, 7] = 0
    source = f"{DECLARED}y[i, k in range(N)] = {SUMS.get(name) or NONE[name]}"
    found, expected = (tadc.compile(source, target=on)(t, w) for on in ("cpu", "interpret"))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("term", "way", "weight"),
    [
        ("j + {i}", "", "l"),
        ("j", "", "l + {i}"),
        ("j", "+ {i}", "l"),
        ("j", "+ {k}", "l"),  # the factors of a term are others for each element
    ],
)
def test_quotients(term: str, way: str, weight: str) -> None:
    """Two of an index, which stay quotients, in terms, ends and factors."""
    body = f"sum[j in range(k + 1)](t[i, {term}] * " + (
        f"prod[l in range(j + 1 {way}, k + 1 {way})](w[i, {weight}]))"
    )
    quotients = {v: f"{v} // 2 + {v} // 3" for v in "ik"}
    source = f"t: f64[I, N]\nw: f64[I, M]\ny[i, k in range(70)] = {body.format(**quotients)}"
    rng = np.random.default_rng(0)
    t, w = rng.normal(size=(40, 140)), rng.uniform(-1.2, 1.2, (40, 140))
    found, expected = (tadc.compile(source, target=on)(t, w) for on in ("cpu", "interpret"))
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 60, 257])
def test_gradients_of_running_products(size: int) -> None:
    rng = np.random.default_rng(size)
    x, dy = rng.uniform(0.9, 1.1, (40, size)), rng.normal(size=(40, size))
    x[3, size // 2] = 0
    y, pullback = tadc.vjp(tadc.compile("y[i, j] = prod[k in range(j + 1)](x[i, k])"), x)
    np.testing.assert_allclose(y, np.cumprod(x, axis=1), rtol=1e-12)
    expected = np.zeros_like(x)
    for k in range(size):
        others = x.copy()
        others[:, k] = 1
        expected[:, k] = (dy * np.cumprod(others, axis=1))[:, k:].sum(1)
    np.testing.assert_allclose(pullback(dy)[0], expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("axes", ["[k, i]", "[k]"])
def test_recurrences_down_columns_and_of_one_row(axes: str) -> None:
    rng = np.random.default_rng(0)
    shape = (3000, 5) if "i" in axes else (3000,)
    t, w = rng.normal(size=shape), rng.uniform(0.5, 1, shape)
    at = {name: axes.replace("k", name) for name in "jkl"}
    total = f"sum[j in range(k + 1)](t{at['j']} * prod[l in range(j + 1, k + 1)](w{at['l']}))"
    expected = np.zeros(shape)
    for k in range(shape[0]):
        expected[k] = t[k] + (w[k] * expected[k - 1] if k else 0)
    found = tadc.compile(f"y{axes} = {total}")(t, w)
    np.testing.assert_allclose(found, expected, rtol=1e-12)

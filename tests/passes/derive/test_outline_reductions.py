"""Reductions that get definitions of their own: each one a label of its own."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.factoring import block_sums
from tadc.passes.derive import outline_reductions as outline
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.rewriting.written_sizes import write_sizes
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning


def named(program: tix.ProgramOp, **sizes: int) -> tix.ProgramOp:
    """The program in which sums have names that have blocks by themselves, for these sizes."""
    return OutlineReductionsPass(True, True, write_sizes(sizes)).rewrite(program.clone())


def test_a_product_in_a_product_has_another_name() -> None:
    """Both are shared by all elements, and the outer one is named first."""
    inner = "prod[r in range(-q, q - p)](sin(b))"
    source = "x: f64[3, J]\nb: f64[]\n"
    source += f"f[i, j] = x[i, j] * prod[p in range(3), q in range(3)](sin({inner}))"
    x, b = np.arange(15.0).reshape(3, 5), 0.5
    powers = [np.sin(b) ** max(0, 2 * q - p) for p in range(3) for q in range(3)]
    np.testing.assert_allclose(tadc.compile(source)(x, b), x * np.prod(np.sin(powers)), rtol=1e-12)


SCORES = "sum[k](w[l, k] * x[i, k])"
LARGE = {"N": 4096, "M": 256, "K": 64}
DECLARED = "x: f32[N, K]\nw: f32[M, K]\nb: f32[N]\n"


@pytest.mark.parametrize(
    ("source", "sizes", "labels"),
    [
        (f"y[i] = log(sum[l](exp({SCORES})))", LARGE, ["y_sum", "y"]),
        (f"y[i] = max[l]({SCORES})", LARGE, ["y_sum", "y"]),
        (f"y = sum[i, l](({SCORES} - b[i])**2)", LARGE, ["y_sum", "y"]),
        # as large as no tensor of the program, nor a cache
        (f"y[i] = max[l]({SCORES})", LARGE | {"N": 1 << 20}, ["y"]),
        # elements of y share what a tensor would share
        ("y[i, j] = max[l](sum[k](w[j, k] * x[i, k] * w[l, k]))", LARGE, ["y"]),
        # x[i, k] is read for one i alone
        ("y = sum[i](exp(sum[k](x[i, k] * w[0, k])))", LARGE, ["y"]),
        # so short that a tensor takes longer
        (f"y[i] = max[l]({SCORES})", LARGE | {"N": 16, "M": 16, "K": 9}, ["y"]),
        # for all l but one, for half of them, and for few
        (f"y[i] = max[l](sin({SCORES}) if l != i else 0)", LARGE, ["y_sum", "y"]),
        (f"y[i] = max[l](sin({SCORES}) if l < i else 0)", LARGE, ["y_sum", "y"]),
        (f"y[i] = max[l](sin({SCORES}) if 2*l < i else 0)", LARGE, ["y"]),
        # for about half of a box, and for a small part of it
        (f"y[i] = max[l in range(i + 1)]({SCORES})", LARGE, ["y_sum", "y"]),
        (f"y[i] = max[l in range(i, M)]({SCORES})", LARGE, ["y_sum", "y"]),
        (f"y[i] = max[l in range(i, min(i + 9, M))]({SCORES})", LARGE, ["y"]),
        (f"y = max[i, j in range(i), l in range(j)]({SCORES} + x[j, 0])", LARGE, ["y"]),
        ("y[i] = max[l](sum[k in range(4)](w[l, k] * x[i, k]))", LARGE, ["y"]),
    ],
)
def test_sums_in_reductions_get_names_where_they_have_blocks(
    source: str, sizes: dict[str, int], labels: list[str]
) -> None:
    program = named(tadc.compile(DECLARED + source).program.op, **sizes)
    assert [op.label.data for op in program.definitions] == labels


@pytest.fixture
def all_have_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names for all sums in reductions that share something, however short they are."""
    monkeypatch.setattr(block_sums, "FEWEST_IN_BLOCK", 1)
    monkeypatch.setattr(block_sums, "SAVED_FOR_TERM", 1e9)
    monkeypatch.setattr(outline, "MOST_TERMS_TO_RECOMPUTE", 0)


INNER = (
    "sum[k](w[l, k] * x[i, k])",
    "sum[k]((x[i, k] - w[l, k])**2)",
    "sum[k in range(l + 1)](x[i, k] * b[l])",
    "sum[k](w[l, k] * exp(sum[m](x[i, m] * w[m, k])))",
)
OUTER = (
    "y[i] = log(sum[l in range(3)](exp({})))",
    "y[i] = max[l in range(3)](b[l] * {})",
    "y = sum[i in range(4), l in range(3)](({} - b[l])**2)",
    "y[i] = prod[l in range(3)](cos({}) if l > 0 else {})",
)


@pytest.mark.usefixtures("all_have_blocks")
@pytest.mark.parametrize("seed", seeds(8, of=32))
def test_sums_in_reductions_keep_their_meaning(seed: int) -> None:
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    outer = rng.choice(OUTER)
    source = outer.format(*(rng.choice(INNER) for _ in range(outer.count("{}"))))
    x, w, b = (numbers.normal(size=shape) for shape in ((4, 3), (3, 3), 3))
    check_meaning(named, Case(source, {"x": x, "w": w, "b": b}))


@pytest.mark.usefixtures("all_have_blocks")
@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check_meaning(named, random_case(seed, **(EVERYTHING if seed % 2 else {})))

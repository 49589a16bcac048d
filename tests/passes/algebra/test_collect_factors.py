"""Factors that the terms of pairs have in common: what programs mean, and what is computed once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.collect_factors import collect_factors
from tadc.passes.algebra.join_sums import join_sums
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.layout.recompute_elements import recompute_elements
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.pair_programs import pair_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning

SIZES = {"N": 2048}


def collected(program: tix.ProgramOp) -> tix.ProgramOp:
    """A copy of the program, whose pairs are computed where they are read, in one sum each."""
    copy = bounded_without_conditions(program.clone())
    return collect_factors(join_sums(recompute_elements(copy, SIZES)))


@pytest.mark.parametrize("seed", seeds(30, of=1000))
def test_forces_between_points_keep_their_meaning(seed: int) -> None:
    check_meaning(collected, pair_case(seed))


@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check_meaning(collected, random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.parametrize("seed", seeds(6, of=200, start=2000))
def test_machine_code_computes_what_the_interpreter_does(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    count_all_calls_as_long(monkeypatch)
    cut_all_steps(monkeypatch)
    case = pair_case(seed, points=37)
    f, slow = case.function, case.interpreted
    numbers = np.random.default_rng(seed)
    adjoints = [numbers.normal(size=np.shape(y)) for y in case.results]
    for a, b in zip(gradients(f, case, adjoints), gradients(slow, case, adjoints), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11 * (1 + np.abs(b).max()))


def gradients(f: tadc.Function, case: Case, adjoints: Sequence[np.ndarray]) -> list[Any]:
    """The values and the gradients of a case."""
    y, pullback = tadc.vjp(f, *case.values)
    found = pullback(*adjoints)
    values = [y] if len(adjoints) == 1 else [*y]
    return [*values, *(found if len(case.values) > 1 else [found])]


# --- what is computed once ------------------------------------------------------------------------

PAIRS = "x: f64[N, 3]\nq: f64[N]\nr[i, j] = sum[d]((x[i, d] - x[j, d])**2)\n"


def counted(source: str, kind: type, by: Callable[[tix.ProgramOp], tix.ProgramOp]) -> int:
    program = by(tadc.compile(PAIRS + source).derivative("x").program.op)
    (sums,) = ([o for o in d.walk() if isinstance(o, tix.SumOp)] for d in program.definitions[-1:])
    outer = [s for s in sums if isinstance(s.parent_op(), tix.DefineOp)]
    return sum(isinstance(o, kind) for s in outer for o in s.walk())


@pytest.mark.parametrize(
    ("source", "divisions"),
    [
        # (1 - r) / (r + 0.01), in each of three choices
        (
            "w[i, j] = q[j] * (1 - r[i, j])**2 / (r[i, j] + 0.01) if r[i, j] < 1 else 0\n"
            "y[i, d] = sum[j](w[i, j] * (x[i, d] - x[j, d]))",
            3,
        ),
        # the energy of a pair is that of both ends
        ("e = sum[i, j](q[i] * q[j] / (r[i, j] + 0.01))", 1),
        # 1 / r overflows, and is not in the text
        ("y[i, d] = sum[j](q[j] / r[i, j] * (x[i, d] - x[j, d]))", 2),
    ],
)
def test_few_quotients_are_left(source: str, divisions: int) -> None:
    assert counted(source, ew.DivOp, collected) == divisions


def test_what_a_short_index_does_not_change_is_not_in_its_sum() -> None:
    f = tadc.compile(PAIRS + "y[j] = sum[i, d](x[i, d] * (x[i, d] - x[j, d]) / (r[i, j] + 0.01))")
    (sum_,) = (o for o in collected(f.program.op).walk() if isinstance(o, tix.SumOp) and is_long(o))
    (quotient,) = (o for o in sum_.walk() if isinstance(o, ew.DivOp))
    assert quotient.parent_op() is sum_


def is_long(op: tix.SumOp) -> bool:
    return isinstance(op.parent_op(), tix.DefineOp)


def test_equal_ends_of_pairs_are_one_term() -> None:
    source = "e = sum[i, j](q[i] * q[j] * exp(-r[i, j]))"
    assert counted(source, ew.ExpOp, collected) == 1

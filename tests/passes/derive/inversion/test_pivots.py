"""Pivots: the results of an inverse mode that it divides by, as every pass hands them on."""

from __future__ import annotations

import random

import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects.tix import DeterminantOp, ProgramOp, SolveOp
from tadc.passes.pipeline import inverse_part_passes, whole_inverse_passes
from tests.support.campaign import seeds
from tests.support.random_updates import random_update

MODES = ("inverse-jvp", "inverse-vjp", "log-abs-det")


def programs(module: ModuleOp) -> list[ProgramOp]:
    return [op for op in module.ops if isinstance(op, ProgramOp)]


def names_in_systems(module: ModuleOp) -> set[str]:
    found: set[str] = set()
    for op in module.ops:
        if isinstance(op, SolveOp | DeterminantOp):
            found.update(op.matrix_names)
        if isinstance(op, SolveOp):
            found.update(op.rhs_names)
    return found


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seed", seeds(6, of=12))
def test_results_are_derivatives_pivots_or_parts_of_systems(seed: int, mode: str) -> None:
    f = tadc.compile(random_update(random.Random(seed)).source, "interpret")
    module = f.program.transformed(whole_inverse_passes(mode).passes)
    (whole,) = programs(module)
    derivatives = 2 if mode == "log-abs-det" else len(f.results)
    more = whole.result_names[derivatives:]
    assert [name for name in more if name not in names_in_systems(module)] == whole.pivots
    assert not whole.pivots or mode != "log-abs-det"
    f.program.transform(module, inverse_part_passes().passes)
    assert sorted(p for part in programs(module) for p in part.pivots) == sorted(whole.pivots)


UPDATES = (
    """
p: f64[N]
q: f64[N]
"""
    + "q[i] = p[i] * q[i] + (sin(q[i - 1]) if i % 2 == 1 else 0)\np[i] = exp(q[i]) * p[i]\n" * 12
)


@pytest.mark.parametrize("mode", MODES[:2])
def test_programs_of_many_alike_definitions_keep_their_pivots(mode: str) -> None:
    (whole,) = programs(
        tadc.compile(UPDATES).program.transformed(whole_inverse_passes(mode).passes)
    )
    assert len(whole.pivots) == 24
    assert whole.pivots == whole.result_names[2:]


def test_numbers_are_no_pivots() -> None:
    f = tadc.compile("p: f64[N]\np[i] = 2 * p[i]")
    (whole,) = programs(f.program.transformed(whole_inverse_passes("inverse-jvp").passes))
    assert (whole.result_names, whole.pivots) == (["p_dot"], [])

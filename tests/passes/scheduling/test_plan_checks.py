"""Plans in which something is read before it is there are found out, whatever shares loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects import tix
from tadc.passes.analysis.equivalence import equivalent_definitions
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.scheduling.choose_nests import steps_of
from tadc.passes.scheduling.nest import Nest, Rows
from tadc.passes.scheduling.plan_checks import WrongPlan, mistakes_in, require_computed
from tadc.passes.scheduling.rows.fuse_loops import Part
from tadc.passes.scheduling.step_order import Step, definitions_of
from tests.support.campaign import seeds
from tests.support.long_calls import make_bands_small
from tests.support.random_definitions import random_definitions
from tests.support.row_programs import LAYER_NORM, SOFTMAX
from tests.support.scheduled_programs import run_scheduled

BESIDE = """\
z: real[I, K]
b: real[I]
r[i] = sum[k](z[i, k])
s[i] = b[i] * 2
t[i, k in range(K)] = s[i]
w[i] = r[i] + b[i]
return t, w"""
COLUMNS = """\
m[j] = max[i](x[i, j])
e[i, j] = exp(x[i, j] - m[j])
s[j] = sum[i](e[i, j])
y[i, j] = e[i, j] / s[j]"""
WINDOWS = """\
x: real[N, M]
a: real[5]
z[i, j in range(M - 4)] = sum[t in range(5)](a[t] * x[i, j + t])
y[i in range(N - 4), j in range(M - 4)] = sum[s in range(5)](a[s] * z[i + s, j])
return y"""
ROLLING = (
    WINDOWS.replace("j + t", "t + j")
    .replace("z[i + s, j]", "z[i, j + s]")
    .replace("i in range(N - 4), j in range(M - 4)", "i, j in range(M - 8)")
)
TWICE = "u[i] = exp(x[i])\nv[i] = exp(u[i])\ny[i] = u[i] * v[i]"


def steps(source: str, *sizes: str) -> list[Step]:
    """The steps of a program as it is written."""
    op = set_precision(tadc.compile(source).program.op, "f32")
    choose = blocking_chooser(True, sizes)
    return steps_of(equivalent_definitions(op), choose, set())


def labels(found: Sequence[Step]) -> list[list[str]]:
    return [[op.label.data for op in definitions_of(step)] for step in found]


# --- the order of steps ---------------------------------------------------------------------------


def test_a_stream_joins_no_nest_ahead_of_what_others_read_between():
    assert labels(steps(BESIDE, "I=100", "K=50")) == [["r"], ["w", "s"], ["t"]]


@pytest.mark.parametrize("shape", [(16, 300), (100, 50), (1000, 1000)], ids=str)
def test_what_moved_up_is_there_for_those_between(shape: tuple[int, int]):
    z, b = np.random.default_rng(0).normal(size=shape), np.arange(float(shape[0]))
    t, w = tadc.compile(BESIDE)(z, b)
    np.testing.assert_array_equal(t, np.repeat(2 * b[:, None], shape[1], 1))
    np.testing.assert_allclose(w, z.sum(1) + b, atol=1e-9)


def test_calls_stand_behind_what_they_read():
    found = steps(TWICE)
    assert labels(found) == [["u"], ["v"], ["y"]]
    assert not isinstance(found[1], Nest)


def test_every_other_order_is_a_mistake():
    r, both, t = steps(BESIDE, "I=100", "K=50")
    for wrong in ([r, t, both], [both, r, t], [t, r, both]):
        with pytest.raises(WrongPlan, match="before it is computed"):
            require_computed(wrong)
    with pytest.raises(WrongPlan, match="computed twice"):
        require_computed([r, both, t, both])


def test_a_result_must_be_stored():
    (nest,) = steps(SOFTMAX, "I=1000", "J=1000")
    assert isinstance(nest, Nest) and isinstance(nest.loops, Rows)
    lost = replace(nest, loops=replace(nest.loops, written=[]))
    assert any("is not stored" in mistake for mistake in mistakes_in([lost]))


# --- inside of a nest -----------------------------------------------------------------------------


def broken_rows(source: str, change: Callable[[Nest, Rows], Nest], *sizes: str) -> list[str]:
    """The mistakes of a plan whose rows are changed; it has none before."""
    (nest,) = steps(source, *sizes)
    assert isinstance(nest, Nest) and isinstance(nest.loops, Rows)
    assert not [*mistakes_in([nest])]
    return [*mistakes_in([change(nest, nest.loops)])]


@pytest.mark.parametrize("source", [SOFTMAX, LAYER_NORM, COLUMNS], ids=["rows", "norm", "strips"])
def test_rows_are_computed_in_order(source: str):
    def backwards(nest: Nest, _: Rows) -> Nest:
        return replace(nest, members=[*reversed(nest.members)])

    found = broken_rows(source, backwards, "I=1000", "J=1000")
    assert any("before it is computed" in mistake for mistake in found)


@pytest.mark.parametrize("source", [SOFTMAX, COLUMNS], ids=["rows", "strips"])
def test_rows_have_places_of_their_own(source: str):
    def nowhere(nest: Nest, rows: Rows) -> Nest:
        return replace(nest, loops=replace(rows, hosts={}))

    def in_one(nest: Nest, rows: Rows) -> Nest:
        last = nest.members[-1]
        *_, number = (op for op in nest.members if not rows.inside(op))
        return replace(nest, loops=replace(rows, hosts={**rows.hosts, number.result: last.result}))

    assert any("no memory" in mistake for mistake in broken_rows(source, nowhere))
    assert any("another row has taken" in mistake for mistake in broken_rows(source, in_one))


def test_rows_read_their_own():
    def turned(nest: Nest, rows: Rows) -> Nest:
        shared = {op: op.indices[-1:] if len(op.indices) > 1 else op.indices for op in rows.shared}
        return replace(nest, loops=replace(rows, shared=shared))

    assert any("not its own" in mistake for mistake in broken_rows(SOFTMAX, turned))


def test_loops_take_along_what_is_ready():
    (nest,) = steps(SOFTMAX, "I=1000", "J=1000")
    assert isinstance(nest, Nest) and isinstance(nest.loops, Rows)
    largest, _, total, _ = nest.members
    first, later = (op for o in (largest, total) for op in o.body.walk() if _is_sum(op))
    assert isinstance(later, tix.ReductionOp)
    wrong = replace(nest.loops, along={first: [Part(total, later)]})
    assert any("too early" in m for m in mistakes_in([replace(nest, loops=wrong)]))


def _is_sum(op: object) -> bool:
    return isinstance(op, tix.ReductionOp)


def bands_of(source: str, patch: pytest.MonkeyPatch, room: int) -> tuple[Nest, Bands]:
    make_bands_small(patch, room)
    (nest,) = steps(source)
    assert isinstance(nest, Nest) and isinstance(nest.loops, Bands)
    assert not [*mistakes_in([nest])]
    return nest, nest.loops


def mistakes_of(nest: Nest, bands: Bands) -> list[str]:
    return [*mistakes_in([replace(nest, loops=bands)])]


def test_a_band_has_all_that_it_reads(monkeypatch: pytest.MonkeyPatch):
    nest, bands = bands_of(WINDOWS, monkeypatch, 1 << 13)
    stage, root = bands.stages
    axis = next(axis for axis in stage.axes if axis)
    for short in (replace(axis, high=axis.high - 1), replace(axis, low=axis.low + 1)):
        axes = [short if a is axis else a for a in stage.axes]
        wrong = replace(bands, stages=[replace(stage, axes=axes), root])
        assert any("beside the band" in mistake for mistake in mistakes_of(nest, wrong))
    wrong = replace(bands, stages=[root, stage])
    assert any("before it is computed" in mistake for mistake in mistakes_of(nest, wrong))


def test_a_roll_has_the_columns_at_hand(monkeypatch: pytest.MonkeyPatch):
    nest, bands = bands_of(ROLLING, monkeypatch, 1 << 13)
    assert bands.roll
    wrong = replace(bands, roll=replace(bands.roll, high=bands.roll.high - 1))
    assert any("not at hand" in mistake for mistake in mistakes_of(nest, wrong))


# --- random programs ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(25, of=4000))
def test_random_definitions_as_they_are_written(seed: int):
    """Nothing is inlined or joined before, so that many definitions share loops. The interpreter of
    loops, which computes them, begins with tensors of NaN."""
    case = random_definitions(Random(seed))
    f = tadc.compile(case.source)
    program = set_precision(f.program.op, "f64")
    sizes = [[], ["I=300", "K=400"], ["I=19", "K=18"]][seed % 3]
    made = ModuleOp(schedule(program.clone(), blocking_chooser(True, sizes)))
    values = [case.arguments[name] for name in program.arguments]
    if seed % 5 == 0:  # these take longer
        expected = f.with_target("interpret").call(values, {})
        for a, b in zip(run_scheduled(made, program, values), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)

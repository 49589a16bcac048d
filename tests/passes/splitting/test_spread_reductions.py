"""Reductions spread over threads: what programs mean, what is spread, how much memory it takes."""

from __future__ import annotations

from functools import partial
from math import prod
from random import Random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.splitting import spread_reductions as spread
from tadc.passes.splitting.spread_reductions import spread_reductions
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.reduction_chains import random_chain
from tests.support.rewritten import check_meaning


@pytest.mark.usefixtures("few_threads")
@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_random_chains_keep_their_meaning(seed: int) -> None:
    random = Random(seed)
    case, shape = random_chain(random), (random.randrange(1, 12), 5)
    values = {"x": np.random.default_rng(seed).normal(size=shape)}
    most = {"I": 2 * shape[0], "J": 6}
    check_meaning(
        partial(spread_reductions, least={"I": shape[0], "J": 4}, most=most), Case(case, values)
    )


@pytest.mark.usefixtures("few_threads")
@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    """The sizes said are not those of the call: the change is right for all."""
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    names = case.function.program.summary.size_names()
    least, most = dict.fromkeys(names, 6), dict.fromkeys(names, 9)
    check_meaning(partial(spread_reductions, least=least, most=most), case)


# --- which reductions -----------------------------------------------------------------------------


def shapes(source: str, **sizes: int) -> list[list[int]]:
    """The shapes of all definitions, for calls of these sizes."""
    program = tadc.compile(source).program.op
    made = spread_reductions(program, sizes, sizes)
    bounds = SizeBounds(made, sizes, sizes)
    return [[int(bounds.of(form)[1]) for form in d.shape] for d in made.definitions]


def test_a_sum_is_spread_until_no_part_is_long() -> None:
    found = shapes("y = sum[i](x[i]**2)", I=1 << 20)
    assert found[-1] == [] and len(found) == 4
    counts = [prod(shape) for shape in found]
    for more, fewer in zip([1 << 20, *counts], counts, strict=False):
        assert more <= spread.FEWEST_TERMS * fewer


def test_lanes_are_last_where_terms_lie_side_by_side() -> None:
    """Sums of rows: a warp reads 32 elements of one."""
    assert shapes("y[i] = sum[j](x[i, j])", I=2000, J=768) == [[2000, 32], [2000]]


def test_remainders_are_first_where_elements_lie_side_by_side() -> None:
    """Sums of columns: a warp reads 32 elements of a row."""
    assert shapes("y[j] = sum[i](x[i, j])", I=2000, J=768) == [[32, 768], [768]]


def test_each_value_of_a_short_index_has_a_piece() -> None:
    """No remainders: 56 rows of a plane side by side."""
    x = "x: f64[64, 128, 56, 56]\n"
    found = shapes(x + "y[c] = sum[n, i, j](x[n, c, i, j])")
    assert found[0][-1] == 56


def test_many_elements_stay_whole() -> None:
    assert shapes("y[i, j] = sum[k](x[i, k] * z[j, k])", I=512, J=512, K=512) == [[512, 512]]


def test_short_sums_stay_whole() -> None:
    assert shapes("y[i] = sum[j](x[i, j])", I=4, J=100) == [[4]]


def test_nothing_is_spread_of_unknown_sizes() -> None:
    program = tadc.compile("y = sum[i](x[i]**2)").program.op
    assert spread_reductions(program, {}, {}) is program
    rows = tadc.compile("y[i] = sum[j](x[i, j])").program.op
    assert spread_reductions(rows, {"I": 8, "J": 1 << 20}, {"J": 1 << 20}) is rows
    known = {"I": 8, "J": 1 << 20}
    assert spread_reductions(rows, known, known) is not rows


@pytest.mark.parametrize("seed", seeds(20, of=300))
def test_pieces_take_bounded_memory(seed: int) -> None:
    """Not more than a number for each thread, or for each value of a short index and warp."""
    case = random_case(seed, **EVERYTHING)
    for program in (case.function.program.op, case.function.derivative().program.op):
        names = {s for t in program.arguments.values() for s in _sizes(t)}
        sizes = {name: Random(f"{seed} {name}").choice([3, 70, 1000, 10**6]) for name in names}
        made = spread_reductions(program, sizes, sizes)
        bounds = SizeBounds(made, sizes, sizes)
        for op in made.definitions:
            if "_pieces" in op.label.data:
                elements = prod(bounds.of(size)[1] for size in op.shape)
                assert elements <= spread.THREADS * max(spread.SHORT)


def _sizes(tensor: object) -> list[str]:
    type = getattr(tensor, "type", None)
    assert isinstance(type, tix.TensorType)
    return [name for form in type.shape for name in form.sizes]


def test_extrema_that_gradients_compare_stay_whole() -> None:
    f = tadc.compile("y = max[i](x[i])").derivative().program.op
    names = {"I": 1 << 20}
    made = spread_reductions(f, names, names)
    assert not [d for d in made.definitions if "max_pieces" in d.label.data]

"""Reductions in pieces: what programs mean, what is cut, and that threads share it."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest

import tadc
from passes import cut_reductions as cut
from passes.cut_reductions import cut_reductions
from tadc.cost import cost_of
from tadc.function import Function
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.reduction_chains import random_chain
from tests.support.rewritten import check_meaning

LOSS = "y = sum[i, j]((x[i, j] - t[i, j])**2)"


def cut_for(f: Function, size: int = 512) -> list[str]:
    """The definitions of a function for long calls, those of pieces among them."""
    names = f.program.summary.size_names()
    return [
        d.label.data for d in cut_reductions(f.program.op, dict.fromkeys(names, size)).definitions
    ]


# --- meaning --------------------------------------------------------------------------------------


@pytest.fixture
def short_reductions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few terms: programs here are small."""
    limits = {"TERMS_OF_PIECE": 4, "FEWEST_TERMS": 2, "LONG": 2, "FEWEST_PIECES": 1}
    for name, value in (limits | {"MOST_ELEMENTS": 99}).items():
        monkeypatch.setattr(cut, name, value)


@pytest.mark.usefixtures("short_reductions")
@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_random_chains_keep_their_meaning(seed: int) -> None:
    random = Random(seed)
    case, shape = random_chain(random), (random.randrange(1, 12), 5)
    values = {"x": np.random.default_rng(seed).normal(size=shape)}
    check_meaning(partial(cut_reductions, sizes={"I": 6, "J": 5}), Case(case, values))


@pytest.mark.usefixtures("short_reductions")
@pytest.mark.parametrize("seed", seeds(8, of=400))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    names = case.function.program.summary.size_names()
    check_meaning(partial(cut_reductions, sizes=dict.fromkeys(names, 7)), case)


REDUCTIONS = {
    "sum": ("y = sum[i](x[i]**2)", lambda x: (x**2).sum()),
    "maximum": ("y = max[i](x[i])", np.max),
    "product": ("y = prod[i](1 + x[i] / 1e5)", lambda x: (1 + x / 1e5).prod()),
    "two in one": (
        "y = sum[i](x[i]**2) / sum[i](abs(x[i]))",
        lambda x: (x**2).sum() / abs(x).sum(),
    ),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("length", [70_000, 131_072, 200_001])
def test_reductions_of_any_length(name: str, length: int) -> None:
    source, numpy = REDUCTIONS[name]
    x = np.random.default_rng(length).normal(size=length)
    np.testing.assert_allclose(tadc.compile(source)(x), numpy(x), rtol=1e-12)


# --- which reductions -----------------------------------------------------------------------------

CUT = {
    "loss": (LOSS, ["y_pieces", "y"]),
    "one index": ("y = sum[i](x[i]**2)", ["y_pieces", "y"]),
    "few elements": ("x: real[I, 3, J]\ny[c] = sum[i, j](x[i, c, j])", ["y_pieces", "y"]),
    "points": ("x: real[I, 3]\ny = sum[i, k](x[i, k]**2)", ["y_pieces", "y"]),
    "both of a quotient": ("y = sum[i](x[i]) / sum[i](x[i]**2)", ["y_pieces", "y_pieces_1", "y"]),
    "many elements": ("y[i] = sum[j](x[i, j])", ["y"]),
    "differences": ("y[i] = sum[k](d[i + k] * v[k])", ["y"]),
    "few terms": ("x: real[200]\ny = sum[i](x[i])", ["y"]),
    "some of many": ("x: real[I]\ny = sum[i, j in range(i)](x[i] * x[j])", ["y"]),
}


@pytest.mark.parametrize("what", CUT)
def test_long_reductions_of_few_elements_are_cut(what: str) -> None:
    source, labels = CUT[what]
    assert cut_for(tadc.compile(source)) == labels


def test_there_are_not_too_many_pieces() -> None:
    program = tadc.compile(f"s = sum[k in range({10**12})](1 / (k + 1))").program.op
    (count,) = cut_reductions(program, {}).definitions[0].shape
    assert cut.MOST_PIECES // 2 < count.constant <= cut.MOST_PIECES


def test_extrema_that_gradients_compare_stay_whole() -> None:
    f = tadc.compile("y = max[i](x[i])").derivative()
    assert not [label for label in cut_for(f) if "pieces" in label]


def test_nothing_is_cut_of_unknown_sizes() -> None:
    program = tadc.compile(LOSS).program.op
    assert cut_reductions(program, {}) is program


# --- threads --------------------------------------------------------------------------------------


def test_the_work_of_a_piece_is_that_of_its_terms() -> None:
    """Steps of little work are not shared."""
    program = cut_reductions(tadc.compile("y = sum[i](x[i]**2)").program.op, {"I": 512})
    assert cost_of(program.definitions[0]).at({"I": 1 << 20, "P": 64}) > cut.TERMS_OF_PIECE


@pytest.mark.parametrize(
    ("source", "shape"), [(LOSS, (512, 700)), ("y = sum[i](x[i]**2)", (1 << 20,))]
)
def test_threads_share_a_reduction(source: str, shape: tuple[int, ...]) -> None:
    """Results have the same bits for any number of threads."""
    f, rng = tadc.compile(source), np.random.default_rng(0)
    values = [rng.normal(size=shape).astype("f4") for _ in f.args]
    sizes = dict(zip("IJ", shape, strict=False))
    assert "y_pieces[p]" in f.emit("plan", sizes, "f32")
    expected, before = f(*values), tadc.get_num_threads()
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            assert f(*values) == expected
        finally:
            tadc.set_num_threads(before)

"""Reductions in pieces: what programs mean, what is cut, and that threads share it."""

from __future__ import annotations

from functools import partial
from random import Random

import numpy as np
import pytest

import tadc
from tadc.cost import cost_of
from tadc.dialects import tix
from tadc.function import Function
from tadc.passes.scheduling.bands import band_pieces
from tadc.passes.splitting import cut_reductions as cut
from tadc.passes.splitting.cut_reductions import cut_reductions
from tadc.runtime.memory import memory_of
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.long_calls import make_bands_small
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


@pytest.fixture(params=["for threads", "by several indices", "for caches", "for bands"])
def short_reductions(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few terms, and caches of a few elements: programs here are small."""
    limits = {"TERMS_OF_PIECE": 4, "FEWEST_TERMS": 2, "LONG": 2, "FEWEST_PIECES": 1}
    limits |= {"MOST_ELEMENTS": 99}
    if request.param == "by several indices":
        limits["FEWEST_PIECES"] = 8
    if request.param == "for caches":
        limits = {"MOST_ELEMENTS": 0, "ELEMENTS_OF_CORE": 16, "FEWEST_USES": 0}
    if request.param == "for bands":
        monkeypatch.setattr(band_pieces, "FEWEST_ELEMENTS", 0)
        monkeypatch.setattr(band_pieces, "ELEMENTS_OF_BOX", 64)
        monkeypatch.setattr(band_pieces, "FEWEST_COLUMNS", 1)
    for name, value in limits.items():
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


def test_first_indices_are_cut_so_that_those_behind_them_stay_whole() -> None:
    source = "x: f64[8, 28, 50, 60, 3]\nm[c] = sum[n, h, i, j](x[n, h, i, j, c])"
    f = tadc.compile(source)
    pieces, _ = cut_reductions(f.program.op, {}).definitions
    assert [size.constant for size in pieces.shape] == [3, 8, 4]
    x = np.random.default_rng(0).normal(size=(8, 28, 50, 60, 3))
    np.testing.assert_allclose(f(x), x.sum((0, 1, 2, 3)), atol=1e-9)


WEIGHTS = "dw[o, c] = sum[n, h](dy[n, o, h] * x[n, c, h])"
CUT_FOR_CACHES = {
    "weights": (WEIGHTS, {"O": 33, "C": 33}, ["dw_pieces", "dw"]),
    "of taps": (
        "dw[o, c, s in range(3)] = sum[n, h](dy[n, o, h] * x[n, c, h + s])",
        {"O": 16, "C": 16, "X_2": 514},
        ["dw_pieces", "dw"],
    ),
    "near": (WEIGHTS, {"O": 33, "C": 33, "N": 8}, ["dw"]),
    "many elements": (WEIGHTS, {"O": 90, "C": 90}, ["dw"]),
    "used once": ("m[c] = sum[n, h](x[n, c, h])", {"C": 64}, ["m"]),
    "of planes alone": (
        "dw[c, s in range(3)] = sum[n, h](dy[n, c, h] * x[n, c, h + s])",
        {"C": 64, "X_2": 514},
        ["dw"],
    ),
    "one sample": ("dw[o, c] = sum[h](dy[o, h] * x[c, h])", {"O": 33, "C": 33, "H": 60000}, ["dw"]),
}


@pytest.mark.parametrize("what", CUT_FOR_CACHES)
def test_what_elements_read_again_is_near_piece_by_piece(what: str) -> None:
    source, given, labels = CUT_FOR_CACHES[what]
    f = tadc.compile(source)
    sizes = {"N": 64, "H": 512} | given
    program = cut_reductions(f.program.op, sizes)
    assert [d.label.data for d in program.definitions] == labels
    if len(labels) > 1:
        pieces = program.definitions[0]
        assert [v.name_hint for v in pieces.indices][:2] == ["p", "o"]


def test_pieces_for_caches_are_the_same_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cut, "ELEMENTS_OF_CORE", 1 << 16)
    f, rng = tadc.compile(WEIGHTS), np.random.default_rng(0)
    dy, x = (rng.normal(size=(n, c, 65)) for n, c in ((37, 33), (37, 35)))
    sizes = {"N": 37, "O": 33, "C": 35, "H": 65}
    assert "dw_pieces[p, o, c]" in f.emit("plan", sizes)
    expected, before = f(dy, x), tadc.get_num_threads()
    np.testing.assert_allclose(expected, np.einsum("noh,nch->oc", dy, x), rtol=0, atol=1e-11)
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            assert np.array_equal(f(dy, x), expected)
        finally:
            tadc.set_num_threads(before)


FILTER = "b: real[5]\nx: real[N + 4, M + 4]\nv: real[N, M]\n"
ROWS = "z[i in range(N + 4), j in range(M)] = sum[t in range(5)](b[t] * x[i, j + t])\n"
TAPS = "y[s in range(5)] = sum[i in range(N), j in range(M)](v[i, j] * z[i + s, j])\n"
CUT_FOR_BANDS = {
    "weights": (f"{FILTER}{ROWS}{TAPS}return y", {}, ["z", "y_pieces", "y"], ["s", "p", "p"]),
    "a moment": (
        f"{FILTER}{ROWS}y = sum[i, j](z[i, j]**2)\nreturn y",
        {},
        ["z", "y_pieces", "y"],
        ["p", "p"],
    ),
    "another between": (
        f"{FILTER}{ROWS}u[i] = sum[j](v[i, j])\n{TAPS}return y, u",
        {},
        ["u", "z", "y_pieces", "y"],
        ["s", "p", "p"],
    ),
    "a result": (f"{FILTER}{ROWS}{TAPS}return y, z", {}, ["z", "y_pieces", "y"], ["s", "p"]),
    "near": (f"{FILTER}{ROWS}{TAPS}return y", {"M": 256}, ["z", "y_pieces", "y"], ["s", "p"]),
    "columns": (
        f"{FILTER}{ROWS}y = sum[i in range(M), j in range(M)](z[j, i] * i)\nreturn y",
        {},
        ["z", "y_pieces", "y"],
        ["p", "p"],
    ),
    "phases": (
        "b: real[2]\nx: real[N, M]\n"
        "z[i in range(N), j in range(M), k in range(2)] = b[k] * x[i, j]**2\n"
        "y = sum[i in range(N), j in range(M), k in range(2)](z[i, j, k] * i)\nreturn y",
        {},
        ["z", "y_pieces", "y"],
        ["p"],
    ),
    "all rows": (
        f"{FILTER}{ROWS}y[s in range(5)] = sum[i in range(N), j in range(M)](z[s, j] * v[i, j])\n"
        "return y",
        {},
        ["z", "y_pieces", "y"],
        ["s", "p"],
    ),
}


@pytest.mark.parametrize("what", CUT_FOR_BANDS)
def test_pieces_are_boxes_of_what_they_alone_read(what: str) -> None:
    source, given, labels, names = CUT_FOR_BANDS[what]
    program = cut_reductions(tadc.compile(source).program.op, {"N": 512, "M": 512} | given)
    assert [d.label.data for d in program.definitions] == labels
    pieces = program.definitions[labels.index("y_pieces")]
    assert [v.name_hint for v in pieces.indices] == names


BESIDE = "w[t in range(3)] = sum[i in range(N), j in range(M)](v[i, j] * x[i, j + t])\n"


def sides_of(program: tix.ProgramOp, label: str) -> list[int]:
    """The values of the indices of a piece: `i - h*p >= 0` says how many there are."""
    (op,) = (d for d in program.definitions if d.label.data == label)
    (reduction,) = (o for o in op.body.block.ops if isinstance(o, tix.ReductionOp))
    places = [v for v in op.indices if v.name_hint == "p"]
    starts = [c.form for c in reduction.constraints if not c.form.constant and not c.form.sizes]
    return [-form[p] for p in places for form in starts if form[p] < 0]


@pytest.mark.parametrize("sizes", [{"N": 512, "M": 512}, {"N": 2048, "M": 128}])
def test_sums_over_the_same_boxes_have_pieces_of_the_same_sides(sizes: dict[str, int]) -> None:
    """So they may share bands; that of which no stage is alone, too."""
    text = f"{FILTER}{ROWS}{TAPS}{BESIDE}"
    program = cut_reductions(tadc.compile(f"{text}return y, w").program.op, sizes)
    sides = sides_of(program, "y_pieces")
    assert len(sides) == 2
    assert sides_of(program, "w_pieces") == sides
    alone = cut_reductions(tadc.compile(f"{FILTER}{BESIDE}return w").program.op, sizes)
    assert len(sides_of(alone, "w_pieces")) == 1


def test_sums_over_other_boxes_have_pieces_of_their_own() -> None:
    declared = "u: real[N, K]\nq: real[N, K + 2]\n"
    other = BESIDE.replace("v[", "u[").replace("x[", "q[").replace("(M)", "(K)")
    f = tadc.compile(f"{FILTER}{declared}{ROWS}{TAPS}{other}return y, w")
    program = cut_reductions(f.program.op, {"N": 2048, "M": 512, "K": 300})
    assert len(sides_of(program, "y_pieces")) == 2
    assert len(sides_of(program, "w_pieces")) == 1


@pytest.fixture
def small_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of any size have bands, and many."""
    make_bands_small(monkeypatch, 1 << 15)
    monkeypatch.setattr(band_pieces, "FEWEST_ELEMENTS", 0)
    monkeypatch.setattr(band_pieces, "ELEMENTS_OF_BOX", 1 << 12)
    monkeypatch.setattr(band_pieces, "ELEMENTS_OF_RUN", 1 << 6)
    monkeypatch.setattr(band_pieces, "FEWEST_COLUMNS", 4)


VOLUME = """\
b: real[3]
x: real[N + 2, M + 2, K + 2]
v: real[N, M, K]
z[i in range(N + 2), j in range(M), k in range(K + 2)] = sum[t in range(3)](b[t] * x[i, j + t, k])
y[s in range(3), u in range(3)] = sum[i in range(N), j in range(M), k in range(K)](
  v[i, j, k] * z[i + s, j, k + u])
return y"""
IMAGES = [(60, 128), (33, 300), (7, 1000), (70, 130)]
VOLUMES = [(9, 20, 100), (5, 7, 200), (30, 20, 33)]


@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [*IMAGES, *VOLUMES])
def test_sums_over_bands_agree_with_the_interpreter(shape: tuple[int, ...], dtype: str) -> None:
    """They have the same bits on any number of threads."""
    f = tadc.compile(VOLUME if len(shape) == 3 else f"{FILTER}{ROWS}{TAPS}return y")
    rng, sizes = np.random.default_rng(0), dict(zip("NMK", shape, strict=False))
    assert f.emit("plan", sizes, "f32").count(": in bands") == 2
    longer = 2 if len(shape) == 3 else 4
    shapes = {"b": [longer + 1], "x": [n + longer for n in shape], "v": shape}
    values = [rng.uniform(-1, 1, shapes[t.name]) for t in f.args]
    expected, before = f.with_target("interpret")(*values), tadc.get_num_threads()
    found: list[np.ndarray] = []
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            found.append(f(*(value.astype(dtype) for value in values)))
        finally:
            tadc.set_num_threads(before)
    assert all(np.array_equal(found[0], other) for other in found)
    np.testing.assert_allclose(found[0], expected, atol=1e-3 if dtype == "f4" else 1e-11)


def test_weights_of_a_large_image_take_no_second_tensor() -> None:
    f = tadc.compile(f"{FILTER}{ROWS}{TAPS}return y")
    rng = np.random.default_rng(0)
    b, x, v = rng.uniform(-1, 1, 5), rng.uniform(-1, 1, (604, 804)), rng.uniform(-1, 1, (600, 800))
    assert "z[i, j]: in bands" in f.emit("plan", {"N": 600, "M": 800})
    assert memory_of(f.runner, [b, x, v], {}).peak < 1 << 20
    z = sum(b[t] * x[:, t : t + 800] for t in range(5))
    expected = [np.vdot(v, z[s : s + 600]) for s in range(5)]
    np.testing.assert_allclose(f(b, x, v), expected, rtol=1e-11)


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

"""Copies for reads along vectors: what programs mean, what is copied, and once."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.layout import pack_reads as pack
from tadc.passes.layout.pack_reads import pack_reads
from tadc.passes.lowering.set_registers import set_registers
from tadc.passes.rewriting.axis_copies import Order
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.tiles import block_sizes, sum_lengths, tile_analysis
from tests.support.campaign import seeds
from tests.support.derivations import Case, interpret, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.random_sums import random_sum
from tests.support.rewritten import check_meaning

CONVOLUTION = "y[n, o, i, j] = sum[c, u, v](x[n, c, i + u, j + v] * w[o, c, u, v])"


check = partial(check_meaning, partial(pack_reads, sizes={}))


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of few elements, and copies wherever there is a tile that reads them."""
    monkeypatch.setattr(tile_analysis, "VECTOR_BYTES", 16)
    monkeypatch.setattr(block_sizes, "MOST_COLUMNS", 2)
    for home in (sum_lengths, pack):
        monkeypatch.setattr(home, "MOST_TERMS_TO_UNROLL", 0)
    monkeypatch.setattr(sum_lengths, "MOST_TERMS_OF_WINDOW", 0)
    monkeypatch.setattr(pack, "MOST_OF_UNPACKED_COST", 1e9)
    monkeypatch.setattr(pack, "FEWEST_COLUMNS", 1)


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("seed", seeds(8, of=400))
def test_random_sums_keep_their_meaning(seed: int) -> None:
    check(random_sum(random.Random(seed)))


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("seed", seeds(4, of=400, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.parametrize("seed", seeds(4, of=400, start=2000))
def test_copies_have_their_axes_in_any_order(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)

    def any_orders(program: tix.ProgramOp, *_: object) -> dict[tix.ReadOp, Order]:
        reads = [read for op in program.definitions for read in reads_of(op)]
        axes = {r: tuple(rng.sample(range(len(r.forms)), len(r.forms))) for r in reads if r.forms}
        return {r: Order(order, rng.random() < 0.5) for r, order in axes.items() if not r.view}

    monkeypatch.setattr(pack, "_may_pack", lambda _: True)
    monkeypatch.setattr(pack, "_all_orders", any_orders)
    assert check(random_case(seed, **(EVERYTHING if seed % 2 else {}))) > 0


@pytest.fixture
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies wherever vectors run along the last index with them."""
    monkeypatch.setattr(pack, "FEWEST_READS_OF_COPY", 0)
    monkeypatch.setattr(pack, "FEWEST_ELEMENTS_OF_ROW", 0)


@pytest.mark.usefixtures("small_rows")
@pytest.mark.parametrize("seed", seeds(4, of=200))
def test_random_programs_without_tiles_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **(EVERYTHING if seed % 2 else {})))


@pytest.mark.parametrize(
    ("rows", "terms", "copies"), [(200, 6, 1), (12, 6, 0), (200, 3, 1), (12, 3, 0), (200, 2, 0)]
)
def test_short_sums_read_copies_whose_elements_many_need(
    rows: int, terms: int, copies: int
) -> None:
    rng = np.random.default_rng(rows)
    x, w = rng.normal(size=(rows, terms)), rng.normal(size=(50, terms))
    source = f"x: f64[{rows}, {terms}]\nw: f64[50, {terms}]\ny[n, o] = sum[k](x[n, k] * w[o, k])"
    assert check(Case(source, {"x": x, "w": w})) == copies


@pytest.mark.parametrize(
    ("total", "copies"),
    [
        ("sum[i, j](a[i, j] * b[j, i])", 1),
        ("max[i, j](a[i, j] - b[j, i])", 1),
        ("sum[i, j]((a[i, j] - a[j, i])**2)", 1),
        ("sum[i, j](exp(a[j, i] * b[i, j]) * c[i])", 1),
        ("sum[i, j](a[i, j] * b[i, j])", 0),
        ("sum[i, j](a[i, j] * c[j])", 0),
        ("sum[i, j](c[i] * b[j, i])", 0),
        ("exp(c[3]) * b[2, 5]", 0),
        ("sum[i, j](a[i, j] * s + b[j, i])", 1),
    ],
)
def test_totals_read_copies_of_what_lies_across(total: str, copies: int) -> None:
    rng = np.random.default_rng(0)
    source = f"a: f64[96, 96]\nb: f64[96, 96]\nc: f64[96]\ns: f64[]\nt = {total}"
    values = {"a": rng.normal(size=(96, 96)), "b": rng.normal(size=(96, 96))}
    assert check(Case(source, values | {"c": rng.normal(size=96), "s": np.array(1.5)})) == copies


@pytest.mark.usefixtures("small_tiles")
@pytest.mark.parametrize("seed", seeds(4, of=100))
def test_copies_of_values_and_of_gradients(seed: int) -> None:
    """All sums of these have some: weights whose outputs lie apart, and images."""
    rng = np.random.default_rng(seed)
    o, c, k, n = rng.integers(2, 6, 4)
    x, w = rng.normal(size=(n, c, 9, 8)), rng.normal(size=(o, c, k, 3))
    case = Case(CONVOLUTION, {"x": x, "w": w})
    assert check(case) == 2


# --- the choice -----------------------------------------------------------------------------------


def copies(source: str, wrt: str | None = None) -> list[str]:
    """The definitions that copy for others."""
    f = tadc.compile(source)
    program = (f if wrt is None else f.derivative(wrt)).program.op
    packed = pack_reads(program, {})
    old = {d.label.data for d in program.definitions}
    return [d.label.data for d in packed.definitions if d.label.data not in old]


NARROW = "x: f32[8, 64, 52, 52]\nw: f32[64, 64, 3, 3]\n"


def test_weights_of_narrow_images_are_copied() -> None:
    """Images are too narrow for vectors along them: these run along channels, and rows are too many
    for panels that they all share."""
    assert copies(NARROW + CONVOLUTION) == ["w_packed"]
    assert copies(NARROW + CONVOLUTION, "x") == ["w_packed"]


def test_terms_of_few_channels_are_copied_side_by_side() -> None:
    """Results are too few for vectors, and neighbours along d lie three elements apart."""
    volume = (
        "x: f32[2, 16, 16, 16, 3]\nw: f32[3, 3, 3, 3, 3]\n"
        "y[n, a, b, d, o] = sum[p, q, r, c](x[n, a + p, b + q, d + r, c] * w[p, q, r, c, o])"
    )
    assert sorted(copies(volume, "w")) == ["dy_packed", "x_packed"]


def test_a_copy_pays_where_it_beats_the_plain_nest() -> None:
    """Blocks of eight columns that read a copy cost less than blocks along terms, which count
    twice, but more than the plain nest, whose vectors run along terms, too."""
    neighbours = (
        "x: f32[8, 1024, 64]\nv: f32[8, 1024, 64]\ns[h, i, u in range(15)] = "
        "sum[d](x[h, i, d] * v[h, i + u - 7, d]) if 7 <= i + u < 1031 else 0"
    )
    program = tadc.compile(neighbours).program.op
    of_avx2 = set_registers(program, tix.Registers(16, 2))
    assert [pack_reads(p, {}) is p for p in (program, of_avx2)] == [True, True]


ROWS = "a: f32[N, {0}]\nb: f32[N, {0}]\ny[i, j] = sum[k](a[k, i] * b[k, j])"


@pytest.mark.parametrize(("columns", "found"), [(1024, ["a_packed"]), (64, [])])
def test_rows_read_copies_where_their_terms_lie_far_apart(columns: int, found: list[str]) -> None:
    assert copies(ROWS.format(columns)) == found


@pytest.mark.parametrize(("width", "found"), [(256, ["f_packed"]), (260, [])])
def test_rows_of_vectors_read_copies_where_terms_take_their_place(
    width: int, found: list[str]
) -> None:
    """Rows c of f are a multiple of 4 KB apart, and so are terms d of x."""
    shapes = f"f: f32[32, 64, {width}]\nx: f32[33, 64, {width}]\n"
    correlation = "z[c, h, p in range(200)] = sum[d](x[d, h, p + 32 - d] * f[c, h, p + 32 - d])"
    assert copies(shapes + correlation) == found


def test_totals_that_loops_carry_read_no_copies() -> None:
    assert copies("x: f32[4096, 64]\ny[i, j] = sum[k in range(i + 1)](x[k, j])") == []


def test_definitions_share_a_copy() -> None:
    both = (
        CONVOLUTION + "\nz[n, o, i, j] = sum[c, u, v](abs(x[n, c, i + u, j + v]) * w[o, c, u, v])"
    )
    assert copies(NARROW + both) == ["w_packed"]


RELATIVE = """\
q: f32[300, 64]
r: f32[599, 64]
s[i, j in range(300)] = sum[c](q[i, c] * r[i - j + 299, c])"""


def test_what_is_read_backwards_is_copied_backwards() -> None:
    """Elements of r for neighbours along j lie the other way round."""
    f = tadc.compile(RELATIVE)
    packed = pack_reads(f.program.op, {})
    copy, s = packed.definitions
    (read,) = (r for r in reads_of(s) if r.tensor is copy.result)
    assert [form[s.indices[1]] for form in read.forms] == [0, 1]
    rng = np.random.default_rng(0)
    q, r = (rng.normal(size=(n, 64)).astype(np.float32) for n in (300, 599))
    expected = np.stack([r[i : i + 300][::-1] @ q[i] for i in range(300)])
    (found,) = interpret(packed, [q, r])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    np.testing.assert_allclose(f(q, r), expected, atol=1e-4)


@pytest.mark.parametrize(
    "source",
    [
        "y[i, j] = sum[k](a[i, k] * b[k, j])",  # neighbours lie side by side
        "a: f32[1000, 2]\nb: f32[1000, 2]\ny[i, j] = sum[k](a[i, k] * b[j, k])",  # two apart
        "a: f32[9, 512]\nb: f32[9, 9, 512]\ny[i] = sum[j, k](a[i, k] * b[i, j, k])",  # read once
        "y[i] = max[k](a[k, i])",  # neighbours, too
        "y[i, j] = a[j, i]",  # no sum
    ],
)
def test_nothing_is_copied_where_that_is_of_no_use(source: str) -> None:
    program = tadc.compile(source).program.op
    assert pack_reads(program, {}) is program


@pytest.mark.parametrize(("size", "panels"), [(16, True), (32, True), (20, False)])
def test_blocks_transpose_small_matrices_whose_rows_are_whole_vectors(
    size: int, panels: bool
) -> None:
    """Two blocks share a panel of squares where these leave nothing to be read one by one."""
    matrices = f"x: f32[4096, {size}, {size}]\nw: f32[4096, {size}, {size}]\n"
    f = tadc.compile(f"{matrices}y[p, i, j] = sum[k](x[p, i, k] * w[p, j, k])")
    plan = f.emit("plan", {}, "f32")
    assert ("w_packed[" not in plan) == panels
    assert ("panel w[p, j, k]" in plan) == panels


@pytest.mark.parametrize("reduction", ["sum", "max"])
def test_what_is_read_once_side_by_side_is_not_copied(reduction: str) -> None:
    """The innermost index is too short for vectors, until it is merged with its neighbour."""
    f = tadc.compile(f"y[n, c] = {reduction}[i, j](x[n, c, i, j])")
    sizes = {"N": 16, "C": 128, "I": 14, "J": 14}
    assert pack_reads(f.program.op, sizes, "f32") is f.program.op


def test_what_runs_row_by_row_reads_no_copies() -> None:
    """Blocks of all eight heads are narrow, and vectors run along the terms."""
    f = tadc.compile(
        "s: real[8, I, J]\nv: real[8, J, 64]\na: real[8, I, 64]\nm: real[8, I]\n"
        "y[h, i] = sum[j in range(i + 1), d](a[h, i, d] * v[h, j, d] * exp(s[h, i, j] - m[h, i]))"
        " + m[h, i] * sum[j in range(i + 1)](exp(s[h, i, j] - m[h, i]))"
    )
    assert pack_reads(f.program.op, {"I": 256, "J": 256}, "f32") is f.program.op

"""Walks over pairs compute what definitions compute apart, and are taken where pairs share much."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import tadc
from tadc.function import Function
from tadc.passes.scheduling import all_pairs, blocking
from tadc.passes.scheduling.tiles import sum_lengths, tile_analysis
from tadc.passes.splitting.rfactor import pair_cuts
from tadc.runtime.loop_plan import program_in
from tests.support.campaign import seeds
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.own_process import output_of
from tests.support.scheduled_programs import run_scheduled

KERNEL = """\
x: real[N, 3]
z: real[M, 3]
y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])
"""
TWO = """\
x: real[N]
z: real[M]
u[i] = sum[j](exp(x[i] * z[j]) * b[j])
v[j] = sum[i](exp(x[i] * z[j]) * a[i])
"""
SIZES = {"N": 1024, "M": 512}


def plan(f: Function, sizes: dict[str, int] = SIZES) -> list[str]:
    """The lines of the plan for these sizes, or those of them that the function has."""
    names = f.program.summary.size_names()
    return f.emit("plan", {n: s for n, s in sizes.items() if n in names}).splitlines()


def walks(source: str, sizes: dict[str, int] = SIZES) -> list[str]:
    """Lines of the plan that name definitions which share a walk over pairs."""
    return [line for line in plan(tadc.compile(source), sizes) if is_walk(line)]


def is_walk(line: str) -> bool:
    return "# with" in line and ", terms j by " in line


# --- which sums -----------------------------------------------------------------------------------


def test_gradients_by_both_points_of_pairs_share_a_walk():
    f = tadc.compile(KERNEL).derivative()
    assert [line for line in plan(f) if "with" in line] == [
        "  # with dz_pieces, db_pieces, in rows i by 4, all k, terms j by 8",
        "  # with dx, db_pieces, in rows i by 4, all k, terms j by 8",
        "  # with dx, dz_pieces, in rows i by 4, all k, terms j by 8",
    ]


def test_a_pair_computes_one_exponential():
    text = tadc.compile(KERNEL).derivative().emit("scheduled", SIZES)
    (walk,) = (part for part in text.split("func.func ") if part.startswith("@dx("))
    assert 'buffers = ["dx", "dz_pieces", "db_pieces", ' in walk
    rows_and_columns, one_row = 2 * 4, 2 * 1  # each with a loop over vectors and a masked end
    assert walk.count("math.exp") == rows_and_columns + one_row


def test_memory_does_not_grow_with_the_number_of_rows():
    f = tadc.compile(KERNEL).derivative()
    shapes = (((n, 3), (512, 3), 512, n) for n in (1024, 65536))
    few, many = (f.memory(*(np.zeros(s, "f4") for s in own)) for own in shapes)
    results = 3 * 4 * (65536 - 1024)
    assert many.peak - few.peak == results


def test_memory_is_two_pieces_where_there_are_many_columns():
    f = tadc.compile(KERNEL).derivative()
    shapes = (1024, 3), (4096, 3), 4096, 1024
    needed = f.memory(*(np.zeros(s, "f4") for s in shapes))
    results, pieces = 3 * 1024 + 4 * 4096, 2 * 4 * 4096
    assert needed.peak == 4 * (results + pieces)


@pytest.mark.parametrize(
    ("columns", "pieces"), [(64, 16), (511, 16), (512, 8), (1024, 4), (2048, 2), (9999, 2)]
)
def test_pieces_are_fewer_the_more_columns_there_are(columns: int, pieces: int):
    assert all_pairs.pieces_for(columns) == pieces


def test_both_sums_may_be_values():
    assert walks(TWO + "return u, v") == [
        "  # with v_pieces, in rows i by 4, terms j by 8",
        "  # with u, in rows i by 4, terms j by 8",
    ]


APART = {
    "nothing dear": "u[i] = sum[j]((x[i] - z[j])**2)\nv[j] = sum[i]((x[i] - z[j])**2 * a[i])",
    "dear only for one": "u[i] = sum[j](exp(x[i] * z[j]))\nv[j] = sum[i](x[i] * z[j])",
    "other pairs": "u[i] = sum[j](exp(x[i] * z[j]))\nv[j] = sum[i](exp(x[i] - z[j]))",
    "dear for one index": "u[i] = sum[j](exp(x[i]) * z[j])\nv[j] = sum[i](exp(x[i]) * z[j])",
    "one reads the other": "u[i] = sum[j](exp(x[i] * z[j]))\n"
    "v[j] = sum[i](exp(x[i] * z[j]) * u[i])",
    "some rows": "x: real[N]\nz: real[M]\nu[i] = sum[j](exp(x[i] * z[j]))\n"
    "v[j] = sum[i in range(1, N)](exp(x[i] * z[j]))",
    "some pairs": "x: real[N]\nz: real[N]\nu[i] = sum[j in range(i)](exp(x[i] * z[j]))\n"
    "v[j] = sum[i in range(j, N)](exp(x[i] * z[j]))",
    "maxima": "u[i] = max[j](exp(x[i] * z[j]))\nv[j] = max[i](exp(x[i] * z[j]))",
    "many values": "x: real[N]\nw: real[M, 99]\nu[i, k] = sum[j](exp(x[i] * z[j]) * w[j, k])\n"
    "v[j] = sum[i](exp(x[i] * z[j]))",
    "long sums inside": "x: real[N, 65]\nz: real[M, 65]\n"
    "u[i] = sum[j](exp(-sum[k](abs(x[i, k] - z[j, k]))))\n"
    "v[j] = sum[i](exp(-sum[k](abs(x[i, k] - z[j, k]))) * a[i])",
    "several sums": "u[i] = sum[j](exp(x[i] * z[j])) + sum[j](sin(x[i] * z[j]))\n"
    "v[j] = sum[i](exp(x[i] * z[j]))",
    "precisions": "x: f64[N]\nz: f64[M]\nu: f64[N]\nv: f32[M]\nu[i] = sum[j](exp(x[i] * z[j]))\n"
    "v[j] = sum[i](exp(x[i] * z[j]))",
}


@pytest.mark.parametrize("why", APART)
def test_definitions_stay_apart(why: str):
    assert walks(APART[why] + "\nreturn u, v") == []


@pytest.mark.parametrize(
    ("rows", "columns", "walk"), [(512, 64, True), (511, 64, False), (512, 63, False)]
)
def test_walks_have_many_rows_and_columns(rows: int, columns: int, walk: bool):
    assert bool(walks(TWO + "return u, v", {"N": rows, "M": columns})) == walk


def test_a_plan_by_hand_keeps_a_definition_apart():
    source = TWO + "return u, v"
    f = tadc.compile(source, plan="u[i]: columns i by 16")
    assert not any(map(is_walk, plan(f)))
    rng = np.random.default_rng(0)
    values = [rng.normal(size=1024 if t.name in "xa" else 512).astype("f4") for t in f.args]
    for a, b in zip(f.call(values, {}), tadc.compile(source).call(values, {}), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b).max())


# --- what they compute ----------------------------------------------------------------------------


def kernel_and_gradients(
    x: np.ndarray, z: np.ndarray, b: np.ndarray, dy: np.ndarray
) -> list[np.ndarray]:
    """The gradients of `KERNEL`, by its points, its other points, and its weights."""
    apart = x[:, None] - z[None]
    e = np.exp(-(apart**2).sum(-1)) * dy[:, None]
    terms = -2 * (e * b)[..., None] * apart
    return [terms.sum(1), -terms.sum(0), e.sum(0)]


@pytest.mark.parametrize(("dtype", "close"), [("f4", 2e-6), ("f8", 1e-14)])
@pytest.mark.parametrize(("n", "m"), [(512, 64), (1023, 65), (2051, 127), (515, 1000), (700, 4500)])
def test_walks_agree_with_numpy(n: int, m: int, dtype: str, close: float):
    f, rng = tadc.compile(KERNEL).derivative(), np.random.default_rng(n)
    values = [rng.normal(size=s).astype(dtype) for s in ((n, 3), (m, 3), m, n)]
    assert any(map(is_walk, plan(f, {"N": n, "M": m})))
    expected = kernel_and_gradients(*(v.astype("f8") for v in values))
    for found, right in zip(f.call(values, {}), expected, strict=True):
        np.testing.assert_allclose(found, right, rtol=0, atol=close * np.abs(right).max())


def test_bits_depend_on_sizes_alone():
    """Whatever the number of threads, and how far rows of points are from each other."""
    f, rng = tadc.compile(KERNEL).derivative(), np.random.default_rng(0)
    values = [rng.normal(size=s).astype("f4") for s in ((1111, 3), (1777, 3), 1777, 1111)]
    wide = np.full((1111, 7), np.nan, "f4")
    wide[:, 2:5] = values[0]
    expected, before = f.call(values, {}), tadc.get_num_threads()
    for threads in (1, 2, 7):
        tadc.set_num_threads(threads)
        try:
            for x in (values[0], wide[:, 2:5]):
                for a, b in zip(f.call([x, *values[1:]], {}), expected, strict=True):
                    np.testing.assert_array_equal(a, b)
        finally:
            tadc.set_num_threads(before)


@pytest.fixture
def short_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walks over few pairs: random programs have small sizes."""
    count_all_calls_as_long(monkeypatch)
    cut_all_steps(monkeypatch)
    monkeypatch.setattr(pair_cuts, "FEWEST_ROWS_OF_PAIRS", 1)
    monkeypatch.setattr(all_pairs, "UNITS_OF_PAIRS", 6)
    monkeypatch.setattr(all_pairs, "FEWEST_COLUMNS_OF_PART", 3)
    monkeypatch.setattr(pair_cuts, "FEWEST_COLUMNS", 1)
    monkeypatch.setattr(blocking, "FEWEST_ELEMENTS_OF_ROW", 1)
    monkeypatch.setattr(all_pairs, "ROWS_OF_PAIRS", 2)
    monkeypatch.setattr(tile_analysis, "VECTOR_BYTES", 16)
    monkeypatch.setattr(sum_lengths, "MOST_TERMS_TO_UNROLL", 3)


SHARED = (
    "exp(-(x[i] - z[j])**2)",
    "sin(x[i] * z[j])",
    "exp(d[i, j])",
    "sqrt(1 + sum[l in range(2)]((v[i, l] - w[j, l])**2))",
    "cos(i * x[i] / 9 + j * z[j] / 9)",
)
OWN = (
    "x[i]",
    "z[j]",
    "d[i, j]",
    "v[i, 1]",
    "w[j, 0]",
    "(2 if i < j else 3)",
    "(i + j)",
    "max(x[i], z[j])",
)
OF_ROWS, OF_COLUMNS = ("v[i, k]", "w[j, k]"), ("v[i, r]", "w[j, r]")


def random_pairs(seed: int) -> tuple[str, dict[str, tuple[int, ...]]]:
    """Sums for each i, and some for each j, of terms that have much in common."""
    random = Random(seed)
    shared = random.choice(SHARED)

    def total(index: str, own: tuple[str, ...]) -> str:
        terms = " * ".join([shared, *random.sample([*OWN, *own], random.randint(0, 2))])
        return random.choice(["", "2 * ", "1 / 3 - "]) + f"sum[{index}]({terms})"

    def domain(index: str, names: str) -> str:
        return ", ".join([index, *(f"{name} in range(2)" for name in names)])

    ranges = "i in range(N)", "j in range(M)"
    inner = random.choice(["", "k"])
    lines = [f"f[{domain('i', inner)}] = {total(ranges[1], OF_ROWS if inner else ())}"]
    for name in "gh"[: random.randint(1, 2)]:
        inner = random.choice(["", "", "k", "kr"])
        own = {"": (), "k": OF_ROWS, "kr": (*OF_ROWS, *OF_COLUMNS)}[inner]
        lines.append(f"{name}[{domain('j', inner)}] = {total(ranges[0], own)}")
    random.shuffle(lines)
    n, m = random.randint(4, 19), random.randint(1, 13)
    shapes = {"x": (n,), "z": (m,), "d": (n, m), "v": (n, 2), "w": (m, 2)}
    types = "x: real[N]\nz: real[M]\nd: real[N, M]\nv: real[N, 2]\nw: real[M, 2]\n"
    names = sorted(line[0] for line in lines)
    return types + "\n".join(lines) + f"\nreturn {', '.join(names)}", shapes


@pytest.mark.usefixtures("short_walks")
def test_random_walks_agree_with_the_interpreter():
    checked = seeds(12, of=400)
    assert 2 * sum(map(agrees, checked)) > len(checked)


@pytest.mark.usefixtures("short_walks")
def test_what_reads_a_piece_is_computed_after_the_walk():
    """`dx` of this program might share tiles with `dv`, which stands before the walk that makes a
    part of `dx`."""
    assert agrees(1055)


@pytest.mark.usefixtures("short_walks")
@pytest.mark.parametrize("seed", seeds(4, of=60))
def test_units_of_a_superstep_do_not_disturb_each_other(seed: int):
    """The interpreter of loops refuses what they write or read of each other."""
    source, shapes = random_pairs(seed)
    f, rng = tadc.compile(source), np.random.default_rng(seed)
    values = [rng.uniform(0.5, 1.5, shapes[t.name]) for t in f.args]
    expected = f.with_target("interpret").call(values, {})
    executable = f.runner.prepare(values, {})[0].executable
    program = program_in(executable.shaped)
    for a, b in zip(run_scheduled(executable.module, program, values), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=source)


def agrees(seed: int) -> bool:
    """Compare a program and its derivative with the interpreter; true if one walks over pairs."""
    source, shapes = random_pairs(seed)
    f, rng = tadc.compile(source), np.random.default_rng(seed)
    walked = False
    for g in (f, f.derivative()):
        sizes = {"N": shapes["x"][0], "M": shapes["z"][0]}
        results = {t.name: t.shape for t in f.results}
        declared = [results.get(t.name[1:], t.shape) for t in g.args]
        dims = ([sizes.get(str(n)) or int(str(n)) for n in shape] for shape in declared)
        values = [rng.uniform(0.5, 1.5, shape) for shape in dims]
        expected = g.with_target("interpret").call(values, {})
        for a, b in zip(g.call(values, {}), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12, err_msg=source)
        modules = g.emit("scheduled", sizes)
        walked |= "_pieces" in modules and "loops.parallel (%w)" in modules
    return walked


GUARDED = """
import numpy as np, tadc
from tests.support.guarded_calls import check
f = tadc.compile({source!r}).derivative()
rng = np.random.default_rng(0)
for dtype in "f4", "f8":
    for n, m in (515, 67), (1025, 64), (513, 1091):
        shapes = (n, 3), (m, 3), m, n
        values = [rng.normal(size=s).astype(dtype) for s in shapes]
        check(f"{{dtype}}, {{n}} x {{m}}", f.runner, values, gap=3)
"""


def test_walks_touch_their_arrays_alone():
    output_of("-c", GUARDED.format(source=KERNEL))

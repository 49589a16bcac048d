"""Rows of streams share what they read and compute, and have what elements need."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.streams import stream_tiles
from tadc.passes.scheduling.streams.stream_tiles import stream_tile
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.runtime.on_cpu import CpuExecutable
from tests.support.campaign import seeds
from tests.support.long_calls import count_all_calls_as_long, cut_all_steps
from tests.support.own_process import output_of

ROWS = "x: real[H + 1, W]\ny[i in range(H), j in range(W)] = "
EDGES = (
    "x: real[H + 2, W + 2]\ny[i in range(H), j in range(W)] = "
    "exp(-(x[i, j + 1] - x[i + 1, j + 1])**2) + exp(-(x[i + 2, j + 1] - x[i + 1, j + 1])**2) "
    "+ exp(-(x[i + 1, j] - x[i + 1, j + 1])**2) * exp(-(x[i + 1, j + 2] - x[i + 1, j + 1])**2)"
)

IN_F32 = EDGES.replace("real", "f32")


def tile_of(source: str) -> Tile | None:
    (op,) = tadc.compile(source).program.op.definitions
    return stream_tile(op, {})


def shared(source: str) -> set[tuple[int, int]]:
    """The rows and columns to the neighbours that have a value."""
    tile = tile_of(source)
    found = tile.neighbours.values() if tile else ()
    return {(same.rows, same.columns) for all_ in found for same in all_}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (ROWS + "exp(x[i, j]) * exp(x[i + 1, j])", {(-1, 0)}),
        # an even function has the same value for both signs of a difference
        (EDGES, {(-1, 0), (0, -1)}),
        (EDGES.replace("**2", "**3"), set()),
        # another tensor
        (f"z: real[H, W]\n{ROWS}exp(x[i + 1, j]) * exp(z[i, j])", set()),
        # a number that differs
        (ROWS + "exp(x[i, j] + i) * exp(x[i + 1, j] + i)", set()),
        (ROWS + "exp(x[i, j] + i) * exp(x[i + 1, j] + (i + 1))", {(-1, 0)}),
        # what is cheap is computed again
        (ROWS + "x[i, j]**2 * x[i + 1, j]**2", set()),
        # under a condition that most blocks decide as a whole, and under one that none does
        (ROWS + "exp(x[i, j]) * exp(x[i + 1, j]) if i > 2 else 0", {(-1, 0)}),
        (ROWS + "exp(x[i, j]) * exp(x[i + 1, j]) if i == j else 0", set()),
        # the sum has blocks of its own
        (f"z: real[100]\n{ROWS}sum[k](exp(x[i, j] + z[k]) * exp(x[i + 1, j] + z[k]))", set()),
    ],
)
def test_which_neighbours_have_a_value(source: str, expected: set[tuple[int, int]]) -> None:
    assert shared(source) == expected


@pytest.mark.parametrize("factor", ["exp(s)", "exp(z[j])"])
def test_no_row_takes_from_others_what_all_rows_have(factor: str) -> None:
    (op,) = tadc.compile(f"{EDGES} * {factor}").program.op.definitions
    tile, uses = stream_tile(op, {}), IndexUses()
    assert tile is not None and tile.neighbours
    for value, found in tile.neighbours.items():
        for same in found:
            assert (tile.row_index if same.rows else tile.column_index) in uses.of(value)


def test_the_share_of_a_block_that_is_computed() -> None:
    tile = tile_of(EDGES)
    assert tile is not None
    vectors = tile.columns // tile.lanes
    shares = sorted(tile.computed(v) for v in tile.neighbours)
    assert shares == [1 / tile.rows, 1 - (vectors - 1) / vectors]
    (op,) = tadc.compile(EDGES).program.op.definitions
    assert all(tile.computed(o.results[0]) == 1 for o in op.body.walk() if o.results)


@pytest.mark.parametrize(
    ("source", "sizes", "has_blocks"),
    [
        ("x: real[I, J]\ny[i, j] = sum[s in range(3), t in range(3)](x[i + s, j + t])", {}, True),
        # elements of one row share nothing with the next row
        ("x: real[I, J]\ny[i, j] = sum[t in range(9)](x[i, j + t])", {}, False),
        # rows of 56 have many borders
        ("x: real[I, 58]\ny[i, j] = sum[s in range(3), t in range(3)](x[i + s, j + t])", {}, False),
        # memory is slower than four loads
        ("x: real[I, J]\ny[i, j] = sum[s in range(2), t in range(2)](x[i + s, j + t])", {}, False),
        # large results go past the caches
        ("x: real[I, J]\ny[i, j] = sum[s in range(8)](x[i + s, j])", {"I": 100, "J": 999}, True),
        ("x: real[I, J]\ny[i, j] = sum[s in range(8)](x[i + s, j])", {"I": 9999, "J": 999}, False),
    ],
)
def test_which_windows_have_blocks(source: str, sizes: dict[str, int], has_blocks: bool) -> None:
    (op,) = tadc.compile(source).program.op.definitions
    assert (stream_tile(op, sizes) is not None) == has_blocks


# --- values and gradients -------------------------------------------------------------------------

FUNCTIONS = (
    "exp(-({})**2)",
    "exp({})",
    "cos({})",
    "tanh({})",
    "exp(-abs({}))",
    "sqrt(1 + ({})**2)",
)


def random_stencil(choice: random.Random) -> tuple[str, tuple[int, ...]]:
    """A program of one tensor whose elements share functions of neighbours, and a shape of it."""
    batch = choice.random() < 0.3
    n = "n, " if batch else ""
    reach = choice.choice([1, 2])
    padded = choice.random() < 0.4
    function, coefficient = choice.choice(FUNCTIONS), f"{choice.uniform(0.3, 1):.2f}"

    def read(rows: int, columns: int) -> str:
        text = f"x[{n}i + {rows}, j + {columns}]"
        return f"pad({text})" if padded else text

    first = read(choice.randint(0, reach), choice.randint(0, reach))
    steps = [(choice.randint(0, reach), choice.randint(0, reach)) for _ in range(3)]
    terms: list[str] = []
    for rows, columns in steps:
        inside = read(rows, columns)
        term = function.format(f"{inside} - {first}" if choice.random() < 0.7 else inside)
        terms.append(f"{coefficient} * {term} * {first}" if choice.random() < 0.4 else term)
    body = " + ".join(terms)
    if choice.random() < 0.3:
        body = f"({body} if i + {choice.randint(0, 3)} < H and j >= {choice.randint(0, 20)} else 0)"
    size = "" if padded else f" + {reach}"
    batch_size = "B, " if batch else ""
    head = f"x: real[{batch_size}H{size}, W{size}]\n"
    ranges = ("n in range(B), " if batch else "") + "i in range(H), j in range(W)"
    shape = (choice.randint(1, 14) + reach, choice.choice([3, 17, 40, 64, 65, 130, 200]) + reach)
    return f"{head}y[{ranges}] = {body}", (*([2] if batch else []), *shape)


def random_window(choice: random.Random) -> tuple[str, tuple[int, ...]]:
    """A program of one tensor whose elements are short reductions of neighbours, and a shape."""
    height, width = choice.randint(1, 4), choice.randint(1, 4)
    kind, padded = choice.choice(["sum", "max", "sum"]), choice.random() < 0.5
    rows, columns = (
        choice.choice(["i + s", "i - s + 1", "2*i + s"]),
        choice.choice(["j + t", "j - t"]),
    )
    text = f"x[n, {rows}, {columns} + {width}]"
    term = f"pad({text})" if padded else text
    term = choice.choice([term, f"{term}**2", f"({term} * (1 + s - t))"])
    inner = f"{kind}[s in range({height}), t in range({width})]({term})"
    body = choice.choice([inner, f"0.5 * {inner} + n", f"{inner} if i > 0 else 0"])
    # each read is inside for all elements
    shape = (2, 40, choice.choice([20, 70, 131]) + 2 * width)
    ranges = (
        f"n in range(2), i in range(1, {choice.choice([5, 8, 18])}), j in range(W - {2 * width})"
    )
    ranges = ranges.replace("range(1, ", "range(")
    if not padded:
        body = body.replace("i - s + 1", f"i - s + {height}")
    return f"x: real[2, 40, W]\ny[{ranges}] = {body}", shape


@pytest.fixture
def shared_wherever_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    count_all_calls_as_long(monkeypatch)
    monkeypatch.setattr(stream_tiles, "MOST_OF_PLAIN_COST", 2.0)
    # 2 rows, 2 vectors: small calls have blocks inside
    limits = {"ROWS": 2, "VECTORS": 2, "FEWEST_LOADS": 1, "FEWEST_LOADS_OF_LARGE": 1}
    for name, value in {**limits, "MOST_OF_LOADS": 1.0, "FEWEST_BLOCKS_OF_ROW": 1}.items():
        monkeypatch.setattr(stream_tiles, name, value)


@pytest.mark.usefixtures("shared_wherever_possible")
@pytest.mark.parametrize("seed", seeds(24, of=400))
def test_random_stencils_agree_with_the_plain_nest(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = random.Random(seed)
    source, shape = (random_stencil if seed % 3 else random_window)(choice)
    dtype = ("f4", "f8")[seed % 2]
    x = np.random.default_rng(seed).uniform(-1, 1, shape).astype(dtype)
    found = value_and_gradient(tadc.compile(source), x)
    with monkeypatch.context() as patch:
        patch.setattr(CpuExecutable, "tiles", False)
        expected = value_and_gradient(tadc.compile(source), x)
    reference = value_and_gradient(tadc.compile(source, target="interpret"), x.astype("f8"))
    for a, b, c in zip(found, expected, reference, strict=True):
        tolerance = 1e-5 if dtype == "f4" else 1e-13
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        np.testing.assert_allclose(a, c, rtol=tolerance, atol=tolerance)


def value_and_gradient(f: tadc.Function, x: np.ndarray) -> list[np.ndarray]:
    y, pullback = tadc.vjp(f, x)
    return [y, *pullback(np.cos(np.arange(y.size, dtype=y.dtype)).reshape(y.shape))]


@pytest.mark.parametrize("shape", [(6, 67), (5, 66), (30, 200), (34, 130)])
def test_bits_do_not_depend_on_threads(
    shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    count_all_calls_as_long(monkeypatch)
    x = np.random.default_rng(1).uniform(-1, 1, shape).astype("f4")
    found: list[list[np.ndarray]] = []
    before = tadc.get_num_threads()
    with monkeypatch.context() as patch:
        cut_all_steps(patch)
        try:
            for threads in (1, 2, 7):
                tadc.set_num_threads(threads)
                found.append(value_and_gradient(tadc.compile(EDGES), x))
        finally:
            tadc.set_num_threads(before)
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


SHAPES = [(3, 3), (6, 66), (7, 67), (11, 200)]
BOX = (
    "x: real[H + 2, W + 2]\n"
    "y[i in range(H), j in range(W)] = sum[s in range(3), t in range(3)](x[i + s, j + t]**2)"
)
GUARDED = """
import numpy as np, pytest, tadc
from tests.passes.scheduling import test_stream_tiles as own
from tests.support.guarded_memory import Guarded
with pytest.MonkeyPatch.context() as patch:
    own.count_all_calls_as_long(patch)
    for source, shape in [*((own.EDGES, s) for s in own.SHAPES), (own.BOX, (9, 300))]:
        f = tadc.compile(source)
        g = f.derivative("x")
        for at_end in (False, True):
            x, y = Guarded(shape, np.dtype("f4"), at_end), None
            x.array[...] = 0.5
            small = tuple(n - 2 for n in shape)
            y, dy = Guarded(small, np.dtype("f4"), at_end), Guarded(small, np.dtype("f4"), at_end)
            dy.array[...] = 0.25
            dx = Guarded(shape, np.dtype("f4"), at_end)
            assert np.array_equal(f(x.array, out=y.array), f(x.array))
            assert np.array_equal(g(x.array, dy.array, out=dx.array), g(x.array, dy.array))
            assert all(memory.is_intact for memory in (x, y, dy, dx))
print("done")
"""


def test_no_other_memory_is_touched() -> None:
    assert output_of("-c", GUARDED) == "done\n"


# --- plans by hand --------------------------------------------------------------------------------


def test_a_plan_by_hand_has_the_blocks_that_are_chosen() -> None:
    f = tadc.compile(IN_F32)
    plan = f.emit("plan", {"H": 100, "W": 300})
    assert "y[i, j]: rows i by 4, columns j by 64" in plan
    assert "  # neighbours share 2 of its 4 functions" in plan
    x = np.random.default_rng(2).uniform(-1, 1, (102, 302)).astype("f4")
    by_hand = tadc.compile(IN_F32, plan="y[i, j]: rows i by 4, columns j by 64")
    np.testing.assert_array_equal(by_hand(x), f(x))
    plain = tadc.compile(IN_F32, plan="y[i, j]: plain")
    np.testing.assert_allclose(plain(x), f(x), rtol=1e-6)


@pytest.mark.parametrize("plan", ["rows i by 8, columns j by 64", "rows j by 4, columns i by 64"])
def test_other_blocks_are_refused(plan: str) -> None:
    with pytest.raises(tadc.TadcError, match="in rows i by 4, columns j by 64"):
        tadc.compile(IN_F32, plan=f"y[i, j]: {plan}")

"""Several definitions that others need share bands: they compute what they compute apart."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.function import Function
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.lowering.shape_loops import shape_loops
from tadc.passes.scheduling.bands import band_layout, band_pieces
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.splitting.cut_reductions import cut_reductions
from tadc.runtime.executable import kernel_calls
from tadc.runtime.memory import memory_of
from tests.support.campaign import seeds
from tests.support.long_calls import make_bands_small
from tests.support.on_threads import check_value_and_gradients, listed
from tests.support.scheduled_programs import run_scheduled

FILTER = "y[i, j, k] = sum[s, t, u](a[s] * b[t] * c[u] * x[i + s, j + t, k + u])"
SIZES = {f"X_{n}": 132 for n in range(3)}

TWO = """\
z[i, j] = sum[s in range(3)](a[s] * x[i + s, j])
u[i in range(N), j in range(M)] = z[i, j] - z[i, j + 1]
v[i in range(N), j in range(M)] = z[i, j + 1] * w[i, j]"""
IMAGES = "x: real[N + 2, M + 1]\nw: real[N, M]\n"


def written(f: Function, *sizes: str) -> list[tuple[str, ...]]:
    """The tensors that each function writes."""
    program = shape_loops(set_precision(f.program.op, "f64"), None)
    made = schedule(program, blocking_chooser(True, sizes))
    return [step.written for step in kernel_calls(ModuleOp(made))]


# --- what is shared -------------------------------------------------------------------------------


def test_the_gradients_of_a_filter_of_volumes_are_one_function() -> None:
    """The adjoint, and the partial sums for each axis, have no tensors."""
    f = tadc.compile(FILTER)
    shapes = [(5,), (5,), (5,), (132, 132, 132)]
    values = [np.ones(shape, np.float32) for shape in shapes]
    gradients = f.pullback_of(values, {}).gradients
    steps = [step.written for step in gradients.code(SIZES, "f32").steps]
    assert steps == [
        ("db_pieces", "dc_pieces", "dx", "da_pieces"),
        ("da",),
        ("db",),
        ("dc",),
    ]
    y_sum, dy = np.ones((132, 132, 128), np.float32), np.ones((128, 128, 128), np.float32)
    memory = memory_of(gradients, [*values, y_sum, dy], {})
    assert memory.peak < 1.02 * values[-1].nbytes


def test_results_that_read_one_stage_share_its_bands() -> None:
    assert written(tadc.compile(f"{IMAGES}{TWO}\nreturn u, v")) == [("u", "v")]


APART = {
    "a stage that is a result": f"{IMAGES}{TWO}\nreturn u, v, z",
    "what is computed between, of the first": f"{IMAGES}{TWO}\n"
    "m = max[i, j](u[i, j])\nr[i, j] = z[i, j] * m\nreturn v, r",
    "rows that are not beside": "x: real[K + 2, K]\nw: real[K, K]\n"
    "z[i, j] = sum[s in range(3)](a[s] * x[i + s, j])\n"
    "u[i, j] = z[i, j] - w[i, j]\nv[i, j] = z[j, i] * w[i, j]\nreturn u, v",
}


@pytest.mark.parametrize("why", APART)
def test_results_stay_apart(why: str) -> None:
    assert ("z",) in written(tadc.compile(APART[why]))


def test_bands_of_several_results_share_little() -> None:
    """Boxes that overlap much take longer to compute again than memory to read."""
    text = f"{IMAGES}{TWO}\nreturn u, v".replace("range(3)", "range(20)").replace("N + 2", "N + 19")
    wide = text.replace("z[i, j] - z[i, j + 1]", "z[i, j] - z[i + 9, j + 1]")
    wide = wide.replace("N + 19", "N + 28")
    assert written(tadc.compile(text)) == [("u", "v")]
    assert written(tadc.compile(wide)) == [("z",), ("u", "v")]


# --- plans ----------------------------------------------------------------------------------------


def test_a_printed_plan_gives_the_same_bands() -> None:
    f, sizes = tadc.compile(f"{IMAGES}{TWO}\nreturn u, v"), {"N": 900, "M": 800, "A_0": 3}
    plan = f.emit("plan", sizes, "f32")
    assert plan.count(": in bands") == 3
    assert "with z, v; stream" in plan
    assert "with u, v; stream; not stored" in plan
    assert tadc.compile(str(f), plan=plan).emit("plan", sizes, "f32") == plan


@pytest.mark.parametrize(
    ("name", "expected"), [("z", [("z",), ("u", "v")]), ("u", [("z",), ("u",), ("v",)])]
)
def test_a_plan_keeps_a_definition_apart(name: str, expected: list[tuple[str, ...]]) -> None:
    sizes = {"N": 900, "M": 800, "A_0": 3}
    f = tadc.compile(f"{IMAGES}{TWO}\nreturn u, v", plan=f"{name}[i, j]: plain")
    steps = [step.written for step in f.runner.code(sizes, "f32").steps]
    assert steps == expected


def test_a_plan_asks_for_bands_of_near_stages() -> None:
    text, sizes = f"{IMAGES}{TWO}\nreturn u, v", {"N": 200, "M": 200, "A_0": 3}
    assert "in bands" not in tadc.compile(text).emit("plan", sizes, "f32")
    by_hand = tadc.compile(text, plan="z[i, j]: in bands").emit("plan", sizes, "f32")
    assert by_hand.count("in bands") == 3


# --- what they compute ----------------------------------------------------------------------------


@pytest.fixture
def small_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of any size have bands, and many."""
    make_bands_small(monkeypatch, 1 << 15)
    monkeypatch.setattr(band_layout, "MOST_AGAIN_OF_SEVERAL", 1000)
    monkeypatch.setattr(band_pieces, "FEWEST_ELEMENTS", 0)
    monkeypatch.setattr(band_pieces, "ELEMENTS_OF_BOX", 1 << 11)
    monkeypatch.setattr(band_pieces, "ELEMENTS_OF_RUN", 1 << 5)
    monkeypatch.setattr(band_pieces, "FEWEST_COLUMNS", 4)


def place(indices: str, axis: int, moved: str) -> str:
    return ", ".join(f"{v} + {moved}" if n == axis else v for n, v in enumerate(indices))


def random_root(choice: Random, name: str, source: str, indices: str, ranges: str) -> str:
    """A definition that reads a stage, of all of its elements or of few."""
    axis, kind, own = choice.randrange(len(indices)), choice.randrange(4), ", ".join(indices)
    taps = choice.choice([2, 3])
    window = f"{source}[{place(indices, axis, 's')}]"
    if kind == 0:
        return f"{name}[{ranges}] = sum[s in range({taps})](w[s] * {window})"
    if kind == 1:
        return f"{name}[{ranges}] = {source}[{place(indices, axis, '1')}] * v[{own}]"
    return f"{name}[s in range({taps})] = sum[{ranges}](v[{own}] * {window})"


def random_roots(choice: Random) -> tuple[str, int]:
    """A program of some stages with several roots, and its rank."""
    indices, sizes = choice.choice([("ij", "NM"), ("ijk", "NMK")])
    shape = [f"{n} + 8" for n in sizes]

    def ranges(more: int) -> str:
        return ", ".join(f"{v} in range({n} + {more})" for v, n in zip(indices, sizes, strict=True))

    axis, other = choice.randrange(len(indices)), choice.randrange(len(indices))
    lines = [
        f"x: real[{', '.join(shape)}]\nv: real[{', '.join(sizes)}]\nw: real[5]",
        f"z0[{ranges(4)}] = sum[t in range(5)](w[t] * x[{place(indices, axis, 't')}])",
    ]
    sources = ["z0"]
    if choice.random() < 0.6:
        term = f"w[t] * z0[{place(indices, other, 't')}]"
        lines.append(f"z1[{ranges(2)}] = sum[t in range(3)]({term})")
        sources.append("z1")
    names = [f"y{n}" for n in range(choice.randint(2, 4))]
    for name in names:
        lines.append(random_root(choice, name, choice.choice(sources), indices, ranges(0)))
    if choice.random() < 0.7:  # a stage of its own, so that sums have boxes
        lines.append(f"z2[{ranges(2)}] = sum[t in range(3)](w[t] * x[{place(indices, axis, 't')}])")
        term = f"v[{', '.join(indices)}] * z2[{place(indices, other, 's')}]"
        lines.append(f"q[s in range(3)] = sum[{ranges(0)}]({term})")
        names.append("q")
    stored = ["z1"] if "z1" in sources and choice.random() < 0.1 else []
    return "\n".join([*lines, f"return {', '.join(names + stored)}"]), len(indices)


def agrees_with_the_interpreter(seed: int) -> bool:
    """Compare values and gradients, on any number of threads; true if there are several roots."""
    choice, rng = Random(seed), np.random.default_rng(seed)
    text, rank = random_roots(choice)
    dtype, close = choice.choice([("f4", 1e-4), ("f8", 1e-11)])
    sides = [choice.choice([1, 7, 13, 22]) for _ in range(rank - 1)]
    sides.append(choice.choice([3, 33, 61, 90]))
    f = tadc.compile(text)
    shapes = {"x": [n + 8 for n in sides], "v": sides, "w": [5]}
    values = [rng.uniform(-1, 1, shapes[t.name]) for t in f.args]
    check_value_and_gradients(f, values, dtype, close)
    sizes = dict(zip("NMK", sides, strict=False))
    plan = f.emit("plan", sizes, "f32" if dtype == "f4" else "f64")
    roots = [line for line in plan.splitlines() if "# with" in line and "not stored" not in line]
    return "in bands" in plan and len(roots) > 1


@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize("seed", seeds(14, of=400))
def test_random_roots_agree_with_the_interpreter(seed: int) -> None:
    agrees_with_the_interpreter(seed)


@pytest.mark.usefixtures("small_bands")
def test_many_random_programs_have_several_roots() -> None:
    assert sum(agrees_with_the_interpreter(seed) for seed in range(100, 108)) >= 4


@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize("seed", seeds(8, of=200))
def test_bands_stay_within_their_buffers(seed: int) -> None:
    """The interpreter of loops looks at each access, and at who wrote an element."""
    choice, rng = Random(seed), np.random.default_rng(seed)
    text, rank = random_roots(choice)
    sides = [choice.choice([1, 5, 9]) for _ in range(rank - 1)] + [choice.choice([3, 17, 40])]
    example = dict(zip("NMK", [32, 32, 32], strict=False))
    program = cut_reductions(tadc.compile(text).program.op, example)
    program = shape_loops(set_precision(program, "f64"), None)
    shapes = {"x": [n + 8 for n in sides], "v": sides, "w": [5]}
    values = [rng.uniform(-1, 1, shapes[name]) for name in program.arguments]
    module = ModuleOp(schedule(program.clone(), blocking_chooser(True, ())))
    found = run_scheduled(module, program, values)
    expected = listed(tadc.compile(text, target="interpret")(*values))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-11)

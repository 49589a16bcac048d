"""Stages that share bands compute what they compute apart, for all kinds and sizes."""

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
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.runtime.executable import kernel_calls
from tadc.runtime.memory import memory_of
from tests.support.campaign import seeds
from tests.support.long_calls import make_bands_small
from tests.support.on_threads import check_value_and_gradients
from tests.support.scheduled_programs import run_scheduled

BLUR = """\
a: real[5]
b: real[5]
x: real[N + 4, M + 4]
z[i in range(N + 4), j in range(M)] = sum[t in range(5)](b[t] * x[i, j + t])
y[i in range(N), j in range(M)] = sum[s in range(5)](a[s] * z[i + s, j])"""
STEPS = """\
x: real[N + 4, M + 4]
u[i in range(N + 2), j in range(M + 2)] = x[i + 1, j + 1] + tanh(x[i, j + 1] - x[i + 1, j + 2])
y[i in range(N), j in range(M)] = u[i + 1, j + 1] + tanh(u[i + 2, j] - u[i + 1, j + 2])
return y"""

POOL = """\
x: real[2*N + 3, M + 4]
z[i in range(2*N + 3), j in range(M)] = sum[t in range(5)](x[i, j + t]**2)
y[i in range(N), j in range(M)] = sum[s in range(4)](z[2*i + s, j])
return y"""


def written(f: Function, *sizes: str) -> list[tuple[str, ...]]:
    """The tensors that each function writes."""
    program = shape_loops(set_precision(f.program.op, "f64"), None)
    made = schedule(program, blocking_chooser(True, sizes))
    return [step.written for step in kernel_calls(ModuleOp(made))]


# --- what is shared -------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [BLUR, STEPS, POOL])
def test_only_the_last_stage_has_memory(source: str) -> None:
    assert written(tadc.compile(source)) == [("y",)]


def test_two_stages_may_read_one() -> None:
    text = (
        "x: real[N + 2, M + 4]\n"
        "b[i in range(N + 2), j in range(M + 2)] = sum[t in range(3)](x[i, j + t])\n"
        "u[i in range(N), j in range(M)] = b[i, j] - b[i + 2, j]\n"
        "v[i in range(N), j in range(M)] = b[i, j + 2] - b[i, j]\n"
        "y[i, j] = sqrt(u[i, j]**2 + v[i, j]**2)\nreturn y"
    )
    assert written(tadc.compile(text)) == [("y",)]


APART = {
    "a result": f"{BLUR}\nreturn z, y",
    "rows that are not beside": "x: real[K, K]\nz[i, j] = exp(x[i, j])\n"
    "y[i, j] = z[i, j] + z[j, i]",
    "all rows": "z[i, j] = exp(x[i, j])\ny[i, j] = z[i, j] * sum[k](z[k, j])",
    "rows of two steps": "x: real[2*K, J]\nz[i, j] = exp(x[i, j])\n"
    "y[i in range(K), j] = z[2*i, j] + z[i, j]",
    "dear elements": "x: real[K + 4, J + 4]\n"
    "z[i, j] = sum[t in range(5)](exp(x[i, j + t]) + log(1 + x[i, j + t]**2)) if i > j else 0\n"
    "y[i in range(K), j] = sum[s in range(5)](z[i + s, j])",
    "windows of any length": "z[i, j] = sum[t](b[t] * x[i, j + t])\n"
    "y[i, j] = sum[s](b[s] * z[i + s, j])",
}


@pytest.mark.parametrize("why", APART)
def test_definitions_stay_apart(why: str) -> None:
    source = APART[why]
    source += "" if "return" in source else "\nreturn y"
    assert written(tadc.compile(source))[-1] == ("y",)
    assert len(written(tadc.compile(source))) == 2


@pytest.mark.parametrize(("side", "functions"), [(512, 1), (256, 2)])
def test_a_stage_for_which_a_near_cache_has_room_stays_apart(side: int, functions: int) -> None:
    sizes = [f"{name}={side}" for name in ("N", "M")]
    assert len(written(tadc.compile(BLUR), *sizes)) == functions


@pytest.mark.parametrize(("columns", "functions"), [(64, 1), (60, 2)])
def test_rows_have_room_for_the_blocks_of_stages(columns: int, functions: int) -> None:
    assert len(written(tadc.compile(BLUR), "N=9000", f"M={columns}")) == functions


def test_bands_are_not_cut_across_vectors() -> None:
    """Images are few, and side by side in vectors: a band of some of them leaves lanes empty."""
    text = (
        "x: real[16, 6, H, W]\nw: real[6, 6, 2]\n"
        "z[o in range(6), i in range(H), j in range(W), n in range(16)] = x[n, o, i, j]\n"
        "y[n in range(16), c in range(6), i in range(H), j in range(W - 1)] ="
        " sum[o in range(6), s in range(2)](w[o, c, s] * z[o, i, j + s, n])\nreturn y"
    )
    assert written(tadc.compile(text), "H=56", "W=56") == [("z",), ("y",)]


# --- plans ----------------------------------------------------------------------------------------


def test_a_printed_plan_gives_the_same_bands() -> None:
    f, sizes = tadc.compile(BLUR), {"N": 900, "M": 800}
    plan = f.emit("plan", sizes, "f32")
    assert "z[i, j]: in bands" in plan
    assert "y[i, j]: in bands" in plan
    assert "with y; rolls along with it; not stored" in plan
    assert tadc.compile(BLUR, plan=plan).emit("plan", sizes, "f32") == plan


def test_a_plan_asks_for_bands_of_near_stages() -> None:
    sizes = {"N": 300, "M": 300}
    by_hand = tadc.compile(BLUR, plan="z[i, j]: in bands")
    assert "in bands" not in tadc.compile(BLUR).emit("plan", sizes, "f32")
    assert by_hand.emit("plan", sizes, "f32").count("in bands") == 2


def test_a_stage_in_a_band_takes_no_memory() -> None:
    f = tadc.compile(BLUR)
    values = [np.ones(5, np.float32), np.ones(5, np.float32), np.ones((704, 604), np.float32)]
    assert memory_of(f.runner, values, {}).peak == 700 * 600 * 4


# --- what they compute ----------------------------------------------------------------------------


@pytest.fixture
def small_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of any size have bands, and many."""
    make_bands_small(monkeypatch, 1 << 13)


def random_stage(choice: Random, source: str, indices: str) -> tuple[str, list[int]]:
    """An element of a stage that reads another one, and how far it reads along each index."""
    rank, kind = len(indices), choice.randrange(4)
    if kind == 0:
        axis, taps = choice.randrange(rank), choice.choice([2, 3, 5])
        places = [f"{v} + s" if n == axis else v for n, v in enumerate(indices)]
        reach = [taps - 1 if n == axis else 0 for n in range(rank)]
        return f"sum[s in range({taps})](w[s] * {source}[{', '.join(places)}])", reach
    if kind == 1:
        places = [f"{indices[0]} + s", f"{indices[1]} + t", *indices[2:]]
        term = f"w[s] * w[t] * {source}[{', '.join(places)}]"
        return f"sum[s in range(3), t in range(3)]({term})", [2, 2, 0][:rank]
    if kind == 2:
        middle = [f"{v} + 1" for v in indices]
        around = [
            f"{source}[{', '.join([*middle[:n], f'{v} + {step}', *middle[n + 1 :]])}]"
            for n, v in enumerate(indices)
            for step in (0, 2)
        ]
        return f"{source}[{', '.join(middle)}] + 0.1*tanh({' + '.join(around)})", [2] * rank
    place = f"{source}[{', '.join(indices)}]"
    return f"{choice.choice(['sin', 'exp', 'abs'])}({place}) + 0.5*{place}", [0] * rank


def random_stages(choice: Random) -> tuple[str, int, list[int]]:
    """A program of two to four stages, by which step its last one reads rows, and what its argument
    is longer by than so many rows of its result."""
    indices, sizes = ("ij", ["N", "M"]) if choice.random() < 0.6 else ("ijk", ["N", "M", "K"])
    longer = [0] * len(indices)
    lines: list[str] = []
    stages, step = choice.randint(2, 4), choice.choice([1, 1, 2, 3])
    for n in reversed(range(stages)):
        name = "y" if n == stages - 1 else f"z{n}"
        body, reach = random_stage(choice, f"z{n - 1}" if n else "x", indices)
        if name == "y" and step > 1:
            place = ", ".join([f"{step}*i + s", *indices[1:]])
            body, reach = f"sum[s in range(3)](w[s] * z{n - 1}[{place}])", [2, 0, 0][: len(indices)]
        own = zip(indices, sizes, longer, strict=True)
        ranges = ", ".join(f"{v} in range({size} + {more})" for v, size, more in own)
        lines.insert(0, f"{name}[{ranges}] = {body}")
        longer = [a + b for a, b in zip(longer, reach, strict=True)]
        sizes[0] = f"{step}*N"
    shape = ", ".join(f"{size} + {more}" for size, more in zip(sizes, longer, strict=True))
    text = "\n".join([f"x: real[{shape}]", "w: real[5]", *lines, "return y"])
    return text, step, longer


def agrees_with_the_interpreter(seed: int) -> bool:
    """Compare values and gradients, on any number of threads; true if there are bands."""
    choice, rng = Random(seed), np.random.default_rng(seed)
    text, step, longer = random_stages(choice)
    dtype, close = choice.choice([("f4", 1e-4), ("f8", 1e-11)])
    sides = [choice.choice([1, 7, 12, 20]) for _ in longer[1:]] + [choice.choice([3, 33, 61, 90])]
    f = tadc.compile(text)
    shape = [n + more for n, more in zip([step * sides[0], *sides[1:]], longer, strict=True)]
    arrays = {"x": rng.uniform(-1, 1, shape), "w": rng.uniform(-1, 1, 5)}
    check_value_and_gradients(f, [arrays[t.name] for t in f.args], dtype, close)
    sizes = dict(zip("NMK", sides, strict=False))
    return "in bands" in f.emit("plan", sizes, "f32" if dtype == "f4" else "f64")


@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize("seed", seeds(12, of=400))
def test_random_stages_agree_with_the_interpreter(seed: int) -> None:
    agrees_with_the_interpreter(seed)


@pytest.mark.usefixtures("small_bands")
def test_most_random_stages_have_bands() -> None:
    assert sum(agrees_with_the_interpreter(seed) for seed in range(4)) >= 2


@pytest.mark.usefixtures("small_bands")
def test_rows_of_arguments_may_lie_apart() -> None:
    f, wide = tadc.compile(STEPS), np.full((90, 200), np.nan, np.float32)
    wide[:, 5:105] = np.random.default_rng(0).uniform(-1, 1, (90, 100))
    x = wide[:, 5:105]
    np.testing.assert_array_equal(f(x), f(x.copy()))


def test_bands_of_large_calls_agree_with_numpy() -> None:
    rng = np.random.default_rng(0)
    x, a, b = rng.uniform(-1, 1, (704, 1304)), rng.uniform(-1, 1, 5), rng.uniform(-1, 1, 5)
    f = tadc.compile(BLUR)
    z = np.sum([b[t] * x[:, t : t + 1300] for t in range(5)], 0)
    y = np.sum([a[s] * z[s : s + 700] for s in range(5)], 0)
    np.testing.assert_allclose(f(a, b, x), y, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize("seed", seeds(6, of=200))
def test_stages_stay_within_their_buffers(seed: int) -> None:
    """The interpreter of loops looks at each access, and at who wrote an element."""
    choice, rng = Random(seed), np.random.default_rng(seed)
    text, step, longer = random_stages(choice)
    program = shape_loops(set_precision(tadc.compile(text).program.op, "f64"), None)
    sides = [choice.choice([1, 5, 9]) for _ in longer[1:]] + [choice.choice([3, 17, 40])]
    sides[0] *= step
    shapes = {"x": [n + more for n, more in zip(sides, longer, strict=True)], "w": [5]}
    values = [rng.uniform(-1, 1, shapes[name]) for name in program.arguments]
    f = tadc.compile(text, target="interpret")
    module = ModuleOp(schedule(program.clone(), blocking_chooser(True, ())))
    (found,) = run_scheduled(module, program, values)
    np.testing.assert_allclose(found, f(*values), rtol=1e-11, atol=1e-11)

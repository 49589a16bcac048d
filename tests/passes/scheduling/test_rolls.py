"""A stage that rolls along with its reader has the elements that it has apart, for all sizes."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.passes.analysis.equivalence import equivalent_definitions
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.lowering.shape_loops import shape_loops
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.bands.rolls import ROWS
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.scheduling.choose_nests import nests_of
from tadc.runtime.compiled import Compiled
from tadc.runtime.loop_plan import program_in
from tests.support.campaign import seeds
from tests.support.long_calls import make_bands_small
from tests.support.on_threads import check_on_threads, listed
from tests.support.scheduled_programs import run_scheduled

MEANS = """\
x: real[N + 6, M + 6]
z[i in range(N), j in range(M + 6)] = sum[s in range(7)](x[i + s, j])
y[i, j in range(M)] = sum[t in range(7)](z[i, j + t]) / 49
return y"""
BLUR = "a: real[7]\nb: real[7]\n" + MEANS.replace("(x[", "(a[s] * x[").replace("(z[", "(b[t] * z[")
GRADIENT = """\
dy: real[N, M]
z[p in range(N + 6), j] = sum[s in range(max(0, p - N + 1), min(7, p + 1))](dy[p - s, j])
y[p, q in range(M + 6)] = sum[t in range(max(0, q - M + 1), min(7, q + 1))](z[p, q - t])
return y"""
MAGNITUDE = """\
x: real[N, M]
z[i in range(N - 1), j] = tanh(x[i + 1, j] - x[i, j])
y[i in range(N - 1), j in range(M - 1)] = z[i, j + 1] - z[i, j] + x[i, j]
return y"""
VOLUMES = """\
x: real[L, N + 4, M + 4]
z[n, i in range(N), j] = max[s in range(5)](x[n, i + s, j])
y[n, i, j in range(M)] = max[t in range(5)](z[n, i, j + t])
return y"""


SHIFTED = """\
w: real[3]
x: real[N, M]
z[i in range(N), j in range(M)] = pad(x[i - 1, j - 1])
y[i in range(N), j in range(M)] = sum[s in range(3)](w[s] * pad(z[i, j + s - 1]))
return y"""


def rolls(source: str) -> list[int]:
    """The rows that advance together, of each nest that rolls."""
    program = program_in(Compiled(tadc.compile(source).program, "cpu").code(None, "f32").shaped)
    members, chooser = equivalent_definitions(program, set()), blocking_chooser(True, ())
    assert chooser is not None
    loops = [nest.loops for nest in nests_of(members, chooser, set())]
    found = [bands.roll for bands in loops if isinstance(bands, Bands)]
    return [roll.rows for roll in found if roll]


@pytest.mark.parametrize("source", [MEANS, BLUR, GRADIENT, MAGNITUDE, VOLUMES])
def test_windows_of_columns_roll(source: str) -> None:
    (rows,) = rolls(source)
    assert rows in (ROWS, ROWS // 2)


APART = {
    "windows of rows": MEANS.replace("z[i, j + t]", "z[i, j + t] * z[i, j]")
    .replace("range(N), j", "range(N + 1), j")
    .replace("N + 6,", "N + 7,")
    .replace("* z[i, j]", "* z[i + 1, j]"),
    "more than two vectors": MEANS.replace("M + 6", "M + 30").replace("7)](z", "31)](z"),
    "every second column": MEANS.replace("M + 6", "2*M + 6").replace("j + t", "2*j + t"),
}


@pytest.mark.parametrize("why", APART)
def test_others_have_bands_or_stay_apart(why: str) -> None:
    assert rolls(APART[why]) == []


# --- what they compute ----------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def small_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of any size have bands."""
    make_bands_small(monkeypatch, 1 << 13)


def random_windows(
    choice: Random, source: str, place: str, size: str, index: str
) -> tuple[str, int]:
    """A value made of a window along an index, and the elements more that it has: with tests at
    borders, as many as it reads."""
    taps, kind = choice.choice([2, 3, 5, 7]), choice.randrange(5)
    name = choice.choice("st")
    if kind == 0:
        low = choice.randrange(taps)
        bounds = f"max(0, {low} - {index}), min({taps}, {size} + {low} - {index})"
        term = f"w[{name}] * {source}[{place.format(f'{index} + {name} - {low}')}]"
        return f"sum[{name} in range({bounds})]({term})", 0
    if kind == 1:
        bounds = f"max(0, {index} - {size} + 1), min({taps}, {index} + 1)"
        term = f"{source}[{place.format(f'{index} - {name}')}]"
        return f"sum[{name} in range({bounds})]({term}) / 7", taps - 1
    term = f"{source}[{place.format(f'{index} + {name}')}]"
    if kind == 2:
        return f"max[{name} in range({taps})](w[{name}] * {term})", 1 - taps
    if kind == 3:
        first, last = (f"{source}[{place.format(f'{index} + {n}')}]" for n in (0, taps - 1))
        return f"tanh({last} - {first}) + 0.5*{first}", 1 - taps
    total = f"sum[{name} in range({taps})]({term})"
    return total + (f" + x[{place.format(index)}]" if source == "x" else ""), 1 - taps


def random_program(choice: Random) -> str:
    """Windows of rows, and windows of columns of these."""
    images = choice.random() < 0.3
    before, sizes = ("n, ", "L, ") if images else ("", "")
    rows, more_rows = random_windows(choice, "x", before + "{}, j", "N", "i")
    columns, more = random_windows(choice, "z", before + "i, {}", "M", "j")
    return "\n".join(
        [
            f"x: real[{sizes}N, M]",
            "w: real[7]",
            f"z[{before}i in range(N + {more_rows}), j in range(M)] = {rows}",
            f"y[{before}i in range(N + {more_rows}), j in range(M + {more})] = {columns}",
            "return y",
        ]
    ).replace("+ -", "- ")


def random_call(seed: int) -> tuple[str, list[int]]:
    choice = Random(seed)
    text = random_program(choice)
    if Random(f"{seed} borders").random() < 0.4:
        text = re.sub(r"x\[([^]]*), j\]", r"pad(x[\1, j - 1])", text)
    sides = [choice.choice([7, 8, 9, 17, 24, 30]), choice.choice([15, 40, 48, 63, 90, 130])]
    return text, [*([choice.choice([1, 3])] if "L, N" in text else []), *sides]


def agrees_with_the_interpreter(seed: int) -> bool:
    """Compare values and gradients, on any number of threads; true if there are bands."""
    text, shape = random_call(seed)
    choice, rng = Random(seed), np.random.default_rng(seed)
    dtype, close = choice.choice([("f4", 1e-4), ("f8", 1e-11)])
    f = tadc.compile(text)
    arrays = {"x": rng.uniform(-1, 1, shape), "w": rng.uniform(-1, 1, 7)}
    values = [arrays[t.name] for t in f.args]
    expected, slow = tadc.vjp(f.with_target("interpret"), *values)
    (result,) = listed(expected)
    dy = np.cos(np.arange(int(result.size), dtype=float)).reshape(result.shape)
    wanted = [result, *listed(slow(dy))]

    def run() -> list[Any]:
        y, pullback = tadc.vjp(f, *(v.astype(dtype) for v in values))
        return [y, *listed(pullback(dy.astype(dtype)))]

    check_on_threads(run, wanted, close)
    sizes = dict(zip("LNM" if len(shape) == 3 else "NM", shape, strict=True))
    return "in bands" in f.emit("plan", sizes, "f32" if dtype == "f4" else "f64")


@pytest.mark.parametrize("seed", seeds(12, of=400))
def test_random_windows_agree_with_the_interpreter(seed: int) -> None:
    agrees_with_the_interpreter(seed)


def test_most_random_windows_have_bands() -> None:
    assert sum(agrees_with_the_interpreter(seed) for seed in range(4, 10)) >= 3


@pytest.mark.parametrize("seed", seeds(6, of=200))
def test_all_accesses_are_inside(seed: int) -> None:
    """The interpreter of loops looks at each access, and at who wrote an element."""
    text, shape = random_call(seed)
    program = shape_loops(set_precision(tadc.compile(text).program.op, "f64"), None)
    rng = np.random.default_rng(seed)
    arrays = {"x": rng.uniform(-1, 1, shape), "w": rng.uniform(-1, 1, 7)}
    values = [arrays[name] for name in program.arguments]
    module = ModuleOp(schedule(program.clone(), blocking_chooser(True, ())))
    (found,) = run_scheduled(module, program, values)
    expected = tadc.compile(text, target="interpret")(*values)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_bits_do_not_depend_on_where_an_image_begins() -> None:
    f = tadc.compile(GRADIENT)
    wide = np.full((40, 200), np.nan, np.float32)
    wide[:, 5:105] = np.random.default_rng(0).uniform(-1, 1, (40, 100))
    np.testing.assert_array_equal(f(wide[:, 5:105]), f(wide[:, 5:105].copy()))


def test_what_rolls_is_there_for_all_lanes() -> None:
    """A stage that has no memory is read ahead of choices of the gradient."""
    f = tadc.compile("y[i, j] = sum[s in range(7), t in range(7)](x[i + s, j + t]) / 49")
    x = np.random.default_rng(0).normal(size=(600, 2054)).astype(np.float32)
    y, pullback = tadc.vjp(f, x)
    dx = np.asarray(pullback(np.ones_like(y)))
    rows, columns = (np.convolve(np.ones(n - 6), np.ones(7)) / 7 for n in x.shape)
    np.testing.assert_allclose(np.squeeze(dx), np.outer(rows, columns), rtol=1e-5)


def test_borders_of_rows_and_columns_are_those_of_each_vector() -> None:
    """A row begins with a vector of the stage, whose border is not that of the next ones."""
    f = tadc.compile(SHIFTED)
    assert "rolls" in f.emit("plan", {"N": 1000, "M": 1025}, "f32")
    x = np.random.default_rng(0).integers(-3, 4, (1000, 1025)).astype(np.float32)
    w = np.array([1, 2, 3], np.float32)
    y = f(**{"x": x, "w": w})
    z = np.pad(x, ((1, 0), (1, 0)))[:-1, :-1]
    wide = np.pad(z, ((0, 0), (1, 1)))
    np.testing.assert_array_equal(y, sum(w[s] * wide[:, s : s + 1025] for s in range(3)))

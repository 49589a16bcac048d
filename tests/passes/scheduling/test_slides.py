"""Bands of volumes slide plane by plane, and keep the planes that are read again."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import tadc
from tadc.passes.scheduling.bands import band_layout
from tests.passes.scheduling.test_bands import random_stage
from tests.support.campaign import seeds
from tests.support.long_calls import make_bands_small
from tests.support.on_threads import check_value_and_gradients

FILTER = """\
w: real[5]
x: real[I + 4, J + 4, K + 4]
u[i in range(I + 4), j in range(J + 4), k in range(K)] = sum[t in range(5)](w[t] * x[i, j, k + t])
v[i in range(I + 4), j in range(J), k in range(K)] = sum[t in range(5)](w[t] * u[i, j + t, k])
y[i in range(I), j in range(J), k in range(K)] = sum[t in range(5)](w[t] * v[i + t, j, k])
return y"""
LARGE = {"I": 128, "J": 128, "K": 128}


def plan_of(text: str) -> str:
    f = tadc.compile(text)
    sizes = {name: LARGE[name] for name in f.program.summary.size_names()}
    return f.emit("plan", sizes, "f32")


def test_planes_are_kept_until_they_are_read_for_the_last_time() -> None:
    plan = plan_of(FILTER)
    assert "keeps 1 plane\n" in plan
    assert "keeps 5 planes\n" in plan  # of the step that the one along i reads
    assert "slides along i\n" in plan


def test_what_two_stages_read_is_kept_for_both() -> None:
    """v reads plane i + 1 of u for itself; y reads plane i of it, while v is one plane ahead."""
    text = (
        "x: real[I + 2, J, K]\n"
        "u[i in range(I + 2), j, k] = x[i, j, k] + 1\n"
        "v[i in range(I + 1), j, k] = u[i, j, k] * u[i + 1, j, k]\n"
        "y[i in range(I), j, k] = v[i + 1, j, k] - u[i, j, k]\nreturn y"
    )
    plan = plan_of(text)
    assert "keeps 3 planes" in plan  # of u
    assert "keeps 1 plane\n" in plan  # of v


APART = {
    "nothing is computed twice along i": "x: real[I, J + 4, K]\n"
    "z[i, j in range(J + 4), k] = exp(x[i, j, k])\n"
    "y[i, j in range(J), k] = z[i, j, k] + z[i, j + 4, k]\nreturn y",
    "j moves the planes, too": "x: real[I + 8, 8, K + 4]\n"
    "z[i, j, k] = exp(x[i, j, k])\n"
    "y[i in range(I), j in range(8), k in range(K)] = z[i + j, j, k] + z[i, j, k + 4]\nreturn y",
    "every other plane": "x: real[2*I + 2, J, K]\n"
    "z[i, j, k] = exp(x[i, j, k])\n"
    "y[i in range(I), j, k] = z[2*i, j, k] + z[2*i + 2, j, k]\nreturn y",
    "two dimensions": "x: real[I + 4, J]\nz[i, j] = exp(x[i, j])\n"
    "y[i in range(I), j] = z[i, j] + z[i + 4, j]\nreturn y",
}


@pytest.mark.parametrize("why", APART)
def test_these_do_not_slide(why: str) -> None:
    assert "slides" not in plan_of(APART[why])


def test_a_large_filter_agrees_with_numpy() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.uniform(-1, 1, 5), rng.uniform(-1, 1, (144, 74, 104))
    u = sum(w[t] * x[:, :, t : t + 100] for t in range(5))
    v = sum(w[t] * u[:, t : t + 70] for t in range(5))
    y = sum(w[t] * v[t : t + 140] for t in range(5))
    np.testing.assert_allclose(tadc.compile(FILTER)(w, x), y, rtol=1e-12, atol=1e-12)


# --- random programs ------------------------------------------------------------------------------


@pytest.fixture
def small_bands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of any size have bands, and many, which slide whatever they compute again."""
    make_bands_small(monkeypatch, 1 << 14)
    monkeypatch.setattr(band_layout, "MOST_AGAIN_OF_SEVERAL", 10_000)


def random_volumes(choice: Random) -> tuple[str, list[int]]:
    """A program of two to four stages, which may read any of those before, and what its argument
    is longer by than its result."""
    stages = choice.randint(2, 4)
    bodies, longer = list[tuple[str, list[int]]](), [0, 0, 0]
    for n in range(stages):
        body, reach = random_stage(choice, f"z{n - 1}" if n else "x", "ijk")
        bodies.append((body, reach))
        longer = [a + b for a, b in zip(longer, reach, strict=True)]
    argument, lines = ", ".join(f"{s} + {m}" for s, m in zip("NMK", longer, strict=True)), []
    for n, (body, reach) in enumerate(bodies):
        longer = [a - b for a, b in zip(longer, reach, strict=True)]
        if n > 1 and choice.random() < 0.5:
            body += f" - 0.5*z{choice.randrange(n - 1)}[i, j, k]"
        own = zip("ijk", "NMK", longer, strict=True)
        ranges = ", ".join(f"{v} in range({size} + {more})" for v, size, more in own)
        lines.append(f"{'y' if n == stages - 1 else f'z{n}'}[{ranges}] = {body}")
    text = "\n".join([f"x: real[{argument}]", "w: real[5]", *lines, "return y"])
    return text, [sum(reach[axis] for _, reach in bodies) for axis in range(3)]


def agrees_with_the_interpreter(seed: int) -> bool:
    """Compare values and gradients, on any number of threads; true if bands slide."""
    choice, rng = Random(seed), np.random.default_rng(seed)
    text, longer = random_volumes(choice)
    dtype, close = choice.choice([("f4", 1e-4), ("f8", 1e-11)])
    sides = [choice.choice([1, 4, 11, 19]), choice.choice([1, 5, 9]), choice.choice([17, 40, 61])]
    f = tadc.compile(text)
    arrays = {"x": rng.uniform(-1, 1, [n + m for n, m in zip(sides, longer, strict=True)])}
    arrays["w"] = rng.uniform(-1, 1, 5)
    check_value_and_gradients(f, [arrays[t.name] for t in f.args], dtype, close)
    sizes = dict(zip("NMK", sides, strict=True))
    return "slides along" in f.emit("plan", sizes, "f32" if dtype == "f4" else "f64")


@pytest.mark.usefixtures("small_bands")
@pytest.mark.parametrize("seed", seeds(8, of=300))
def test_random_volumes_agree_with_the_interpreter(seed: int) -> None:
    agrees_with_the_interpreter(seed)


@pytest.mark.usefixtures("small_bands")
def test_some_random_volumes_slide() -> None:
    assert sum(agrees_with_the_interpreter(seed) for seed in range(6)) >= 2

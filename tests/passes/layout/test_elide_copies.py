"""Copies that are not made: what programs mean, and which copies there are."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.passes.layout.elide_copies import elide_copies
from tadc.passes.layout.merge_axes import merge_axes
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.splitting.split_axes import split_axes
from tests.support.campaign import seeds
from tests.support.derivations import Case, assert_close, interpret

UPSAMPLED = "w: f64[2, 8]\ny[i, j] = sum[s](w[i % 2, s] * x[i // 2 + s, j])"


def elided(source: str) -> tuple[list[str], list[str]]:
    """The labels of a program with split and merged axes, with copies and without."""
    program = merge_axes(split_axes(set_precision(tadc.compile(source).program.op, "f64")))
    made = elide_copies(program)
    made.verify()
    return tuple([d.label.data for d in p.definitions] for p in (program, made))


def random_copies(rng: random.Random) -> Case:
    """Definitions of which some copy the one before, a part of it, or the transpose."""
    lines, size = ["a: f64[N, N]", "t0[i, j] = 2*a[i, j]"], rng.randint(1, 5)
    for n in range(1, rng.randint(3, 7)):
        source = f"t{rng.choice([n - 1, n - 1, rng.randrange(n)])}"
        body = rng.choice(["{}[i, j]", "{}[i, j]", "{}[j, i]", "{}[i, j] + a[j, i]", "{}[i, 0]"])
        lines.append(f"t{n}[i in range(N), j in range(N)] = {body.format(source)}")
    results = sorted(rng.sample(range(n + 1), rng.randint(1, 2)))
    lines.append(f"return {', '.join(f't{k}' for k in results)}")
    a = np.random.default_rng(rng.randint(0, 99)).normal(size=(size, size))
    return Case("\n".join(lines), {"a": a})


@pytest.mark.parametrize("seed", seeds(15, of=300))
def test_random_copies_keep_their_meaning(seed: int) -> None:
    case = random_copies(random.Random(seed))
    program = merge_axes(set_precision(case.function.program.op, "f64"))
    made = elide_copies(program)
    made.verify()
    assert_close(interpret(made, case.values), case.results, 1e-12, case.source)


def test_many_random_programs_have_copies() -> None:
    cases = [random_copies(random.Random(seed)) for seed in range(20)]
    programs = [merge_axes(set_precision(c.function.program.op, "f64")) for c in cases]
    assert sum(elide_copies(program) is not program for program in programs) > 8


def test_a_split_axis_is_written_in_place() -> None:
    """A result has no place for what lies behind its last element."""
    assert elided(f"x: f64[N + 7, M]\n{UPSAMPLED}") == (["y_split", "y"], ["y"])
    ragged = UPSAMPLED.replace("y[i, j]", "y[i in range(2*N - 1), j]")
    assert elided(f"x: f64[N + 7, M]\n{ragged}") == (["y_split", "y"], ["y_split", "y"])


@pytest.mark.parametrize("shape", [(70, 33), (71, 64), (9, 400)])
def test_upsampled_images(shape: tuple[int, int]) -> None:
    """In machine code, with gradients, on any number of threads."""
    source = "w: f32[2, 4]\nx: f32[N, M]\n"
    source += "y[i, j] = sum[s, t](w[i % 2, s] * w[j % 2, t] * x[i // 2 + s, j // 2 + t])"
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((2, 4), shape)]
    f = tadc.compile(source)
    y, pullback = tadc.vjp(f, *arrays)
    dy = rng.normal(size=y.shape).astype(np.float32)
    found = [y, *pullback(dy)]
    wide = [a.astype(np.float64) for a in (*arrays, dy)]
    exact = tadc.compile(source.replace("f32", "f64"), "interpret")
    expected = [exact(*wide[:2]), *exact.derivative().call(wide, {})]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4 * np.abs(b).max())

"""Definitions that share loops compute what they compute alone, and share what they should."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from textwrap import dedent

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.function import Function
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling import fuse_sums
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.scheduling.costs import line_reuse
from tadc.passes.scheduling.tiles import (
    block_sizes,
    packing,
    sum_lengths,
    tile_analysis,
    tile_choice,
)
from tadc.runtime.executable import kernel_calls
from tadc.runtime.on_cpu import CpuExecutable
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, interpret
from tests.support.scheduled_programs import run_scheduled

KERNEL = """\
x: f64[{N}, 3]
z: f64[{M}, 3]
b: f64[{M}]
y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])
"""
SPLAT = """\
a: f64[{N}]
u: f64[{N}]
v: f64[{N}]
s: f64[{N}]
y[p in range(9), q in range(11)] = sum[n](a[n] * exp(-((p - u[n])**2 + (q - v[n])**2) / s[n]))
"""
MEAN = """\
x: f64[{N}]
z: f64[{M}]
b: f64[{M}]
y[i] = sum[j](exp(-(x[i] - z[j])**2) * b[j]) / sum[j](exp(-(x[i] - z[j])**2))
"""
SIZES = [(64, 64), (70, 150), (7, 9), (1, 130), (130, 1)]


def scheduled(f: Function) -> ModuleOp:
    """The program of a function in tiles, fused where that is cheaper."""
    return ModuleOp(schedule(set_precision(f.program.op, "f64"), blocking_chooser(True, ())))


def written(f: Function) -> list[tuple[str, ...]]:
    """The tensors that each function writes."""
    return [step.written for step in kernel_calls(scheduled(f))]


def inputs(f: Function, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.5, 1.5, [int(str(n)) for n in t.shape]) for t in f.args]


# --- what is shared -------------------------------------------------------------------------------


def test_gradients_over_the_same_points_compute_a_function_once():
    f = tadc.compile(KERNEL.format(N=512, M=512)).derivative()
    assert written(f) == [("dx",), ("dz", "db")]
    assert str(scheduled(f)).count("math.exp") == 2 * 4  # 32 columns of eight lanes


def test_a_gradient_joins_an_earlier_one_than_the_last():
    first = KERNEL.format(N=512, M=512).splitlines()
    f = tadc.compile("\n".join([first[2], *first[:2], first[3]])).derivative()
    assert written(f) == [("db", "dz"), ("dx",)]


def test_no_definition_moves_before_one_that_it_reads():
    f = tadc.compile(
        "d: f64[512, 512]\n"
        "y[i] = sum[j](exp(d[j, i]))\n"
        "m[i] = y[511 - i]**2\n"
        "z[i] = sum[j](exp(d[j, i]) * m[i])\n"
        "return y, m, z"
    )
    assert written(f) == [("y",), ("m",), ("z",)]


def test_four_gradients_advance_in_one_loop():
    f = tadc.compile(SPLAT.format(N=512)).derivative()
    assert written(f) == [("da", "du", "dv", "ds")]
    assert str(scheduled(f)).count("scf.for %p") == 1


def test_sums_of_one_definition_advance_in_one_loop():
    f = tadc.compile(MEAN.format(N=512, M=512))
    assert written(f) == [("y",)]
    assert str(scheduled(f)).count("scf.for %j") == 1


def test_sums_that_read_all_of_a_tensor_read_it_once():
    f = tadc.compile("y[j] = sum[i](d[i, j] / e[i])\nz[j] = sum[i](d[i, j])\nreturn y, z")
    assert written(f) == [("y", "z")]


APART = {
    "one reads the other": "y[i] = sum[j](exp(d[j, i]))\nz[i] = sum[j](exp(d[j, i]) / y[511 - i])",
    "other sizes": "y[i] = sum[j](exp(d[j, i]))\nz[i in range(511)] = sum[j](exp(d[j, i]))",
    "other points": "y[i] = sum[j](exp(d[j, i]))\nz[i] = sum[j in range(99)](exp(d[2*j, i]))",
    "nothing in common": "y[i] = sum[j](exp(d[j, i]))\nz[i] = sum[j](sin(e[j, i]))",
    "alike": "y[i] = sum[j](exp(d[j, i]))\nz[i] = sum[j](exp(e[j, i]))",
}


@pytest.mark.parametrize("why", APART)
def test_definitions_stay_apart(why: str):
    f = tadc.compile(f"d: f64[512, 512]\ne: f64[512, 512]\n{APART[why]}\nreturn y, z")
    assert written(f) == [("y",), ("z",)]


def test_precisions_stay_apart():
    types = "d: f64[512, 512]\ny: f64[512]\nz: f32[512]\n"
    text = "y[i] = sum[j](exp(d[i, j]))\nz[i] = sum[j](exp(d[i, j])**2)\nreturn y, z"
    f = tadc.compile(types + text)
    assert written(f) == [("y",), ("z",)]


def test_what_comparisons_read_is_computed_as_written():
    text = "d: f64[512, 512]\nm[i] = max[j](d[i, j])\ny[i] = sum[j](m[i] * d[i, j])"
    f = tadc.compile(text).derivative()
    assert all(len(names) == 1 for names in written(f))


# --- what it computes -----------------------------------------------------------------------------


@pytest.mark.parametrize("source", [KERNEL, SPLAT, MEAN])
@pytest.mark.parametrize(("n", "m"), SIZES)
def test_shared_loops_agree_with_the_interpreter(source: str, n: int, m: int):
    f = tadc.compile(source.format(N=n, M=m))
    for g in (f, f.derivative()):
        values = inputs(g)
        expected = g.with_target("interpret").call(values, {})
        for a, b in zip(g.call(values, {}), expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


@cache
def gradients_at_run_time() -> tuple[Function, ModuleOp]:
    """Of `KERNEL`, where M is any size, with the loops for them."""
    text = "x: f64[40, 3]\nz: f64[M, 3]\nb: f64[M]\n"
    gradients = tadc.compile(text + KERNEL.splitlines()[-1]).derivative()
    return gradients, scheduled(gradients)


@pytest.mark.parametrize("m", [0, 1, 7, 63, 64, 65, 200])
def test_sizes_at_run_time_may_leave_no_room_for_a_block(m: int):
    kernel, module = gradients_at_run_time()
    assert ("dz", "db") in [step.written for step in kernel_calls(module)]
    rng = np.random.default_rng(m)
    values = [rng.uniform(-1, 1, shape) for shape in ((40, 3), (m, 3), (m,), (40,))]
    program = set_precision(kernel.program.op, "f64")
    found = run_scheduled(module, program, values)
    for a, b in zip(found, kernel.with_target("interpret").call(values, {}), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-13)


# --- random programs ------------------------------------------------------------------------------


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of few elements, and shared loops, taken wherever they are possible."""
    limits = {
        sum_lengths: {"MOST_TERMS_TO_UNROLL": 0, "MOST_TERMS_OF_WINDOW": 0},
        tile_analysis: {"VECTOR_BYTES": 16, "PANEL_ELEMENTS": 6},
        block_sizes: {"MOST_COLUMNS": 2},
        tile_choice: {"MOST_OF_PLAIN_COST": 1e9},
        packing: {"MOST_ROWS_PER_PANEL": 4, "FEWEST_TERMS_OF_CHUNK": 1},
        line_reuse: {"LINES_APART": 0, "BYTES_IN_ORDER": 0},
        fuse_sums: {"MOST_OF_SEPARATE_COST": 1e9},
    }
    for module, values in limits.items():
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)
    yield


SHARED = (
    "exp(-(x[i] - z[j])**2)",
    "sin(x[i] * z[j])",
    "d[i, j]",
    "sum[l in range(2)](d[i, j] * w[j, l])",
)
OWN = (
    "x[i]",
    "z[j]",
    "d[i, j]",
    "w[j, k]",
    "v[i, k]",
    "(2 if i < j else 3)",
    "max(x[i], z[j])",
    "x[i]**2",
)


def random_sums(seed: int) -> str:
    """Some definitions of sums over i, for each j and perhaps k, which have much in common."""
    rng = random.Random(seed)
    n, m = rng.randint(1, 6), rng.randint(1, 9)
    shared = rng.choice(SHARED)
    domain = rng.choice(["i", "i", f"i in range({n // 2}, {n})", f"i in range(min({n}, j + 1))"])
    lines: list[str] = []
    for name in "fgh"[: rng.randint(2, 3)]:
        rows = rng.choice(["", "", ", k in range(2)"])
        own = [t for t in OWN if rows or "k]" not in t]
        terms = " * ".join([shared, *rng.sample(own, rng.randint(0, 2))])
        outside = rng.choice(["", "z[j] * ", "cos(x[0]) + "])
        lines.append(f"{name}[j{rows}] = {outside}sum[{domain}]({terms})")
        if rng.random() < 0.3:
            lines[-1] += f" + sum[{domain}]({shared})"
    sizes = f"x: f64[{n}]\nz: f64[{m}]\nd: f64[{n}, {m}]\nw: f64[{m}, 2]\nv: f64[{n}, 2]\n"
    return sizes + "\n".join(lines) + "\nreturn " + ", ".join(line[0] for line in lines) + "\n"


def check(source: str, seed: int) -> bool:
    """Compare with the interpreter of definitions; true if definitions share loops."""
    f = tadc.compile(source)
    fused = False
    for g in (f, f.derivative()):
        program = set_precision(g.program.op, "f64")
        executable = CpuExecutable(g.program, "f64")
        values = inputs(g, seed)
        expected = interpret(program, values)
        assert_close(run_scheduled(executable.module, program, values), expected, 1e-9, str(seed))
        assert_close(g.call(values, {}), expected, 1e-9, str(seed))
        fused |= any(step.results > 1 for step in kernel_calls(executable.module))
    return fused


@pytest.mark.usefixtures("small_tiles")
def test_random_sums_that_share_loops_agree_with_the_interpreter():
    checked = seeds(6, of=400)
    assert 2 * sum(check(random_sums(seed), seed) for seed in checked) > len(checked)


@pytest.mark.usefixtures("small_tiles")
def test_elements_computed_lane_by_lane_find_the_sums_of_the_block():
    """A sum whose bounds depend on the row stands beside some that are the same for all rows."""
    source = """\
    x: f64[4]
    z: f64[2]
    d: f64[4, 2]
    f[j, k in range(2)] = z[j] * sum[i](d[i, j] * max(x[i], z[j]))
    g[j, k in range(2)] = cos(x[0]) + sum[i](d[i, j] * (2 if i < j else 3) * max(x[i], z[j]))
    return f, g
    """
    assert check(dedent(source), 0)


def test_joined_sums_with_quotients_of_the_column_are_no_streams():
    """The gradient by `u` sums over two residues of `p`, whose sums are tried as one."""
    source = """\
    x: f64[20]
    u: f64[20, 58]
    w: f64[20, 40]
    y[i, j in range(20), p in range(20)] = sum[k in range(max(0, j - 2), min(20, j + 3))](
        ((x[i] if (k + p) % 2 == 0 else 0) + u[i, 3*k]) * w[k, 2*j + 1])
    """
    f = tadc.compile(dedent(source))
    x, u, w, dy = inputs(f.derivative(), 0)
    found = tadc.vjp(f, x, u, w)[1](dy)
    assert_close(found, f.derivative().call([x, u, w, dy], {}), 1e-9, "gradients")


def test_sums_of_comparisons_for_equality_are_not_joined():
    """Products that are compared with a minimum are rounded, as they are for the minimum."""
    source = """\
    a: f32[16, 16]
    b: f32[16, 7, 22]
    c: f32[16, 16]
    y[i in range(40), j] = min[k in range(j, 16), l](
        pad(a[k, k + l - 2]) * b[k, l, l + j] - (c[j, k] - pad(c[k, k + i - 2])))
    """
    rng = np.random.default_rng(0)
    shapes = ((16, 16), (16, 7, 22), (16, 16))
    values = [rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes]
    gradients: list[tuple[np.ndarray, ...]] = []
    for target in ("cpu", "interpret"):
        y, pullback = tadc.vjp(tadc.compile(dedent(source), target=target), *values)
        gradients.append(pullback(np.ones_like(y)))
    for found, expected in zip(*gradients, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)

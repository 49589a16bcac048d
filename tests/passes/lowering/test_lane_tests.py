"""Tests in the lanes of blocks: compared once for all terms, and not at all where they hold."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import scf, vector

import tadc
from tadc.dialects.loops import CompareLanesOp
from tadc.sizes import bind_sizes

WINDOW = (
    "y[n, c, i in range(28), j in range(28)] = "
    "sum[u, v](pad(x[n, c, i + u - 3, j + v - 3]) * w[c, u, v])"
)
GROUPS = (
    "y[o, i in range(28), j in range(28)] = sum[c in range(4), u in range(3), v in range(3)]"
    "(pad(x[4*(o // 4) + c, i + u - 1, j + v - 1]) * w[o, c, u, v])"
)
VOLUMES = (
    "y[n, o, a, b, c] = sum[k in range(4), p in range(3), q in range(3), r in range(3)]"
    "(x[n, o // 8 * 4 + k, a + p, b + q, c + r] * w[o, k, p, q, r])"
)

TRANSPOSED = (
    "y[n, o, p in range(20), q in range(46)] = "
    "sum[c, i, j](pad(w[c, o, p - 2*i, q - 2*j]) * x[n, c, i, j])"
)
SHORT = (
    "y[n, o, p in range(19), q in range(13)] = "
    "sum[c, i, j](pad(w[c, o, p - 3*i, q - 3*j]) * x[n, c, i, j])"
)


def test_lanes_are_compared_once_for_all_rows() -> None:
    """A window over short rows has masks in all blocks, which no row moves."""
    f = tadc.compile(WINDOW)
    sizes = bind_sizes(f.program.op, {"x": (2, 96, 28, 28), "w": (96, 7, 7)})
    module = f.compiled.code(sizes, "f32").module
    terms = [op for op in module.walk() if isinstance(op, scf.ForOp) and op.iter_args]
    inside = [op for loop in terms for op in loop.body.walk()]
    loads = [op for op in inside if isinstance(op, vector.MaskedLoadOp)]
    compared = [op for op in inside if isinstance(op, CompareLanesOp)]
    assert len(loads) > 8
    assert len(compared) == 2  # at the left and at the right border


def test_groups_have_blocks_of_rows() -> None:
    """Channels of a group depend on a quotient of the channel of the result."""
    f = tadc.compile(GROUPS)
    shapes = {"x": (128, 28, 28), "w": (128, 4, 3, 3), "dy": (128, 28, 28)}
    for g, result in ((f, "y[o, i, j]"), (f.derivative("x"), "dx_split[p, p_1, q, r]")):
        plan = g.emit("plan", bind_sizes(g.program.op, shapes), "f32")
        assert f"{result}: rows" in plan


def test_terms_that_no_lane_has_are_not_looked_for() -> None:
    """A row of the gradient has one of four terms; others would lie far outside of dy."""
    f = tadc.compile("y[n, c in range(64), i] = x[n, 16*(c % 4) + c // 4, i]").derivative("x")
    text = f.emit("scheduled", {"N": 4, "X_1": 64, "I": 784}, "f32")
    lines = text.splitlines()
    loads = [n for n, line in enumerate(lines) if "maskedload" in line]
    assert loads
    assert all("scf.if" in _around(lines, n) for n in loads)


def _around(lines: list[str], number: int) -> str:
    """The line that opens the block of a line."""
    depth = len(lines[number]) - len(lines[number].lstrip())
    return next(t for t in reversed(lines[:number]) if len(t) - len(t.lstrip()) < depth)


def test_weights_that_are_there_for_all_lanes_are_no_vectors() -> None:
    """Of the weights, w[8*p + o] is there where a test around all sums of the block holds."""
    f = tadc.compile(VOLUMES).derivative("x")
    shapes = {"x": (2, 12, 18, 18, 18), "w": (24, 4, 3, 3, 3), "dy": (2, 24, 16, 16, 16)}
    text = f.emit("scheduled", bind_sizes(f.program.op, shapes), "f32")
    assert "vector.maskedload %dy" in text
    assert "gathered" not in text


def test_weights_at_a_remainder_are_there_for_all_lanes() -> None:
    """Of the taps of a transposed convolution, w[c, o, p - 2*(p // 2), 0] is one of two."""
    f = tadc.compile(TRANSPOSED)
    shapes = {"x": (5, 9, 10, 23), "w": (9, 2, 2, 2)}
    assert "gathered" not in f.emit("scheduled", bind_sizes(f.program.op, shapes), "f32")


def test_rows_of_which_a_test_holds_anyway_are_there_for_all_lanes() -> None:
    """In row 2 of a block, x[n, c, p + 2 - i, j] is not ahead of x, as p >= 0 and i <= 2."""
    f = tadc.compile(SHORT)
    shapes = {"x": (2, 26, 5, 3), "w": (26, 2, 7, 7)}
    text = f.emit("scheduled", bind_sizes(f.program.op, shapes), "f32")
    assert "vector.maskedload %w" in text
    assert "gathered" not in text


def test_blocks_of_whole_groups_ask_in_no_loop() -> None:
    """Terms of a sum have no tests of whether rows are channels of the last group."""
    f = tadc.compile(VOLUMES)
    sizes = bind_sizes(f.program.op, {"x": (2, 20, 18, 18, 18), "w": (40, 4, 3, 3, 3)})
    module = f.compiled.code(sizes, "f32").module
    terms = [op for op in module.walk() if isinstance(op, scf.ForOp) and op.iter_args]
    inside = [[*op.body.walk()] for op in terms]
    inner = [ops for ops in inside if not any(isinstance(op, scf.ForOp) for op in ops)]
    asked = [any(isinstance(op, scf.IfOp) for op in ops) for ops in inner]
    assert sorted(asked) == [False, True]


@pytest.mark.parametrize(
    ("source", "x", "w"),
    [
        (GROUPS, (22, 28, 28), (23, 4, 3, 3)),
        (VOLUMES, (1, 12, 9, 6, 19), (24, 4, 3, 3, 3)),
        (VOLUMES, (1, 24, 9, 6, 19), (41, 4, 3, 3, 3)),
        (TRANSPOSED, (5, 9, 10, 23), (9, 2, 2, 2)),
        (SHORT, (2, 26, 5, 3), (26, 2, 7, 7)),
    ],
)
def test_groups_agree_with_the_interpreter(
    source: str, x: tuple[int, ...], w: tuple[int, ...]
) -> None:
    """Also where the last group lacks channels."""
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, shape) for shape in (x, w)]
    results: list[list[np.ndarray]] = []
    for target in ("cpu", "interpret"):
        f = tadc.compile(source, target=target)
        y, pullback = tadc.vjp(f, *arrays)
        results.append([y, *pullback(np.cos(y))])
    for own, expected in zip(*results, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("step", [-4, -3, -2, 2, 3, 4])
def test_elements_a_few_apart_are_vectors_under_masks(step: int) -> None:
    """Windows that leave their rows at both ends, forwards and backwards."""
    first = 49 - 24 * step
    source = "x: f32[90, 99]\nw: f32[5]\ny[n, p in range(48)] = "
    f = tadc.compile(f"{source}sum[k](pad(x[n, {first} + {step}*p + k]) * w[k])")
    text = f.emit("scheduled", {}, "f32")
    assert "vector.maskedload %x" in text
    assert "gathered" not in text
    rng = np.random.default_rng(0)
    x, w = (rng.uniform(-1, 1, shape).astype("f") for shape in ((90, 99), (5,)))
    np.testing.assert_allclose(f(x, w), f.with_target("interpret")(x, w), atol=1e-5)

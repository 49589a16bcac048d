"""The generator of random programs, and the reference evaluator of their text."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.random_programs import EVERYTHING, finite_differences, random_program, reference

CONVOLUTION = """
w: f64[3]
x: f64[N]
y[i in range(N - 2)] = sum[k](w[k] * x[i + k])
z[i] = pad(y[i - 1], 2) if i % 2 == 0 and i > 0 else x[i] * 1
s = sum[i in range(4), j in range(i)](i * j)
"""


def test_the_reference_on_a_known_program() -> None:
    rng = np.random.default_rng(0)
    w, x = rng.random(3), rng.random(9)
    z, s = reference(CONVOLUTION, {"w": w, "x": x})
    y = np.correlate(x, w, "valid")
    assert np.allclose(z[[2, 4, 6]], y[[1, 3, 5]]) and z[8] == 2
    assert np.array_equal(z[[0, 1, 3, 5, 7]], x[[0, 1, 3, 5, 7]])
    assert s == 0 + 2 * 1 + 3 * (1 + 2)


def test_the_reference_refuses_an_access_outside() -> None:
    with pytest.raises(AssertionError, match="x"):
        reference("y[i in range(3)] = x[i - 1]", {"x": np.zeros(3)})


def test_finite_differences_of_squares_are_right() -> None:
    arguments = {"x": np.array([0.5, -2.0])}
    derivative = finite_differences(lambda a: [a["x"] ** 2], arguments, [np.array([1.0, 10])], "x")
    assert np.allclose(derivative, [1, -40])


def test_programs_are_deterministic() -> None:
    first, second = (random_program(random.Random(7)) for _ in range(2))
    assert first.source == second.source
    assert all(np.array_equal(first.arguments[n], second.arguments[n]) for n in first.arguments)


@pytest.mark.parametrize("options", [{}, {"pads": True}, {"kinks": True}, EVERYTHING])
def test_programs_are_valid_and_moderate(options: dict[str, bool]) -> None:
    """Accesses are in range, values finite: the reference raises otherwise."""
    for seed in range(150):
        program = random_program(random.Random(seed), **options)
        results = reference(program.source, program.arguments)
        assert all(np.all(np.abs(r) < 1e4) for r in results), program.source


def test_options_leave_constructs_out() -> None:
    for seed in range(30):
        program = random_program(
            random.Random(seed),
            definitions=1,
            sums=False,
            conditions=False,
            divisions=False,
            declarations=("concrete",),
            dtype="f32",
        )
        for word in ("sum", " if ", "//", "%", "N", "f64"):
            assert word not in program.source
        assert len(program.shapes) == 1
        assert all(a.dtype == np.float32 for a in program.arguments.values())

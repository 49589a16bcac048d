"""Checks of the inverse modes of one program at its arguments.

`J⁻¹ v`, `J⁻ᵀ v` and the determinant against those of NumPy for the Jacobian that forward mode
gives, column by column; and equations (4.7a-d) of Pearlmutter and Siskind, "Automatic
Differentiation: Inverse Accumulation Mode".
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

import tadc
from tests.support.random_updates import Update

TOLERANCE = {"f64": 1e-9, "f32": 2e-4}

Array = np.ndarray


def flat(arrays: Sequence[Array]) -> Array:
    return np.concatenate([np.ravel(a) for a in arrays])


class Modes:
    """All modes of a program at its arguments, of vectors that hold the whole state."""

    def __init__(self, update: Update, target: str):
        self.function = tadc.compile(update.source, target)
        self.names = [t.name for t in self.function.results]
        self.arguments = [update.arguments[t.name] for t in self.function.args]
        self.like = [update.arguments[name] for name in self.names]

    @cached_property
    def size(self) -> int:
        return sum(a.size for a in self.like)

    def split(self, vector: Array) -> list[Array]:
        """A vector as one array for each tensor of the state."""
        ends = np.cumsum([a.size for a in self.like])[:-1]
        parts = zip(np.split(vector, ends), self.like, strict=True)
        return [np.asarray(part.reshape(a.shape), a.dtype) for part, a in parts]

    def jvp(self, vector: Array) -> Array:
        tangents = dict(zip(self.names, self.split(vector), strict=True))
        given = [tangents.get(t.name) for t in self.function.args]
        derivatives: Any = tadc.jvp(self.function, self.arguments, given)[1]
        return flat(derivatives if len(self.names) > 1 else [derivatives])

    def vjp(self, vector: Array) -> Array:
        _, pullback = tadc.vjp(self.function, *self.arguments)
        names = [t.name for t in self.function.args]
        gradients = dict(zip(names, pullback(*self.split(vector)), strict=True))
        return flat([gradients[name] for name in self.names])

    def inverse_jvp(self, vector: Array) -> Array:
        return flat(tadc.inverse_jvp(self.function, self.arguments, self.split(vector)))

    def inverse_vjp(self, vector: Array) -> Array:
        return flat(tadc.inverse_vjp(self.function, self.arguments, self.split(vector)))

    @cached_property
    def jacobian(self) -> Array:
        """Column by column."""
        return np.array([self.jvp(column) for column in np.eye(self.size)], float).T


def assert_near(actual: Array, expected: Array, bound: float, what: str) -> None:
    error = float(np.max(np.abs(actual - expected)))
    assert error <= bound, f"{what}: error {error:.2e} > {bound:.2e}"


def check_against_numpy(modes: Modes, tolerance: float, rng: np.random.Generator) -> None:
    jacobian, vector = modes.jacobian, rng.standard_normal(modes.size)
    assert np.linalg.cond(jacobian) < 1e5, "not regular enough to be a test"
    inverse = np.linalg.inv(jacobian)
    bound = tolerance * float(np.linalg.norm(inverse, 2) * np.linalg.norm(vector))
    assert_near(modes.inverse_jvp(vector), inverse @ vector, bound, "inverse_jvp")
    assert_near(modes.inverse_vjp(vector), inverse.T @ vector, bound, "inverse_vjp")
    sign, logarithm = tadc.log_abs_det(modes.function, modes.arguments)
    expected = np.linalg.slogdet(jacobian)
    assert sign == expected[0], f"sign {sign}"
    assert_near(np.array(logarithm), expected[1], tolerance * (1 + modes.size), "log_abs_det")


def check_invariants(modes: Modes, rng: np.random.Generator) -> None:
    """(4.7a-d), each up to rounding of what is computed on the way."""
    tangent, adjoint = rng.standard_normal((2, modes.size))
    norms = float(np.linalg.norm(tangent) * np.linalg.norm(adjoint))
    forward, back = modes.jvp(tangent), modes.vjp(adjoint)
    largest = float(np.linalg.norm(modes.jacobian, 2))
    assert abs(back @ tangent - adjoint @ forward) <= 1e-9 * largest * norms, "(4.7a)"
    undone, unread = modes.inverse_jvp(tangent), modes.inverse_vjp(adjoint)
    smallest = float(np.linalg.norm(np.linalg.inv(modes.jacobian), 2))
    assert abs(adjoint @ undone - unread @ tangent) <= 1e-9 * smallest * norms, "(4.7b)"
    bound = 1e-9 * largest * smallest * norms
    assert_near(modes.jvp(undone), tangent, bound, "(4.7c), tangents")
    assert_near(modes.inverse_vjp(back), adjoint, bound, "(4.7c), adjoints")
    assert_near(modes.vjp(unread), adjoint, bound, "(4.7d), adjoints")
    assert_near(modes.inverse_jvp(forward), tangent, bound, "(4.7d), tangents")


def check_text(modes: Modes, rng: np.random.Generator) -> None:
    """A mode that solves no linear system prints as a program, which computes the same."""
    vectors = modes.split(rng.standard_normal(modes.size))
    for mode in ("inverse-jvp", "inverse-vjp", "log-abs-det"):
        inverse = modes.function.inverse(mode)
        if len(inverse.steps) > 1:
            continue
        given = [] if mode == "log-abs-det" else vectors
        expected = inverse(modes.arguments, given)
        again = tadc.compile(str(inverse), "interpret")
        arguments = dict(zip(inverse.args, [*modes.arguments, *given], strict=True))
        found = again.call([arguments[t.name] for t in again.args], {})
        named = dict(zip((t.name for t in again.results), found, strict=True))
        for result, e in zip(inverse.results, expected, strict=True):
            assert_near(named[result.name], e, 1e-9 * (1 + float(np.max(np.abs(e)))), mode)

"""A program, the same in JAX's own words, and comparisons; `on` runs code in another process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tadc.jax
from tests.support.paths import ROOT

SOURCE = "h[i] = sum[k](sin(w[k]) * x[2*i + k]**2)\ny[i] = h[i] * tanh(h[i])"


def reference(w: jax.Array, x: jax.Array) -> jax.Array:
    """The function of `SOURCE`, written in `jax.numpy`."""
    rows = (x.shape[0] - w.shape[0]) // 2 + 1
    read = x[2 * np.arange(rows)[:, None] + np.arange(len(w))]  # of all rows in few operations
    h = jnp.sum(jnp.sin(w) * read**2, axis=1)
    return h * jnp.tanh(h)


def arrays(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.2, 1, shape) for shape in shapes]


def assert_same(found: Any, expected: Any, tolerance: float = 1e-11) -> None:
    """Equal trees of arrays."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.shape == b.shape, (a.shape, b.shape)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def calls_in(jaxpr: Any) -> list[Any]:
    """All calls of operations in a jaxpr, also in the functions that it calls."""
    found = []
    for equation in jaxpr.eqns:
        if equation.primitive.name.startswith("tadc"):
            found.append(equation)
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", None)
            found += calls_in(inner) if inner is not None else []
    return found


def on(code: str, environment: Mapping[str, str] | None = None) -> str:
    """What a new process prints that runs this code, with `f` as the op of `SOURCE`."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    imports = "import jax, jax.numpy as jnp, numpy as np, tadc, tadc.jax\n"
    names = "from tests.support.jax_calls import *\nf = tadc.jax.op(SOURCE)\n"
    done = subprocess.run(
        [sys.executable, "-c", imports + names + textwrap.dedent(code)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **(environment or {})},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


f = tadc.jax.op(SOURCE)

"""Times small calls in JAX: what a call of an op costs apart from its work.

    python -m benchmarks.jax_calls [--rounds 9] [--save]

Microseconds of a convolution of 3 weights with 9 points, `y[i] = sum[k](w[k] * x[2*i + k])`, as an
op, beside `jnp.convolve` and a slice; all take turns in one run. "In a loop" is a call with its
part of `jax.lax.fori_loop` under `jax.jit`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import tadc.jax
from benchmarks import machine, tables
from benchmarks.timing import Run, measure

ITERATIONS = 10_000

Function = Callable[[Any, Any], Any]


def functions() -> dict[str, Function]:
    """What is compared, by name: functions of weights and points."""
    return {
        "tadc": tadc.jax.op("y[i] = sum[k](w[k] * x[2*i + k])"),
        "jnp.convolve": lambda w, x: jnp.convolve(x, w, mode="valid"),
        "a slice": lambda w, x: x[:4],
    }


def calls() -> dict[str, tuple[Run, int]]:
    """A function to time for each case, and the number of calls that it makes."""
    rng = np.random.default_rng(0)
    w, x = (jnp.asarray(rng.random(n)) for n in (3, 9))
    found: dict[str, tuple[Run, int]] = {}
    for name, f in functions().items():
        gradient = jax.grad(lambda w, x, f=f: f(w, x).sum())
        cases = {
            "eager": f,
            "jit": jax.jit(f),
            "gradient": gradient,
            "gradient, jit": jax.jit(gradient),
        }
        for case, run in cases.items():
            found[f"{name}, {case}"] = (lambda run=run: run(w, x).block_until_ready(), 1)
        loop = in_a_loop(f)
        found[f"{name}, in a loop"] = (lambda loop=loop: loop(w, x).block_until_ready(), ITERATIONS)
    return found


def in_a_loop(f: Function) -> Function:
    """Many calls, each of which reads what the one before gave."""

    def step(_: Any, state: Any) -> Any:
        w, x = state
        return w, x.at[0].add(1e-9 * f(w, x)[0])

    return jax.jit(lambda w, x: jax.lax.fori_loop(0, ITERATIONS, step, (w, x))[1])


def main() -> None:
    """Measure all calls, and print the table; save it if asked."""
    parser = argparse.ArgumentParser(description="Times of small calls in JAX.")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each call")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/jax-<date>")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    made = calls()
    times = measure({n: run for n, (run, _) in made.items()}, rounds=options.rounds, share=0.03)
    rows = [
        [name, *(f"{s * 1e6 / made[name][1]:.2f}" for s in (t.minimum, t.median))]
        for name, t in times.items()
    ]
    text = tables.markdown(["microseconds of a call", "minimum", "median"], rows)
    print(text)
    if options.save:
        tables.save("jax", f"# Calls in JAX\n\n{tables.listed(machine.about())}\n\n{text}")


if __name__ == "__main__":
    main()

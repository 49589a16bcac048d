"""What derivatives cost: scalar operations, counted by the interpreter.

The values and all gradients together, as `tadc.vjp` computes them, take at most four times the
operations of the program. Two constructs take more, by a number that is known: a product of n
factors has n products of the others as its gradient, and the terms of an extremum are compared
with it twice (docs/decisions/0010-products-and-extrema.md).
"""

from __future__ import annotations

from collections import Counter
from runpy import run_path
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.interpreter.tensor_index import count_operations
from tadc.passes.rewriting.programs import type_of
from tadc.program import Program
from tadc.sizes import shape_of
from tadc.verify.gradients import named_sizes, widened
from tests.support.examples import PROGRAMS_OF_NUMBERS
from tests.support.paths import EXAMPLES

SIZES = {"N": 30, "M": 31, "K": 7, "D": 5, "H": 12, "W": 10, "I": 12, "J": 11}

MOST = 4.0
DEARER = {"pooling": 4.25}
"""Of n terms: n comparisons for the maximum, 2 n for the number of equal ones; n in the pullback
and a division. So 4 + 1 / n, with windows of 4 elements."""

PROGRAMS = {
    **{path.stem: path.read_text(encoding="utf-8") for path in PROGRAMS_OF_NUMBERS},
    "regression": "s = sum[i]((sum[k](x[i, k] * w[k]) + b - t[i])**2)",
    "perceptron": """
        h[i, k] = tanh(sum[j](x[i, j] * v[j, k]) + c[k])
        y[i] = sum[k](h[i, k] * w[k])
        loss = sum[i]((y[i] - t[i])**2) + 0.01 * sum[k](w[k]**2) + 0.01 * sum[j, k](v[j, k]**2)
    """.replace("\n        ", "\n"),
    "cross entropy": """
        z[i, j] = sum[k](x[i, k] * w[k, j])
        m[i] = max[j](z[i, j])
        n[i] = log(sum[j](exp(z[i, j] - m[i]))) + m[i]
        loss = sum[i, j](t[i, j] * (n[i] - z[i, j]))
    """.replace("\n        ", "\n"),
    "momentum": """
        g[i] = sum[j](q[i, j] * x[j]) - b[i]
        v[i] *= 0.9
        v[i] -= h * g[i]
        x[i] += v[i]
        loss = sum[i](x[i] * g[i])
        return x, v, loss
    """.replace("\n        ", "\n"),
    "kernel": """
        d[i, j] = sum[k]((x[i, k] - x[j, k])**2)
        s = sum[i, j](a[i] * exp(-d[i, j] / l) * a[j])
    """.replace("\n        ", "\n"),
}  # fmt: skip


def script(name: str) -> dict[str, Any]:
    """What an example in Python defines."""
    return run_path(str(EXAMPLES / f"{name}.py"))


def program_of_script(name: str) -> str:
    """The program of an example in Python; of those of a chosen length, a short one."""
    match name:
        case "mlp":
            return script(name)["LOSS"]
        case "gaussian_process":
            return script(name)["KERNEL"]
        case "newton":
            return script(name)["RESIDUAL"]
        case "leapfrog":
            return str(script(name)["integrator"](3))
        case _:
            _, loss = script(name)["programs"](3)
            return str(loss)


SCRIPTS = ("mlp", "gaussian_process", "newton", "leapfrog", "coupling_flow")


def cost(source: str) -> tuple[Counter[str], Counter[str]]:
    """Operations of the program, and of its values and gradients."""
    f = widened(tadc.compile(source, "interpret"))
    sizes = {name: SIZES.get(name, 6) for name in named_sizes(f)}
    rng = np.random.default_rng(0)
    shapes = [shape_of(type_of(v), sizes) for v in f.program.op.arguments.values()]
    arguments = [rng.uniform(0.5, 1.5, shape) for shape in shapes]
    both = f.with_pullback()
    computed = both.value.call(arguments, {})
    results = map(np.asarray, computed[: len(f.results)])
    inputs = [*arguments, *both.saved_of(computed), *map(np.ones_like, results)]
    value = operations(both.value.program, arguments)
    return operations(f.program, arguments), value + operations(both.gradients.program, inputs)


def operations(program: Program, arguments: list[np.ndarray]) -> Counter[str]:
    return count_operations(program.op, dict(zip(program.op.arguments, arguments, strict=True)))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients_cost_four_times_the_program(name: str) -> None:
    program, derivative = cost(PROGRAMS[name])
    most = DEARER.get(name, MOST) * program.total()
    assert derivative.total() <= most, f"{program} {derivative}"


@pytest.mark.parametrize("name", SCRIPTS)
def test_programs_of_scripts_too(name: str) -> None:
    program, derivative = cost(program_of_script(name))
    assert derivative.total() <= MOST * program.total(), f"{program} {derivative}"


def test_a_product_is_counted() -> None:
    """n factors: n - 1 others for each, one by one, and no division."""
    program, derivative = cost("x: f64[8]\ny = prod[k](x[k])")
    assert program == {"mul": 8}
    assert derivative["mul"] == 8 + 8 * (7 + 2) and derivative["div"] == 0


def test_cost_of_later_orders_is_bounded() -> None:
    """A derivative is a program: its own derivative costs a constant times it again."""
    f = tadc.compile(PROGRAMS["regression"])
    gradient = tadc.grad(f, "w")
    program, derivative = cost(str(gradient))
    assert derivative.total() <= MOST * program.total()

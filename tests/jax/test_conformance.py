"""Examples and random programs in JAX: the numbers of NumPy, and derivatives as differences say."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tadc

pytest.importorskip("jax", reason="JAX is not installed")

import jax
from jax.test_util import check_grads

import tadc.jax
from tests.support.boundaries import BOUNDARIES, boundary
from tests.support.campaign import CAMPAIGN, seeds
from tests.support.examples import PROGRAMS_OF_NUMBERS
from tests.support.jax_calls import assert_same
from tests.support.paths import ROOT
from tests.support.random_programs import EVERYTHING, random_program

SHAPES: dict[str, Sequence[tuple[int, ...]]] = {
    "convolution": [(12,), (3,)],
    "coupled": [(7, 7)],
    "diagonal": [(3, 3)],
    "elliptic": [(3, 3), (3, 3)],
    "gaussian": [(3, 2), (4, 2), (4,)],
    "layer": [(1, 2, 3, 3), (2, 2, 3, 3), (2,)],
    "leapfrog": [(4,), (4,), ()],
    "matmul": [(2, 3), (3, 4)],
    "paper": [(3, 5), (4, 5), (3, 3), (8,)],
    "pooling": [(1, 4, 5)],
    "softmax": [(2, 3)],
    "stencil": [(4, 4), (4, 4)],
}


def as_list(found: Any) -> list[np.ndarray]:
    return [np.asarray(v) for v in (found if isinstance(found, tuple) else (found,))]


def check_numbers(f: tadc.Function, values: Sequence[np.ndarray]) -> None:
    """Values, tangents and gradients are those of the programs in NumPy, to the last bit."""
    op = tadc.jax.op(f)
    results, tangents = jax.jvp(op, tuple(values), tuple(values))
    found, pullback = jax.vjp(jax.jit(op), *values)
    expected, pull = tadc.vjp(f, *values)
    adjoints = expected if isinstance(expected, tuple) else (expected,)
    gradients = pullback(tuple(adjoints) if len(adjoints) > 1 else adjoints[0])
    pairs = {
        "results": (results, f(*values)),
        "results that keep values": (found, expected),
        "tangents": (tangents, f.forward()(*values, *values)),
        "gradients": (gradients, pull(*adjoints)),
    }
    for name, (a, b) in pairs.items():
        for x, y in zip(as_list(a), as_list(b), strict=True):
            np.testing.assert_array_equal(x, y, name)


def check_batches(f: tadc.Function, values: Sequence[np.ndarray], batched: Sequence[bool]) -> None:
    """A batch of calls, and of their gradients, is one call after the other."""
    op = tadc.jax.op(f)
    rng = np.random.default_rng(1)
    many = [
        np.stack([v, v * rng.uniform(0.9, 1.1, v.shape)]) if is_batched else v
        for v, is_batched in zip(values, batched, strict=True)
    ]
    axes = tuple(0 if is_batched else None for is_batched in batched)

    def gradients(*values: Any) -> Any:
        results, pullback = jax.vjp(op, *values)
        return results, pullback(results)

    found = jax.vmap(gradients, axes)(*many)
    for n in range(2):
        one = [v[n] if is_batched else v for v, is_batched in zip(many, batched, strict=True)]
        assert_same(jax.tree.map(lambda a, n=n: a[n], found), gradients(*one), 1e-9)


@pytest.mark.parametrize("name", SHAPES)
def test_examples(name: str):
    text = (ROOT / "examples" / f"{name}.tad").read_text().replace("f32", "f64")
    f = tadc.compile(text)
    rng = np.random.default_rng(0)
    values = [rng.uniform(0.5, 1, shape) for shape in SHAPES[name]]
    check_numbers(f, values)
    check_batches(f, values, [n % 2 == 0 for n in range(len(values))])
    if CAMPAIGN:  # first derivatives are those in NumPy, which other tests compare with differences
        check_grads(tadc.jax.op(f), values, order=3, modes=["fwd", "rev"], rtol=1e-3)


@pytest.mark.parametrize("name", BOUNDARIES)
def test_boundaries(name: str):
    source, values = boundary(name)
    f = tadc.compile(source)
    check_numbers(f, values)
    if CAMPAIGN or name == "remainder":  # likewise
        check_batches(f, values, [True] + [False] * (len(values) - 1))
        check_grads(tadc.jax.op(f), values, order=2, modes=["fwd", "rev"], rtol=1e-3)


def test_no_example_is_left_out():
    assert {path.stem for path in PROGRAMS_OF_NUMBERS} == {*SHAPES}


@pytest.mark.parametrize("seed", seeds(4, of=200))
def test_random_programs(seed: int):
    rng = random.Random(seed)
    options = {name: rng.random() < 0.3 for name in EVERYTHING}
    program = random_program(rng, definitions=1 + seed % 2, depth=2, **options)
    f = tadc.compile(program.source)
    values = [program.arguments[t.name] for t in f.args]
    if not values:
        pytest.skip("nothing to derive by")
    check_numbers(f, values)
    check_batches(f, values, [True] + [rng.random() < 0.5 for _ in values[1:]])


@pytest.mark.parametrize("seed", seeds(2, of=200))
def test_second_derivatives_of_random_programs(seed: int):
    program = random_program(random.Random(seed), definitions=1 + seed % 2, depth=2)
    f = tadc.compile(program.source)
    values = [program.arguments[t.name] for t in f.args]
    order = 3 if CAMPAIGN else 2
    if values:
        check_grads(tadc.jax.op(f), values, order=order, modes=["fwd", "rev"], rtol=1e-3)

"""Trees of loops that nobody plans: any jams, steps and orders compute what the program means."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects import tix
from tadc.interpreter.tensor_index import evaluate
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.rewriting.programs import type_of
from tadc.passes.scheduling.blocking import Blocking
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    Axis,
    Begin,
    Combine,
    For,
    Mark,
    Node,
    Seq,
    Store,
    Tail,
    nested,
)
from tadc.passes.scheduling.tiles.sum_lengths import constant_range
from tadc.sizes import shape_of
from tests.support.campaign import seeds
from tests.support.scheduled_programs import run_scheduled

Recipe = Callable[[tix.DefineOp, Random], Node]

COLUMNS = {
    "a product": "y[i, j] = sum[k](a[i, k] * b[k, j])",
    "a band matrix": "y[i, j] = sum[d in range(3)](a[i, d] * b[i + d, j])",
    "one row": "y[i in range(I), j] = sum[k](a[0, k] * b[k, j])",
    "two indices": "y[i, j] = sum[k, l in range(2)](a[i, k + l] * b[k, j])",
    "a maximum": "y[i, j] = max[k](a[i, k] + b[k, j]) - a[i, 0]",
    "a condition": "y[i, j] = sum[k](a[i, k] * b[k, j] if k < j else a[i, 0])",
}
"""Programs whose vectors run along j, with a reduction outside of them."""

TERMS = {
    "a product": "y[i, l] = sum[k](a[i, k] * b[l, k])",
    "squares": "y[i, l] = sum[k]((a[i, k] - b[l, k])**2) / (1 + a[i, 0]**2)",
    "two indices": "y[i, l] = max[m in range(2), k](a[i, k + m] * b[l, k])",
    "a triangle": "b: f64[L, L]\ny[i, l] = sum[k in range(l + 1)](a[i, k] * b[l, k])",
}
"""Programs whose vectors run along the terms of a reduction."""


def columns_tree(op: tix.DefineOp, random: Random) -> Node:
    """Rows that are jammed around vectors of columns, around the loops of a reduction."""
    i, j = (Axis([v], size) for v, size in zip(op.indices, op.shape, strict=True))
    reduction = reduction_of(op)
    *outer, last = (Axis([v], reduction) for v in reduction.indices)
    mark = Mark.UNROLL if constant_range(reduction, reduction.indices[-1]) else Mark.SERIAL
    term = nested(outer, For(last, Add(reduction), mark))
    body = Seq([Begin(reduction), term, Store(op)])
    lanes = random.choice([2, 4, 8])
    step = lanes * random.randint(1, 3)
    column = For(j, body, step=step, tail=Tail.MASK)
    column = For(j, column, Mark.VECTOR, step, lanes=lanes)
    if random.random() < 0.5:
        return jammed(i, For(j, column, Mark.PARALLEL, step), random)
    return For(j, jammed(i, column, random), Mark.PARALLEL, step)


def terms_tree(op: tix.DefineOp, random: Random) -> Node:
    """Rows that are jammed around vectors of terms."""
    i, other = (Axis([v], size) for v, size in zip(op.indices, op.shape, strict=True))
    reduction = reduction_of(op)
    *outer, last = (Axis([v], reduction) for v in reduction.indices)
    lanes = random.choice([2, 4, 8])
    step = lanes * random.randint(1, 3)
    terms = nested(outer, For(last, Add(reduction), step=step, tail=Tail.MASK))
    body = Seq([Begin(reduction), terms, Combine(reduction)])
    row = Seq([For(last, body, Mark.VECTOR, step, lanes=lanes), Store(op)])
    mark = random.choice([Mark.PARALLEL, Mark.SERIAL])
    if mark is Mark.PARALLEL:
        return For(other, jammed(i, row, random), mark)
    return jammed(i, For(other, row, mark), random)


def jammed(axis: Axis, body: Node, random: Random) -> Node:
    """A parallel loop over parts of a range, some values of which are jammed at a time."""
    height, parts = random.randint(2, 4), random.randint(1, 3)
    body = For(axis, body, step=height, tail=Tail.PEEL)
    return For(axis, For(axis, body, Mark.JAM, height), Mark.PARALLEL, height * parts)


def reduction_of(op: tix.DefineOp) -> tix.ReductionOp:
    return next(o for o in op.body.block.ops if isinstance(o, tix.ReductionOp))


CASES = [
    *((columns_tree, name, source) for name, source in COLUMNS.items()),
    *((terms_tree, name, source) for name, source in TERMS.items()),
]


@pytest.mark.parametrize("seed", seeds(4, of=50))
@pytest.mark.parametrize(
    ("recipe", "name", "source"), CASES, ids=[f"{r.__name__} of {n}" for r, n, _ in CASES]
)
def test_trees_agree_with_the_interpreter(recipe: Recipe, name: str, source: str, seed: int):
    random = Random(f"{seed} {name}")
    program = set_precision(tadc.compile(f"a: f64[I, N]\n{source}").program.op, "f64")
    types = [type_of(a) for a in program.body.block.args]
    names = {n for t in types for form in t.shape for n in form.sizes}
    sizes = {n: random.choice([1, 2, 5, 9, 17, 23]) for n in sorted(names)} | {"N": 26}
    rng = np.random.default_rng(seed)
    values = [rng.uniform(-1, 1, shape_of(t, sizes)) for t in types]
    module = ModuleOp(schedule(program, lambda op: Blocking(tree=recipe(op, random))))
    module.verify()
    (found,) = run_scheduled(module, program, values)
    (expected,) = evaluate(program, dict(zip(program.arguments, values, strict=True)))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


TRIANGLE = "y[i, j] = sum[k in range(i + 1)](a[i, k] * b[k, j])"


def test_rows_of_different_lengths_are_not_jammed():
    program = set_precision(tadc.compile(f"a: f64[I, I]\n{TRIANGLE}").program.op, "f64")
    with pytest.raises(ValueError, match="jam i: bounds inside depend on i"):
        list(schedule(program, lambda op: Blocking(tree=columns_tree(op, Random(0)))))

"""Sums along segments of index tensors: what programs mean, and which terms they visit."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.function import Function
from tadc.interpreter.tensor_index import evaluate
from tadc.passes.index_sets.sets import elements_of
from tadc.program import Program
from tadc.runtime.located import located, views_of
from tests.support.campaign import seeds

SIZES = {"N": 6, "E": 14, "V": 5, "K": 3, "J": 4}

PROGRAMS = {
    "segments": "dst: range(N)[E]\nx: f64[E, K]\n"
    "y[i in range(N), k] = sum[e, dst[e] == i](x[e, k])",
    "sorted": "dst: sorted(range(N))[E]\nx: f64[E]\ny[i in range(N)] = sum[e, dst[e] == i](x[e])",
    "maximum": "dst: range(N)[E]\nx: f64[E]\ny[i in range(N)] = max[e, dst[e] == i](x[e])",
    "strides": "a: range(V)[2*E + 1]\nx: f64[E]\ny[q in range(V)] = sum[e, a[2*e + 1] == q](x[e])",
    "windows": "a: range(V)[E + J - 1]\nx: f64[E]\nw: f64[J]\n"
    "y[q in range(V)] = sum[e in range(E), j in range(J), a[e + j] == q](w[j] * x[e])",
    "neighbours": "a: range(V)[E]\nx: f64[E]\ny[q in range(V)] = sum[e, 0 <= a[e] - q < 2](x[e])",
    "one side": "a: range(V)[E]\nx: f64[E]\ny[q in range(V)] = sum[e, a[e] <= q](x[e])",
    "of elements": "a: range(V)[E]\nx: f64[E]\ny[i] = sum[j, a[j] == a[i], j < i](x[j])",
    "table": "a: range(V)[E, K]\nx: f64[E, K]\ny[q in range(V)] = sum[e, k, a[e, k] == q](x[e, k])",
    "two keys": "a: range(V)[E]\nb: range(N)[E]\nx: f64[E]\n"
    "y[q in range(V), i in range(N)] = sum[e, f, a[e] == q, b[f] == i](x[e] * x[f])",
    "rows": "ptr: sorted(range(E + 1))[N + 1]\nx: f64[E]\ndy: f64[N]\n"
    "y[p in range(E)] = sum[i in range(N), ptr[i] <= p, p < ptr[i + 1]](dy[i] * x[p])",
}
"""Programs whose sums are all located."""


def compiled(name: str) -> Function:
    """A program of this module."""
    return tadc.compile(PROGRAMS[name])


def random_arguments(program: Program, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Arguments for the sizes of this module."""
    values: dict[str, np.ndarray] = {}
    for name, type in program.summary.inputs:
        shape = [form.evaluate(SIZES) for form in type.shape]
        values[name] = rng.normal(size=shape)
        if isinstance(element := type.element, tix.IndexRange) and element.end is not None:
            values[name] = rng.integers(0, element.end.evaluate(SIZES), shape)
            if element.is_sorted:
                values[name].sort()
    return values


def with_views(program: Program, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arguments of a located program: views are made by NumPy alone."""
    found = dict(values)
    inputs = [t for t in program.summary.inputs if t.name not in values]
    for (name, type), view in zip(inputs, views_of(program.summary), strict=True):
        idx = values[view.of]
        places = np.argsort(idx, axis=None, kind="stable")
        if view.dimension is None:
            ends = np.arange(type.shape[0].evaluate(SIZES))
            found[name] = np.searchsorted(np.sort(idx, axis=None), ends)
        else:
            found[name] = np.unravel_index(places, idx.shape)[view.dimension]
    return found


@pytest.mark.parametrize("seed", seeds(2, of=40))
@pytest.mark.parametrize("name", PROGRAMS)
def test_located_programs_mean_the_same(name: str, seed: int) -> None:
    f = compiled(name)
    values = random_arguments(f.program, np.random.default_rng(seed))
    program = located(f.program)
    program.op.verify()
    (wanted,) = evaluate(f.program.op, values)
    (found,) = evaluate(program.op, with_views(program, values))
    np.testing.assert_allclose(found, wanted, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_term_is_tested(name: str) -> None:
    """No condition of a located program asks what an index tensor holds."""
    program = located(compiled(name).program)
    conditions = [op.condition for op in program.op.walk() if isinstance(op, tix.IfOp)]
    forms = [c.form for disjuncts in conditions for d in disjuncts for c in d]
    tensors = {element.tensor for element in elements_of(forms)}
    views = {view.of for view in views_of(program.summary)}
    given = {v for n, v in program.op.arguments.items() if n in views}
    assert not tensors & given


def test_views_are_made_once() -> None:
    f = tadc.compile(
        "dst: range(N)[E]\nx: f64[E]\nm[i in range(N)] = max[e, dst[e] == i](x[e])\n"
        "s[i in range(N)] = sum[e, dst[e] == i](exp(x[e] - m[dst[e]]))"
    )
    views = views_of(located(f.program).summary)
    assert [(v.what, v.of) for v in views] == [("starts", "dst"), ("places 0", "dst")]


def test_what_cannot_be_located_stays() -> None:
    for condition in ("a[e] != q", "2*a[e] == q", "a[e] + b[e] == q", "c[e] == q"):
        f = tadc.compile(
            "a: range(V)[E]\nb: range(V)[E]\nc: int[E]\nx: f64[E]\n"
            f"y[q in range(V)] = sum[e, {condition}](x[e])"
        )
        assert located(f.program).summary.inputs == f.program.summary.inputs


def test_an_element_that_a_condition_protects_is_not_read_ahead() -> None:
    f = tadc.compile(
        "a: range(V)[E]\nx: f64[E]\n"
        "y[i in range(E + 1)] = sum[j, a[j] == a[i]](x[j]) if i < E else 0"
    )
    a, x = np.array([0, 1, 0]), np.array([1.0, 2.0, 4.0])
    np.testing.assert_array_equal(f(a, x, V=2), [5, 2, 5, 0])

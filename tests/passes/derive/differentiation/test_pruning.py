"""Derivatives by some arguments alone: the same numbers, and nothing that these do not need."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.errors import UnknownNameError
from tadc.interpreter.tensor_index import count_operations
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.derive.split_pullback import MOST_COST_TO_RECOMPUTE_RESULT
from tadc.support.ir_text import context
from tests.support.campaign import seeds
from tests.support.derivations import Case, assert_close, check_seeds, program_of, random_case
from tests.support.random_programs import EVERYTHING

CHAIN = """
h[i] = exp(a[i])
g[i] = sin(b[i]) * h[i]
y = sum[i](g[i] * x[i])
"""


def reads(op: tix.DefineOp) -> set[object]:
    return {r.tensor for r in op.walk() if isinstance(r, tix.ReadOp)}


def needed(program: tix.ProgramOp) -> set[object]:
    """The tensors that a chain of reads leads to from a result."""
    found: set[object] = set(program.returned)
    for op in reversed(program.definitions):
        found |= reads(op) if op.result in found else set()
    return found


def varied(program: tix.ProgramOp, wrt: Sequence[str]) -> set[object]:
    """The definitions that a chain of reads leads to from an argument."""
    found: set[object] = {program.arguments[name] for name in wrt}
    for op in program.definitions:
        found |= {op.result} if reads(op) & found else set()
    return found - {program.arguments[name] for name in wrt}


def check_adjoints(case: Case, wrt: Sequence[str]) -> None:
    """`differentiate` defines an adjoint of no tensor that does not depend on these arguments."""
    module = case.function.program.module.clone()
    OutlineReductionsPass().apply(context(), module)
    before = program_of(module)
    most = len(varied(before, wrt)) + len(wrt)
    known = {d.label.data for d in before.definitions}
    DifferentiatePass(tuple(wrt)).apply(context(), module)
    new = {d.label.data for d in program_of(module).definitions} - known
    adjoints = [label for label in new if not label.endswith("_ties")]
    assert len(adjoints) <= most, adjoints


def operations(case: Case, wrt: Sequence[str]) -> tuple[int, int]:
    """Of the values with what is saved, and of the gradients from that.

    An element of a result that is copied for them counts as what computing it again may cost.
    """
    both = case.interpreted.with_pullback(*wrt)
    value, gradients = both.value.program.op, both.gradients.program.op
    first = count_operations(value, dict(zip(value.arguments, case.values, strict=True)))
    saved = both.saved_of(both.value.call(case.values, {}))
    given = zip(gradients.arguments, [*case.values, *saved, *case.adjoints], strict=True)
    copied = (np.size(s) for n, s in zip(both.saved, saved, strict=True) if n in both.result_labels)
    copies = MOST_COST_TO_RECOMPUTE_RESULT * sum(copied)
    return first.total(), copies + count_operations(gradients, dict(given)).total()


def check_pruned(f: tadc.Function, case: Case, wrt: Sequence[str]) -> None:
    _, everything = tadc.vjp(f, *case.values)
    full = dict(zip((t.name for t in f.args), everything(*case.adjoints), strict=True))
    values, pullback = tadc.vjp(f, *case.values, wrt=wrt)
    results = list(values) if isinstance(values, tuple) else [values]
    assert_close(list(map(np.asarray, results)), case.results, 1e-9, "values")
    assert_close(pullback(*case.adjoints), [full[name] for name in wrt], 1e-9, "gradients")
    check_adjoints(case, wrt)
    both = f.with_pullback(*wrt)
    gradients = both.gradients.program.op
    for part in (both.value.program.op, gradients):
        assert all(d.result in needed(part) for d in part.definitions)
    assert all(gradients.arguments[name] in needed(gradients) for name in both.saved)
    pruned, whole = operations(case, wrt), operations(case, ())
    assert sum(pruned) <= sum(whole) and pruned[1] <= whole[1]


def check_random(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    names = [t.name for t in case.function.args]
    some = random.Random(seed).sample(names, random.Random(seed).randint(1, len(names)))
    f = case.interpreted if seed % 4 else case.function
    for wrt in (names[-1:], some):
        check_pruned(f, case, wrt)


@pytest.mark.parametrize("some", [seeds(3, of=25), seeds(3, of=25, start=3000)], ids=str)
def test_pruned_gradients_are_the_same_and_cost_no_more(some: range) -> None:
    check_seeds(check_random, some)


def chain_case() -> Case:
    values = {name: np.linspace(0.1, 0.9, 5) for name in ("a", "b", "x")}
    return Case(CHAIN, values)


@pytest.mark.parametrize(
    "wrt, kept, defined",
    [
        (["x"], ["g"], ["dx"]),
        (["b"], ["h"], ["db"]),
        (["a"], ["h"], ["da"]),
        (["x", "b"], ["h", "g"], ["dx", "db"]),
    ],
)
def test_a_chain_keeps_and_computes_what_a_gradient_needs(
    wrt: list[str], kept: list[str], defined: list[str]
) -> None:
    """What is kept and what is computed for each gradient, and never more."""
    case = chain_case()
    check_pruned(case.interpreted, case, wrt)
    both = case.function.with_pullback(*wrt)
    value, pullback = both.value.program, both.gradients.program
    assert [t.name for t in value.results] == ["y", *kept]
    assert pullback.definition_labels[-len(defined) :] == defined


def test_nothing_is_kept_for_a_linear_argument() -> None:
    f = tadc.compile("y[i] = sum[j](exp(a[i, j])**2 * c[i, j]) + sum[j](x[j] * b[i, j])")
    both = f.with_pullback("x")
    value, pullback = both.value.program, both.gradients.program
    assert [t.name for t in value.results] == ["y"]
    assert pullback.definition_labels == ["dx"]
    given = {"a": np.ones((4, 6)), "b": np.ones((4, 6)), "c": np.ones((4, 6))}
    counts = count_operations(pullback.op, given | {"x": np.ones(6), "dy": np.ones(4)})
    assert counts == {"mul": 24, "add": 24}


def test_order_and_names() -> None:
    f = tadc.compile(CHAIN)
    values = [np.linspace(0.1, 0.9, 5) for _ in f.args]
    _, everything = tadc.vjp(f, *values)
    full = dict(zip((t.name for t in f.args), everything(1.0), strict=True))
    for wrt in ("b", ("x", "b"), ["b", "a", "x"], (), None):
        _, pullback = tadc.vjp(f, *values, wrt=wrt)
        names = [wrt] if isinstance(wrt, str) else wrt or list(full)
        assert_close(pullback(1.0), [full[n] for n in names], 1e-12, str(wrt))
    assert f.with_pullback("b") is f.with_pullback("b")
    with pytest.raises(UnknownNameError, match="there is no argument 'q'"):
        tadc.vjp(f, *values, wrt="q")


def test_what_only_decides_needs_nothing() -> None:
    """An argument of a condition has the gradient 0: no adjoint is computed for it."""
    f = tadc.compile("h[i] = exp(b[i]) if a[i] > 0 else b[i]\ny = sum[i](h[i]**2)")
    both = f.with_pullback("a")
    value, pullback = both.value.program, both.gradients.program
    assert [t.name for t in value.results] == ["y"]
    assert pullback.definition_labels == ["da"]
    given = {"a": np.ones(3), "b": np.ones(3), "dy": np.ones(())}
    assert count_operations(pullback.op, given) == {}

"""Passes keep what they state: on all programs at hand, what each requires is there before it, and
what it leaves behind it; a wrong order is noticed."""

from __future__ import annotations

import importlib
import random
from collections.abc import Sequence
from inspect import getmembers, isfunction
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

import tadc
from benchmarks.workloads import ALL
from benchmarks.workloads.workload import Workload
from tadc.language.parse import parse
from tadc.modes import INVERSE_MODES
from tadc.passes.analysis import properties
from tadc.passes.analysis.properties import axes_apart, sums_bounded
from tadc.passes.code_pipeline import code_passes, summing_passes
from tadc.passes.derive.batch import BatchPass
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.derive.differentiation.names import adjoint_names
from tadc.passes.derive.zero_arguments import ZeroArgumentsPass
from tadc.passes.lowering.schedule import SchedulePass
from tadc.passes.pipeline import (
    derivative_passes,
    inverse_passes,
    pullback_passes,
    zeroing_passes,
)
from tadc.passes.rewriting.program_pass import ContractPass
from tadc.universe import PASSES
from tests.support.campaign import seeds
from tests.support.contracts import (
    ContractBroken,
    apply_checked,
    demand,
    missing,
    programs_in,
    required,
)
from tests.support.paths import EXAMPLES
from tests.support.random_updates import random_update

AS_PARSED = (axes_apart, sums_bounded)
"""The properties of every program as it is parsed."""

DEFINED = dict(
    getmembers(properties, lambda f: isfunction(f) and f.__module__ == properties.__name__)
)
PROPERTIES = [holds for name, holds in DEFINED.items() if not name.startswith("_")]

STATED = [getattr(importlib.import_module(module), cls) for module, cls in PASSES.values()]

KINDS = {"plain": {}, "tiles": {"tile": True}, "threads": {"threads": True}}
"""The kinds of targets: any machine, processors with caches, GPUs."""

WORKLOADS = pytest.mark.parametrize("workload", ALL, ids=lambda w: w.name)


def run(module: ModuleOp, steps: Sequence[ModulePass]) -> ModuleOp:
    """What these passes make of a copy, each held to what it states; loops are not made."""
    made = module.clone()
    for step in steps:
        if isinstance(step, SchedulePass):
            demand(required(step), made, f"{step.name} requires")
            break
        apply_checked(step, made)
    return made


def parsed(source: str) -> ModuleOp:
    module = parse(source)
    demand(AS_PARSED, module, "a program has")
    return module


def derive(source: str) -> None:
    """All ways from a program to its derivatives, and on from there."""
    module = parsed(source)
    (program,) = programs_in(module)
    adjoints = adjoint_names(program)
    run(module, derivative_passes(DifferentiatePass(mode="forward")).passes)
    derivative = run(module, derivative_passes(DifferentiatePass()).passes)
    run(derivative, zeroing_passes(ZeroArgumentsPass(tuple(adjoints[:1]))).passes)
    run(module, pullback_passes(adjoints).passes)
    for given in (module, derivative):
        run(given, [BatchPass((next(iter(program.arguments)),))])


def make_code(module: ModuleOp, kind: str) -> None:
    """The way of programs to loops, up to those."""
    known = {"precision": "f32", **KINDS[kind]}
    run(run(module, summing_passes({}, **known).passes), code_passes(**known).passes)


# --- all programs at hand -------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.tad")), ids=lambda p: p.stem)
def test_passes_keep_what_they_state_for_examples(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    derive(source)
    for kind in KINDS:
        make_code(run(parsed(source), derivative_passes(DifferentiatePass()).passes), kind)


@WORKLOADS
def test_passes_to_derivatives_keep_what_they_state(workload: Workload) -> None:
    derive(workload.free())


@WORKLOADS
def test_passes_to_code_keep_what_they_state(workload: Workload) -> None:
    """Sizes are numbers here, which decide what the passes do; so they are no sizes of a call."""
    module = parsed(workload.declared(workload.inputs(np.random.default_rng(0))))
    (program,) = programs_in(module)
    cut = run(module, pullback_passes(adjoint_names(program)).passes)
    for kind in KINDS:
        make_code(cut, kind)


def test_passes_that_sizes_are_given_keep_what_they_state() -> None:
    program = tadc.compile_file(EXAMPLES / "matmul.tad").program
    sizes = dict.fromkeys(program.summary.size_names(), 64)
    first = dict([sizes.popitem()])
    for kind in KINDS:
        known = {"precision": "f32", "sizes": sizes, "most": sizes, **KINDS[kind]}
        made = run(program.module, summing_passes(first, **known).passes)
        run(made, code_passes(values=first, **known).passes)


@pytest.mark.parametrize("mode", INVERSE_MODES)
@pytest.mark.parametrize("seed", seeds(4, of=50))
def test_passes_to_inverses_keep_what_they_state(mode: str, seed: int) -> None:
    run(parsed(random_update(random.Random(seed)).source), inverse_passes(mode).passes)


# --- what is stated -------------------------------------------------------------------------------


def test_every_pass_can_state_what_it_requires_and_leaves() -> None:
    assert all(issubclass(cls, ContractPass) for cls in STATED)
    used = {holds for cls in STATED for holds in (*cls.requires, *cls.leaves)}
    assert used <= {*PROPERTIES}


@pytest.mark.parametrize("holds", PROPERTIES, ids=lambda holds: holds.__name__)
def test_every_property_is_required_and_comes_from_somewhere(holds: object) -> None:
    assert any(holds in cls.requires for cls in STATED)
    assert holds in AS_PARSED or any(holds in cls.leaves for cls in STATED)


# --- wrong orders ---------------------------------------------------------------------------------

WRONG = {
    ("outline-reductions", "differentiate"): "differentiate requires sums_named",
    ("solve-index-kernels", "infer-ranges"): "infer-ranges requires equations_solved",
    ("infer-ranges", "simplify-sums"): "simplify-sums requires sums_bounded",
    ("simplify-sums", "join-guards"): "join-guards requires sums_over_ranges",
    ("inline-definitions", "order-definitions"): "order-definitions requires all_used",
    ("expand-calls", "expand-powers"): "expand-powers requires calls_expanded",
    ("set-precision", "shape-loops"): "shape-loops requires precisions_set",
    ("shape-loops", "merge-axes"): "shape-loops requires axes_apart",
}
"""The property that breaks where two passes change places."""


def swapped(steps: Sequence[ModulePass], first: str, second: str) -> list[ModulePass]:
    """The passes with the last `first` in the place of the next `second`, and the other way."""
    names = [step.name for step in steps]
    one = len(names) - 1 - names[::-1].index(first)
    other = names.index(second, one)
    result = [*steps]
    result[one], result[other] = steps[other], steps[one]
    return result


@pytest.mark.parametrize(("first", "second"), WRONG, ids=map(" after ".join, WRONG))
def test_a_wrong_order_is_noticed(first: str, second: str) -> None:
    tadc.define_function("twice", "x", value="2*x", derivative="2")
    source = "y[i, j] = twice(sum[k](w[k] * x[i, j + k])**2)\nz[i, j] = exp(x[i, j])"
    module = tadc.compile(source).program.module
    found = derivative_passes(DifferentiatePass()).passes
    if {first, second} - {step.name for step in found}:
        found = code_passes(tile=True).passes
    run(module, found)
    with pytest.raises(ContractBroken, match=WRONG[first, second]):
        run(module, swapped(found, first, second))


def test_a_pass_that_does_not_leave_what_it_states_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = parsed("y[i] = sum[k](w[k] * x[i + k])")
    steps = derivative_passes(DifferentiatePass()).passes
    step = next(step for step in steps if step.name == "infer-ranges")
    monkeypatch.setattr(type(step), "apply", lambda self, ctx, op: None)
    with pytest.raises(ContractBroken, match="infer-ranges leaves sums_bounded, broken by"):
        run(module, steps)


def test_all_that_breaks_a_property_is_found() -> None:
    module = parsed("x: real[N]\nw: f32[N]\ny[i] = x[i]\nz[i] = w[i]")
    (found,) = missing([properties.precisions_set], module)
    assert found.startswith("precisions_set, broken by")
    assert not [*missing([*AS_PARSED, properties.sums_over_ranges], module)]

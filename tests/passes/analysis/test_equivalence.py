"""Equivalent definitions: found exactly, made once, and right for each."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import tadc
from tadc.dialects.loops import CallOp
from tadc.passes import run_passes
from tadc.passes.analysis.equivalence import Deduplicated, equivalent_definitions
from tadc.passes.derive.differentiation.shared_adjoints import SharedAdjoints
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.simplify.simplify_sums import simplify_sums
from tadc.program import Program
from tadc.universe import PASSES
from tests.host_shim import host_shim
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, check_seeds, interpret, random_case
from tests.support.gradient_kernels import gradient_kernels
from tests.support.long_programs import long_case
from tests.support.random_programs import EVERYTHING


def classes(text: str, named: bool = False) -> list[int]:
    """For each definition of a program, the number of the first one that is equivalent."""
    program = tadc.compile(text).program.op
    members = equivalent_definitions(program, named=named)
    return [program.definitions.index(m.first) for m in members]


HEAD = "x: f64[4]\ny: f64[4]\nz: f32[4]\nv: f64[5]\n"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a[i] = x[i] + y[i]", "b[i] = y[i] + x[i]"),
        ("a[i] = x[i] + x[i]", "b[i] = y[i] + y[i]"),
        ("a[i] = x[i] + y[3 - i]", "b[i] = a[i] + x[3 - i]"),
        ("a[i] = x[i] if i < 2 else y[i]", "b[i] = y[i] if i < 2 else a[i]"),
        ("a = sum[i](x[i])", "b = sum[i](y[i])"),
        ("a[i] = sin(x[i])", "b[j] = sin(y[j])"),
    ],
)
def test_equivalent_definitions_are_found(first: str, second: str) -> None:
    assert classes(f"{HEAD}{first}\n{second}\nreturn a, b") == [0, 0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a[i] = x[i] + y[i]", "b[i] = y[i] + y[i]"),
        ("a[i] = x[i] + y[i]", "b[i] = x[i] - y[i]"),
        ("a[i] = x[i] * 2", "b[i] = x[i] * 2.5"),
        ("a[i] = x[i] * 0.0", "b[i] = x[i] * (0.0 * -1)"),
        ("a[i] = x[i]", "b[i] = x[3 - i]"),
        ("a[i] = sin(x[i])", "b[i in range(3)] = sin(x[i])"),
        ("a[i] = sin(x[i])", "b[i] = sin(z[i])"),
        ("a[i in range(4)] = sin(x[i])", "b[i in range(4)] = sin(v[i])"),
        ("a[i] = x[i] if i < 2 else y[i]", "b[i] = x[i] if i < 3 else y[i]"),
        ("a[i] = x[i] if x[i] < 2 else 1", "b[i] = x[i] if x[i] <= 2 else 1"),
        ("a = sum[i](x[i])", "b = prod[i](x[i])"),
        ("a = sum[i in range(3)](x[i])", "b = sum[i in range(2)](x[i])"),
    ],
)
def test_definitions_that_differ_are_told_apart(first: str, second: str) -> None:
    assert classes(f"{HEAD}{first}\n{second}\nreturn a, b") == [0, 1]


def test_names_and_places_may_count() -> None:
    text = f"{HEAD}a[i] = sin(x[i])\nb[j] = sin(y[j])\nc[i] = sin(y[i])\nreturn a, b, c"
    assert classes(text) == [0, 0, 0]
    assert classes(text, named=True) == [0, 1, 0]


def test_zeros_of_both_signs_stay_apart() -> None:
    z, u = tadc.compile("x: f64[1]\nz[i] = 0.0 * x[i]\nu[i] = -0.0 * x[i]\n")(np.ones(1))
    assert not np.signbit(z[0]) and np.signbit(u[0])


# --- one kernel for many --------------------------------------------------------------------------


def test_alike_definitions_share_a_function() -> None:
    f = tadc.compile(
        "p: f64[N]\nq: f64[N]\n" + "p[i] += 0.1 * q[i]\nq[i] -= 0.1 * sin(p[i])\n" * 50
    )
    module = f.runner.code().module
    functions = [op for op in module.ops if isinstance(op, FuncOp)]
    calls = [op for op in module.ops if isinstance(op, CallOp)]
    assert (len(functions), len(calls)) == (2, 98)
    assert f.emit("llvm").count(".entry(") == 2
    assert f.emit("cuda").count("__global__") == 2
    p, q = np.array([0.5, 0.25]), np.array([1.0, -2.0])
    results = f(p, q)
    for _ in range(50):
        p = p + 0.1 * q
        q = q - 0.1 * np.sin(p)
    np.testing.assert_allclose(results, [p, q], rtol=1e-12)


def check_values(seed: int) -> None:
    case = long_case(seed, symbolic=seed % 2 == 1)
    assert_close(case.function(*case.values), case.results, 1e-12, "values")


def check_gradients(seed: int) -> None:
    case = long_case(seed, 24, symbolic=seed % 2 == 1)
    expected = case.interpreted.derivative().call(case.inputs, {})
    assert_close(case.function.derivative().call(case.inputs, {}), expected, 1e-9, "derivative")
    _, pullback = tadc.vjp(case.function, *case.values)
    assert_close(pullback(*case.adjoints), expected, 1e-9, "pullback")


def check_kernels(seed: int) -> None:
    """CUDA C of equivalent kernels, run on the CPU."""
    case = long_case(seed, 16)
    expected = interpret(case.function.program.op, case.values)
    kernels = gradient_kernels(seed, case.function, case.values, expected)
    assert kernels.text.count("__global__") < 16
    assert_close(kernels.run(host_shim.load(kernels.text)), expected, 1e-12, "CUDA C")


def test_values_of_long_programs() -> None:
    check_seeds(check_values, seeds(4, of=24))


def test_gradients_of_long_programs() -> None:
    check_seeds(check_gradients, seeds(2, of=10))


@host_shim.needs_compiler
def test_long_programs_as_cuda_c() -> None:
    check_seeds(check_kernels, seeds(2, of=10))


# --- passes look once -----------------------------------------------------------------------------


def places(module: ModuleOp) -> list[str]:
    return [f"{op.name} {op.location}" for op in module.walk()]


def like_nothing(*_: object) -> None:
    """In place of `SharedAdjoints.case`: every adjoint is made anew."""


def check_same_module(function: tadc.Function) -> None:
    """The derivative is the same, with its places, with and without deduplication."""
    modules: list[ModuleOp] = []
    ways: list[tuple[int, object]] = [(0, SharedAdjoints.case), (1_000_000, like_nothing)]
    for long, case in ways:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run_passes, "FEWEST_DEFINITIONS_TO_DEDUPLICATE", long)
            patch.setattr(SharedAdjoints, "case", case)
            copy = tadc.Function(Program(function.program.module, str(function)), "cpu")
            modules.append(copy.derivative().program.module)
    assert str(modules[0]) == str(modules[1])
    assert places(modules[0]) == places(modules[1])


def check_folding(seed: int) -> None:
    check_same_module(random_case(seed, **EVERYTHING).function)


def check_folding_of_long_programs(seed: int) -> None:
    check_same_module(long_case(seed, 20, symbolic=seed % 2 == 1).function)


def test_folding_changes_nothing() -> None:
    check_seeds(check_folding, seeds(4, of=40))
    check_seeds(check_folding_of_long_programs, seeds(2, of=8))


def test_local_passes_see_the_first_of_each_kind() -> None:
    f = tadc.compile("p: f64[4]\nq: f64[4]\n" + "p[i] += 0.1 * q[i]\nq[i] -= 0.1 * sin(p[i])\n" * 9)
    expected = str(simplify_sums(f.program.op))
    deduplicated = Deduplicated(f.program.op)
    assert [d.label.data for d in deduplicated.program.definitions] == ["p_1", "q_1"]
    assert str(deduplicated.expanded(simplify_sums(deduplicated.program))) == expected
    passes = (getattr(import_module(module), name) for module, name in PASSES.values())
    assert {each.name for each in passes if issubclass(each, LocalPass)} == {
        "unroll-rounds",
        "solve-conditions",
        "peel-sums",
        "solve-index-kernels",
        "solve-elements",
        "absorb-conditions",
        "infer-ranges",
        "simplify-sums",
        "join-guards",
        "split-sums",
        "shift-sums",
        "interchange-sums",
        "join-sums",
        "collect-factors",
        "expand-powers",
        "share-values",
        "shape-loops",
        "merge-axes",
        "order-factors",
    }

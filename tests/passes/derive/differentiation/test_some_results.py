"""Adjoints of some results: gradients as if the others were not there, and had no adjoint."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from xdsl.rewriter import Rewriter

import tadc
from tadc.dialects import tix
from tadc.errors import UnknownNameError
from tadc.function import Function
from tadc.program import Program
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, interpret, program_of, random_case
from tests.support.random_programs import EVERYTHING

SEVERAL = """\
y[i] = sum[k](w[k] * x[2*i + k])
z = sum[i](log(x[i]) * s)
return y, z
"""


def returning(f: tadc.Function, names: Sequence[str]) -> tadc.Function:
    """The program with these results alone, in their order there."""
    module = f.program.module.clone()
    program = program_of(module)
    kept = zip(program.returned, program.result_names, strict=True)
    values, found = zip(*((v, name) for v, name in kept if name in names), strict=True)
    old = program.body.block.last_op
    assert isinstance(old, tix.ReturnOp)
    Rewriter.replace_op(old, tix.ReturnOp(values, found))
    return Function(Program(module, f.program.source), f.target)


@pytest.mark.parametrize("seed", seeds(9, of=400))
def test_the_others_leave_no_trace(seed: int) -> None:
    case = random_case(seed, **EVERYTHING)
    f, choice = case.function, random.Random(seed)
    names = [t.name for t in f.results]
    some = choice.sample(names, choice.randint(1, len(names)))
    found = f.derivative(of=some)

    assert str(found) == str(returning(f, some).derivative())

    pairs = list(zip(names, case.adjoints, strict=True))
    zeros = [a if name in some else np.zeros_like(a) for name, a in pairs]
    expected = interpret(f.derivative().program.op, [*case.values, *zeros])
    left = [a for name, a in pairs if name in some]
    assert_close(interpret(found.program.op, [*case.values, *left]), expected, 1e-11, f"{some}")


def test_gradients_that_the_results_do_not_need_are_zeros() -> None:
    f = tadc.compile(SEVERAL)
    w, x, s, dz = np.ones(3), np.full(9, 2.0), np.array(3.0), np.array(1.0)
    dw, dx, ds = f.derivative(of=["z"])(w, x, s, dz)
    np.testing.assert_array_equal(dw, np.zeros(3))
    np.testing.assert_allclose(dx, 1.5)
    np.testing.assert_allclose(ds, 9 * np.log(2))


@pytest.mark.parametrize("names", [("y", "z"), ("z", "y"), ()])
def test_all_results_are_the_derivative_itself(names: tuple[str, ...]) -> None:
    f = tadc.compile(SEVERAL)
    assert f.derivative("x", of=names) is f.derivative("x")
    assert f.derivative("x", of=("y",)) is f.derivative("x", of=["y"])


def test_what_is_no_result_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="there is no result 'x'"):
        tadc.compile(SEVERAL).derivative(of=("x",))


def test_adjoints_that_are_not_there_meet_nothing_infinite() -> None:
    f = tadc.compile(SEVERAL)
    w, x, s = np.ones(3), np.zeros(9), np.array(3.0)
    full = f.derivative("x")
    assert not np.isfinite(full(w, x, s, np.ones(4), np.array(0.0))).all()
    for found in (full.without("dz"), f.derivative("x", of=("y",))):
        np.testing.assert_array_equal(found(w, x, s, np.ones(4)), [1, 1, 2, 1, 2, 1, 2, 1, 1])


def test_a_program_without_arguments_takes_the_rest() -> None:
    f = tadc.compile("y[i] = x[i] * a[i] + b")
    g = f.without("b")
    assert [t.name for t in g.args] == ["x", "a"] and g is f.without("b") and f.without() is f
    np.testing.assert_array_equal(g(np.arange(3.0), np.full(3, 2.0)), [0, 2, 4])
    with pytest.raises(UnknownNameError, match="there is no argument 'c'"):
        f.without("c")

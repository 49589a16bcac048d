"""Observers of adjoints: against finite differences by the tensor that is observed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tadc
from tadc.errors import UnknownNameError
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, check_seeds, random_case
from tests.support.random_programs import EVERYTHING

TARGETS = ("cpu", "interpret")
SOURCE = """
h[i] = exp(a[i]) * b[i]
u[i] = sin(h[i])
p[i] += h[i] * u[i]
p[i] *= p[i]
s = sum[i](p[i] * h[i])
unused[i] = b[i] * h[i]
return p, s
"""
SHIFTED = """
h[i] = exp(a[i]) * b[i] + dh[i]
u[i] = sin(h[i]) + du[i]
p[i] += h[i] * u[i] + d1[i]
p[i] = p[i] * p[i] + d2[i]
s = sum[i](p[i] * h[i]) + ds
return p, s
"""
"""The same program; the adjoint of a tensor is the gradient by what is added to it."""
ADDED = {"h": "dh", "u": "du", "p_1": "d1", "p_2": "d2", "s": "ds"}

A, B, P = np.array([0.1, -0.4, 0.7]), np.array([1.0, 2.0, -1.5]), np.array([0.3, 0.2, 0.9])
ADJOINTS = np.array([1.0, -2.0, 0.5]), 1.5


def expected() -> dict[str, np.ndarray]:
    """The adjoint of each definition, as a gradient by a shift of it."""
    f = tadc.compile(SHIFTED)
    zeros = {name: np.zeros(() if name == "ds" else 3) for name in ADDED.values()}
    _, pullback = tadc.vjp(f, a=A, b=B, p=P, **zeros)
    gradients = dict(zip((t.name for t in f.args), pullback(*ADJOINTS), strict=True))
    return {name: gradients[d] for name, d in ADDED.items()} | {"unused": np.zeros(3)}


@pytest.mark.parametrize("target", TARGETS)
def test_observers_are_called_by_name(target: str) -> None:
    f = tadc.compile(SOURCE, target)
    _, pullback = tadc.vjp(f, A, B, P)
    seen: dict[str, np.ndarray] = {}
    for name in [*ADDED, "unused"]:
        gradients = pullback(*ADJOINTS, observe={name: lambda a, n=name: seen.update({n: a})})
        assert_close(gradients, pullback(*ADJOINTS), 1e-13, name)
    assert seen.keys() == expected().keys()
    for name, adjoint in expected().items():
        assert seen[name].shape == adjoint.shape
        np.testing.assert_allclose(seen[name], adjoint, rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("wrt", [None, "b", ("p", "a")])
def test_all_of_them(target: str, wrt: str | tuple[str, ...] | None) -> None:
    """Last definition first; also where no gradient asked for needs the adjoint."""
    _, pullback = tadc.vjp(tadc.compile(SOURCE, target), A, B, P, wrt=wrt)
    seen: dict[str, np.ndarray] = {}
    gradients = pullback(*ADJOINTS, observe=lambda name, adjoint: seen.update({name: adjoint}))
    assert_close(gradients, pullback(*ADJOINTS), 1e-13, "gradients")
    assert list(seen) == ["unused", "s", "p_2", "p_1", "u", "h"]
    for name, adjoint in expected().items():
        np.testing.assert_allclose(seen[name], adjoint, rtol=1e-12, err_msg=name)


def test_several_names_come_in_order() -> None:
    _, pullback = tadc.vjp(tadc.compile(SOURCE), A, B, P)
    calls: list[str] = []
    names = ["h", "s", "p_1"]
    pullback(*ADJOINTS, observe={n: lambda _, n=n: calls.append(n) for n in names})
    assert calls == ["s", "p_1", "h"]
    assert_close(pullback(*ADJOINTS, observe={}), pullback(*ADJOINTS), 1e-13, "nobody")


def test_what_is_inlined_otherwise() -> None:
    """A definition that is read once moves into its reader, but its adjoint is asked for."""
    f = tadc.compile("t[i] = 2 * x[i]\ny[i] = sin(t[i])")
    assert [d for d in f.derivative().program.definition_labels if "t" in d] == []
    x, dy = np.array([0.1, 0.5]), np.array([1.0, 3.0])
    seen: list[np.ndarray] = []
    tadc.vjp(f, x)[1](dy, observe={"t": seen.append})
    np.testing.assert_allclose(seen[0], dy * np.cos(2 * x))


def test_an_observer_changes_nothing() -> None:
    def spoil(adjoint: np.ndarray) -> None:
        adjoint[...] = np.nan

    _, pullback = tadc.vjp(tadc.compile(SOURCE), A, B, P)
    assert_close(
        pullback(*ADJOINTS, observe={"h": spoil, "p_2": spoil}),
        pullback(*ADJOINTS),
        1e-13,
        "spoilt",
    )


def test_unknown_names_are_refused() -> None:
    _, pullback = tadc.vjp(tadc.compile(SOURCE), A, B, P)
    with pytest.raises(UnknownNameError, match="there is no definition 'p_3'\nhint: did you mean"):
        pullback(*ADJOINTS, observe={"h": print, "p_3": print})
    with pytest.raises(UnknownNameError, match="there is no definition 'a'"):
        pullback(*ADJOINTS, observe={"a": print})


def test_a_name_that_a_lifted_sum_has_too() -> None:
    """`y_sum` is what the compiler calls the sum in `y`, and a tensor of the user here."""
    f = tadc.compile("y = exp(sum[i](x[i]))\ny_sum = y * 3\nz = y_sum**2")
    seen: list[np.ndarray] = []
    tadc.vjp(f, np.array([0.1, 0.2]))[1](1.0, observe={"y_sum": seen.append})
    np.testing.assert_allclose(seen[0], 2 * 3 * np.exp(0.3))


def test_programs_with_observed_adjoints() -> None:
    """They are functions like others: printed, pickled, derived."""
    g = tadc.compile(SOURCE).derivative("b", observe=["u", "h"])
    values = [A, B, P, *ADJOINTS]
    for again in (tadc.compile(str(g)), pickle.loads(pickle.dumps(g))):
        assert_close(again.call(values, {}), g.call(values, {}), 1e-12, "again")
    assert [t.name for t in g.results] == ["db", "du", "dh"]
    assert len(g.derivative("a").results) == 1


def check_random(seed: int) -> None:
    """Gradients do not change; a result that no later line reads has the adjoint that is given."""
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    f = case.interpreted if seed % 4 else case.function
    program = f.program.op
    _, pullback = tadc.vjp(f, *case.values)
    seen: dict[str, np.ndarray] = {}
    gradients = pullback(*case.adjoints, observe=lambda n, a: seen.update({n: a}))
    assert_close(gradients, pullback(*case.adjoints), 1e-10, "gradients")
    assert list(seen) == [d.label.data for d in program.definitions][::-1]
    given = dict(zip(program.returned, case.adjoints, strict=True))
    for op in program.definitions:
        read = any(use.operation.name == "tix.read" for use in op.result.uses)
        if op.result in given and not read:
            np.testing.assert_array_equal(seen[op.label.data], given[op.result])


@pytest.mark.parametrize("some", [seeds(3, of=25), seeds(3, of=25, start=3000)], ids=str)
def test_observed_adjoints_are_those_of_differences(some: range) -> None:
    check_seeds(check_random, some)

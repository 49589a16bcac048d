"""Flows as operations: values and first derivatives; second ones raise."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tadc
import tadc.ode
from tests.torch.programs import assert_close, rand, torch

op = pytest.importorskip("tadc.torch").op

PENDULUM = "q: f64[N]\np: f64[N]\nk: f64[]\nv[i] = p[i]\nw[i] = -k * sin(q[i])\nreturn v, w"


@pytest.fixture
def flow() -> tadc.ode.Flow:
    return tadc.ode.flow(tadc.compile(PENDULUM), 0, 0.5, state=("q", "p"))


@pytest.fixture
def inputs() -> tuple[Any, ...]:
    torch.manual_seed(0)
    return tuple(rand(*shape, requires_grad=True) for shape in ((2,), (2,), ()))


def arrays(inputs: tuple[Any, ...]) -> list[np.ndarray[Any, Any]]:
    return [x.detach().numpy() for x in inputs]


def test_values_are_those_of_the_flow(flow: tadc.ode.Flow, inputs: tuple[Any, ...]) -> None:
    layer, given = op(flow), arrays(inputs)
    for found in (layer(*inputs), layer(k=inputs[2], p=inputs[1], q=inputs[0])):
        for a, b in zip(found, flow(*given), strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b)
    for mode in ("inverse_jvp", "inverse_vjp"):
        found = getattr(layer, mode)(inputs, inputs[:2])
        for a, b in zip(found, getattr(flow, mode)(given, given[:2]), strict=True):
            np.testing.assert_array_equal(a.detach().numpy(), b)
    assert [x.item() for x in layer.log_abs_det(inputs)] == list(flow.log_abs_det(given))
    assert repr(pickle.loads(pickle.dumps(layer))) == repr(layer)


def test_first_derivatives_are_those_of_differences(
    flow: tadc.ode.Flow, inputs: tuple[Any, ...]
) -> None:
    layer = op(flow)
    torch.autograd.gradcheck(layer, inputs, check_forward_ad=True)
    gradients = torch.autograd.grad(layer(*inputs)[0].sum(), inputs)
    _, pullback = flow.vjp(*arrays(inputs))
    for a, b in zip(gradients, pullback(np.ones(2), np.zeros(2)), strict=True):
        np.testing.assert_array_equal(a.numpy(), b)


def test_transforms(flow: tadc.ode.Flow, inputs: tuple[Any, ...]) -> None:
    layer = op(flow)
    reverse, forward = (
        t(layer, (0, 1, 2))(*inputs) for t in (torch.func.jacrev, torch.func.jacfwd)
    )
    for rows, others in zip(reverse, forward, strict=True):
        torch.testing.assert_close(rows, others, rtol=1e-6, atol=1e-8)
    q, p, k = inputs
    batched = torch.vmap(layer, (0, None, None))(torch.stack([q, 2 * q]), p, k)
    assert_close(batched[0][1], layer(2 * q, p, k)[0])
    compiled = torch.compile(lambda *x: 2 * layer(*x)[0], backend="eager")
    given = [x.detach() for x in inputs]
    assert_close(compiled(*given), 2 * layer(*given)[0])


def test_second_derivatives_are_refused_with_a_place(
    flow: tadc.ode.Flow, inputs: tuple[Any, ...]
) -> None:
    layer = op(flow)
    q, p, k = inputs
    (slope,) = torch.autograd.grad(layer(*inputs)[0].sum(), q, create_graph=True)
    _, determinant = layer.log_abs_det(inputs)
    for refused in (
        lambda: slope.sum().backward(),
        lambda: determinant.backward(),
        lambda: torch.func.hessian(lambda x: layer(x, p, k)[0].sum())(q),
        lambda: torch.func.jvp(lambda x: layer.log_abs_det((x, p, k))[1], (q,), (q,)),
    ):
        with pytest.raises(tadc.errors.UnsupportedError, match="no derivatives") as error:
            refused()
        assert error.value.span is not None and error.value.span.line == 1


def test_a_flow_of_tangents_has_second_derivatives() -> None:
    g = tadc.compile("x: f64[N]\ny[i] = sin(x[i])\nreturn y")
    both = op(tadc.ode.flow(g.forward(keep_values=True), 0, 1, state=("x", "x_dot")))
    x, one = rand(2, requires_grad=True), torch.ones(2, dtype=torch.float64)
    (found,) = torch.autograd.grad(both(x, one)[1].sum(), x)

    # x' = sin x is solved by tan(x/2) = e^t tan(x0/2)
    def solution(x: Any) -> Any:
        return 2 * torch.atan(np.e * torch.tan(x / 2))

    (slope,) = torch.autograd.grad(solution(x).sum(), x, create_graph=True)
    (wanted,) = torch.autograd.grad(slope.sum(), x)
    torch.testing.assert_close(found, wanted, rtol=1e-7, atol=1e-7)


def test_tensors_that_do_not_fit_raise(flow: tadc.ode.Flow, inputs: tuple[Any, ...]) -> None:
    layer = op(flow)
    with pytest.raises(tadc.errors.DtypeError):
        layer(inputs[0].float(), *inputs[1:])
    with pytest.raises(tadc.errors.ArgumentError, match="missing"):
        layer(inputs[0])
    with pytest.raises(tadc.TadcError):
        layer.inverse_jvp(inputs, inputs[:1])

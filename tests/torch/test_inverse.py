"""Inverse modes of operations: values, derivatives of every order, batches, errors."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.frameworks.inverse import permutation_sign
from tests.support.campaign import seeds
from tests.support.random_updates import random_update
from tests.test_inverse_calls import BY_NAME, DENSE, state_of
from tests.torch.programs import assert_close, rand, torch

op = pytest.importorskip("tadc.torch").op

COUPLING = """a: f64[N]
b: f64[N]
u: f64[H]
s: f64[H]
t: f64[H]
h[n, j] = tanh(u[j] * b[n])
a[n] = a[n] * exp(sum[j](s[j] * h[n, j])) + sum[j](t[j] * h[n, j])
b[n] = b[n] * exp(tanh(a[n])) + a[n]
"""
MODES = ("inverse_jvp", "inverse_vjp")


def tensors(state: Sequence[np.ndarray[Any, Any]], *, gradients: bool = True) -> list[Any]:
    return [torch.tensor(a, requires_grad=gradients) for a in state]


def vectors_like(f: tadc.Function, state: Sequence[Any]) -> list[Any]:
    given = dict(zip((t.name for t in f.args), state, strict=True))
    return [rand(*given[t.name].shape, requires_grad=True) for t in f.results]


def log_det(layer: Any) -> Any:
    return lambda *arguments: layer.log_abs_det(arguments)[1]


@pytest.mark.parametrize("name", ["diagonal", "banded", "triangular", "tensors", "parameters"])
def test_values_are_those_of_calls_on_numpy(name: str) -> None:
    layer = op(BY_NAME.get(name, DENSE))
    f = layer.function
    for size in (4, 0):
        state = state_of(f, size)
        given, vectors = tensors(state), vectors_like(f, state)
        for mode in MODES:
            found = getattr(layer, mode)(given, vectors)
            wanted = getattr(tadc, mode)(f, state, [v.detach().numpy() for v in vectors])
            assert found._fields == wanted._fields
            solves = len(f.inverse(mode.replace("_", "-")).steps) > 1
            for a, b in zip(found, wanted, strict=True):
                error = 1e-10 if solves else 0
                np.testing.assert_allclose(a.detach().numpy(), b, rtol=error, atol=error)
        sign, logarithm = layer.log_abs_det(given)
        wanted = tadc.log_abs_det(f, state)
        np.testing.assert_allclose([sign.item(), logarithm.item()], wanted, rtol=1e-12)
        assert sign.shape == logarithm.shape == ()


def test_signs_of_values_with_gradients() -> None:
    places = torch.tensor([1.0, 0.0, 2.0], requires_grad=True)
    assert permutation_sign(torch, places) == -1


def test_arguments_have_the_order_of_the_signature() -> None:
    @op
    def layer(w: Any, p: Any) -> None:
        """p[i] *= w[i]"""

    w, p, v = rand(3), rand(3), rand(3)
    assert_close(layer.inverse_jvp((w, p), v)[0], v / w)
    assert_close(layer.inverse_vjp((w, p), {"p": v}).p, v / w)
    assert_close(layer.log_abs_det((w, p))[1], w.log().sum())


def test_precision_is_that_of_the_tensors() -> None:
    layer = op("p[i] += 0.1 * sum[j](sin(p[j]))")
    p = rand(3, dtype=torch.float32)
    assert layer.inverse_jvp((p,), p)[0].dtype is torch.float32
    assert layer.inverse_jvp((p,), p.double())[0].dtype is torch.float64
    assert layer.log_abs_det((p,))[1].dtype is torch.float32


# --- derivatives ---


CURVES = "w: f64[N]\np: f64[N]\np[i] = exp(w[i]) * (p[N - 1 - i] + p[N - 1 - i]**3)"


def test_derivatives_of_both_orders_are_those_of_differences() -> None:
    layer = op(CURVES)
    given = tensors(state_of(layer.function, 2))
    vectors = vectors_like(layer.function, given)
    count = len(given)

    def call(*inputs: Any) -> tuple[Any, ...]:
        return tuple(layer.inverse_vjp(inputs[:count], inputs[count:]))

    inputs = *given, *vectors
    options = {"fast_mode": True, "check_undefined_grad": False}
    torch.autograd.gradcheck(call, inputs, check_forward_ad=True, **options)
    torch.autograd.gradgradcheck(call, inputs, **options)


def jacobian(layer: Any, given: Sequence[Any]) -> Any:
    """The matrix of the state by the state, by `torch.func`."""
    f = layer.function
    numbers = [[t.name for t in f.args].index(t.name) for t in f.results]

    def moved(*state: Any) -> Any:
        every = list(given)
        for n, value in zip(numbers, state, strict=True):
            every[n] = value
        found = layer(*every)
        found = found if isinstance(found, tuple) else (found,)
        return torch.cat([part.reshape(-1) for part in found])

    state = tuple(given[n] for n in numbers)
    parts = torch.func.jacrev(moved, tuple(range(len(state))))(*state)
    return torch.cat([part.reshape(len(part), -1) for part in parts], 1)


def check_against_jacobian(layer: Any, given: Sequence[Any], order: int = 1) -> None:
    """All modes, and gradients by all arguments, against those of the whole matrix."""
    vectors = vectors_like(layer.function, given)
    flat = torch.cat([v.reshape(-1) for v in vectors])
    j = jacobian(layer, given)
    pairs = [
        (layer.log_abs_det(given)[1], torch.linalg.slogdet(j).logabsdet),
        (layer.inverse_jvp(given, vectors), torch.linalg.solve(j, flat)),
        (layer.inverse_vjp(given, vectors), torch.linalg.solve(j.mT, flat)),
    ]
    for found, wanted in pairs:
        if isinstance(found, tuple):
            found = torch.cat([part.reshape(-1) for part in found])
        if found.requires_grad:
            inputs = [*given, *vectors]
            pairs = zip(slopes(found, inputs, order), slopes(wanted, inputs, order), strict=True)
            for a, b in pairs:
                torch.testing.assert_close(a, b, rtol=1e-6, atol=1e-8)


def slopes(value: Any, inputs: Sequence[Any], order: int) -> list[Any]:
    """Gradients of a mixture of its elements, and of a mixture of these gradients."""
    options = {"allow_unused": True, "materialize_grads": True, "create_graph": True}
    found: list[Any] = []
    for _ in range(order):
        found += torch.autograd.grad(mixed(value), inputs, **options)
        value = torch.cat([g.reshape(-1) for g in found])
    return found


def mixed(value: Any) -> Any:
    return (value.reshape(-1) * torch.linspace(1, 2, value.numel(), dtype=value.dtype)).sum()


@pytest.mark.parametrize("name, order", [("tensors", 1), ("banded", 2)])
def test_modes_and_gradients_are_those_of_the_jacobian(name: str, order: int) -> None:
    layer = op(BY_NAME[name])
    check_against_jacobian(layer, tensors(state_of(layer.function, 3)), order)


@pytest.mark.parametrize("seed", seeds(1, of=100))
def test_random_programs_have_the_gradients_of_the_jacobian(seed: int) -> None:
    update = random_update(random.Random(seed))
    layer = op(update.source)
    arguments = [update.arguments[t.name] for t in layer.function.args]
    check_against_jacobian(layer, tensors(arguments))


# --- transforms ---


@pytest.mark.parametrize("name", ["banded", "tensors"])
def test_batches_and_transforms(name: str) -> None:
    layer = op(BY_NAME[name])
    state = tensors(state_of(layer.function, 3), gradients=False)
    batch = [torch.stack([x, 2 * x]) for x in state]

    def both(*given: Any) -> Any:
        return (*layer.inverse_jvp(given, given), *layer.log_abs_det(given))

    found = torch.vmap(both)(*batch)
    wanted = zip(*(both(*[x[k] for x in batch]) for k in range(2)), strict=True)
    assert_close(found, tuple(map(torch.stack, wanted)))
    f = log_det(layer)
    assert_close(torch.func.hessian(f)(*state), torch.autograd.functional.hessian(
        lambda x: f(x, *state[1:]), state[0]))  # fmt: skip


def test_modes_are_compiled_for_all_sizes() -> None:
    layer = op(BY_NAME["banded"])  # no mode of it was made before

    def both(x: Any) -> Any:
        return layer.inverse_jvp((x,), x)[0], layer.log_abs_det((x,))[1]

    compiled = torch.compile(both, fullgraph=True, dynamic=True, backend="aot_eager")
    for size in (5, 7):
        x = rand(size, requires_grad=True)
        assert_close(compiled(x), both(x))
        (found,) = torch.autograd.grad(compiled(x)[1], x)
        (wanted,) = torch.autograd.grad(both(x)[1], x)
        assert_close(found, wanted)


# --- what is singular ---

SINGULAR = {
    "a divisor": "p: f64[N]\np[i] *= p[i]",
    "a matrix": "p: f64[N]\np[i] = p[i] * sum[j](p[j])",
    "a band": "p: f64[N]\np[i] = p[i] * (p[i] + pad(p[i - 1]))",
    "a triangle": "p: f64[N]\np[i] = p[i] * sum[j in range(i + 1)](p[j])",
}


@pytest.mark.parametrize("mode, name", list(zip(MODES * 2, SINGULAR, strict=True)))
def test_what_is_singular_raises_as_on_numpy(mode: str, name: str) -> None:
    layer = op(SINGULAR[name])
    zero = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    one = torch.ones(3, dtype=torch.float64)
    with pytest.raises(tadc.errors.SingularError) as wanted:
        getattr(tadc, mode)(layer.function, [np.zeros(3)], np.ones(3))
    with pytest.raises(tadc.errors.SingularError) as found:
        getattr(layer, mode)((zero,), one)
    assert str(found.value) == str(wanted.value)
    with pytest.raises(tadc.errors.SingularError):
        torch.func.grad(lambda x: getattr(layer, mode)((x,), one)[0].sum())(zero.detach())
    traced = torch.vmap(lambda x: getattr(layer, mode)((x,), one)[0])(zero.detach()[None])
    assert not traced.isfinite().all()
    sign, logarithm = layer.log_abs_det((zero,))
    assert (sign.item(), logarithm.item()) == tadc.log_abs_det(layer.function, [np.zeros(3)])


def test_what_is_nearly_singular_warns() -> None:
    layer = op("p: f64[N]\nw: f64[N]\np[i] = w[i] * p[i] + 0 * sum[j](sin(p[j]))\n")
    w = torch.tensor([1.0, 1e-20], dtype=torch.float64)
    with pytest.warns(tadc.errors.IllConditionedWarning):
        layer.inverse_jvp((torch.ones_like(w), w), torch.ones_like(w))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer.inverse_jvp((w, torch.ones_like(w)), torch.ones_like(w))


def test_programs_without_inverse_modes_say_so() -> None:
    with pytest.raises(tadc.errors.UnsupportedError, match="inverse modes need"):
        op("y[i] = 2 * x[i]").inverse_jvp((rand(3),), rand(3))
    layer = op("p: f64[N]\np[i] *= 2")
    with pytest.raises(tadc.errors.ArgumentError, match="not a tensor"):
        layer.inverse_jvp((rand(3),), (rand(3), rand(3)))
    with pytest.raises(tadc.errors.SizeError):
        layer.inverse_jvp((rand(3),), rand(4))
    with pytest.raises(tadc.errors.DtypeError):
        layer.inverse_jvp((rand(3),), rand(3, dtype=torch.float32))


# --- a normalising flow ---


def by_hand(a: Any, b: Any, u: Any, s: Any, t: Any) -> Any:
    """The mean log density of two coupling layers, each with the determinant written down."""
    h = torch.tanh(b[:, None] * u)
    first, a = h @ s, a * torch.exp(h @ s) + h @ t
    second, b = torch.tanh(a), b * torch.exp(torch.tanh(a)) + a
    return (first + second - (a**2 + b**2) / 2).mean() - np.log(2 * np.pi)


def test_a_flow_trains_from_its_forward_text() -> None:
    layer = op(COUPLING)
    torch.manual_seed(0)
    a = torch.randn(40, dtype=torch.float64)
    b = 0.3 * torch.randn(40, dtype=torch.float64) + torch.sin(2 * a)
    weights = [(torch.randn(4, dtype=torch.float64) / 2).requires_grad_() for _ in range(3)]
    optimizer = torch.optim.Adam(weights, 0.05)
    losses: list[float] = []
    for _ in range(30):
        inputs = (a, b, *weights)
        z, y = layer(*inputs)
        density = (layer.log_abs_det(inputs)[1] - (z @ z + y @ y) / 2) / 40 - np.log(2 * np.pi)
        expected = by_hand(*inputs)
        torch.testing.assert_close(density, expected, rtol=0, atol=1e-10)
        wanted = torch.autograd.grad(-expected, weights)
        optimizer.zero_grad()
        (-density).backward()
        torch.testing.assert_close([w.grad for w in weights], list(wanted), rtol=0, atol=1e-10)
        optimizer.step()
        losses.append(-density.item())
    assert losses[-1] < losses[0] - 0.3

"""Gradients and tangents of every order, of the examples; and what a graph of gradients keeps."""

from __future__ import annotations

import random
from typing import Any

import pytest

import tadc
from tests.support.boundaries import BOUNDARIES, boundary
from tests.support.campaign import CAMPAIGN, seeds
from tests.support.random_programs import random_program
from tests.torch.programs import (
    CONV,
    KEEPING,
    SIZES,
    TWO,
    as_tuple,
    assert_close,
    assert_equal,
    conv,
    example,
    keeping,
    rand,
    torch,
)

op = pytest.importorskip("tadc.torch").op


@pytest.mark.parametrize("name", SIZES)
def test_examples_pass_gradcheck(name: str) -> None:
    function, tensors = example(name)
    checked = torch.autograd.gradcheck(
        op(function),
        tensors,
        check_forward_ad=True,
        check_batched_grad=True,
        check_batched_forward_grad=True,
    )
    assert checked


@pytest.mark.parametrize("name", BOUNDARIES)
def test_boundaries_pass_gradcheck(name: str) -> None:
    source, values = boundary(name)
    f, tensors = op(source), [torch.from_numpy(v).requires_grad_() for v in values]
    assert torch.autograd.gradcheck(f, tensors, check_forward_ad=CAMPAIGN, check_batched_grad=True)
    if name in QUICK_BOUNDARIES or CAMPAIGN:
        assert torch.autograd.gradgradcheck(f, tensors, fast_mode=True)


QUICK_BOUNDARIES = ("remainder",)
"""Boundaries whose second derivatives are compiled in a second or two."""


QUICK = ("convolution", "coupled", "matmul")
"""Examples whose second derivatives are compiled in a second or two."""


@pytest.mark.parametrize("name", SIZES if CAMPAIGN else QUICK)
def test_examples_pass_gradgradcheck(name: str) -> None:
    function, tensors = example(name)
    assert torch.autograd.gradgradcheck(
        op(function),
        tensors,
        check_fwd_over_rev=True,
        check_rev_over_rev=True,
        check_batched_grad=name == "convolution",
        fast_mode=name in ("coupled", "paper"),
    )


@pytest.mark.parametrize("seed", seeds(1, of=200))
def test_random_programs_pass_both_checks(seed: int) -> None:
    program = random_program(random.Random(seed), definitions=1 + seed % 2, depth=2, points=30)
    f = op(tadc.compile(program.source))
    names = [t.name for t in f.function.args]
    tensors = [torch.from_numpy(program.arguments[n].copy()).requires_grad_() for n in names]
    if not tensors or not all(t.numel() for t in tensors):
        pytest.skip("nothing to derive by")
    forward = {"check_forward_ad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(f, tensors, check_batched_grad=True, atol=1e-4, **forward)
    second = {"check_fwd_over_rev": True, "check_rev_over_rev": True, "fast_mode": True}
    assert torch.autograd.gradgradcheck(f, tensors, atol=1e-4, **second)


def test_values_that_are_kept_and_not_read_have_shapes() -> None:
    """The gradient by `f` is of a sum without terms: what it would read is kept."""
    f = op(
        "x: f64[N, M]\n"
        "f[i, j in range(2), k] = sum[p in range(2*j - 1)]((2 + cos(x[k, i]))**-1)\n"
        "g[i in range(1)] = 1 / (1 + exp(tanh(f[i, i, i]))**2)"
    )
    x = rand(3, 2).requires_grad_()
    assert torch.autograd.gradcheck(f, [x], check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(f, [x], fast_mode=True)


def test_one_of_two_results_has_gradients_alone() -> None:
    """Whatever the gradients of both read: here elements of x, and of y the shape."""
    f = op(
        "x: f64[2, 2]\n"
        "f[i in range(2), j] = x[j, -j + 1] - x[j, -j + 1] * sum[p in range(max(0, j - 1),"
        " min(4, 2*i + 2))](x[j, j])\n"
        "g[i in range(4)] = sinh(sin((-1.5)**2)) * y[2*i, i]"
    )
    tensors = [rand(2, 2).requires_grad_(), rand(7, 4).requires_grad_()]
    assert torch.autograd.gradcheck(f, tensors)


@pytest.mark.parametrize("name", SIZES)
def test_gradients_are_those_of_tadc_bit_by_bit(name: str) -> None:
    function, tensors = example(name)
    results = as_tuple(op(function)(*tensors))
    adjoints = [torch.randn_like(r) for r in results]
    gradients = torch.autograd.grad(results, tensors, adjoints)
    arrays = [t.detach().numpy() for t in tensors]
    values, pullback = tadc.vjp(function, *arrays)
    assert_equal(results, values)
    assert_equal(gradients, pullback(*[a.numpy() for a in adjoints]))


def test_third_order() -> None:
    w, x = rand(3, requires_grad=True), rand(9, requires_grad=True)
    text = "y[i] = sum[k](sin(w[k]) * x[2*i + k]**2)"

    def third(f: Any) -> Any:
        (first,) = torch.autograd.grad(f(w, x).sum(), w, create_graph=True)
        (second,) = torch.autograd.grad((first**2).sum(), x, create_graph=True)
        return torch.autograd.grad((second**2).sum(), (w, x))

    assert_close(third(op(text)), third(lambda w, x: conv(torch.sin(w), x**2)))


@pytest.mark.parametrize("wanted", [(True, False), (False, True), (True, True)])
def test_only_the_gradients_asked_for(wanted: tuple[bool, bool]) -> None:
    tensors = [rand(3, requires_grad=wanted[0]), rand(9, requires_grad=wanted[1])]
    assert torch.autograd.gradcheck(op(KEEPING), tensors)
    followed = op(KEEPING)(*tensors).grad_fn.next_functions[-2:]
    assert tuple(node is not None for node, _ in followed) == wanted


def test_no_gradient_where_none_is_asked_for() -> None:
    w, x = rand(3), rand(9)
    assert not op(CONV)(w, x).requires_grad
    with torch.no_grad():
        assert not op(CONV)(w.requires_grad_(), x).requires_grad


# --- several results ------------------------------------------------------------------------------


def test_results_that_are_not_used() -> None:
    two = op(TWO)
    a, b = rand(4, requires_grad=True), rand(4, requires_grad=True)
    y, z = two(a, b)
    assert_close(torch.autograd.grad(y.sum(), (a, b)), (torch.exp(a) * b, torch.exp(a)))
    y, z = two(a, b)
    gradients = torch.autograd.grad(z, (a, b), allow_unused=True)
    assert_close(gradients[1], 2 * b)
    assert gradients[0] is None or not gradients[0].any()
    y, z = two(a, b)
    assert_close(torch.autograd.grad(y.sum() + z, (a, b)), (torch.exp(a) * b, torch.exp(a) + 2 * b))


def test_a_result_that_is_not_used_contributes_nothing_even_if_it_is_infinite() -> None:
    f = op("y[i] = 1 / x[i]\nz[i] = 3 * x[i]\nreturn y, z")
    x = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    assert_close(torch.autograd.grad(f(x).z.sum(), x), torch.full((2,), 3.0, dtype=torch.float64))


def test_updates_are_results_and_change_nothing() -> None:
    step = op("q: f64[N]\np: f64[N]\np[i] -= sin(q[i])\nq[i] += p[i]")
    q, p = rand(3, requires_grad=True), rand(3, requires_grad=True)
    before = q.detach().clone(), p.detach().clone()
    new = step(q, p)
    assert_close(new, (q + p - torch.sin(q), p - torch.sin(q)))
    assert_equal((q, p), before)
    assert torch.autograd.gradcheck(step, (q, p))


# --- what is kept ---------------------------------------------------------------------------------


def saved_by(call: Any) -> list[tuple[int, ...]]:
    """The shapes of the tensors that a call keeps for backward."""
    shapes: list[tuple[int, ...]] = []

    def pack(tensor: Any) -> Any:
        shapes.append(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        call()
    return shapes


def test_a_linear_operation_keeps_nothing() -> None:
    x = rand(5, requires_grad=True)
    assert saved_by(lambda: op("y[i] = 3 * x[i] + x[0]")(x)) == []


def test_what_no_gradient_reads_is_not_kept() -> None:
    multiply = op("y[i, j] = x[i, j] * w[j]")
    x, w = rand(4, 3, requires_grad=True), rand(3, requires_grad=True)
    assert saved_by(lambda: multiply(x, w)) == [(4, 3), (3,)]
    assert saved_by(lambda: multiply(x, w.detach())) == [(3,)]
    assert saved_by(lambda: multiply(x.detach(), w)) == [(4, 3)]


def test_values_are_kept_for_gradients() -> None:
    w, x = rand(3, requires_grad=True), rand(9, requires_grad=True)
    sines_of_weights, sums = (3,), (4,)
    assert saved_by(lambda: op(KEEPING)(w, x)) == [(3,), (9,), sines_of_weights, sums]


def test_a_change_between_forward_and_backward_is_an_error() -> None:
    x = rand(3, requires_grad=True) * 1
    y = op("y[i] = x[i]**3")(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_graph_is_used_once_unless_it_is_retained() -> None:
    w, x = rand(3, requires_grad=True), rand(9)
    loss = op(CONV)(w, x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert_close(w.grad, 2 * torch.autograd.grad(conv(w, x).sum(), w)[0])
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_checkpoints() -> None:
    f, w, x = op(KEEPING), rand(3, requires_grad=True), rand(9, requires_grad=True)
    expected = torch.autograd.grad(f(w, x).sum(), (w, x))
    for reentrant in (False, True):
        y = torch.utils.checkpoint.checkpoint(f, w, x, use_reentrant=reentrant)
        y.sum().backward()
        assert_equal((w.grad, x.grad), expected)
        w.grad = x.grad = None


def test_dual_tensors() -> None:
    forward_ad = torch.autograd.forward_ad
    f, w, x, tangent = op(KEEPING), rand(3), rand(9), rand(9)
    with forward_ad.dual_level():
        y = f(w, forward_ad.make_dual(x, tangent))
        found = forward_ad.unpack_dual(y).tangent
    assert_close(found, torch.func.jvp(lambda x: keeping(w, x), (x,), (tangent,))[1])

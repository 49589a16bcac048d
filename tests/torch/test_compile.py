"""`torch.compile` with `fullgraph`, for all sizes at once; and meta and fake tensors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torch.programs import (
    CONV,
    KEEPING,
    TWO,
    assert_close,
    assert_equal,
    conv,
    keeping,
    rand,
    torch,
)

op = pytest.importorskip("tadc.torch").op


@pytest.fixture(autouse=True)
def _nothing_is_compiled() -> None:
    torch._dynamo.reset()


def counting(backend: str) -> Any:
    from torch._dynamo.testing import CompileCounterWithBackend

    return CompileCounterWithBackend(backend)


def test_one_compilation_serves_many_sizes() -> None:
    counter = counting("aot_eager")
    f = op(KEEPING)
    compiled = torch.compile(
        lambda w, x: (f(w, x) * 2).sum(), fullgraph=True, dynamic=True, backend=counter
    )
    for n in (9, 10, 11, 20, 33):
        w, x = rand(3, requires_grad=True), rand(n, requires_grad=True)
        expected = keeping(w, x).sum() * 2
        found = compiled(w, x)
        assert_close(found, expected)
        assert_close(torch.autograd.grad(found, (w, x)), torch.autograd.grad(expected, (w, x)))
    assert counter.frame_count == 1


def test_inductor() -> None:
    f = op(KEEPING)
    compiled = torch.compile(lambda w, x: torch.relu(f(w, x) - 1).sum(), fullgraph=True)
    w, x = rand(3, requires_grad=True), rand(9)
    expected = torch.relu(keeping(w, x) - 1).sum()
    found = compiled(w, x)
    assert_close(found, expected)
    assert_close(torch.autograd.grad(found, w), torch.autograd.grad(expected, w))


def test_several_results_by_name_and_arguments_by_name() -> None:
    two, a, b = op(TWO), rand(4), rand(4)
    compiled = torch.compile(lambda a, b: two(b=b, a=a).y * 2, fullgraph=True, backend="aot_eager")
    assert_close(compiled(a, b), two(a, b).y * 2)
    compiled = torch.compile(lambda a, b: two(a, b), fullgraph=True, backend="aot_eager")
    assert compiled(a, b)._fields == ("y", "z")


def test_numbers() -> None:
    scaled = op("h: real[]\ny[i] = h * x[i]")
    compiled = torch.compile(
        lambda x, h: scaled(h=h, x=x), fullgraph=True, dynamic=True, backend="aot_eager"
    )
    for h in (0.5, 0.25, 3):
        assert_close(compiled(x := rand(4), h), h * x)


def test_gradients_of_one_argument() -> None:
    f, w, x = op(KEEPING), rand(3, requires_grad=True), rand(9)
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    expected = torch.autograd.grad(keeping(w, x).sum(), w)
    assert_close(torch.autograd.grad(compiled(w, x).sum(), w), expected)


def test_a_result_that_is_not_used() -> None:
    two, a, b = op(TWO), rand(4, requires_grad=True), rand(4, requires_grad=True)
    compiled = torch.compile(lambda a, b: two(a, b)[0].sum(), fullgraph=True, backend="aot_eager")
    assert_close(torch.autograd.grad(compiled(a, b), (a, b)), (torch.exp(a) * b, torch.exp(a)))


def test_backward_is_compiled_too() -> None:
    f, w, x = op(KEEPING), rand(3, requires_grad=True), rand(9)
    y = f(w, x).sum()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager", fullgraph=True)):
        y.backward()
    assert_close(w.grad, torch.autograd.grad(keeping(w, x).sum(), w)[0])


@pytest.mark.parametrize(
    ("w", "x", "message"),
    [
        ((3,), (3, 3), "the argument x has rank 2, not 1"),
        ((3,), torch.float16, "the argument x has dtype torch.float16"),
    ],
)
def test_what_is_wrong_is_said(w: Any, x: Any, message: str) -> None:
    wrong = rand(9).to(x) if isinstance(x, torch.dtype) else rand(*x)
    compiled = torch.compile(op(CONV), fullgraph=True, backend="aot_eager")
    with pytest.raises(Exception, match=message):
        compiled(rand(*w), wrong)


def test_meta_tensors_have_shapes_alone() -> None:
    w, x = rand(3).to("meta"), rand(9).to("meta")
    y = op(CONV)(w, x)
    assert y.device.type == "meta" and y.shape == (4,) and y.dtype == torch.float64
    y = op(CONV)(w.requires_grad_(), x)
    (dw,) = torch.autograd.grad(y.sum(), w)
    assert dw.device.type == "meta" and dw.shape == (3,)


def test_fake_tensors() -> None:
    with torch._subclasses.fake_tensor.FakeTensorMode():
        y = op(CONV)(rand(3), rand(9))
    assert y.shape == (4,)


def test_graphs_hold_operators() -> None:
    make_fx = torch.fx.experimental.proxy_tensor.make_fx
    f, w, x = op(CONV), rand(3), rand(9)
    graph = make_fx(torch.func.grad(lambda w, x: f(w, x).sum()))(w, x)
    assert "torch.ops.tadc.p_" in graph.code
    expected = torch.autograd.grad(conv(w.requires_grad_(), x).sum(), w)[0]
    torch.testing.assert_close(graph(w, x), expected)


def test_traces_of_torchscript() -> None:
    f = op(CONV)
    traced = torch.jit.trace(lambda w, x: f(w, x) * 2, (rand(3), rand(9)))
    w, x = rand(3), rand(11)
    assert_equal(traced(w, x), f(w, x) * 2)

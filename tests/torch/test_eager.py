"""Calls past the dispatcher: only where it would do the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torch.programs import CONV, assert_close, assert_equal, conv, rand, torch

op = pytest.importorskip("tadc.torch").op


class Seen(torch.utils._python_dispatch.TorchDispatchMode):
    """Names of the operators that come by."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(f.name())
        return f(*args, **(kwargs or {}))


def test_modes_see_calls_and_gradients() -> None:
    f, w, x = op(CONV), rand(3, requires_grad=True), rand(9)
    torch.autograd.grad(f(w, x).sum(), w)
    with Seen() as seen:
        torch.autograd.grad(f(w, x).sum(), w)
    assert len([name for name in seen.names if name.startswith("tadc::p_")]) == 2


def test_functions_of_python_that_see_all_calls() -> None:
    f, w, x = op(CONV), rand(3), rand(9)
    f(w, x)
    seen: list[str] = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, g: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(g))
            return g(*args, **(kwargs or {}))

    with Mode():
        f(w, x)
    assert any(name.startswith("tadc.p_") for name in seen)


def test_subclasses_of_tensors() -> None:
    class Own(torch.Tensor):
        pass

    f, w, x = op(CONV), rand(3), rand(9)
    f(w, x)
    assert type(f(w.as_subclass(Own), x)) is Own
    assert type(f(torch.nn.Parameter(w), x)) is torch.Tensor


def test_calls_between_transforms() -> None:
    f, w, x = op(CONV), rand(3), rand(9)
    expected = f(w, x)
    found: list[Any] = []
    torch.vmap(lambda a: (found.append(f(w, x)), a)[1])(rand(2))
    torch.func.grad(lambda a: (found.append(f(w, x)), a)[1])(rand())
    for each in found:
        assert_equal(each, expected)
    assert_close(torch.vmap(lambda x: f(w, x))(torch.stack([x, x]))[1], expected)


def test_inference_mode() -> None:
    f, w, x = op(CONV), rand(3), rand(9)
    expected = f(w, x)
    for _ in range(2):
        with torch.inference_mode():
            y = f(w, x)
            assert y.is_inference()
        assert_equal(y, expected)
        assert not f(w, x).is_inference()


def test_autocast_leaves_precision_alone() -> None:
    f, w, x = op(CONV), rand(3, requires_grad=True), rand(9)
    expected = f(w, x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = f(w, x)
    assert_equal(y, expected)
    assert_close(torch.autograd.grad(y.sum(), w), torch.autograd.grad(conv(w, x).sum(), w))


def test_a_default_device_changes_nothing() -> None:
    f, w, x = op(CONV), rand(3), rand(9)
    expected = f(w, x)
    with torch.device("meta"):
        y = f(w, x)
    assert_equal(y, expected)


def test_gradients_that_are_batched_in_the_old_way() -> None:
    w, x = rand(3, requires_grad=True), rand(9)
    y = op(CONV)(w, x)
    eye = torch.eye(4, dtype=torch.float64)
    (found,) = torch.autograd.grad(y, w, eye, is_grads_batched=True)
    assert_close(found, torch.func.jacrev(lambda w: conv(w, x))(w))


def test_calls_like_the_last_one_need_no_dispatcher() -> None:
    """Also under autocast, and with a parameter after a tensor."""
    f, w, x = op(CONV), rand(3, requires_grad=True), rand(9)
    for weights in (w, torch.nn.Parameter(w.detach())):
        for enabled in (False, True):
            with torch.autocast("cpu", enabled=enabled):
                f(weights, x)
                assert f._again((weights, x), ()) is not None


def test_kinds_of_tensors_in_turn() -> None:
    f = op(CONV)
    for _ in range(2):
        for dtype in (torch.float32, torch.float64):
            for n in (5, 9):
                for gradient in (False, True):
                    w = rand(3, dtype=dtype, requires_grad=gradient)
                    x = rand(n, dtype=dtype)
                    y = f(w, x)
                    assert y.requires_grad == gradient and y.dtype == dtype
                    torch.testing.assert_close(y, conv(w, x))

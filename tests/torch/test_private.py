"""Names of PyTorch that are not public: what `tadc.torch.private` takes for granted of each."""

from __future__ import annotations

from typing import Any

import pytest

from tests.torch.programs import rand, torch

private = pytest.importorskip("tadc.torch.private")


def test_a_guard_tells_tensors_apart() -> None:
    """Without it: `is_plain` and a comparison of shapes, strides and dtypes in its place."""
    w, x = rand(3), rand(3, 2)
    check = private.guard([w, x]).check
    assert check(w, x) and check(rand(3), rand(3, 2))
    assert not check(rand(4), x)
    assert not check(w, rand(2, 3).T)
    assert not check(w.float(), x)
    assert not check(rand(3, requires_grad=True), x)
    assert not check(torch.nn.Parameter(w), x)
    assert not check(torch._neg_view(w), x)
    assert not check(w.to("meta"), x)
    assert not check(2.0, x)
    with torch.inference_mode():
        assert not check(w, x)
    seen: list[bool] = []
    torch.vmap(lambda a: (seen.append(check(w, x)), a)[1])(w)
    torch.func.grad(lambda a: (seen.append(check(w, x)), a)[1])(rand())
    assert seen == [False, False]


def test_a_guard_keeps_no_tensor() -> None:
    import sys

    w = rand(3)
    before = sys.getrefcount(w)
    guard = private.guard([w])
    assert guard and sys.getrefcount(w) == before


def test_empty() -> None:
    """Without it: `torch.empty(shape, dtype=dtype, device="cpu")`."""
    found = private.empty((2, 3), (3, 1), torch.float32)
    assert found.shape == (2, 3) and found.is_contiguous() and found.dtype == torch.float32
    with torch.device("meta"):
        assert private.empty((2,), (1,), torch.float64).device.type == "cpu"


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_what_is_beyond_guards() -> None:
    w = [torch.ones(2)]
    assert not private.is_beyond_guards(w)
    with torch.device("cpu"):
        assert private.is_beyond_guards(w) and private.sees_calls()
    with torch.autograd.forward_ad.dual_level():
        assert private.is_beyond_guards(w) and private.follows_tangents()
    assert private.is_beyond_guards([*w, torch.nested.nested_tensor(w)])
    assert private.is_beyond_guards([*w, None])


def test_plain_tensors() -> None:
    w = rand(3)
    assert private.is_plain([w, torch.nn.Parameter(w)])
    special: list[Any] = [w.to("meta"), torch._neg_view(w), w.to_sparse()]
    assert not any(private.is_plain([each]) for each in special)
    seen: list[bool] = []
    torch.vmap(lambda a: (seen.append(private.is_plain([w])), a)[1])(w)
    assert seen == [False]


def test_transforms() -> None:
    seen: list[bool] = []
    torch.vmap(lambda a: (seen.append(private.transforms() is not None), a)[1])(rand(2))
    assert seen == [True] and private.transforms() is None


def test_any_requires_grad() -> None:
    assert private.any_requires_grad(rand(2), rand(2, requires_grad=True))
    assert not private.any_requires_grad(rand(2))


def test_a_second_gradient_is_not_zero() -> None:
    """Second gradients need `below_autograd`, `with_tangents`, `single_layer` and `apply_of`: where
    one of them does something else, they are 0, or PyTorch fails within."""
    tadc_torch = pytest.importorskip("tadc.torch")
    f, x = tadc_torch.op("y[i] = x[i]**3"), rand(3)
    grad = torch.func.grad
    found = grad(lambda x: grad(lambda x: f(x).sum())(x).sum())(x)
    torch.testing.assert_close(found, 6 * x)


def test_elements() -> None:
    """Without it: None within `torch.func`, so that what is singular is not noticed there."""
    x = rand(3, requires_grad=True)
    seen: list[Any] = []
    look: Any = lambda a: (seen.append(private.elements(a)), a.sum())[1]
    look(x)
    torch.func.grad(lambda a: torch.func.grad(look)(a).sum())(x)
    with torch.autograd.forward_ad.dual_level():
        look(torch.autograd.forward_ad.make_dual(x, x))
    for values in seen:
        assert values.tolist() == x.tolist()
    assert len(seen) == 3
    torch.vmap(look)(torch.stack([x, x]))
    look(x.to("meta"))
    assert seen[3:] == [None, None]


def test_what_the_compiler_leaves_out() -> None:
    """Without it: `torch.compiler.disable`, which imports `torch._dynamo`."""
    seen: list[bool] = []

    @private.uncompiled
    def double(x: Any) -> Any:
        seen.append(torch.compiler.is_compiling())
        return torch.from_numpy(2 * x.numpy())

    x = rand(3)
    found = torch.compile(lambda x: 1 + double(x), backend="eager")(x)
    torch.testing.assert_close(found, 1 + 2 * x)
    assert seen == [False]


def test_what_the_compiler_runs() -> None:
    """Without it: `torch.compiler.assume_constant_result`, which imports `torch._dynamo`."""
    seen: list[bool] = []

    @private.run_by_the_compiler
    def factor() -> int:
        seen.append(torch.compiler.is_dynamo_compiling())
        return 3

    x = rand(3)
    compiled = torch.compile(lambda x: factor() * x, backend="eager", fullgraph=True)
    torch.testing.assert_close(compiled(x), 3 * x)
    assert seen == [False]

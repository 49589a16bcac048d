"""`torch.autocast`: halves are widened to float32, as `torch.amp.custom_fwd` does it; outside of it
they are refused."""

from __future__ import annotations

from typing import Any

import pytest

from tadc.errors import DtypeError
from tests.torch.programs import CONV, TWO, assert_close, assert_equal, conv, rand, torch

op = pytest.importorskip("tadc.torch").op
HALVES = [torch.bfloat16, torch.float16]


def autocast(dtype: Any = torch.bfloat16) -> Any:
    return torch.autocast("cpu", dtype=dtype)


@pytest.mark.parametrize("dtype", HALVES)
def test_halves_are_widened(dtype: Any) -> None:
    f, w, x = op(CONV), rand(3, dtype=torch.float32), rand(9).to(dtype).requires_grad_()
    with autocast(dtype):
        y = f(w, x)
        again = f(x=x, w=w)
    assert y.dtype == torch.float32
    assert_equal(y, f(w, x.float()))
    assert_equal(again, y)
    (found,) = torch.autograd.grad(y.square().sum(), x)
    wide = x.detach().float().requires_grad_()
    (expected,) = torch.autograd.grad(f(w, wide).square().sum(), wide)
    assert found.dtype == dtype
    assert torch.equal(found, expected.to(dtype))


def test_what_is_wide_stays() -> None:
    f = op(CONV)
    with autocast():
        assert f(rand(3), rand(9)).dtype == torch.float64
        assert f(rand(3), rand(9).bfloat16()).dtype == torch.float64
        with pytest.raises(DtypeError, match=r"x has dtype torch.bfloat16, not torch.float64\n"):
            op("x: f64[N]\ny[i] = x[i]")(rand(3).bfloat16())
        assert op("x: f32[N]\ny[i] = x[i]")(rand(3).bfloat16()).dtype == torch.float32


def test_transforms() -> None:
    f, w, x = op(CONV), rand(3, dtype=torch.float32), rand(2, 9).bfloat16()

    def loss(x: Any) -> Any:
        return f(w, x).square().sum()

    with autocast():
        assert_equal(torch.vmap(f, (None, 0))(w, x), torch.vmap(f, (None, 0))(w, x.float()))
        found = torch.func.hessian(loss)(x[0])
        assert torch.equal(found, torch.func.hessian(loss)(x[0].float()).bfloat16())
        assert f(w.to("meta"), x[0].to("meta").float()).shape == (4,)


@pytest.mark.parametrize("inside", [True, False])
def test_compiled(inside: bool) -> None:
    torch._dynamo.reset()
    f, layer, w = op(CONV), torch.nn.Linear(9, 9), torch.nn.Parameter(rand(3, dtype=torch.float32))

    def plain(x: Any) -> Any:
        return f(w, layer(x))

    def casting(x: Any) -> Any:
        with autocast():
            return plain(x)

    x = rand(9, dtype=torch.float32)
    expected = casting(x)
    compiled = torch.compile(casting if inside else plain, fullgraph=True, backend="aot_eager")
    with torch.autocast("cpu", torch.bfloat16, enabled=not inside):
        found = compiled(x)
    assert_equal(found, expected)
    assert_equal(*(torch.autograd.grad(y.sum(), [w, layer.weight]) for y in (found, expected)))


def test_a_model_trains() -> None:
    torch.manual_seed(0)
    first, second = op("h[b, i] = tanh(sum[k](w[i, k] * x[b, i + k]))"), op(TWO)
    convolution = torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, 8)), torch.nn.Conv1d(1, 1, 3), torch.nn.Flatten()
    )
    linear, w = torch.nn.Linear(12, 8), torch.nn.Parameter(torch.zeros(4, 3))
    scale = torch.nn.Parameter(torch.zeros(64))
    parameters = [*linear.parameters(), *convolution.parameters(), w, scale]
    optimizer = torch.optim.Adam(parameters, 0.03)
    x, losses = torch.randn(64, 12), []
    truth = torch.tanh(x[:, :4] + x[:, 2:6])
    for _ in range(60):
        with autocast():
            h = first(w, convolution(linear(x)))
            y = second(scale, (h - truth).square().sum(1).bfloat16()).y
            loss = y.mean() + scale.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert all(p.grad is not None and p.grad.dtype == torch.float32 for p in parameters)
    assert losses[-1] < 0.3 * losses[0]


def test_inverse_modes_keep_their_precision() -> None:
    layer = op("a: real[N]\nb: real[N]\na[i] = a[i] * exp(sin(b[i])) + b[i]**2\nb[i] += tanh(a[i])")
    a, b = rand(4).bfloat16(), rand(4).bfloat16()
    wide = a.float(), b.float()
    with autocast():
        assert_close(layer.log_abs_det((a, b)), layer.log_abs_det(wide))
        assert_close(layer.inverse_jvp((a, b), (b, a)), layer.inverse_jvp(wide, wide[::-1]))
    dense = op("m: real[N, N]\ns: real[N]\ns[i] = s[i] + sum[j](m[i, j] * s[j])")
    m, s = 0.1 * rand(20, 20, dtype=torch.float32), rand(20, dtype=torch.float32)
    expected = dense.inverse_jvp((m, s), s)
    with autocast():
        assert_equal(dense.inverse_jvp((m, s), s), expected)


@pytest.mark.parametrize("dtype", HALVES)
def test_outside_they_are_refused(dtype: Any) -> None:
    f, half = op(CONV), rand(9).to(dtype)
    w = rand(3, dtype=torch.float32)
    with pytest.raises(DtypeError, match=r"hint: x.float\(\) converts it, as torch.autocast does$"):
        f(w, half)
    with pytest.raises(DtypeError, match=r"hint: w.float\(\) converts it, as torch.autocast does$"):
        f(half, half)
    with pytest.raises(DtypeError, match=r"hint: x.double\(\) converts it$"):
        f(rand(3), half)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: f(w, x), fullgraph=True, backend="eager")
    with pytest.raises(Exception, match=r"as torch\.autocast does"):
        compiled(half)


def test_hints_for_other_dtypes() -> None:
    f = op(CONV)
    for dtype in (torch.int64, torch.bool):
        for beside, method in ((torch.float32, "float"), (torch.float64, "double")):
            with pytest.raises(DtypeError, match=rf"hint: x.{method}\(\) converts it$"):
                f(rand(3, dtype=beside), torch.ones(9, dtype=dtype))
    with pytest.raises(DtypeError, match=r"hint: x.real is its real part"):
        f(rand(3), rand(9) * 1j)
    assert conv(rand(3), (rand(9) * 1j).real).shape == (4,)

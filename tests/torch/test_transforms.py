"""`torch.func`: every transform and nesting, against plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from tests.torch.programs import KEEPING, TWO, assert_close, keeping, rand, torch

op = pytest.importorskip("tadc.torch").op
F = Callable[..., Any]


@cache
def kept() -> Any:
    """The operation of `KEEPING`, which is derived once for all tests."""
    return op(KEEPING)


def loss(f: F) -> F:
    return lambda w, x: (f(w, x) ** 2).sum()


def transforms() -> dict[str, Callable[[F], F]]:
    """Functions of `w` and `x`, for a function of them."""
    t = torch.func
    both = (0, 1)
    return {
        "grad": lambda f: t.grad(loss(f), both),
        "vjp": lambda f: lambda w, x: t.vjp(f, w, x)[1](torch.ones(4, dtype=torch.float64)),
        "jvp": lambda f: lambda w, x: t.jvp(f, (w, x), (w, x)),
        "jacrev": lambda f: t.jacrev(f, both),
        "jacfwd": lambda f: t.jacfwd(f, both),
        "hessian": lambda f: t.hessian(loss(f), both),
        "grad of grad": lambda f: t.grad(lambda w, x: t.grad(loss(f), 1)(w, x).sum(), both),
        "jacrev of jacrev": lambda f: t.jacrev(t.jacrev(loss(f))),
        "jacfwd of jacfwd": lambda f: t.jacfwd(t.jacfwd(f)),
        "third order": lambda f: t.jacrev(t.jacfwd(t.jacrev(loss(f)))),
        "vmap of grad": lambda f: (
            lambda w, x: torch.vmap(t.grad(loss(f)), (None, 0))(w, torch.stack([x, 2 * x]))
        ),
        "grad of vmap": lambda f: t.grad(
            lambda w, x: torch.vmap(f, (None, 0))(w, torch.stack([x, 2 * x])).sum()
        ),
        "jvp of vmap": lambda f: (
            lambda w, x: t.jvp(
                torch.vmap(f, (0, None)), (torch.stack([w, w + 1]), x), (torch.stack([w, w]), x)
            )
        ),
        "linearize": lambda f: lambda w, x: t.linearize(f, w, x)[1](w, x),
    }


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")  # of linearize
@pytest.mark.parametrize("name", list(transforms()))
def test_transforms(name: str) -> None:
    transform, w, x = transforms()[name], rand(3), rand(9)
    assert_close(transform(kept())(w, x), transform(keeping)(w, x))


@pytest.mark.parametrize(
    "name", ["grad", "jvp", "jacrev", "hessian", "vmap of grad", "grad of vmap"]
)
def test_transforms_are_compiled(name: str) -> None:
    transform, w, x = transforms()[name], rand(3), rand(9)
    compiled = torch.compile(transform(kept()), fullgraph=True, backend="aot_eager")
    assert_close(compiled(w, x), transform(keeping)(w, x))


@pytest.mark.parametrize("dimensions", [(0, 0), (0, None), (None, 0), (1, -1), (None, 1)])
@pytest.mark.parametrize("out", [0, 1])
def test_vmap(dimensions: tuple[int | None, int | None], out: int) -> None:
    f = kept()
    tensors: list[Any] = []
    for own, dimension in zip((3, 9), dimensions, strict=True):
        tensors.append(rand(own) if dimension is None else rand(5, own).movedim(0, dimension))
    found = torch.vmap(f, dimensions, out)(*tensors).movedim(out, 0)
    for n in range(5):
        slices = zip(tensors, dimensions, strict=True)
        one = [t if d is None else t.select(d, n) for t, d in slices]
        assert_close(found[n], f(*one))


def test_vmap_in_vmap() -> None:
    w, x = rand(2, 3), rand(4, 9)
    found = torch.vmap(torch.vmap(kept(), (None, 0)), (0, None))(w, x)
    assert_close(found, torch.stack([torch.stack([keeping(a, b) for b in x]) for a in w]))


def test_vmap_of_several_results() -> None:
    two, a, b = op(TWO), rand(5, 4), rand(4)
    y, z = torch.vmap(two, (0, None))(a, b)
    assert_close(y, torch.exp(a) * b)
    assert_close(z, (b**2).sum().expand(5))


def test_vmap_of_updates() -> None:
    step = op("q: f64[N]\np: f64[N]\nh: f64[]\np[i] -= h * sin(q[i])\nq[i] += h * p[i]")
    q, p, h = rand(3), rand(3), rand(5)
    found = torch.vmap(step, (None, None, 0))(q, p, h)
    expected = [step(q, p, one) for one in h]
    assert_close(found, tuple(torch.stack(each) for each in zip(*expected, strict=True)))


def test_vmap_of_what_no_element_is_read_of() -> None:
    f = op("x: f64[N]\nw: f64[N]\ny[i in range(N)] = w[i] * i")
    x, w = rand(5, 3), rand(3)
    assert_close(torch.vmap(f, (0, None))(x, w), f(x[0], w).expand(5, 3))
    assert_close(torch.vmap(f, (1, None))(x.T, w), f(x[0], w).expand(5, 3))


def test_derivatives_by_what_no_element_is_read_of() -> None:
    f, x = op("x: f64[N]\ny[i in range(N)] = 2.0 * i"), rand(3)
    none = torch.zeros(3, 3, dtype=torch.float64)
    assert_close(torch.func.jacrev(f)(x), none)
    assert_close(torch.func.jacfwd(f)(x), none)
    assert_close(torch.func.grad(lambda x: f(x).sum())(x), none[0])


def test_modules_in_functional_calls() -> None:
    f = kept()

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(rand(3))

        def forward(self, x: Any) -> Any:
            return f(self.w, x)

    module, x = Module(), rand(9)
    parameters = {"w": torch.stack([module.w.detach(), rand(3)])}
    call = torch.func.functional_call
    found = torch.vmap(lambda p: call(module, p, (x,)))(parameters)
    assert_close(found, torch.stack([keeping(w, x) for w in parameters["w"]]))

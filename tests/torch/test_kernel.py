"""Tensors of all kinds: read where they lie if that can be, and with the bits of NumPy."""

from __future__ import annotations

import os
import random
import threading
from typing import Any

import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.random_programs import EVERYTHING, random_program
from tests.torch.programs import CONV, KEEPING, as_tuple, assert_close, assert_equal, rand, torch

op = pytest.importorskip("tadc.torch").op


@pytest.mark.parametrize("seed", seeds(5, of=200))
def test_random_programs_compute_what_they_do_on_arrays(seed: int) -> None:
    dtype = ("f32", "f64")[seed % 2]
    program = random_program(random.Random(seed), dtype=dtype, **EVERYTHING)
    f = tadc.compile(program.source)
    arrays = [program.arguments[t.name] for t in f.args]
    tensors = [torch.from_numpy(a.copy()).requires_grad_() for a in arrays]
    results = as_tuple(op(f)(*tensors))
    values, pullback = tadc.vjp(f, *arrays)
    assert_equal(results, values)
    if any(r.requires_grad for r in results):
        adjoints = [torch.ones_like(r) for r in results]
        gradients = torch.autograd.grad(results, tensors, adjoints, allow_unused=True)
        expected = pullback(*[a.numpy() for a in adjoints])
        for found, want, tensor in zip(gradients, expected, tensors, strict=True):
            assert_equal(torch.zeros_like(tensor) if found is None else found, want)


@pytest.mark.parametrize("seed", seeds(3, of=200, start=1000))
def test_random_programs_in_transforms(seed: int) -> None:
    program = random_program(random.Random(seed), definitions=1, points=60)
    f = tadc.compile(program.source)
    arrays = [program.arguments[t.name] for t in f.args]
    tensors = [torch.from_numpy(a) for a in arrays]
    tangents = [torch.randn_like(t) for t in tensors]
    g = op(f)
    _, found = torch.func.jvp(g, tuple(tensors), tuple(tangents))
    assert_close(found, torch.from_numpy(tadc.jvp(f, arrays, [t.numpy() for t in tangents])[1]))
    batched = torch.vmap(g)(*[torch.stack([t, 2 * t]) for t in tensors])
    assert_close(batched[1], g(*[2 * t for t in tensors]))
    variables = tuple(range(len(tensors)))
    loss = lambda *tensors: (g(*tensors) ** 2).sum()
    second = torch.func.jacfwd(torch.func.grad(loss, variables), variables)(*tensors)
    again = torch.func.jacrev(torch.func.grad(loss, variables), variables)(*tensors)
    assert_close(again, second)


def layouts(x: Any) -> dict[str, Any]:
    """A matrix with these elements, in memory in other ways."""
    n, m = x.shape
    wide = torch.zeros(n, 2 * m, dtype=x.dtype)
    wide[:, :m] = x
    sparse = torch.zeros(n, 2 * m, dtype=x.dtype)
    sparse[:, ::2] = x
    flat = torch.zeros(n * m + 3, dtype=x.dtype)
    flat[3:] = x.flatten()
    return {
        "dense": x,
        "transposed": x.T.contiguous().T,
        "rows apart": wide[:, :m],
        "elements apart": sparse[:, ::2],
        "offset": flat[3:].view(n, m),
        "every second row": torch.stack([x, x], 1).view(2 * n, m)[::2],
        "negated view": torch._neg_view(-x),
        "of another storage": torch.from_numpy(x.numpy()),
    }


@pytest.mark.parametrize("rows", [3, 500])  # large ones are read where they lie, or turned
@pytest.mark.parametrize("kind", layouts(torch.zeros(2, 2)))
def test_layouts(kind: str, rows: int) -> None:
    f = op("y[i, j] = sum[k](x[i, k] * w[k, j])")
    x, w = rand(rows, 70), rand(70, 2)
    expected = f(x, w)
    assert_equal(f(layouts(x)[kind], w), expected)
    found = f(layouts(x)[kind].requires_grad_(), w)
    assert_equal(found, expected)


def test_images_with_channels_last() -> None:
    f = op("y[n, c, i, j] = 2 * x[n, c, i, j] * w[c]")
    x, w = rand(5, 16, 25, 33), rand(16)
    last = x.contiguous(memory_format=torch.channels_last)
    assert_equal(f(last, w), f(x, w))
    assert_equal(f(last[:, :, 1:], w), f(x[:, :, 1:], w))
    last.requires_grad_()
    (found,) = torch.autograd.grad(f(last, w).sum(), last)
    assert_equal(found, (2 * w)[:, None, None].expand(x.shape))


def test_expanded_tensors() -> None:
    f, w = op(CONV), rand(3)
    x = torch.tensor(0.5, dtype=torch.float64).expand(9)
    assert_equal(f(w, x), f(w, x.contiguous()))
    w.requires_grad_()
    assert_close(torch.autograd.grad(f(w, x).sum(), w), 4 * x[:3])


@pytest.mark.parametrize("n", [0, 1])
def test_tensors_of_few_elements(n: int) -> None:
    x = rand(n, requires_grad=True)
    y = op("y[i] = x[i]**2")(x)
    assert y.shape == (n,)
    assert_equal(torch.autograd.grad(y.sum(), x)[0], 2 * x)
    s = rand(requires_grad=True)
    y = op("s: f64[]\ny = s**2")(s)
    assert y.shape == () and torch.autograd.grad(y, s)[0] == 2 * s


def test_large_results_are_taken_from_the_pool_and_given_back() -> None:
    f, x = op("y[i] = 2 * x[i]"), rand(200_000)
    y = f(x)
    assert_equal(y, 2 * x)
    place = y.data_ptr()
    view = y[5:]
    del y
    assert f(x).data_ptr() != place
    del view
    assert place in [t.data_ptr() for t in [f(x), f(x), f(x)]]


def test_an_argument_twice() -> None:
    x = rand(4, requires_grad=True)
    y = op("y[i] = a[i] * b[i]")(x, x)
    assert_close(torch.autograd.grad(y.sum(), x), 2 * x)


def test_several_threads() -> None:
    f, w = op(KEEPING), rand(3, requires_grad=True)
    xs = [rand(5 + 2 * (n % 7), requires_grad=True) for n in range(60)]
    expected = [torch.autograd.grad(f(w, x).sum(), (w, x)) for x in xs]
    failures: list[object] = []

    def work() -> None:
        for x, want in zip(xs, expected, strict=True):
            try:
                assert_equal(torch.autograd.grad(f(w, x).sum(), (w, x)), want)
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_after_a_fork() -> None:
    f, w, x = op(CONV), rand(3), rand(9)
    expected = f(w, x)
    child = os.fork()
    if not child:
        os._exit(0 if torch.equal(f(w, x), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

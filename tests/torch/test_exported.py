"""`torch.export`: graphs that a process loads which only imports `tadc.torch`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tadc
from tests.torch.programs import assert_close, assert_equal, rand, torch

op = pytest.importorskip("tadc.torch").op

LOAD = """
import sys, torch, tadc.torch
exported = torch.export.load(sys.argv[1])
x = torch.load(sys.argv[2])["x"].requires_grad_()
y = exported.module()(x)
torch.save({"y": y.detach(), "dx": torch.autograd.grad(y.sum(), x)[0]}, sys.argv[3])
"""


@pytest.fixture
def module() -> Any:
    """A module whose program calls a function that later processes do not know."""
    tadc.define_function("soft", "x", value="log1p(exp(x))", derivative="sigmoid(x)")
    f = op("y[i] = sum[k](soft(w[k]) * x[2*i + k]**2)")

    class Module(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(rand(3))

        def forward(self, x: Any) -> Any:
            return f(self.w, x=x) + 1

    return Module()


@pytest.mark.parametrize("strict", [False, True])
def test_exported_modules(module: Any, strict: bool, tmp_path: Path) -> None:
    size = torch.export.Dim("size", min=5, max=100)
    exported = torch.export.export(module, (rand(9),), dynamic_shapes=({0: size},), strict=strict)
    x = rand(31, requires_grad=True)
    expected = module(x)
    (dx,) = torch.autograd.grad(expected.sum(), x)
    assert_equal(exported.module()(x), expected)
    found = exported.module()(x)
    assert_close(torch.autograd.grad(found.sum(), x), dx)
    if strict:
        return
    files = [tmp_path / name for name in ("module.pt2", "x.pt", "y.pt")]
    torch.export.save(exported, files[0])
    torch.save({"x": x.detach()}, files[1])
    subprocess.run([sys.executable, "-W", "ignore", "-c", LOAD, *map(str, files)], check=True)
    loaded = torch.load(files[2])
    assert_equal(loaded["y"], expected)
    assert_close(loaded["dx"], dx)


def test_transforms_of_exported_modules(module: Any) -> None:
    exported = torch.export.export(module, (rand(9),)).module()
    x, tangent = rand(9), rand(9)
    for transform in (
        lambda f: torch.vmap(f)(torch.stack([x, 2 * x])),
        lambda f: torch.func.jvp(f, (x,), (tangent,)),
        lambda f: torch.func.hessian(lambda x: f(x).sum())(x),
    ):
        assert_close(transform(exported), transform(module))


def test_exported_gradients() -> None:
    """By `autograd`, which is all that `torch.export` follows, of plain PyTorch too."""
    f = op("y[i] = sum[k](w[k]**2 * x[i + k])")

    class Gradient(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            w = x[:3].detach().requires_grad_()
            return torch.autograd.grad((f(w, x) ** 2).sum(), w)[0]

    x = rand(9)
    exported = torch.export.export(Gradient(), (x,), strict=False)
    assert_close(exported.module()(x), Gradient()(x))

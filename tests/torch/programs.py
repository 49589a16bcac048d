"""Programs for the tests of `tadc.torch`: examples on small tensors, and one in plain PyTorch."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import tadc
from tests.support.paths import ROOT

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")

CONV = "y[i] = sum[k](w[k] * x[2*i + k])"
KEEPING = "h[i] = sum[k](sin(w[k]) * x[2*i + k]**2)\ny[i] = h[i] * tanh(h[i])"
"""Its gradients take `h`, which a call keeps."""
TWO = "y[i] = exp(a[i]) * b[i]\nz = sum[i](b[i]**2)\nreturn y, z"

SIZES: dict[str, dict[str, int]] = {
    "convolution": {"N": 12, "K": 3},
    "coupled": {},
    "diagonal": {"N": 4},
    "gaussian": {"N": 3, "D": 2, "M": 2},
    "layer": {"B": 1, "C": 1, "H": 3, "W": 2, "F": 2},
    "leapfrog": {"N": 3},
    "matmul": {"N": 2, "K": 3, "M": 2},
    "paper": {},
    "pooling": {"B": 1, "H": 4, "W": 4},
    "softmax": {"I": 2, "J": 3},
    "stencil": {"N": 4, "M": 3},
}
"""The examples, and numbers for their sizes."""


def rand(*shape: int, **options: Any) -> Any:
    """A tensor of float64 between 0.1 and 1."""
    options = {"dtype": torch.float64, **options}
    gradient = options.pop("requires_grad", False)
    return (torch.rand(shape, **options) * 0.9 + 0.1).requires_grad_(gradient)


class Example(NamedTuple):
    """A program in double precision, and tensors for its arguments in order."""

    function: tadc.Function
    tensors: list[Any]


def example(name: str, *, seed: int = 0) -> Example:
    """An example of the project, whose tensors require gradients."""
    text = (ROOT / "examples" / f"{name}.tad").read_text(encoding="utf-8")
    function = tadc.compile(text.replace("f32", "f64"))
    torch.manual_seed(seed)
    sizes = SIZES[name]
    shapes = ([n if isinstance(n, int) else sizes[n] for n in t.shape] for t in function.args)
    return Example(function, [rand(*shape, requires_grad=True) for shape in shapes])


def conv(w: Any, x: Any) -> Any:
    """`CONV` in plain PyTorch."""
    return torch.nn.functional.conv1d(x[None, None], w[None, None], stride=2)[0, 0]


def keeping(w: Any, x: Any) -> Any:
    """`KEEPING` in plain PyTorch."""
    h = conv(torch.sin(w), x**2)
    return h * torch.tanh(h)


def as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def assert_close(found: Any, expected: Any) -> None:
    """Tensors, or tuples of tensors, that are equal up to rounding."""
    for a, b in zip(as_tuple(found), as_tuple(expected), strict=True):
        if isinstance(a, tuple):
            assert_close(a, b)
        else:
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def assert_equal(found: Any, expected: Any) -> None:
    """Tensors, or arrays, of the same types, shapes and bits."""
    for a, b in zip(as_tuple(found), as_tuple(expected), strict=True):
        b = torch.as_tensor(b)
        assert a.dtype == b.dtype and a.shape == b.shape
        assert a.detach().numpy().tobytes() == b.detach().contiguous().numpy().tobytes()

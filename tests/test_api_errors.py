"""Wrong calls from Python: each ends in one error about the argument, with its place."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.errors import (
    ArgumentError,
    DtypeError,
    RangeError,
    SizeError,
    TargetError,
    UnknownNameError,
)

DECLARED = """x: f64[N]
y: f32[N, 3]
f[i in range(N)] = x[i] * y[i, 0] * z[i + 1]
"""
X, Y, Z = np.ones(4), np.ones((4, 3), np.float32), np.ones(5)


def error_of(kind: type[tadc.TadcError], *arguments: object, **named: object) -> tadc.TadcError:
    f = tadc.compile(DECLARED, file="program.tad")
    assert f(X, Y, Z).shape == (4,)
    for call in (f, f.with_target("interpret"), lambda *a, **n: tadc.vjp(f, *a, **n)):
        with pytest.raises(kind) as caught:
            call(*arguments, **named)
    return caught.value


@pytest.mark.parametrize(
    ("kind", "arguments", "argument", "place"),
    [
        (ArgumentError, (X, Y), "z", (3, 37)),
        (ArgumentError, (), "x", (1, 1)),
        (ArgumentError, ([1.0, 2], Y, Z), "x", (1, 1)),
        (ArgumentError, (None, Y, Z), "x", (1, 1)),
        (ArgumentError, (True, Y, Z), "x", (1, 1)),
        (ArgumentError, ("x", Y, Z), "x", (1, 1)),
        (ArgumentError, (X[None], Y, Z), "x", (1, 1)),
        (ArgumentError, (X, Y[0], Z), "y", (2, 1)),
        (ArgumentError, (X, Y, 1.0), "z", (3, 37)),
        (DtypeError, (X.astype(np.float32), Y, Z), "x", (1, 1)),
        (DtypeError, (X, Y.astype(np.float64), Z), "y", (2, 1)),
        (ArgumentError, (np.ma.masked_greater(X, 0), Y, Z), "x", (1, 1)),
        (DtypeError, (X, Y, Z.astype(np.int64)), "z", (3, 37)),
        (DtypeError, (X.astype(">f8"), Y, Z), "x", (1, 1)),
        (DtypeError, (X.astype(complex), Y, Z), "x", (1, 1)),
        (DtypeError, (X.astype(object), Y, Z), "x", (1, 1)),
        (DtypeError, (X, Y, Z.astype(np.float16)), "z", (3, 37)),
        (SizeError, (X, Y[:3], Z), "y", (2, 1)),
        (SizeError, (X, np.ones((4, 2), np.float32), Z), "y", (2, 1)),
        (RangeError, (X, Y, Z[:4]), None, (3, 37)),
    ],
)
def test_errors_name_the_argument_and_its_place(
    kind: type[tadc.TadcError],
    arguments: tuple[object, ...],
    argument: str | None,
    place: tuple[int, int],
) -> None:
    error = error_of(kind, *arguments)
    assert (error.file, error.line, error.column) == ("program.tad", *place)
    assert error.argument == argument or argument is None
    lines = str(error).splitlines()
    assert lines[0].startswith("program.tad:{}:{}: ".format(*place))
    assert argument is None or argument in lines[0]
    assert lines[1].strip() == DECLARED.splitlines()[place[0] - 1]
    assert set(lines[2].strip()) == {"^"}
    assert lines[2].index("^") == place[1] + 3


def test_errors_of_names() -> None:
    assert error_of(ArgumentError, X, Y, Z, x=X).argument == "x"
    assert error_of(ArgumentError, X, Y, Z, q=X).argument == "q"
    assert error_of(ArgumentError, X, Y, x=X, z=Z).argument == "x"
    assert "4 arguments for 3" in str(error_of(ArgumentError, X, Y, Z, Z))


@pytest.mark.parametrize(
    ("dtype", "beside", "hint"),
    [
        (
            np.int64,
            np.float32,
            "x.astype(numpy.float32) converts it; an index tensor is declared: x: range(V)[N]",
        ),
        (np.float16, np.float32, "x.astype(numpy.float32) converts it"),
        (np.float16, np.float64, "x.astype(numpy.float64) converts it"),
        (np.float16, np.float16, "x.astype(numpy.float32) converts it"),
        (bool, np.int64, "x.astype(numpy.float64) converts it"),
        (np.complex64, np.float32, "x.real is its real part; programs compute in real numbers"),
    ],
)
def test_hints_of_dtypes_know_the_arrays_beside(dtype: type, beside: type, hint: str):
    with pytest.raises(DtypeError) as caught:
        tadc.compile("y[i] = x[i] * z[i]")(np.ones(3, dtype), np.ones(3, beside))
    assert caught.value.hint == hint


def test_numbers_that_are_too_large() -> None:
    f = tadc.compile("f = x * 2")
    with pytest.raises(ArgumentError, match="x"):
        f(10**400)


class Broken:
    """An object whose array cannot be had, like a tensor on another device."""

    def __array__(self, *arguments: object, **named: object) -> np.ndarray:
        raise RuntimeError("not on this device")


def test_an_object_that_refuses_to_be_an_array() -> None:
    with pytest.raises(ArgumentError, match="not on this device"):
        tadc.compile("f = x * 2")(Broken())


def test_the_hint_about_tensors_that_torch_derives() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with pytest.raises(ArgumentError, match="requires grad") as caught:
        tadc.compile("y[i] = x[i]**2")(torch.ones(3, requires_grad=True))
    assert caught.value.hint is not None and "tadc.torch.op" in caught.value.hint


def test_the_hint_about_arrays_that_jax_traces() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    with pytest.raises(ArgumentError, match="traced array") as caught:
        jax.jit(tadc.compile("y[i] = x[i]**2"))(np.ones(3, np.float32))
    assert caught.value.hint is not None and "tadc.jax.op" in caught.value.hint


PRODUCT = "c[i, j] = sum[k](a[i, k] * b[k, j])"


def test_adjoints_of_a_wrong_shape() -> None:
    _, pullback = tadc.vjp(tadc.compile(PRODUCT), np.ones((3, 4)), np.ones((4, 2)))
    with pytest.raises(SizeError, match="dc"):
        pullback(np.ones((2, 2)))
    with pytest.raises(ArgumentError, match="dc"):
        pullback(np.ones(3))
    with pytest.raises(ArgumentError, match="1 adjoint"):
        pullback()


def test_unknown_targets_stages_and_texts() -> None:
    product = tadc.compile(PRODUCT)
    with pytest.raises(TargetError, match="'gpu'"):
        tadc.compile(PRODUCT, "gpu")
    with pytest.raises(UnknownNameError, match="'solve'") as error:
        product.ir("solve")
    assert "solved" in str(error.value)
    with pytest.raises(UnknownNameError):
        product.emit("c")
    with pytest.raises(UnknownNameError):
        product.derivative("c")


@pytest.mark.parametrize("scale", [10**12, 2**40, 2**52])
def test_large_coefficients_are_right_or_refused(scale: int) -> None:
    """Nothing wraps around: what 64 bits cannot hold is an error."""
    x = np.arange(5.0)
    source = f"f[i in range(5)] = x[({scale}*i) // {scale}] if {scale}*i >= {2 * scale} else 0"
    np.testing.assert_array_equal(tadc.compile(source)(x), [0, 0, 2, 3, 4])
    with pytest.raises(RangeError):
        tadc.compile(f"f[i in range(2)] = x[{scale}*i]")(x)
    y = tadc.compile(f"f[i in range(4)] = ({scale}*i) * x[i]")(x)
    np.testing.assert_allclose(y, scale * np.arange(4.0) * x[:4])


def test_indices_beyond_64_bits_are_refused() -> None:
    """2**52 times a size: right for a small one, an error for a large one, never another number."""
    f = tadc.compile(f"x: f64[N]\nf[i in range(N)] = ({2**52}*i - {2**52 - 1}*N) * x[i]")
    x = np.ones(1000)
    np.testing.assert_allclose(f(x), 2.0**52 * np.arange(1000) - (2**52 - 1) * 1000)
    for target in ("cpu", "interpret"):
        with pytest.raises(SizeError, match="64 bits"):
            f.with_target(target)(np.ones(5000))


@pytest.mark.parametrize(
    "declared, hint",
    [
        ("x: f64[8]", "fixes this size to 8"),
        ("x: f64[2*N]", "no size makes 2 * N equal to 5"),
        ("z: f64[N]\nx: f64[N]", "sizes of the same name must agree"),
    ],
)
def test_the_hint_about_a_size(declared: str, hint: str) -> None:
    f = tadc.compile(f"{declared}\ny = sum[i](x[i])" + ("\nw[i] = z[i]" if "z" in declared else ""))
    with pytest.raises(SizeError) as caught:
        f(x=np.ones(5), **({"z": np.ones(4)} if "z" in declared else {}))
    assert caught.value.hint is not None and hint in caught.value.hint
    facts = caught.value.argument, caught.value.dimension, caught.value.size
    assert facts == ("x", 0, 5)

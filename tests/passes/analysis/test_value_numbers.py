"""Numbers of values: equal for what is equal to the last bit, and for nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import DTypeLike

import tadc
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.value_numbers import EVEN, ODD, ValueNumbers

HEAD = "x: f64[6]\ny: f64[6]\nz: f64[6]\nw: f64[6, 6]\n"

EQUAL = [
    ("x[i] + y[i]", "y[i] + x[i]"),
    ("x[i] * y[i] * z[i]", "z[i] * (y[i] * x[i])"),
    ("max(x[i], y[i])", "max(y[i], x[i])"),
    ("(x[i] - y[i])**2", "(y[i] - x[i])**2"),
    ("(x[i] - y[i])**(-4)", "(y[i] - x[i])**(-4)"),
    ("(x[i] - y[i]) * (x[i] - y[i])", "(y[i] - x[i]) * (y[i] - x[i])"),
    ("abs(x[i] - y[i])", "abs(y[i] - x[i])"),
    ("abs((x[i] - y[i]) * z[i])", "abs(z[i] * (y[i] - x[i]))"),
    ("cosh((x[i] - y[i]) / z[i])", "cosh((y[i] - x[i]) / -z[i])"),
    ("sin(x[i] - y[i])**2", "sin(y[i] - x[i])**2"),
    ("cosh(-x[i])", "cosh(x[i])"),
    ("abs(abs(x[i]))", "abs(-abs(x[i]))"),
    ("exp(-(x[i] - x[i + 1])**2)", "exp(-(x[i + 1] - x[i])**2)"),
    ("x[(i + 1) // 2]", "x[(1 + i) // 2]"),
    ("sum[k](x[k] * y[i])", "sum[l](y[i] * x[l])"),
    ("sum[k](exp(x[k]) * sum[l](w[k, l]))", "sum[p](sum[q](w[p, q]) * exp(x[p]))"),
    ("x[i] if i < 2 else y[i]", "x[i] if i <= 1 else y[i]"),
    ("x[i] if x[i] < y[i] else z[i]", "x[i] if x[i] < y[i] else z[i]"),
]
UNEQUAL = [
    ("x[i] - y[i]", "y[i] - x[i]"),
    ("x[i] / y[i]", "y[i] / x[i]"),
    ("x[i]**y[i]", "y[i]**x[i]"),
    ("(x[i] - y[i])**3", "(y[i] - x[i])**3"),
    ("sin(x[i] - y[i])", "sin(y[i] - x[i])"),
    ("cos(x[i] - y[i])", "cos(y[i] - x[i])"),
    ("(x[i] - y[i]) * z[i]", "(y[i] - x[i]) * z[i]"),
    ("(x[i] - y[i]) * (y[i] - x[i])", "(x[i] - y[i]) * (x[i] - y[i])"),
    ("abs(x[i] + y[i])", "abs(x[i] - y[i])"),
    ("exp(x[i] - y[i])", "exp(y[i] - x[i])"),
    ("(x[i] + y[i]) + z[i]", "x[i] + (y[i] + z[i])"),
    ("abs(x[i] / y[i])", "abs(y[i] / x[i])"),
    ("x[i]", "x[5 - i]"),
    ("x[i // 2]", "x[i // 3]"),
    ("sum[k](x[k])", "prod[k](x[k])"),
    ("sum[k](x[k])", "sum[k in range(5)](x[k])"),
    ("sum[k](w[i, k])", "sum[k](w[k, i])"),
    ("sum[k](x[k] * sum[l](w[k, l]))", "sum[k](x[k] * sum[l](w[l, k]))"),
    ("x[i] if i < 2 else y[i]", "y[i] if i < 2 else x[i]"),
    ("x[i] if x[i] < y[i] else z[i]", "x[i] if x[i] <= y[i] else z[i]"),
]


def numbers(first: str, second: str) -> tuple[int, int]:
    """The numbers of two expressions in i, in one definition."""
    program = tadc.compile(
        f"{HEAD}r[i in range(5)] = atan2({first}, {second})\nreturn r"
    ).program.op
    (definition,) = program.definitions
    (op,) = [op for op in definition.walk() if isinstance(op, ew.Atan2Op)]
    found = ValueNumbers(definition)
    return found[op.lhs], found[op.rhs]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_values_have_the_same_number(first: str, second: str) -> None:
    a, b = numbers(first, second)
    assert a == b


@pytest.mark.parametrize(("first", "second"), UNEQUAL)
def test_other_values_have_other_numbers(first: str, second: str) -> None:
    a, b = numbers(first, second)
    assert a != b


@pytest.mark.parametrize(("first", "second"), EQUAL)
@pytest.mark.parametrize(("element", "dtype"), [("f32", np.float32), ("f64", np.float64)])
def test_values_with_the_same_number_have_the_same_bits(
    first: str, second: str, element: str, dtype: DTypeLike
) -> None:
    f, g = (
        tadc.compile(HEAD.replace("f64", element) + f"r[i in range(5)] = {text}\nreturn r", "cpu")
        for text in (first, second)
    )
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = {"x": rng.normal(size=6), "y": rng.normal(size=6), "z": rng.normal(size=6)}
        values["w"] = rng.normal(size=(6, 6))
        rounded: dict[str, np.ndarray] = {
            n: np.where(v < -0.5, 0.5, v).astype(dtype) for n, v in values.items()
        }
        a, b = (h(*(rounded[t.name] for t in h.args)) for h in (f, g))
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize("kind", [*EVEN, *ODD])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_even_and_odd_functions_are_so_to_the_last_bit(
    kind: type[ew.UnaryOp], dtype: DTypeLike
) -> None:
    f = tadc.compile(f"y[i] = {kind.name.removeprefix('tix.')}(x[i])", "cpu")
    rng = np.random.default_rng(1)
    exponents = np.repeat([0, *range(-30, 30)], 400)
    drawn = rng.normal(size=exponents.size) * 10.0**exponents
    x = np.append(drawn, [0.0, -0.0, np.inf]).astype(dtype)
    y = f(-x) if kind in EVEN else -f(-x)
    finite = ~np.isnan(y)
    assert finite.any()
    assert f(x)[finite].tobytes() == y[finite].tobytes()

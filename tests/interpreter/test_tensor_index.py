"""The interpreter of `tix`, on programs written by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tadc.dialects.tix import BINARY, UNARY, ProgramOp
from tadc.interpreter import index_sets, points
from tadc.interpreter.index_sets import Unbounded
from tadc.interpreter.tensor_index import OutOfRange, count_operations, evaluate
from tests.interpreter.tix_text import parse

RNG = np.random.default_rng(0)


def define(arguments: str, head: str, body: str) -> ProgramOp:
    """A program of one definition."""
    return parse(f"""
    tix.program @y ({arguments}) {{
      %y = tix.define "y" {head} {{ {body} }}
      tix.return %y
    }}""")


def count_points(indices: str, constraints: str, **sizes: int) -> int:
    """How many points a set has: the sum of 1 over it."""
    arguments = ", ".join(f'%a{n} = "a{n}" : !tix.tensor<[{n}], f64>' for n in sizes)
    program = define(
        arguments,
        "() : !tix.tensor<[], f64>",
        f"""%s = tix.sum ({indices}) in ({constraints}) {{
              %one = tix.constant 1.0
              tix.yield %one
            }}
            tix.yield %s""",
    )
    (y,) = evaluate(program, {f"a{n}": np.zeros(size) for n, size in sizes.items()})
    return int(y)


CONVOLUTION = """
tix.program @y (%w = "w" : !tix.tensor<[M], f64>, %x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N - M + 1], f64> {
    %0 = tix.sum (%k) in (%k >= 0, %k <= M - 1) {
      %1 = tix.read %w[%k]
      %2 = tix.read %x[%i + %k]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  %d = tix.define "d" (%p) : !tix.tensor<[N], f64> {
    %0 = tix.sum (%i, %k) in (%i + %k == %p, %i >= 0, %i <= N - M, %k >= 0, %k <= M - 1) {
      %1 = tix.read %w[%k]
      %2 = tix.read %y[%i]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y, %d
}
"""


@pytest.mark.parametrize("chunk", [1, 7, 1 << 17])
def test_sums_with_and_without_equations(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "POINTS_AT_ONCE", chunk)
    monkeypatch.setattr(index_sets, "POINTS_AT_ONCE", chunk)
    w, x = RNG.random(3), RNG.random(10)
    y, d = evaluate(parse(CONVOLUTION), {"w": w, "x": x})
    assert np.allclose(y, np.correlate(x, w, "valid"))
    assert np.allclose(d, np.convolve(y, w))


@pytest.mark.parametrize(
    ("indices", "constraints", "expected"),
    [
        ("%i", "%i >= 3, %i <= 2", 0),
        ("%i", "2 * %i >= 3, 3 * %i <= 14", 3),
        ("%i", "2 * %i == 5", 0),
        ("%i, %j", "%i >= 0, %j >= 0, 2 * %i + 3 * %j == 12", 3),
        ("%i, %j", "%i + %j >= 0, %i + %j <= 9, %i - %j >= 0, %i - %j <= 9", 50),
        ("%i, %j, %k", "%i >= 0, %j >= %i, %k >= %j, %k <= 4", 35),
        ("%i, %j", "%i + %j == 4, %i - 2 * %j == 1", 1),
        ("%i, %j", "%i + %j == 4, %i - 2 * %j == 2", 0),
        ("", "2 >= 1", 1),
        ("", "0 >= 1", 0),
        ("%i", "%i >= 0, %i <= N - 1", 6),
        ("%i, %j", "%i >= 0, %i <= N - 1, %j >= %i, 2 * %j <= %i + N", 15),
    ],
)
def test_sums_run_over_the_points_of_their_sets(
    indices: str, constraints: str, expected: int
) -> None:
    assert count_points(indices, constraints, N=6) == expected


def test_a_set_without_bounds() -> None:
    with pytest.raises(Unbounded, match="j of a sum has no finite bounds"):
        count_points("%i, %j", "%i >= 0, %i <= 3, %j >= %i")


def test_a_guard_inside_a_sum() -> None:
    """A sum over no index is a condition."""
    program = define(
        '%x = "x" : !tix.tensor<[N], f64>',
        "(%i) : !tix.tensor<[2 * N], f64>",
        """%q = tix.floordiv (%i) by 2
           %s = tix.sum () in (%i == 2 * %q) {
             %v = tix.read %x[%q]
             tix.yield %v
           }
           tix.yield %s""",
    )
    (y,) = evaluate(program, {"x": np.arange(1.0, 4)})
    assert y.tolist() == [1, 0, 2, 0, 3, 0]


SHIFT = """
%y = tix.if (%i >= 1, %i <= 3) or (%i == 5) {
  %v = tix.read %x[%i - 1]
  tix.yield %v
} else {
  %c = tix.index_to_real (2 * %i - N)
  tix.yield %c
}
tix.yield %y
"""


def test_conditions_and_index_values() -> None:
    """The read is in range only where the condition holds."""
    program = define('%x = "x" : !tix.tensor<[N], f64>', "(%i) : !tix.tensor<[N + 2], f64>", SHIFT)
    x = RNG.random(5)
    (y,) = evaluate(program, {"x": x})
    assert np.array_equal(y, [-5, x[0], x[1], x[2], 3, x[4], 7])


def test_a_read_outside() -> None:
    text = SHIFT.replace("%i >= 1, %i <= 3", "%i <= 3")
    program = define('%x = "x" : !tix.tensor<[N], f64>', "(%i) : !tix.tensor<[N + 2], f64>", text)
    with pytest.raises(OutOfRange) as caught:
        evaluate(program, {"x": np.zeros(5)})
    assert (caught.value.element, caught.value.shape) == ((-1,), (5,))


def test_floor_division_of_negative_numbers() -> None:
    program = define(
        "",
        "(%i) : !tix.tensor<[7], f64>",
        """%q = tix.floordiv (%i - 3) by 2
           %r = tix.index_to_real (10 * %q + %i)
           tix.yield %r""",
    )
    (y,) = evaluate(program, {})
    assert y.tolist() == [10 * ((i - 3) // 2) + i for i in range(7)]


@pytest.mark.parametrize(
    ("declared", "given", "computed"),
    [
        ("f32", np.float32, np.float32),
        ("f64", np.float64, np.float64),
        ("real", np.float32, np.float32),
        ("real", np.float64, np.float64),
    ],
)
def test_elements_have_the_declared_precision(declared: str, given: type, computed: type) -> None:
    program = define(
        f'%x = "x" : !tix.tensor<[], {declared}>',
        f"() : !tix.tensor<[], {declared}>",
        """%x0 = tix.read %x[]
           %c = tix.constant 1.0e8
           %a = tix.add %x0, %c
           %b = tix.sub %a, %c
           tix.yield %b""",
    )
    (y,) = evaluate(program, {"x": np.asarray(1, given)})
    assert y.dtype == computed
    assert y == (0 if computed == np.float32 else 1)


def test_arguments_that_are_not_real() -> None:
    program = define(
        '%x = "x" : !tix.tensor<[], real>',
        "() : !tix.tensor<[], real>",
        "%a = tix.read %x[]\n tix.yield %a",
    )
    with pytest.raises(TypeError, match="not int64"):
        evaluate(program, {"x": np.asarray(1, np.int64)})


def scalar(op: str, *values: float) -> float:
    operands = ", ".join(f"%v{n}" for n in range(len(values)))
    reads = "\n".join(f"%v{n} = tix.read %x[{n}]" for n in range(len(values)))
    program = define(
        '%x = "x" : !tix.tensor<[2], f64>',
        "() : !tix.tensor<[], f64>",
        f"{reads}\n%r = {op} {operands}\n tix.yield %r",
    )
    (y,) = evaluate(program, {"x": np.array([*values, 0.0, 0.0][:2])})
    return float(y)


@pytest.mark.parametrize("word", UNARY)
@pytest.mark.parametrize("x", [0.3, -0.7])
def test_functions_of_one_number_are_those_of_numpy(word: str, x: float) -> None:
    own = {
        "neg": lambda x: -x,
        "abs": abs,
        "round": round,
        "sign": lambda x: math.copysign(1, x),
        "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
        "relu": lambda x: max(x, 0),
    }
    function = own.get(word) or getattr(math, word)
    value = scalar(UNARY[word].name, x)
    try:
        assert math.isclose(value, function(x), rel_tol=1e-14)
    except ValueError:
        assert math.isnan(value)


@pytest.mark.parametrize(
    ("op", "operands", "expected"),
    [
        ("tix.sigmoid", (-1000.0,), 0.0),
        ("tix.sigmoid", (1000.0,), 1.0),
        ("tix.sigmoid", (-700.0,), math.exp(-700)),
        ("tix.sign", (0.0,), 0.0),
        ("tix.pow", (-2.0, 3.0), -8.0),
        ("tix.pow", (-2.0, -1.0), -0.5),
        ("tix.pow", (0.0, 0.0), 1.0),
        ("tix.pow", (math.nan, 0.0), 1.0),
        ("tix.div", (1.0, 0.0), math.inf),
        ("tix.atan2", (1.0, -1.0), 3 * math.pi / 4),
        (BINARY["max"].name, (1.0, -1.0), 1.0),
        (BINARY["min"].name, (1.0, -1.0), -1.0),
    ],
)
def test_scalar_operations_are_those_of_numpy(
    op: str, operands: tuple[float, ...], expected: float
) -> None:
    assert math.isclose(scalar(op, *operands), expected, rel_tol=1e-14)


def test_operations_are_counted() -> None:
    """A multiplication and an addition for each of 8 * 3 terms, of both definitions."""
    arguments = {"w": np.zeros(3), "x": np.zeros(10)}
    counts = count_operations(parse(CONVOLUTION), arguments)
    assert counts == {"mul": 2 * 8 * 3, "add": 2 * 8 * 3}


COUNTED = """
tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
  tix.function "soft" (%v) {
    %0 = tix.exp %v
    %1 = tix.log1p %0
    tix.yield %1
  } derivative (%v, %value) {
    %0 = tix.sigmoid %v
    tix.yield %0
  }
  %f = tix.define "f" (%i) : !tix.tensor<[N], f64> {
    %e = tix.read %x[%i]
    %zero = tix.constant 0.0
    %0 = tix.where %e gt %zero {
      %1 = tix.call "soft"(%e)
      tix.yield %1
    } else {
      %1 = tix.max (%k) in (%k >= 0, %k <= %i) {
        %2 = tix.read %x[%k]
        tix.yield %2
      }
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %f
}
"""


def test_operations_are_counted_where_they_are_chosen() -> None:
    """A comparison per element; two formulas, and a maximum of 1 + 3 values."""
    program, x = parse(COUNTED), np.array([-1.0, 2.0, -3.0, 4.0])
    counts = count_operations(program, {"x": x})
    assert counts == {"where": 4, "exp": 2, "log1p": 2, "maximum": 1 + 3}
    (y,) = evaluate(program, {"x": x})
    np.testing.assert_allclose(y, [-1, np.log1p(np.exp(2)), 2, np.log1p(np.exp(4))])


def test_nothing_to_define() -> None:
    y, d = evaluate(parse(CONVOLUTION), {"w": np.zeros(3), "x": np.zeros(1)})
    assert y.shape == (0,) and d.tolist() == [0]

"""Every elementary function has all entries (docs/new-function.md); floor, ceil, round and erfc."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects.tix import BINARY, UNARY
from tadc.interpreter.arrays import FUNCTIONS
from tadc.interpreter.loops import run
from tadc.passes.derive.differentiation.rules import RULES
from tadc.passes.lowering.scalars.elementary import ScalarLowering
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.targets.cuda import print_cuda
from tadc.targets.llvm import print_llvm
from tests.support.paths import ROOT

WORDS = [word for word in UNARY if word != "neg"]
POINTS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
"""Where every function has a value."""


def scheduled(word: str, precision: str = "f64") -> ModuleOp:
    program = tadc.compile(f"y[i] = {word}(x[i])").program.op
    return ModuleOp(schedule(set_precision(program, precision)))


# --- every function -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*UNARY.values(), *BINARY.values()])
def test_a_function_has_a_derivative(kind: type) -> None:
    assert kind in RULES, f"{kind.name} has no formula in passes/derive/differentiation/rules.py"


@pytest.mark.parametrize("word", WORDS)
def test_a_function_has_a_row_in_the_page_of_the_language(word: str) -> None:
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "docs/language.md").read_text(), re.MULTILINE)
    assert any(word in re.findall(r"\w+", row) for row in rows), f"docs/language.md lacks {word}"


@pytest.mark.parametrize("word", WORDS)
def test_a_function_has_code_that_llvm_and_cuda_print(word: str) -> None:
    assert ScalarLowering.can_emit(UNARY[word]), (
        f"tix.{word} needs `code`, or a composition in passes/lowering/scalars/elementary.py"
    )
    for precision in ("f32", "f64"):
        module = scheduled(word, precision)
        module.verify()
        assert "define" in print_llvm(module)
        assert "__global__" in print_cuda(module)


@pytest.mark.parametrize("word", WORDS)
def test_numbers_arrays_and_all_targets_agree_on_a_function(word: str) -> None:
    function = UNARY[word].FUNCTION
    expected = np.array([function.number(x) for x in POINTS.tolist()])
    source = f"x: f64[N]\ny[i] = {word}(x[i])"
    loops = np.zeros_like(POINTS)
    run(scheduled(word), "y", [loops, POINTS], [len(POINTS)])
    found = {
        "arrays": FUNCTIONS[UNARY[word]](POINTS),
        "interpreter of tix": tadc.compile(source, "interpret")(POINTS),
        "interpreter of loops": loops,
        "machine code": tadc.compile(source, "cpu")(POINTS),
    }
    for where, values in found.items():
        np.testing.assert_allclose(values, expected, rtol=1e-14, err_msg=where)


# --- floor, ceil, round ---------------------------------------------------------------------------

EDGES = np.array(
    [-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, 2**52 + 0.5, -1e300, -np.inf, np.inf, np.nan]
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize(
    ("word", "meaning"), [("floor", np.floor), ("ceil", np.ceil), ("round", np.round)]
)
def test_integers_near_a_number_are_those_of_numpy(word, meaning, target, dtype) -> None:
    with np.errstate(over="ignore"):
        x = EDGES.astype(dtype)
    got = tadc.compile(f"y[i] = {word}(x[i])", target)(x)
    np.testing.assert_array_equal(got, meaning(x))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(meaning(x)))


@pytest.mark.parametrize("word", ["floor", "ceil", "round", "sign"])
def test_steps_have_derivative_zero_also_at_their_jumps(word: str) -> None:
    gradient = tadc.grad(tadc.compile(f"x: f64[N]\ny = sum[i]({word}(x[i]) * x[i])"))
    x = np.array([-1.0, 0.0, 0.5, 1.0, 2.3])
    np.testing.assert_array_equal(gradient(x), FUNCTIONS[UNARY[word]](x))


def test_constants_are_rounded_when_a_program_is_compiled() -> None:
    derivative = tadc.compile("y[i] = floor(-2.5) * ceil(2.5) * round(2.5) * x[i]").derivative()
    assert "dx[i] = -(18 * dy[i])" in str(derivative)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sign_keeps_zeros_and_what_is_not_a_number(dtype: type) -> None:
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3, -3] * 5, dtype)
    got = tadc.compile("y[i] = sign(x[i])")(x)
    np.testing.assert_array_equal(got, np.sign(x))
    np.testing.assert_array_equal(np.signbit(got[x == 0]), np.signbit(x[x == 0]))


# --- erfc -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "last"), [(np.float64, 28.0), (np.float32, 10.5)])
def test_erfc_is_within_four_ulp_down_to_the_smallest_numbers(dtype: type, last: float) -> None:
    x = np.linspace(-6, last, 20_001).astype(dtype)
    expected = np.array([math.erfc(v) for v in x.tolist()])
    got = tadc.compile("y[i] = erfc(x[i])")(x).astype(np.float64)
    ulp = np.spacing(expected.astype(dtype)).astype(np.float64)
    assert np.max(np.abs(got - expected) / ulp) <= 4


def test_erfc_is_that_of_scipy_and_so_is_its_derivative() -> None:
    special = pytest.importorskip("scipy.special")
    x = np.linspace(-3, 20, 101)
    y, pullback = tadc.vjp(tadc.compile("y[i] = erfc(x[i])"), x)
    np.testing.assert_allclose(y, special.erfc(x), rtol=1e-13)
    (dx,) = pullback(np.ones_like(x))
    np.testing.assert_allclose(dx, -2 / math.sqrt(math.pi) * np.exp(-(x**2)), rtol=1e-13)


def test_erfc_is_a_call_of_the_c_library() -> None:
    assert "call double @erfc(double" in print_llvm(scheduled("erfc"))
    assert "call float @erfcf(float" in print_llvm(scheduled("erfc", "f32"))
    assert "erfc(x[i])" in print_cuda(scheduled("erfc"))
    assert "erfcf(x[i])" in print_cuda(scheduled("erfc", "f32"))


def test_rounding_is_to_even_in_cuda_too() -> None:
    assert "rint(x[i])" in print_cuda(scheduled("round"))

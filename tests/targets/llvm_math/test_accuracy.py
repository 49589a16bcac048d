"""Accuracy of the functions printed for vectors, against mpmath, and what they give at the ends.

`docs/accuracy.md` states the bounds; `python -m tests.targets.llvm_math.test_accuracy` measures the
errors again, for its table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest

from tadc.runtime.cpu import CpuModule
from tadc.targets.llvm import LlvmPrinter, print_llvm
from tadc.targets.llvm_math import CALLED, INLINED, OF_TWO, vector_math_function
from tests.support.campaign import CAMPAIGN
from tests.support.paths import ROOT
from tests.targets.llvm_kernels import DTYPES, CompiledKernel, elementwise, parse

FUNCTIONS = sorted({*INLINED, *CALLED, "sqrt"})
TYPES = ("f32", "f64")
POINTS = 20_000 if CAMPAIGN else 1_000

# Far more than 53 bits, and far enough for sines of 2**1024, which mpmath reduces itself.
BITS = 120

EXACT: dict[str, Callable[..., Any]] = {
    name: getattr(mpmath, name) for name in FUNCTIONS if name != "pow"
}
EXACT["pow"] = mpmath.power

LIMITS = {"f32": (-149, 128), "f64": (-1074, 1024)}
"""Exponents of the least number and of what is larger than all."""

# Where exponentials overflow, become denormal and vanish, where functions turn, and their ends.
EDGES = (
    *(88.7228, 88.7229, 89.4159, -87.3365, -103.278, -103.97, -104.0),
    *(709.7827, 709.7828, 710.4758, -708.3964, -744.44, -745.13, -746.0),
    *(0.55, 1.0, 3.92, 4.0, 5.92, 6.0, 9.01, 19.06, 20.0, 0.34657, 0.70711, 1.41421),
)


# --- points ---------------------------------------------------------------------------------------


def points(name: str, type_: str) -> list[np.ndarray]:
    """Arguments dense in size, and around the places that are hardest for the function."""
    random = np.random.default_rng(FUNCTIONS.index(name))
    found = (
        power_arguments(random, type_)
        if name in OF_TWO
        else [np.concatenate([*groups(random, type_)])]
    )
    with np.errstate(over="ignore", under="ignore"):
        arguments = [np.asarray(x).astype(DTYPES[type_]) for x in found]
    if name in ("log", "sqrt"):
        arguments = [np.abs(arguments[0])]
    inside = np.all([np.isfinite(x) & (x != 0) for x in arguments], axis=0)
    inside &= arguments[0] > -1 if name == "log1p" else True
    return [x[inside] for x in arguments]


def groups(random: np.random.Generator, type_: str) -> Iterator[np.ndarray]:
    low, high = LIMITS[type_]
    signs = random.choice([-1.0, 1.0], POINTS)
    yield signs * np.exp2(random.uniform(low, high, POINTS))  # every exponent
    yield signs * np.exp2(random.uniform(-12, 12, POINTS))
    for width in (0.5, 2.0, 20.0, 150.0, 1000.0):
        yield random.uniform(-width, width, POINTS // 2)
    yield 1 + signs * np.exp2(random.uniform(-52, 0, POINTS))  # where log and log1p vanish
    turns = random.integers(-(10**5), 10**5, POINTS) * (np.pi / 2)
    yield turns  # where sin or cos vanishes
    yield signs * np.exp2(random.uniform(low, low + 30, POINTS))  # denormal numbers
    for edge in EDGES:
        yield edge * (1 + np.arange(-20, 21) * 1e-6)


def power_arguments(random: np.random.Generator, type_: str) -> Iterator[np.ndarray]:
    """x of every size or near 1, and y that give results of every size, small ones and integers."""
    low, high = LIMITS[type_]
    near_one = 1 + random.uniform(-1, 1, 2 * POINTS) * np.exp2(-random.uniform(1, 40, 2 * POINTS))
    x = np.concatenate([np.exp2(random.uniform(low, high, 2 * POINTS)), near_one])
    x = np.concatenate([x, np.exp2(random.uniform(-3, 3, 4 * POINTS))])
    x = x.astype(DTYPES[type_]).astype(np.float64)
    y = random.uniform(1.05 * low, 1.05 * high, x.size) / np.log2(np.where(x == 1, 2, x))
    kind = random.integers(0, 4, x.size)
    y = np.where(kind == 1, random.uniform(-3, 3, x.size), y)
    y = np.where(kind == 2, random.integers(-20, 21, x.size), y)
    yield np.where(kind == 2, x * random.choice([-1.0, 1.0], x.size), x)
    yield y


# --- errors ---------------------------------------------------------------------------------------


@cache
def kernel(name: str, type_: str, scaled_exponents: bool = False) -> CompiledKernel:
    count = 2 if name in OF_TWO else 1
    op = f"math.{'powf' if name == 'pow' else name} {', '.join(f'%{i}' for i in range(count))}"
    module = parse(elementwise(f"{op} : {type_}", type_, type_, count))
    text = print_llvm(module, LlvmPrinter(scaled_exponents=scaled_exponents))
    return CompiledKernel(CpuModule(text), "y")


def values(
    name: str, type_: str, arguments: list[np.ndarray], scaled_exponents: bool = False
) -> np.ndarray:
    result = np.empty_like(arguments[0])
    kernel(name, type_, scaled_exponents)(result, *arguments, result.size)
    return result


def ulp_error(got: float, exact: Any, type_: str) -> float:
    """The error in units in the last place of the exact value; infinity counts as `2**high`."""
    (low, high), digits = LIMITS[type_], {"f32": 24, "f64": 53}[type_]
    end = mpmath.ldexp(1, high)
    exact = max(-end, min(end, exact))
    value = math.copysign(1, got) * end if math.isinf(got) else mpmath.mpf(got)
    exponent = min(int(mpmath.frexp(exact)[1]), high)
    return float(abs(value - exact) / mpmath.ldexp(1, max(exponent - digits, low)))


def largest_error(name: str, type_: str) -> tuple[float, tuple[float, ...]]:
    """The largest error over all points in units in the last place, and where it is."""
    arguments = points(name, type_)
    got = values(name, type_, arguments)
    exact = EXACT[name]
    with mpmath.workprec(BITS):
        return max(
            (ulp_error(value, exact(*map(mpmath.mpf, point)), type_), point)
            for value, *point in zip(got.tolist(), *(a.tolist() for a in arguments), strict=True)
        )


def stated_bounds() -> dict[tuple[str, str], float]:
    """The bounds of the table in the documentation."""
    text = (ROOT / "docs/accuracy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \| [\d.]+ \| ([\d.]+) \|", text, re.MULTILINE)
    return {(name, t): float(b) for name, *both in rows for t, b in zip(TYPES, both, strict=True)}


def test_the_page_states_a_bound_for_each_function() -> None:
    assert stated_bounds().keys() == {(name, type_) for name in FUNCTIONS for type_ in TYPES}


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_within_the_stated_bounds(name: str, type_: str) -> None:
    error, point = largest_error(name, type_)
    assert error <= stated_bounds()[name, type_], point


# --- the same bits --------------------------------------------------------------------------------


def some_of(name: str, type_: str) -> list[np.ndarray]:
    """A few hundred points and the special ones; their number is no multiple of any vector's."""
    arguments = points(name, type_)
    chosen = np.random.default_rng(0).permutation(arguments[0].size)[:307]
    special = special_arguments(name, type_)
    return [np.concatenate([x[chosen], y]) for x, y in zip(arguments, special, strict=True)]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_does_not_depend_on_its_neighbours(name: str, type_: str) -> None:
    arguments = some_of(name, type_)
    together = values(name, type_, arguments)
    for size in (1, 2, 5, 37):
        parts = [
            values(name, type_, [a[i : i + size] for a in arguments])
            for i in range(0, together.size, size)
        ]
        np.testing.assert_array_equal(np.concatenate(parts), together)


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", ["cosh", "exp", "pow", "sinh"])
def test_a_value_does_not_depend_on_how_exponents_are_scaled(name: str, type_: str) -> None:
    arguments = some_of(name, type_)
    scaled = values(name, type_, arguments, scaled_exponents=True)
    np.testing.assert_array_equal(scaled, values(name, type_, arguments))


@pytest.mark.parametrize(
    ("vector_bits", "type_", "lanes"),
    [
        (None, "float", "4 8 16"),
        (512, "float", "8 16"),
        (256, "double", "2 4"),
        (128, "double", "2"),
    ],
)
def test_called_functions_have_forms_for_the_vectors_of_the_machine(
    vector_bits: int | None, type_: str, lanes: str
) -> None:
    text = vector_math_function("sin", type_, vector_bits=vector_bits)
    assert re.findall(r"^define weak_odr <(\d+) x", text, re.MULTILINE) == lanes.split()


# --- special values -------------------------------------------------------------------------------

SPECIAL = (0.0, math.inf, math.nan, 1.0, 0.5, 2.0, 3.0, 2.5, 1e300, 2.0**53 - 1, 2.0**52 + 0.5)


def special_arguments(name: str, type_: str) -> list[np.ndarray]:
    with np.errstate(over="ignore"):
        one = np.array([*SPECIAL, *(-x for x in SPECIAL)]).astype(DTYPES[type_])
    return [x.ravel() for x in np.meshgrid(one, one)] if name in OF_TWO else [one]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_are_those_of_c(name: str, type_: str) -> None:
    """Zeros with their signs, infinities and NaN are those of NumPy, which calls C's functions."""
    arguments = special_arguments(name, type_)
    got = values(name, type_, arguments)
    numpy = (
        np.vectorize(math.erf) if name == "erf" else getattr(np, {"pow": "power"}.get(name, name))
    )
    with np.errstate(all="ignore"):
        expected = numpy(*(a.astype(np.float64) for a in arguments)).astype(got.dtype)
    ends = ~np.isfinite(expected) | (expected == 0) | (np.abs(expected) == 1)
    np.testing.assert_array_equal(got[ends], expected[ends])
    zero = expected == 0
    np.testing.assert_array_equal(np.signbit(got[zero]), np.signbit(expected[zero]))


if __name__ == "__main__":
    for name in FUNCTIONS:
        print(name, *(f"{type_} {largest_error(name, type_)}" for type_ in TYPES))

"""Shapes of results without arrays: of numbers, and of integers that stand for any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError, RangeError, SizeError
from tadc.runtime.on_cpu import CpuExecutable
from tadc.sizes import Integers
from tests.support.campaign import seeds
from tests.support.derivations import random_case

CONV = "y[i] = sum[k](w[k] * x[2*i + k])"


def refuse(*_: object) -> None:
    raise AssertionError("made or checked again")


# --- numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_shapes_are_those_of_the_results(seed: int) -> None:
    case = random_case(seed, declarations=("symbolic", "none"))
    shapes = [a.shape for a in case.values]
    assert case.function.result_shapes(shapes) == [r.shape for r in case.results]
    gradients = case.function.derivative()
    adjoints = [r.shape for r in case.results]
    assert gradients.result_shapes([*shapes, *adjoints]) == shapes


def test_nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CpuExecutable, "__init__", refuse)
    assert tadc.compile(CONV).result_shapes([(3,), (9,)]) == [(4,)]
    with pytest.raises(AssertionError, match="again"):
        tadc.compile(CONV)(np.ones(3), np.ones(9))


def test_shapes_are_any_sequences_of_whole_numbers() -> None:
    (shape,) = tadc.compile("y[i, j] = x[j, i]").result_shapes([(np.int64(2), 3)])
    assert shape == (3, 2) and all(type(n) is int for n in shape)


@pytest.mark.parametrize(
    ("source", "shapes", "kind", "message"),
    [
        (CONV, [(3,)], ArgumentError, "1 shapes for 2 arguments"),
        (CONV, [(3,), (9.0,)], ArgumentError, "these are no shapes"),
        (CONV, [3, (9,)], ArgumentError, "these are no shapes"),
        (CONV, None, ArgumentError, "these are no shapes"),
        (CONV, [(3,), (9, 1)], ArgumentError, "1:22: the argument x has rank 2, not 1"),
        (CONV, [(3,), (-9,)], SizeError, "1:22: dimension 0 of x is -9"),
        ("x: f64[N]\ny: f64[N + 1]\nz[i] = x[i] * y[i + 1]", [(3,), (3,)], SizeError, "N . 1 = 4"),
        ("x: f64[2*N]\ny[i in range(N)] = x[i]", [(3,)], SizeError, r"expected 2 \* N"),
        ("x: f64[N - 2]\ny = sum[i](x[i])\nz = x[2]", [(2,)], RangeError, "x"),
    ],
)
def test_wrong_shapes_are_located(
    source: str, shapes: Any, kind: type[tadc.TadcError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        tadc.compile(source).result_shapes(shapes)


def test_ranges_are_checked_once_for_the_same_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tadc.compile("x: f64[N]\ny = sum[k in range(2, N)](x[k - 2])")
    f.result_shapes([(5,)])
    f.result_shapes([(6,)])
    monkeypatch.setattr("tadc.program.check_ranges", refuse)
    assert f.result_shapes([(5,)]) == f.result_shapes([(6,)]) == [()]


# --- symbolic integers ----------------------------------------------------------------------------


class Symbol:
    """An integer that notes what anybody finds out about it."""

    def __init__(self, value: int, found: list[str], text: str):
        self.value, self.found, self.text = value, found, text

    def combined(
        self, sign: str, compute: Callable[[int, int], int], other: Any, flip: bool
    ) -> Any:
        texts = (str(other), self.text) if flip else (self.text, str(other))
        values = (_value(other), self.value) if flip else (self.value, _value(other))
        return Symbol(compute(*values), self.found, f"({f' {sign} '.join(texts)})")

    def __add__(self, other: Any) -> Any:
        return self.combined("+", int.__add__, other, False)

    def __radd__(self, other: Any) -> Any:
        return self.combined("+", int.__add__, other, True)

    def __sub__(self, other: Any) -> Any:
        return self.combined("-", int.__sub__, other, False)

    def __rsub__(self, other: Any) -> Any:
        return self.combined("-", int.__sub__, other, True)

    def __mul__(self, other: Any) -> Any:
        return self.combined("*", int.__mul__, other, False)

    def __rmul__(self, other: Any) -> Any:
        return self.combined("*", int.__mul__, other, True)

    def __floordiv__(self, other: Any) -> Any:
        return self.combined("//", int.__floordiv__, other, False)

    def _compare(self, sign: str, holds: bool) -> bool:
        self.found.append(sign)
        return holds

    def __eq__(self, other: object) -> bool:
        return self._compare("==", self.value == _value(other))

    def __lt__(self, other: Any) -> bool:
        return self._compare("<", self.value < _value(other))

    def __str__(self) -> str:
        return self.text


def _value(number: Any) -> int:
    return number.value if isinstance(number, Symbol) else number


def larger(a: Any, b: Any) -> Any:
    symbol = a if isinstance(a, Symbol) else b
    return symbol.combined("max", max, b if symbol is a else a, False)


def smaller(a: Any, b: Any) -> Any:
    symbol = a if isinstance(a, Symbol) else b
    return symbol.combined("min", min, b if symbol is a else a, False)


SYMBOLS = Integers(larger, smaller)


def symbols(shapes: list[tuple[int, ...]], found: list[str]) -> list[tuple[Symbol, ...]]:
    return [tuple(Symbol(n, found, "n") for n in shape) for shape in shapes]


@pytest.mark.parametrize("seed", seeds(15, of=400))
def test_symbolic_shapes_have_the_values_of_numbers(seed: int) -> None:
    case = random_case(seed, declarations=("symbolic", "none"))
    shapes = [a.shape for a in case.values]
    found = case.function.result_shapes(symbols(shapes, []), SYMBOLS)
    values = [tuple(_value(n) for n in shape) for shape in found]
    assert values == [r.shape for r in case.results]


@pytest.mark.parametrize(
    ("source", "shapes", "comparisons"),
    [
        (CONV, [(3,), (9,)], []),
        ("y[i] = pad(x[i - 1]) + x[i]", [(7,)], []),
        ("z[i] = x[i] * y[i]", [(4,), (4,)], ["=="]),
        ("x: f64[N, 5]\ny[i] = sum[k](x[i, k])", [(4, 5)], ["=="]),
        ("x: f64[N + 1]\ny: f64[N]\nz[i] = x[i + 1] * y[i]", [(5,), (4,)], ["=="]),
        ("x: f64[2*N]\ny[i in range(N)] = x[i]", [(4,)], ["==", "<"]),
    ],
)
def test_nothing_is_found_out_without_need(
    source: str, shapes: list[tuple[int, ...]], comparisons: list[str]
) -> None:
    found: list[str] = []
    tadc.compile(source).result_shapes(symbols(shapes, found), SYMBOLS)
    assert found == comparisons


def test_symbolic_shapes_that_do_not_fit() -> None:
    f = tadc.compile("z[i] = x[i] * y[i]")
    with pytest.raises(SizeError, match="dimension 0 of y is n, expected I = "):
        f.result_shapes(symbols([(4,), (5,)], []), SYMBOLS)
    with pytest.raises(ArgumentError, match="rank 2"):
        f.result_shapes(symbols([(4, 4), (5,)], []), SYMBOLS)


# --- frameworks -----------------------------------------------------------------------------------


def test_torch_traces_once_for_all_sizes() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from torch._dynamo.testing import CompileCounter

    f, integers = tadc.compile(CONV), Integers(torch.sym_max, torch.sym_min)

    @torch.library.custom_op(
        "tadc_tests::conv", mutates_args=(), schema="(Tensor w, Tensor x) -> Tensor"
    )
    def conv(w: Any, x: Any) -> Any:
        return torch.from_numpy(f(w.numpy(), x.numpy()))

    @conv.register_fake
    def _(w: Any, x: Any) -> Any:
        (shape,) = f.result_shapes([w.shape, x.shape], integers)
        return x.new_empty(shape)

    counter = CompileCounter()

    def twice(w: Any, x: Any) -> Any:
        return conv(w, x) * 2

    compiled = torch.compile(twice, backend=counter, dynamic=True)
    w = torch.rand(3, dtype=torch.float64)
    for n in range(5, 101):
        x = torch.rand(n, dtype=torch.float64)
        expected = torch.nn.functional.conv1d(x[None, None], w[None, None], stride=2)[0, 0] * 2
        torch.testing.assert_close(compiled(w, x), expected)
    assert counter.frame_count == 1


def test_torch_learns_nothing_of_sizes() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

    shapes = ShapeEnv()

    def symbol(name: str, hint: int) -> Any:
        source = ConstantSource(name)
        made = shapes.create_symbol(hint, source=source, dynamic_dim=DimDynamic.DYNAMIC)
        return shapes.create_symintnode(made, hint=hint)

    integers = Integers(torch.sym_max, torch.sym_min)
    given = [(symbol("k", 3),), (symbol("n", 9),)]
    ((size,),) = tadc.compile(CONV).result_shapes(given, integers)
    assert not shapes.guards and not shapes.replacements
    assert isinstance(size, torch.SymInt) and size == 4


def test_jax_gives_dimensions_of_its_own() -> None:
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    from jax import export

    n, k = export.symbolic_shape("n, k")
    integers = Integers(jax.core.max_dim, jax.core.min_dim)
    (shape,) = tadc.compile("y[i, j] = x[j, i]").result_shapes([(n, k)], integers)
    assert shape == (k, n)
    ((size,),) = tadc.compile(CONV).result_shapes([(k,), (n,)], integers)
    assert str(size) == "max(0, floordiv(n - k + 2, 2))"

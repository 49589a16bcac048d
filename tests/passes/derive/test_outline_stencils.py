"""Values of stencils that get names before they are derived."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.passes.derive import outline_stencils as outline
from tadc.passes.derive.outline_stencils import outline_stencils
from tests.support.campaign import seeds
from tests.support.derivations import assert_close, central_differences, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning

WORDS = {"clamp": "clamp({})", "reflect": "reflect({})", "wrap": "wrap({})", "%": "({}) % {}"}


def read(word: str, shifts: tuple[int, int], sizes: tuple[str, str]) -> str:
    parts = zip(("i", "j"), shifts, sizes, strict=True)
    return f"x[{', '.join(WORDS[word].format(f'{v} + {d}', n) for v, d, n in parts)}]"


def sobel(word: str, sizes: tuple[str, str]) -> str:
    """The length of the gradient of a picture, by Sobel's windows."""

    def slope(turn: int) -> str:
        pairs = [
            (c, *(read(word, (d, b)[::turn], sizes) for d in (1, -1)))
            for b, c in ((-1, 1), (0, 2), (1, 1))
        ]
        return " + ".join(f"{c} * ({high} - {low})" for c, high, low in pairs)

    n, m = sizes
    return (
        f"x: f64[{n}, {m}]\ny[i in range({n}), j in range({m})] = "
        f"sqrt(({slope(1)})**2 + ({slope(-1)})**2 + 0.25)"
    )


def check_gradients(f: tadc.Function, shape: tuple[int, int]) -> None:
    """The gradients of a program agree with central differences; all arguments have this shape."""
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape) for _ in f.args]
    y, pullback = tadc.vjp(f, *values)
    adjoint = rng.standard_normal(y.shape)
    expected, scale = central_differences(lambda x: [f(*x)], values, [adjoint])
    assert_close(pullback(adjoint), expected, 1e-9, str(f), scale)


@pytest.mark.parametrize("sizes", [("5", "4"), ("N", "M")])
@pytest.mark.parametrize("word", WORDS)
def test_gradients_of_stencils_with_boundaries_are_exact(word: str, sizes: tuple[str, str]) -> None:
    f = tadc.compile(sobel(word, sizes))
    assert "dy_value" in str(f.derivative("x"))
    check_gradients(f, (5, 4))


@pytest.mark.parametrize("seed", seeds(20, of=1000))
def test_random_programs_keep_their_meaning(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline, "LEAST_SAVED", 0)
    check_meaning(outline_stencils, random_case(seed, **EVERYTHING))


def test_second_derivatives_read_the_same_names() -> None:
    check_gradients(tadc.compile(sobel("clamp", ("N", "M"))).derivative("x"), (4, 5))


@pytest.mark.parametrize(
    "formula",
    [
        "tanh(x[i] + x[i + 1] + x[i + 2])",  # its derivative is made of the element
        "(x[i + 1] - x[i])**2",  # of few operations
        "2 * (x[i] + x[i + 1] + x[i + 2] + x[i + 3])",  # linear
        "sqrt(a[i]**2 + b[i]**2 + c[i]**2)",  # one element of each
        "sum[k in range(3)](exp(x[i + k] + x[i + k + 1] + x[i + k + 2]))",
    ],
)
def test_formulas_of_cheap_adjoints_stay(formula: str) -> None:
    program = tadc.compile(f"y[i] = {formula}").program.op
    assert outline_stencils(program) is program


def test_nothing_uses_what_was_emitted_to_be_counted() -> None:
    program = tadc.compile(sobel("wrap", ("N", "M"))).program.op
    before = [len(list(v.uses)) for v in program.arguments.values()]
    outline_stencils(program)
    assert [len(list(v.uses)) for v in program.arguments.values()] == before

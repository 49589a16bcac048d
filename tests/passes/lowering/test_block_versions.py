"""Blocks all of whose elements have their terms: code without tests gives the same bits."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tadc
from tadc.dialects.tix import AVX_512, Registers
from tests.support.registers import AVX2, choose_loops_for

WINDOWS = {
    "3 x 3": (
        "y[c, i in range({n}), j in range({n})] = "
        "sum[u in range(3), v in range(3)](pad(x[c, i + u - 1, j + v - 1]) * w[c, u, v])"
    ),
    "3 x 3, any size": (
        "x: real[C, N, M]\n"
        "y[c, i in range(N), j in range(M)] = "
        "sum[u in range(3), v in range(3)](pad(x[c, i + u - 1, j + v - 1]) * w[c, u, v])"
    ),
    "two columns to the right, five to the left": (
        "y[c, i in range({n} - 2), j in range({n})] = "
        "sum[u in range(3), v in range(8)](pad(x[c, i + u, j + v - 2]) * w[c, u, v // 3])"
    ),
    "backwards": (
        "y[c, i in range({n}), j in range({n})] = "
        "sum[u in range(3), v in range(3)](pad(x[c, i - u + 1, j - v + 1]) * w[c, u, v])"
    ),
    "functions": (
        "y[c, i in range({n}), j in range({n})] = sum[u in range(-3, 4), v in range(-3, 4)]"
        "(exp(-(x[c, i + u, j + v] - x[c, i, j])**2) * w[c, (u + 3) // 3, (v + 3) // 3]"
        " if 0 <= i + u < {n} and 0 <= j + v < {n} else 0)"
    ),
    "a band, whose place moves with the row": (
        "y[c, i in range({n}), j in range({n})] = sum[u in range(3), v in range(3)]"
        "(x[c, i, (j + v) // 2] * w[c, u, v] if i <= j + v and j + v <= i + 9 else 0)"
    ),
}


def arrays(n: int, kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n)
    x, w = rng.standard_normal((3, n, n)).astype(kind), rng.standard_normal((3, 3, 3)).astype(kind)
    return x, w


@pytest.mark.parametrize("n", [5, 17, 40, 56, 67])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("source", WINDOWS.values(), ids=WINDOWS)
def test_versions_change_no_element(
    source: str, kind: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = arrays(n, kind)
    exact = tadc.compile(source.format(n=n), target="interpret")(x, w)
    masked = tadc.compile(source.format(n=n))(x, w)
    choose_loops_for(AVX2, monkeypatch)
    found = tadc.compile(source.format(n=n))(x, w)
    np.testing.assert_allclose(found, exact, rtol=2e-5, atol=2e-5)
    assert found.tobytes() == masked.tobytes()


@pytest.mark.parametrize("n", [5, 17, 40])
@pytest.mark.parametrize("source", WINDOWS.values(), ids=WINDOWS)
def test_terms_that_are_left_out_multiply_no_infinity(
    source: str, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks add 0 for them, and are computed again where that is no number."""
    cases = [
        (place, with_number(arrays(n, "float32"), place, number))
        for place in ((0, 0, 0), (1, 1, 1), (2, 1, 2), (1, 2, 0))
        for number in (np.inf, -np.inf, np.nan)
    ]
    f = tadc.compile(source.format(n=n))
    masked = [f(*given) for _, given in cases]
    choose_loops_for(AVX2, monkeypatch)
    f = tadc.compile(source.format(n=n))
    for (place, given), expected in zip(cases, masked, strict=True):
        found = f(*given)
        np.testing.assert_array_equal(found, expected)
        assert np.isfinite(found[(place[0] + 1) % 3]).all()


def with_number(
    given: tuple[np.ndarray, np.ndarray], place: tuple[int, int, int], number: float
) -> tuple[np.ndarray, np.ndarray]:
    """The arrays, with a number at a place of the second one."""
    given[1][place] = number
    return given


@pytest.mark.parametrize("n", [17, 40])
def test_gradients_by_infinite_results_have_their_own_terms(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, w = arrays(n, "float32")
    dy = np.ones((3, n, n), "float32")
    dy[0, 0, 0] = dy[1, n - 1, n // 2] = np.inf
    source = WINDOWS["3 x 3"].format(n=n)
    expected = tadc.vjp(tadc.compile(source, target="interpret"), x, w)[1](dy)
    choose_loops_for(AVX2, monkeypatch)
    found = tadc.vjp(tadc.compile(source), x, w)[1](dy)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_terms_with_functions_are_written_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven terms of each row, and loops of one for blocks at the ends."""
    choose_loops_for(AVX2, monkeypatch)
    source = (
        "x: real[H, W]\ny[i, j] = sum[u in range(-3, 4), v in range(-3, 4)]"
        "(exp(-abs(x[i + u, j + v] - x[i, j])) if 0 <= i + u < H and 0 <= j + v < W else 0)"
    )
    text = tadc.compile(source).emit("scheduled", {"H": 512, "W": 512}, "f32")
    assert 28 < text.count("math.exp") < 2 * 28


def test_blocks_at_ends_add_zeros_first(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "x: real[C, 56, 56]\nw: real[C, 3, 3]\n" + WINDOWS["3 x 3"].format(n=56)
    for registers, zeros in ((AVX_512, False), (AVX2, True)):
        choose_loops_for(registers, monkeypatch)
        text = tadc.compile(source).emit("scheduled", {"C": 64}, "f32")
        before, *again = text.split('loops.compare "une"')
        assert ("loops.select " not in before) is zeros
        assert (any("loops.select " in part for part in again)) is zeros


@pytest.mark.parametrize(("registers", "versions"), [(AVX_512, False), (AVX2, True)])
def test_columns_that_have_all_terms_need_no_masks(
    registers: Registers, versions: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_loops_for(registers, monkeypatch)
    source = "x: real[C, 56, 56]\nw: real[C, 3, 3]\n" + WINDOWS["3 x 3"].format(n=56)
    text = tadc.compile(source).emit("scheduled", {"C": 64}, "f32")
    assert "vector.maskedload" in text
    first = re.search(r"scf\.if %\w+ -> \(vector[^\n]*\{\n(.*?)\n\s*\} else \{", text, re.DOTALL)
    assert (
        first is not None and "maskedload" not in first[1] and "scf.for" in first[1]
    ) is versions


LINE = """x: real[N, O]
w: real[O, 5, C]
y[i in range(N), c] = sum[o, v in range(5)](pad(x[i - v + 2, o]) * w[o, v, c])"""
BY_ROWS = "y[i, c]: rows i by 4, columns c by 16"


@pytest.mark.parametrize("n", [3, 4, 5, 7, 8, 20, 41])
def test_rows_that_have_all_terms_change_no_element(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(n)
    x, w = rng.standard_normal((n, 30)), rng.standard_normal((30, 5, 35))
    x[n // 2] = np.inf  # what is not there is not multiplied
    exact = tadc.compile(LINE, target="interpret")(x, w)
    masked = tadc.compile(LINE, plan=BY_ROWS)(x, w)
    choose_loops_for(AVX2, monkeypatch)
    found = tadc.compile(LINE, plan=BY_ROWS)(x, w)
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-10)
    assert found.tobytes() == masked.tobytes()


def test_rows_that_have_all_terms_need_no_branches(monkeypatch: pytest.MonkeyPatch) -> None:
    choose_loops_for(AVX2, monkeypatch)
    text = tadc.compile(LINE, plan=BY_ROWS).emit("scheduled", {"C": 64, "N": 64, "O": 64}, "f32")
    first = re.search(r"scf\.if %\w+ -> \(vector[^\n]*\{\n(.*?)\n\s*\} else \{", text, re.DOTALL)
    assert first is not None and "scf.for" in first[1] and "scf.if" not in first[1]


def test_plans_by_hand_have_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = "y[i, c]: rows c by 4, columns i by 16"
    texts: list[str] = []
    for registers in (AVX_512, AVX2):
        choose_loops_for(registers, monkeypatch)
        texts.append(tadc.compile(LINE, plan=plan).emit("scheduled", {}, "f32"))
    assert texts[1].count("scf.if") > texts[0].count("scf.if")


Places = np.ndarray
QUOTIENTS: dict[str, Callable[[Places, Places, Places], Places]] = {
    "(i + j) % 2 == 0": lambda i, j, c: (i + j) % 2 == 0,
    "j // 3 <= i": lambda i, j, c: j // 3 <= i,
    "(j - c) % 3 == 0 and c <= j": lambda i, j, c: ((j - c) % 3 == 0) & (c <= j),
}
"""Conditions, and where they hold."""


@pytest.mark.parametrize("registers", [AVX_512, AVX2], ids=["AVX-512", "AVX2"])
@pytest.mark.parametrize("condition", QUOTIENTS)
@pytest.mark.parametrize(("n", "columns"), [(127, 5), (40, 16), (61, 33)])
def test_terms_may_be_left_out_by_quotients(
    n: int, columns: int, condition: str, registers: Registers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the index of a sum, which blocks do not know before they have a term."""
    choose_loops_for(registers, monkeypatch)
    term = f"x[j, i] * w[j, c] if {condition} else 0"
    f = tadc.compile(f"x: real[N, N]\nw: real[N, C]\ny[i, c] = sum[j in range(i, N)]({term})")
    rng = np.random.default_rng(n)
    x, w = (rng.integers(-3, 4, shape).astype("f4") for shape in ((n, n), (n, columns)))
    i, j, c = np.ogrid[:n, :n, :columns]
    there = (j >= i) & QUOTIENTS[condition](i, j, c)
    terms = np.where(there, x.T[:, :, None] * w[None], 0)
    np.testing.assert_array_equal(f(x, w), terms.sum(axis=1))

"""Blocks all of whose elements have their terms: code without tests gives the same bits."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc
from dialects.tix import AVX_512, Registers
from tests.support.registers import choose_loops_for

AVX2 = Registers(16, of_vector=2)

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

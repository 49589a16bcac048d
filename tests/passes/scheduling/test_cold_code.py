"""Small parts of the work of a program have blocks that are quickly compiled."""

from __future__ import annotations

import numpy as np

import tadc

PROGRAM = """\
a: f32[N, K]
b: f32[N, K]
d: f32[M]
s[i in range(256)] = sum[k in range(64)](d[i + k]**3)
r[i, j] = sum[k]((a[i, k] - b[j, k])**2) + s[0]
return s, r"""


def plan_of(sizes: dict[str, int]) -> str:
    return tadc.compile(PROGRAM).emit("plan", sizes, "f32")


def test_a_small_part_has_few_vectors() -> None:
    assert "s[i]: columns i by 32 " in plan_of({"N": 512, "K": 64, "M": 320})
    assert "r[i, j]: rows i by 6, columns j by 64" in plan_of({"N": 512, "K": 64, "M": 320})


def test_its_code_is_short() -> None:
    """Terms do not share what they read, as they do where the others are no longer."""
    f = tadc.compile(PROGRAM)
    assert "for.part" not in f.emit("llvm", {"N": 512, "K": 64, "M": 320}, "f32")
    assert "for.part" in f.emit("llvm", {"N": 100, "K": 64, "M": 320}, "f32")


def test_the_same_has_more_where_the_others_are_no_longer() -> None:
    assert "s[i]: columns i by 128" in plan_of({"N": 100, "K": 64, "M": 320})


def test_numbers_are_the_same() -> None:
    rng = np.random.default_rng(0)
    arrays = (rng.normal(size=s) for s in ((300, 40), (300, 40), (319,)))
    a, b, d = (array.astype(np.float32) for array in arrays)
    s, r = tadc.compile(PROGRAM)(a, b, d)
    np.testing.assert_allclose(s, [(d[i : i + 64] ** 3).sum() for i in range(256)], 2e-4, 1e-4)
    np.testing.assert_allclose(r, ((a[:, None] - b) ** 2).sum(2) + s[0], 1e-4)

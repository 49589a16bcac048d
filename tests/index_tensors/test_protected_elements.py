"""Elements of index tensors that a condition protects: none is read before it is known to be there.

    dx[p] = sum[j](dg[a[M - p], j] * z[j]) if p >= 1 else 0

A derivative reads `a[M - p]` at no p of 0, whatever passes move. What they move reads the nearest
element that there is; the interpreter raises where another one would leave its tensor.
"""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.verify import verify

PROGRAMS = {
    "beside a sum": "a: range(M)[M]\nx: f64[M + 1]\nz: f64[M, 3]\n"
    "g[i in range(M), j in range(3)] = sum[m in range(M), a[m] == i](sin(z[i, j]*x[M - m]))",
    "a remainder": "q: range(E)[]\na: range(M)[V]\nx: f64[M]\nE: size\n"
    "y[n in range(V)] = x[a[n]] if q % 3 == 1 else 0",
    "with a remainder": "q: range(E)[]\na: range(M)[V]\nx: f64[M]\n"
    "y = sum[n in range(V)](x[a[n]]) if q + q % 3 >= 1 else 0",
    "twice an element": "b: range(N)[M]\nx: f64[M]\nz: f64[M]\n"
    "y[i in range(M)] = z[i] if 2*b[i] < 1 else x[clamp(b[i])]",
    "of a reversed read": "b: range(N)[E]\nx: f64[E]\n"
    "y[i in range(E)] = x[E - i - 1] if i >= 2*b[i] else 0",
    "any integers": "a: int[M]\nx: f64[V]\n"
    "y[i in range(M)] = x[a[i]]**2 if a[i] >= 0 and a[i] < V else 0",
    "nested": "a: int[M]\nb: range(V)[N]\nx: f64[V]\n"
    "y[i in range(M)] = x[b[a[i] - 1]]**2 if 1 <= a[i] and a[i] <= N else 0",
    "nested in brackets": "a: range(N)[M]\nb: range(V)[N]\nx: f64[V]\nw: f64[M]\n"
    "y[q in range(V)] = sum[i, a[i] >= 1, b[a[i] - 1] == q](x[q]*w[i])",
    "a quotient as place": "a: range(N)[M]\nx: f64[N]\ny[i] = x[a[i] // 2] * x[a[i]]",
    "a remainder as place": "a: range(N)[M]\nx: f64[4]\ny[i] = x[a[i] % 3 + 1]**2 * (i + 1)",
    "shifted": "idx: range(V)[N]\nx: f64[N]\n"
    "y[i in range(N + 1), q in range(V)] = x[i - 1] if i >= 1 and idx[i - 1] == q else 0.5",
    "one or the other": "idx: range(V)[N]\nx: f64[N]\n"
    "y[i in range(N + 1), q in range(V)] = 7 if i < 1 or idx[i - 1] == q else 0.5*x[i - 1]",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives_are_right(name: str) -> None:
    f = tadc.compile(PROGRAMS[name])
    assert all(verdict.ok for verdict in verify(f))
    assert all(verdict.ok for verdict in verify(f.derivative()))


@pytest.mark.parametrize("name", PROGRAMS)
def test_texts_compile_again(name: str) -> None:
    f = tadc.compile(PROGRAMS[name])
    for g in (f, f.derivative(), f.derivative().derivative()):
        assert str(tadc.compile(str(g))) == str(g)


def test_conditions_of_derivatives_protect_what_later_ones_read() -> None:
    assert "a[i] >= 1, b[a[i] - 1] == q" in str(tadc.compile(PROGRAMS["nested in brackets"]))


def test_tensors_without_elements_are_never_read() -> None:
    d = tadc.compile(PROGRAMS["nested in brackets"]).derivative()
    empty = np.zeros(0, np.int64)
    for target in ("cpu", "interpret"):
        dx, dw = d.with_target(target)(empty, empty, np.ones(2), np.ones(0), np.ones(2))
        assert dx.tolist() == [0, 0] and dw.shape == (0,)

"""The precision of definitions: the widest of what they read, where they read anything."""

import numpy as np
import pytest

import tadc

SINGLE = np.ones(3, np.float32)
DOUBLE = np.ones(3)

PROGRAMS = {
    "a number": ("c = 0.5\ny[i] = c * x[i]", {"y": "real"}),
    "a table": ("w[i in range(3)] = cos(i * 0.1)\ny[i] = w[i] * x[i]", {"y": "real"}),
    "of declared": ("x: f32[N]\nc = 0.5\ny[i] = c * x[i]", {"y": "f32"}),
    "of weak ones": (
        "x: f32[N]\nw[i in range(N)] = cos(i)\nv[i] = 2*w[i]\ny[i] = v[i] * x[i]",
        {"y": "f32"},
    ),
    "by each reader": (
        "x: f32[N]\nz: f64[N]\nc = 0.5\ny[i] = c * x[i]\nu[i] = c * z[i]",
        {"y": "f32", "u": "f64"},
    ),
    "declared itself": ("x: f32[N]\nc: f64[]\nc = 0.5\ny[i] = c * x[i]", {"y": "f64"}),
    "declared later": ("x: f32[N]\ns: f64[]\nc = 0.1\ns = sum[i](c * x[i])", {"s": "f64"}),
    "updated": ("x: f32[N]\nc = 0.5\nc += sum[i](x[i])", {"c": "f32"}),
    "strong, updated": ("x: f32[N]\nz: f64[N]\ny[i] = 2*x[i]\ny[i] += z[i]", {"y": "f32"}),
    "a result": ("x: f32[N]\nw[i in range(N)] = cos(i)\nreturn w", {"w": "f32"}),
    "a result of reals": ("w[i in range(3)] = cos(i)\ny[i] = x[i]", {"w": "real", "y": "real"}),
    "no arguments": ("c = 0.5\nw[i in range(4)] = c * i", {"w": "f64"}),
}


@pytest.mark.parametrize("source, expected", PROGRAMS.values(), ids=PROGRAMS)
def test_what_reads_no_tensor_is_weak(source, expected):
    f = tadc.compile(source)
    assert {r.name: r.dtype for r in f.results} == expected
    assert str(tadc.compile(str(f))) == str(f)
    assert {r.name: r.dtype for r in tadc.compile(str(f)).results} == expected


@pytest.mark.parametrize("source, expected", PROGRAMS.values(), ids=PROGRAMS)
def test_derivatives_read_back_in_their_precisions(source, expected):
    f = tadc.compile(source)
    if not f.args:
        pytest.skip("nothing to derive by")
    for mode in ("reverse", "forward"):
        text = f.ir("simplified", mode=mode)
        assert text
    g = f.derivative()
    again = tadc.compile(str(g))
    assert str(again) == str(g)
    assert [(r.name, r.dtype) for r in again.results] == [(r.name, r.dtype) for r in g.results]
    assert [r.dtype for r in g.results] == [a.dtype for a in f.args]


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("x", [SINGLE, DOUBLE], ids=["f32", "f64"])
def test_weak_definitions_follow_the_arrays_of_the_call(target, x):
    f = tadc.compile("c = 0.1\nw[i in range(3)] = i * 0.1\ny[i] = c * x[i] + w[i]", target=target)
    y, pullback = tadc.vjp(f, x)
    (dx,) = pullback(np.ones_like(y))
    _, tangent = tadc.jvp(f, (x,), (x,))
    assert y.dtype == dx.dtype == tangent.dtype == x.dtype
    np.testing.assert_allclose(y, 0.1 + 0.1 * np.arange(3), rtol=1e-6)


def test_a_number_alone_is_float64():
    f = tadc.compile("c = 0.1\ny = c * s")
    assert f(2.0).dtype == np.float64
    assert f(np.float32(2)).dtype == np.float32
    assert f(np.float64(2)).dtype == np.float64

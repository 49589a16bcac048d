"""Several results are one named tuple: updated arguments first, in the order of the arguments."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError, UnknownNameError
from tadc.pullback import MOST_SAMPLED_ELEMENTS

LEAP = "s: f64[N]\nd: f64[N]\nd[i] -= s[i]\ns[i] += 0.5 * d[i]\n"
ONES, TWOS = np.ones(3), np.full(3, 2.0)


def test_updated_arguments_come_back_in_the_order_of_the_arguments():
    f = tadc.compile("e[i] = d[i]**2\n" + LEAP + "t = sum[i](d[i])\n")
    assert [t.name for t in f.args] == ["s", "d"]
    assert [t.name for t in f.results] == ["s", "d", "e", "t"]
    results = f(s=ONES, d=TWOS)
    np.testing.assert_array_equal(results.s, 1.5 * ONES)
    assert results.d is results[1] and results._fields == ("s", "d", "e", "t")


def test_a_return_line_gives_another_order():
    f = tadc.compile(LEAP + "return d, s\n")
    assert [t.name for t in f.results] == ["d", "s"]
    assert str(tadc.compile(str(f))) == str(f)


def test_named_results_pickle():
    results = tadc.compile(LEAP)(ONES, TWOS)
    again = pickle.loads(pickle.dumps(results))
    assert type(again) is type(results)
    np.testing.assert_array_equal(again.d, results.d)


def test_a_name_that_no_attribute_can_have_is_left_to_its_position():
    results = tadc.compile("_a[i] = x[i]\nb[i] = 2 * x[i]\nreturn _a, b")(ONES)
    np.testing.assert_array_equal(results.b, 2 * results[0])


def test_tangents_and_adjoints_may_be_given_by_name():
    f = tadc.compile(LEAP)
    arguments, v, w = (ONES, TWOS), 3 * ONES, 5 * ONES
    _, in_order = tadc.jvp(f, arguments, (v, w))
    _, by_name = tadc.jvp(f, arguments, {"d": w, "s": v})
    np.testing.assert_array_equal(in_order.s, by_name.s)
    _, only = tadc.jvp(f, arguments, {"d": w})
    np.testing.assert_array_equal(only.d, tadc.jvp(f, arguments, (None, w))[1].d)
    back = tadc.inverse_jvp(f, arguments, {"d": by_name.d, "s": by_name.s})
    np.testing.assert_allclose(back.s, v)
    np.testing.assert_allclose(back.d, w)
    adjoints = tadc.inverse_vjp(f, arguments, {"d": w, "s": v})
    _, pullback = tadc.vjp(f, *arguments)
    for found in (pullback(*adjoints), pullback(dd=adjoints.d, ds=adjoints.s)):
        np.testing.assert_allclose(found, (v, w))
    np.testing.assert_allclose(pullback(adjoints.s, dd=adjoints.d), (v, w))


def test_unknown_and_missing_names_are_refused():
    f = tadc.compile(LEAP)
    _, pullback = tadc.vjp(f, ONES, TWOS)
    with pytest.raises(UnknownNameError, match="there is no adjoint 'df'"):
        pullback(ds=ONES, df=ONES)
    for adjoints, named in (((), {"ds": ONES}), ((ONES,), {"ds": ONES}), ((ONES,) * 3, {})):
        with pytest.raises(ArgumentError, match="the pullback takes 2 adjoints: ds, dd"):
            pullback(*adjoints, **named)
    with pytest.raises(UnknownNameError, match="there is no argument 'x'"):
        tadc.jvp(f, (ONES, TWOS), {"x": ONES})
    with pytest.raises(UnknownNameError, match="there is no result 'x'"):
        tadc.inverse_jvp(f, (ONES, TWOS), {"x": ONES})
    with pytest.raises(ArgumentError, match="2 tangents are needed, here are 1"):
        tadc.inverse_jvp(f, (ONES, TWOS), {"d": ONES})


@pytest.mark.parametrize("shape", [(), (4,), (5 * MOST_SAMPLED_ELEMENTS,), (70, 80), (0, 3)])
def test_a_pullback_notices_arguments_that_have_changed(shape: tuple[int, ...]):
    indices = ", ".join("ijk"[: len(shape)])
    x = np.linspace(0, 1, max(1, int(np.prod(shape)))).reshape(shape) if 0 not in shape else None
    x = np.zeros(shape) if x is None else x
    f = tadc.compile(f"y[{indices}] = x[{indices}]**2" if shape else "y = x**2")
    y, pullback = tadc.vjp(f, x)
    pullback(y)
    if not x.size:
        return
    before = x.copy()
    x += 10
    with pytest.raises(ArgumentError, match="the argument x has changed"):
        pullback(y)
    x[...] = before
    pullback(y)


def test_arguments_that_no_gradient_reads_may_change():
    a, b = np.ones(3), np.ones(3)
    _, pullback = tadc.vjp(tadc.compile("y[i] = a[i] * b[i]"), a, b, wrt="a")
    a[:] = 5
    np.testing.assert_array_equal(pullback(np.ones(3))[0], np.ones(3))

"""Warnings about ranges that nobody wrote, and that are empty in a call."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import tadc

pytestmark = pytest.mark.filterwarnings("error::tadc.errors.EmptyRangeWarning")
WINDOW = "y[i] = sum[k](w[k] * x[{}i + k])"


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("step", ["", "2*"])
def test_arguments_in_the_wrong_order_are_warned_of_once(target: str, step: str):
    f = tadc.compile(WINDOW.format(step), target=target, file="f.tad")
    x, w = np.ones(9), np.ones(3)
    with pytest.warns(tadc.EmptyRangeWarning) as found:
        assert f(x, w).shape == (0,)
    assert len(found) == 1 and found[0].filename == __file__
    text = str(found[0].message)
    assert text.startswith(
        "f.tad:1:3: the range of i is empty, and no argument is, at K = 9, X_0 = 3"
    )
    assert f(x, w).shape == f(np.ones(8), w).shape == (0,)


def test_every_way_to_call_warns():
    x, w = np.ones(9), np.ones(3)
    with pytest.warns(tadc.EmptyRangeWarning):
        tadc.vjp(tadc.compile(WINDOW.format("")), x, w)
    with pytest.warns(tadc.EmptyRangeWarning):
        tadc.jvp(tadc.compile(WINDOW.format("")), (x, w), (x, w))
    with pytest.warns(tadc.EmptyRangeWarning):
        tadc.compile(WINDOW.format("")).result_shapes([(9,), (3,)])


def test_an_empty_sum_is_warned_of():
    f = tadc.compile("s = sum[k](x[k + 3])", file="f.tad")
    with pytest.warns(tadc.EmptyRangeWarning, match="f.tad:1:9: the range of k is empty"):
        assert f(np.ones(2)) == 0


@pytest.mark.parametrize(
    "text, shapes",
    [
        (WINDOW.format(""), [(3,), (0,)]),
        (WINDOW.format(""), [(0,), (3,)]),
        (WINDOW.format(""), [(3,), (3,)]),
        ("x: f64[N]\nw: f64[K]\ny[i in range(N - K + 1)] = sum[k](w[k] * x[i + k])", [(3,), (9,)]),
        ("x: f64[N]\ny[i] = sum[k in range(i)](x[k])", [(1,)]),
        ("x: f64[N]\ns = sum[k in range(N - 3)](x[k + 3])", [(2,)]),
        ("x: f64[N]\ny[i] = x[i] if i > 5 else 0", [(2,)]),
    ],
)
def test_what_is_meant_gets_no_warning(text: str, shapes: list[tuple[int, ...]]):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tadc.compile(text)(*map(np.ones, shapes))


def test_a_user_sees_it():
    lines = [
        "import numpy as np, tadc",
        f"f = tadc.compile({WINDOW.format('')!r})",
        "f(np.ones(9), np.ones(3))",
    ]
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert "<string>:3: EmptyRangeWarning: <program>:1:3: the range of i is empty" in run.stderr

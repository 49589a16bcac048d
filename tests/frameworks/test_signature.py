"""What operations of frameworks are made of, and how calls give their arguments."""

from __future__ import annotations

import re

import pytest

import tadc
from tadc.frameworks import signature

CONV = "y[i] = sum[k](w[k] * x[2*i + k])"


def conv(x, w):
    """y[i] = sum[k](w[k] * x[2*i + k])"""


def test_a_text_gives_arguments_in_order_of_first_use():
    found = signature.of(CONV)
    assert found.names == ["w", "x"]
    assert found.bind(("w", "x"), {}) == ["w", "x"]


def test_a_function_of_tadc_is_taken_as_it_is():
    f = tadc.compile("x: f64[N]\nw: f64[K]\n" + CONV)
    found = signature.of(f)
    assert found.function is f
    assert found.names == ["x", "w"]


def test_the_parameters_of_a_function_of_python_give_the_order():
    found = signature.of(conv)
    assert [t.name for t in found.function.args] == ["w", "x"]
    assert found.names == ["x", "w"]
    for given, named in [((2, 1), {}), ((2,), {"w": 1}), ((), {"w": 1, "x": 2})]:
        assert found.bind(given, named) == [1, 2]


def test_a_user_s_function_stays_what_it_was(monkeypatch: pytest.MonkeyPatch):
    tadc.define_function("double", "x", value="2*x", derivative="2")
    f = tadc.compile("y[i] = double(x[i])")
    tadc.define_function("double", "x", value="3*x", derivative="3")
    assert signature.of(f).function is f
    assert signature.of("y[i] = double(x[i])").function.program.key != f.program.key


def missing(x):
    """y[i] = x[i] * s"""


def superfluous(x, s):
    """y[i] = x[i]"""


def default(x=1):
    """y[i] = x[i]"""


def empty(x):
    pass


def wrong(x):
    """y[i] = x[i"""


ERRORS = {
    missing: "the argument s of missing is not in its signature",
    superfluous: "the parameter s of superfluous is not in its program",
    default: "the parameter x=1 of default is not a plain name",
    empty: "the function empty has no docstring",
    wrong: "<wrong>:1:",
    3: "not of 'int'",
    tadc.compile(CONV, "interpret"): "of the target 'cpu', not 'interpret'",
}


@pytest.mark.parametrize("source", ERRORS)
def test_what_is_no_operation_is_an_error(source: signature.Source):
    with pytest.raises(tadc.TadcError, match=re.escape(ERRORS[source])):
        signature.of(source)


@pytest.mark.parametrize(
    "given, named, message",
    [
        ((1,), {}, "the argument w is missing"),
        ((1, 2, 3), {}, "3 arguments for 2 (x, w)"),
        ((1, 2), {"x": 3}, "the argument x is given twice"),
        ((1,), {"v": 2}, "there is no argument v"),
    ],
)
def test_a_call_with_wrong_arguments_is_an_error(
    given: tuple[int, ...], named: dict[str, int], message: str
):
    with pytest.raises(tadc.TadcError, match=re.escape(message)):
        signature.of(conv).bind(given, named)

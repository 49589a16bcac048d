"""Functions with a derivative of their own: values, derivatives of every mode and order, errors."""

from __future__ import annotations

import pickle
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import tadc
from tadc.errors import (
    ArgumentError,
    RankError,
    TadcError,
    TadcSyntaxError,
    UnknownNameError,
)
from tadc.support.ir_text import context, module_text, parse_module
from tests.host_shim import host_shim
from tests.support.campaign import seeds
from tests.support.derivations import Arrays, assert_close, check_seeds, interpret, random_case
from tests.support.gradient_kernels import gradient_kernels
from tests.support.random_programs import EVERYTHING

TARGETS = ("cpu", "interpret")


def defined(text: str, value: str, derivative: object) -> None:
    """`defined("f(x, y)", ...)`."""
    name, arguments = text.removesuffix(")").split("(")
    tadc.define_function(name, arguments, value=value, derivative=derivative)  # pyright: ignore[reportArgumentType]


# --- functions whose derivative is that of their value --------------------------------------------

WRITTEN_OUT: dict[str, tuple[str, object]] = {
    "soft_plus(x)": ("log1p(exp(x))", "sigmoid(x)"),
    "length(x, y)": ("sqrt(x**2 + y**2 + 1)", ("x / length", "y / length")),
    "huber(x)": (
        "0.5 * x * x if abs(x) <= 0.5 else 0.5 * (abs(x) - 0.25)",
        "min(max(x, -0.5), 0.5)",
    ),
    "swish(x, b)": (
        "x * sigmoid(b * x)",
        {"b": "x * x * bump(b * x)", "x": "sigmoid(b * x) + b * x * bump(b * x)"},
    ),
    "power(x, n)": (
        "(1 + x * x)**(0.5 * n)",
        ("n * x * power(x, n - 2)", "0.5 * log(1 + x * x) * power"),
    ),
}
"""The value, which is the formula to compare with, and its derivatives."""

PROGRAMS = (
    "y[i] = soft_plus(2 * x[i] - z[i])",
    "y[i, j] = length(x[i], z[j])",
    "y[i] = sum[j](huber(x[i] * z[j]) * x[j])",
    "s = sum[i](swish(x[i], z[i])**2)",
    "y[i in range(3)] = power(x[i + 1], z[2*i])",
    "h[i] = length(x[i], soft_plus(x[i]))\n"
    "y[i] = swish(h[i], power(z[i], h[i])) if huber(x[i]) > 0.1 else soft_plus(h[i])",
    "x[i] += soft_plus(z[i])\nx[i] *= length(x[i], z[i])\n"
    "y = max[i](huber(x[i])) + prod[i](power(x[i], 1))",
)


@pytest.fixture(autouse=True)
def _functions() -> None:
    defined("bump(x)", "sigmoid(x) * (1 - sigmoid(x))", "bump * (1 - 2 * sigmoid(x))")
    for head, (value, derivative) in WRITTEN_OUT.items():
        defined(head, value, derivative)


def written_out(source: str) -> str:
    """The program with formulas in the place of calls, from inside out."""
    calls = {head.split("(")[0]: head for head in WRITTEN_OUT}
    pattern = re.compile(rf"\b({'|'.join(calls)})\(")
    while found := list(pattern.finditer(source)):
        start = found[-1]  # no call stands inside the last one
        arguments, end, depth, piece = list[str](), start.end(), 0, ""
        while depth >= 0:
            character = source[end]
            depth += (character in "([") - (character in ")]")
            if (character == "," and depth == 0) or depth < 0:
                arguments.append(f"({piece.strip()})")
                piece = ""
            else:
                piece += character
            end += 1
        head = calls[start[1]]
        names = head[head.index("(") + 1 : -1].split(", ")
        replaced = dict(zip(names, arguments, strict=True))
        words = re.split(r"\b(\w+)\b", WRITTEN_OUT[head][0])
        value = "".join(replaced.get(word, word) for word in words)
        source = f"{source[: start.start()]}({value}){source[end:]}"
    return source


def arrays(f: tadc.Function) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    return [rng.uniform(0.3, 1.5, 5 if t.shape else ()) for t in f.args]


@pytest.mark.parametrize("source", PROGRAMS)
def test_like_the_formula_written_out(source: str) -> None:
    """Values, tangents, gradients, and gradients of gradients, as code and in the interpreter."""
    own, plain = tadc.compile(source), tadc.compile(written_out(source))
    assert [t.name for t in own.args] == [t.name for t in plain.args]
    values = arrays(own)
    tangents = [np.sin(1 + v) for v in values]
    seeds = [np.cos(r) for r in interpret(plain.program.op, values)]
    gradient, expected = own.derivative(), plain.derivative()
    for f, g, inputs, tolerance in (
        (own, plain, values, 1e-12),
        (own.forward(), plain.forward(), [*values, *tangents], 1e-10),
        (gradient, expected, [*values, *seeds], 1e-10),
        (gradient.derivative(), expected.derivative(), [*values, *seeds, *tangents], 1e-9),
    ):
        results = interpret(g.program.op, inputs)
        assert_close(f.call(inputs, {}), results, tolerance, str(f))
        assert_close(interpret(f.program.op, inputs), results, tolerance, str(f))
    found = tadc.vjp(own, *values)[1](*seeds)
    assert_close(found, interpret(expected.program.op, [*values, *seeds]), 1e-10, "vjp")


@pytest.mark.parametrize("source", PROGRAMS)
def test_derivatives_are_programs(source: str) -> None:
    f = tadc.compile(source)
    for g in (f, f.derivative(), f.derivative().derivative(f.args[0].name), f.forward()):
        again = tadc.compile(str(g))
        assert str(again) == str(g)
        values = [np.full(5 if t.shape else (), 0.4) for t in g.args]
        if all(len(t.shape) < 2 and t.shape != (3,) for t in g.args):
            results = interpret(g.program.op, values)
            assert_close(interpret(again.program.op, values), results, 1e-12, str(g))


BUILT_IN = {
    "sin": "cos(x)",
    "tanh": "1 - own_tanh**2",
    "exp": "own_exp",
    "sigmoid": "own_sigmoid * (1 - own_sigmoid)",
    "log": "1 / x",
}


def check_random(seed: int) -> None:
    """Every `sin(...)` and the like of a random program as a function with the same formulas."""
    for word, derivative in BUILT_IN.items():
        tadc.define_function(f"own_{word}", "x", value=f"{word}(x)", derivative=derivative)
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    source = re.sub(rf"\b({'|'.join(BUILT_IN)})\(", r"own_\1(", case.source)
    own = tadc.compile(source)
    assert_close(interpret(own.program.op, case.values), case.results, 1e-12, "values")
    expected = interpret(case.function.derivative().program.op, case.inputs)
    found = own.derivative().call(case.inputs, {})
    assert_close(found, expected, 1e-9, "gradients")
    assert_close(tadc.vjp(own, *case.values)[1](*case.adjoints), expected, 1e-9, "pullback")


@pytest.mark.parametrize("some", [seeds(5, of=40), seeds(5, of=40, start=500)], ids=str)
def test_random_programs_of_custom_functions_mean_the_same(some: range) -> None:
    check_seeds(check_random, some)


# --- functions whose derivative is their own ------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_a_straight_through_estimator(target: str) -> None:
    """The rule is obeyed though it is not the derivative of the value, at every order."""
    tadc.define_function("hard", "x", value="sign(x)", derivative="1")
    f = tadc.compile("s = sum[i](w[i] * hard(x[i])**3)", target)
    w, x = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 4.0])
    h = np.sign(x)
    s, pullback = tadc.vjp(f, w, x)
    np.testing.assert_allclose(s, np.sum(w * h**3))
    dw, dx = pullback(1.0)
    np.testing.assert_allclose(dw, h**3)
    np.testing.assert_allclose(dx, 3 * w * h**2)
    np.testing.assert_allclose(tadc.jvp(f, (w, x), (np.zeros(3), x))[1], np.sum(3 * w * h**2 * x))
    gradient = tadc.grad(f, "x")  # 3 w hard(x)**2, whose derivative is 6 w hard(x)
    _, pullback = tadc.vjp(gradient, w, x)
    np.testing.assert_allclose(pullback(np.ones(3))[1], 6 * w * h)
    third = gradient.derivative("x").derivative("x")
    np.testing.assert_allclose(third(w, x, np.ones(3), np.ones(3)), 6 * w)


@pytest.mark.parametrize("target", TARGETS)
def test_a_stable_derivative(target: str) -> None:
    """Derived naively, log(1 + exp(x)) is inf / inf at 1000."""
    tadc.define_function(
        "stable", "x", value="x if x > 40 else log1p(exp(x))", derivative="sigmoid(x)"
    )
    x = np.array([-1000.0, 0.0, 1000.0])
    naive = tadc.compile("y[i] = log(1 + exp(x[i]))", target)
    assert np.isnan(tadc.vjp(naive, x)[1](np.ones(3))[0][2])
    y, pullback = tadc.vjp(tadc.compile("y[i] = stable(x[i])", target), x)
    np.testing.assert_allclose(y, [0, np.log(2), 1000])
    np.testing.assert_allclose(pullback(np.ones(3))[0], [0, 0.5, 1])


def test_a_derivative_may_clip() -> None:
    """A function of value and adjoint scale: an argument whose derivative is 0 gets none."""
    tadc.define_function("scaled", "x, s", value="x", derivative=("s", "0"))
    f = tadc.compile("y = sum[i](scaled(x[i], s) * x[i])")
    x = np.array([1.0, 2.0])
    np.testing.assert_allclose(tadc.grad(f, "x")(x, 0.25), x + 0.25 * x)
    assert str(tadc.grad(f, "s")).splitlines()[-2] == "ds = 0"


def test_inverse_modes_go_by_the_given_derivative() -> None:
    """They invert the derivative that is given."""
    tadc.define_function("gate", "x", value="1 + exp(x)", derivative="gate - 1")
    source = "q: f64[N]\np: f64[N]\nq[i] = q[i] * {}\np[i] += {}"
    own = tadc.compile(source.format("gate(p[i])", "gate(q[i])"))
    plain = tadc.compile(source.format("(1 + exp(p[i]))", "1 + exp(q[i])"))
    state, vectors = (np.array([0.1, 0.2]), np.array([0.3, -0.4])), (np.ones(2), np.ones(2))
    for mode in (tadc.inverse_jvp, tadc.inverse_vjp):
        assert_close(mode(own, state, vectors), mode(plain, state, vectors), 1e-12, "inverse")
    np.testing.assert_allclose(tadc.log_abs_det(own, state), tadc.log_abs_det(plain, state))
    tadc.define_function("hard", "x", value="sign(x)", derivative="4")
    rounded = tadc.compile("q: f64[N]\nq[i] = hard(q[i])")
    np.testing.assert_allclose(tadc.inverse_jvp(rounded, state[:1], vectors[:1])[0], 0.25)


# --- targets, precision, processes ----------------------------------------------------------------


def test_custom_functions_compute_in_single_precision() -> None:
    f = tadc.compile("x: f32[N]\ny[i] = soft_plus(x[i])")
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    y, pullback = tadc.vjp(f, x)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, np.log1p(np.exp(x)), rtol=1e-6)
    np.testing.assert_allclose(pullback(np.ones_like(x))[0], 1 / (1 + np.exp(-x)), rtol=1e-6)


@host_shim.needs_compiler
@pytest.mark.parametrize("source", PROGRAMS[:4])
def test_cuda_c_holds_the_formulas(source: str) -> None:
    f = tadc.compile(source)
    derivative = f.derivative()
    values = arrays(f)
    inputs = [*values, *(np.cos(r) for r in f.call(values, {}))]
    expected = interpret(derivative.program.op, inputs)
    kernels = gradient_kernels(0, derivative, inputs, expected)
    assert_close(kernels.run(host_shim.load(kernels.text)), expected, 1e-9, source)


def test_no_call_reaches_the_code() -> None:
    f = tadc.compile("y[i] = soft_plus(x[i])")
    assert 'tix.call "soft_plus"' in f.ir("tensor-index")
    assert "soft_plus" not in f.ir("scheduled") + f.emit("llvm") + f.emit("cuda")


def gradients(f: tadc.Function, x: np.ndarray) -> Arrays:
    y, pullback = tadc.vjp(f, x)
    return [y, *pullback(np.ones_like(y)), f.derivative().derivative()(x, y, y)[0]]


def test_programs_carry_their_functions() -> None:
    """As text, pickled, and in a process that has not defined them."""
    f = tadc.compile("y[i] = swish(soft_plus(x[i]), 2)")
    x = np.array([-1.0, 0.5, 2.0])
    expected = gradients(f, x)
    assert_close(gradients(pickle.loads(pickle.dumps(f)), x), expected, 0, "pickled")
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert_close(pool.submit(gradients, f, x).result(), expected, 0, "elsewhere")
    module = parse_module(module_text(f.program.module))
    module.verify()
    assert module_text(module) == module_text(f.program.module)
    both = f.with_pullback()
    for part in (both.value, both.gradients):
        part.program.module.verify()
    assert context().get_optional_op("tix.call") is not None


def test_a_new_definition_is_for_later_programs() -> None:
    tadc.define_function("inner", "x", value="x", derivative="1")
    tadc.define_function("outer", "x", value="2 * inner(x)", derivative="2")
    before = tadc.compile("y = outer(x)")
    tadc.define_function("inner", "x", value="10 * x", derivative="10")
    tadc.define_function("later", "x", value="x", derivative="1")
    after = tadc.compile("y = outer(x)")
    assert (before(1.0), after(1.0)) == (2.0, 20.0)
    assert tadc.vjp(before, 1.0)[0] == 2.0  # derived later, of the program as it is
    tadc.define_function("inner", "x, y", value="x + y", derivative=("1", "1"))
    assert after(1.0) == 20.0
    with pytest.raises(RankError, match="inner takes 2 arguments, not 1") as error:
        tadc.compile("y = outer(x)")
    assert (error.value.file, error.value.column) == ("<value of outer>", 5)


def test_names_of_derivatives_leave_functions_alone() -> None:
    """A function `dy` beside an adjoint of `y`, and one `dx` beside a gradient."""
    for name in ("dy", "dx", "y_dot"):
        tadc.define_function(name, "v", value="sin(v)", derivative="cos(v)")
    f = tadc.compile("y[i] = dy(x[i]) * dx(x[i]) + y_dot(x[i])")
    assert [t.name for t in f.derivative().args] == ["x", "dy_1"]
    for g in (f.derivative(), f.forward()):
        again = tadc.compile(str(g))
        assert [t.name for t in again.results] == [t.name for t in g.results]
        values = [np.array([0.3, 0.7])] * len(g.args)
        np.testing.assert_allclose(again(*values), g(*values))


# --- errors ---------------------------------------------------------------------------------------

BAD = [
    ({"name": "exp"}, TadcSyntaxError, 1, "exp is a word of the language and cannot name a func"),
    ({"name": "lambda"}, TadcSyntaxError, 1, "lambda is a word of Python"),
    ({"name": "2f"}, TadcSyntaxError, 1, "2f is not a name"),
    ({"arguments": "x, sum"}, TadcSyntaxError, 6, "sum is a word of the language"),
    ({"arguments": "x y"}, TadcSyntaxError, 3, "x y is not a name"),
    ({"arguments": "x, x"}, TadcSyntaxError, 6, "x is given twice"),
    ({"arguments": "f"}, TadcSyntaxError, 3, "f is given twice"),
    ({"arguments": ""}, TadcSyntaxError, 1, "f has no argument"),
    ({"arguments": 5}, ArgumentError, None, "names of arguments"),
    ({"value": "x + z"}, UnknownNameError, 5, "there is no z in this formula"),
    ({"value": "x + f"}, UnknownNameError, 5, "there is no f in this formula"),
    ({"value": "x + sum[k](x)"}, TadcSyntaxError, 5, "a formula has no reductions"),
    ({"value": "2 * x[i]"}, TadcSyntaxError, 5, "x is one number in a formula"),
    ({"value": "pad(x)"}, TadcSyntaxError, 1, "a formula reads no elements"),
    ({"value": "exp + x"}, TadcSyntaxError, 1, "exp is a function, not a tensor"),
    ({"value": "soft_plu(x)"}, UnknownNameError, 1, "did you mean soft_plus?"),
    ({"value": "length(x)"}, RankError, 1, "length takes 2 arguments, not 1"),
    ({"value": "x *"}, TadcSyntaxError, 4, "invalid syntax"),
    ({"value": "y = x"}, TadcSyntaxError, 1, "a formula is one expression"),
    ({"value": ""}, TadcSyntaxError, 1, "the formula is empty"),
    ({"value": "1 if x else 2"}, TadcSyntaxError, 6, "this is not a condition"),
    ({"value": 3}, ArgumentError, None, "must be text"),
    ({"value": "2 * f(x)"}, TadcSyntaxError, 5, "the value of f needs f itself"),
    ({"derivative": "2 * q"}, UnknownNameError, 5, "a formula reads x, f"),
    ({"derivative": "sum[k](x)"}, TadcSyntaxError, 1, "a formula has no reductions"),
    ({"derivative": 1.0}, ArgumentError, None, "must be text"),
    ({"derivative": ("1", "2")}, RankError, 1, "one derivative for each of its arguments"),
    ({"derivative": {"y": "1"}}, UnknownNameError, None, "f has no argument 'y'"),
    ({"derivative": {}}, RankError, 1, "one derivative for each of its arguments"),
]


@pytest.mark.parametrize("wrong, kind, column, message", BAD, ids=[b[3] + str(b[0]) for b in BAD])
def test_wrong_functions_are_located(
    wrong: dict[str, object], kind: type[TadcError], column: int | None, message: str
) -> None:
    given = {"name": "f", "arguments": "x", "value": "x", "derivative": "1"} | wrong
    with pytest.raises(kind, match=re.escape(message)) as error:
        tadc.define_function(**given)  # pyright: ignore[reportArgumentType]
    assert error.value.column == column
    with pytest.raises(UnknownNameError, match="there is no function f"):
        tadc.compile("y = f(x)")


def test_a_value_that_needs_itself_through_another() -> None:
    tadc.define_function("first", "x", value="x", derivative="1")
    tadc.define_function("second", "x", value="first(x)", derivative="1")
    with pytest.raises(TadcSyntaxError, match="the value of first needs first itself"):
        tadc.define_function("first", "x", value="1 + second(x)", derivative="1")
    assert tadc.compile("y = second(x)")(2.0) == 2.0


@pytest.mark.parametrize(
    "source, message, column",
    [
        ("y = length(x)", "length takes 2 arguments, not 1", 5),
        ("y = lenght(x, x)", "did you mean length?", 5),
        ("length[i] = length(x[i], 1)", "length is both a function and a tensor", 13),
        ("y[i] = length(x[i], 1) + length[i]", "length is a function, not a tensor", 26),
        ("y[i] = length[i] + length(x[i], 1)", "length is both a function and a tensor", 20),
        ("y[length] = length(x[length], 1)", "length is both a function and an index", 13),
        ("z: f64[length]\ny[i] = length(z[i], 1)", "length is both a function and a size", 8),
        ("y = length(x=x, y=x)", "functions take plain arguments", 5),
    ],
)
def test_wrong_calls_are_located(source: str, message: str, column: int) -> None:
    with pytest.raises(TadcError, match=re.escape(message)) as error:
        tadc.compile(source)
    assert error.value.column == column


def test_a_name_is_free_where_it_is_not_called() -> None:
    f = tadc.compile("length[i] = 2 * x[i]\ny[huber] = length[huber]\nreturn length, y")
    np.testing.assert_allclose(f(np.ones(2)), np.full((2, 2), 2.0))

"""Forward mode against reverse mode, which other tests hold against differences: (4.7a).

(Jᵀ ȳ) · ẋ = ȳ · (J ẋ)   for every program, on machine code and in the interpreter.
"""

import re

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds
from tests.support.derivations import (
    Arrays,
    Case,
    assert_close,
    check_seeds,
    interpret,
    random_case,
)
from tests.support.random_programs import EVERYTHING

CHUNK = 5


def directions(values: Arrays, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.uniform(-1, 1, v.shape), v.dtype) for v in values]


def dot(a: Arrays, b: Arrays) -> float:
    return sum(float(np.sum(np.float64(x) * y)) for x, y in zip(a, b, strict=True))


def size(a: Arrays, b: Arrays) -> float:
    """How large the terms of `dot` are."""
    return sum(float(np.sum(np.abs(np.float64(x) * y))) for x, y in zip(a, b, strict=True))


def assert_dual(case: Case, gradients: Arrays, tangents: Arrays, derivatives: Arrays) -> None:
    left, right = dot(gradients, tangents), dot(case.adjoints, derivatives)
    scale = 1 + size(gradients, tangents) + size(case.adjoints, derivatives)
    assert abs(left - right) <= 1e-9 * scale, f"{left} is not {right}"


def check_duality(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    forward = case.function.forward(keep_values=True)
    tangents = directions(case.values, seed)
    results = interpret(forward.program.op, [*case.values, *tangents])
    values, derivatives = results[: len(case.results)], results[len(case.results) :]
    assert_close(values, case.results, 1e-12, "values")
    gradients = interpret(case.function.derivative().program.op, case.inputs)
    assert_dual(case, gradients, tangents, derivatives)
    if seed % 5 == 0:
        again = tadc.compile(str(forward))
        assert str(tadc.compile(str(again))) == str(again)
        assert_close(again.call([*case.values, *tangents], {}), results, 1e-9, "machine code")


@pytest.mark.parametrize("first", seeds(5, of=200)[::CHUNK])
def test_forward_and_reverse_agree(first: int) -> None:
    check_seeds(check_duality, range(first, first + CHUNK))


def check_second(seed: int) -> None:
    """Forward over reverse is reverse over forward: the Hessian is symmetric."""
    case = random_case(seed)
    tangents = directions(case.values, seed)
    gradient = case.function.derivative()
    along = gradient.forward(*(t.name for t in case.function.args))
    by_forward = along.call([*case.inputs, *tangents], {})
    forward = case.function.forward()
    by_reverse = forward.derivative(*(t.name for t in case.function.args))
    expected = by_reverse.call([*case.values, *tangents, *case.adjoints], {})
    assert_close(by_forward, expected, 1e-8, "second derivatives")


def test_second_derivatives_are_symmetric() -> None:
    check_seeds(check_second, seeds(4, of=40))


LAYERS = """h[i] = tanh(sum[j](w[i, j] * x[j]))
y[i] = h[i] * sum[j](v[i, j] * h[j])
z[i] = exp(u[i])
"""


def test_only_what_tangents_need_is_computed() -> None:
    f = tadc.compile(LAYERS)
    text = str(f.forward("v"))
    assert "w_dot" not in text and "h_dot" not in text
    assert re.search(r"^z_dot\[.*\] = 0", text, re.MULTILINE)
    x, w, v, u = np.ones(3), np.eye(3) / 2, np.ones((3, 3)), np.zeros(2)
    by_name = {"x": x, "w": w, "v": v, "u": u}
    arguments = [by_name[t.name] for t in f.args]
    tangents = [np.ones((3, 3)) if t.name == "v" else None for t in f.args]
    (y, z), (y_dot, z_dot) = tadc.jvp(f, arguments, tangents)
    h = np.tanh(w @ x)
    np.testing.assert_allclose(y, h * (v @ h))
    np.testing.assert_allclose(y_dot, h * (np.ones((3, 3)) @ h))
    assert z.shape == z_dot.shape and not z_dot.any()


def test_one_result_comes_as_an_array() -> None:
    f = tadc.compile("f[i] = x[i]**3")
    y, y_dot = tadc.jvp(f, (np.array([1.0, 2.0]),), (np.array([1.0, 0.5]),))
    np.testing.assert_allclose(y, [1, 8])
    np.testing.assert_allclose(y_dot, [3, 6])


def test_tangents_of_updated_arguments_are_updates() -> None:
    f = tadc.compile("p: f64[4]\nq: f64[4]\np[i] *= q[i]\np[i] += p[3 - i]")
    text = str(f.forward("p"))
    assert text.splitlines()[-1] == "return p_dot"
    p, q, p_dot = np.arange(4.0), np.arange(1.0, 5), np.array([1.0, -1, 2, 0])
    _, derivative = tadc.jvp(f, (p, q), (p_dot, None))
    np.testing.assert_allclose(derivative, p_dot * q + (p_dot * q)[::-1])


@pytest.mark.parametrize(
    ("arguments", "tangents", "words"),
    [
        ((1.0,), (), "1 arguments and as many tangents: here are 1 and 0"),
        ((1.0, 2.0), (1.0, 1.0), "here are 2 and 2"),
        ((1.0,), (None,), "at least one"),
        ((1.0,), (np.ones(3),), "x_dot"),
    ],
)
def test_wrong_tangents_are_refused(
    arguments: tuple[object], tangents: tuple[object], words: str
) -> None:
    f = tadc.compile("x: f64[]\nf = sin(x)")
    with pytest.raises(tadc.TadcError, match=words):
        tadc.jvp(f, arguments, tangents)

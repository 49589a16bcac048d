"""Calls of the inverse modes: sizes, kinds of arguments, and what goes wrong with them."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.errors import IllConditionedWarning, SingularError, UnsupportedError
from tadc.runtime.runner import Runner
from tadc.runtime.size_class import SizeClass

DENSE = """w: f64[N, N]
p: f64[N]
q: f64[2]
p[i] = 2 * p[i] + 0.1 * sum[j](w[i, j] * tanh(p[j]))
q[i] *= 2
"""
BY_NAME = {
    "diagonal": "p: f64[N]\np[i] = 2 * p[N - 1 - i]",
    "substitution": "p: f64[N]\np[i] = 2 * p[i] + (p[i - 1] if i % 2 == 1 else 0)",
    "monomial": "p: f64[N]\np[i] = 2 * p[i + 1] if i < N - 1 else 2 * p[0]",
    "banded": "p: f64[N]\np[i] = 2 * p[i] + sin(pad(p[i - 1])) + 0.1 * pad(p[i + 1])",
    "triangular": "p: f64[N]\np[i] = 2 * p[i] + sum[j in range(i)](sin(p[j]))",
    "blocks": "p: f64[N, 2]\np[b, i] = 2 * p[b, i] + 0.1 * sum[j](sin(p[b, j]))",
    "dense": "p: f64[N]\np[i] = 2 * p[i] + 0.1 * sum[j](sin(p[j]))",
    "tensors": """p: f64[N]
q: f64[3]
s = 0.1 * sum[i](p[i])
t = 0.1 * sum[i](q[i])
p[i] += sin(t)
q[i] += s""",
}


def state_of(f: tadc.Function, size: int) -> list[np.ndarray]:
    rng = np.random.default_rng(size)
    shapes = [[size if isinstance(n, str) else n for n in t.shape] for t in f.args]
    return [rng.uniform(-1, 1, shape) for shape in shapes]


def dense_jacobian(f: tadc.Function, state: list[np.ndarray]) -> np.ndarray:
    """Of a program that updates all its arguments."""
    columns: list[np.ndarray] = []
    for n, array in enumerate(state):
        for place in np.ndindex(array.shape):
            tangents = [np.zeros_like(a) for a in state]
            tangents[n][place] = 1
            derivatives: Any = tadc.jvp(f, state, tangents)[1]
            parts = derivatives if len(state) > 1 else [derivatives]
            columns.append(np.concatenate([d.ravel() for d in parts]))
    return np.array(columns).T.reshape((len(columns), len(columns)))


@pytest.mark.parametrize("name", BY_NAME)
def test_one_program_takes_all_sizes(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    f = tadc.compile(BY_NAME[name], "interpret")
    for size in (3, 0, 1, 2, 7):
        state = state_of(f, size)
        jacobian = dense_jacobian(f, state)
        flat = np.concatenate([a.ravel() for a in state])
        solved = np.concatenate([a.ravel() for a in tadc.inverse_jvp(f, state, state)])
        np.testing.assert_allclose(jacobian @ solved, flat, rtol=1e-9, atol=1e-12)
        solved = np.concatenate([a.ravel() for a in tadc.inverse_vjp(f, state, state)])
        np.testing.assert_allclose(jacobian.T @ solved, flat, rtol=1e-9, atol=1e-12)
        expected = np.linalg.slogdet(jacobian)
        np.testing.assert_allclose(tadc.log_abs_det(f, state), expected, rtol=1e-9, atol=1e-12)
    assert capfd.readouterr() == ("", "")  # routines that print where they do not like a size


def test_no_size_needs_compiling_again() -> None:
    f = tadc.compile(BY_NAME["dense"])
    inverse = f.inverse("inverse-jvp")
    assert f.inverse("inverse-jvp") is inverse
    for size in (3, 5, 9):
        (state,) = state_of(f, size)
        assert tadc.inverse_jvp(f, [state], state)[0].shape == (size,)
    programs = [step for step in inverse.steps if isinstance(step, Runner)]
    made = [p.executable("f64", SizeClass()) for p in programs]
    assert len(programs) == 2
    tadc.inverse_jvp(f, [np.ones(4)], np.ones(4))
    assert [p.executable("f64", SizeClass()) for p in programs] == made


MODES: dict[str, Callable[[tadc.Function, list[Any], Any], Any]] = {
    "inverse_jvp": tadc.inverse_jvp,
    "inverse_vjp": tadc.inverse_vjp,
    "log_abs_det": lambda f, arguments, _: tadc.log_abs_det(f, arguments),
}


@pytest.mark.parametrize("mode", MODES)
def test_pickled_functions_and_threads_give_the_same(mode: str) -> None:
    f = tadc.compile(DENSE)
    arguments = [np.arange(9.0).reshape(3, 3), np.ones(3), np.ones(2)]
    vectors = [np.arange(3.0), np.array([1.0, -1])]
    expected = MODES[mode](f, arguments, vectors)
    fresh = tadc.compile(DENSE)  # threads that find it not yet derived
    again = pickle.loads(pickle.dumps(f))
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(MODES[mode], g, arguments, vectors) for g in [*[fresh] * 4, again]]
        found = [call.result() for call in calls]
    for result in found:
        for a, e in zip(result, expected, strict=True):
            np.testing.assert_array_equal(a, e)


SCALAR = "s: f64[]\ns = 2 * s + sin(s)"


@pytest.mark.parametrize("vector", [2.0, [2.0], (2,), np.array(2.0), (np.array(2.0),)])
@pytest.mark.parametrize("mode", ["inverse_jvp", "inverse_vjp"])
def test_a_single_vector_may_come_bare(mode: str, vector: object) -> None:
    result = MODES[mode](tadc.compile(SCALAR, "interpret"), [1], vector)
    assert isinstance(result, tuple)
    np.testing.assert_allclose(result[0], 2 / (2 + np.cos(1)))  # pyright: ignore[reportUnknownArgumentType]


def test_arguments_and_vectors_may_have_any_strides() -> None:
    f = tadc.compile(DENSE)
    w, p, q = np.arange(9.0).reshape(3, 3), np.ones(3), np.ones(2)
    expected = tadc.inverse_jvp(f, [w.T, p, q], [np.arange(3.0), q])
    wide = np.zeros((6, 2))
    wide[::2, 0] = np.arange(3.0)
    found = tadc.inverse_jvp(f, [np.asfortranarray(w.T), wide[::2, 1] + 1, q], [wide[::2, 0], q])
    for a, e in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, e)


def test_parameters_may_have_another_precision() -> None:
    f = tadc.compile("w: f32[N]\np: f64[N]\np[i] *= w[i]")
    w, p = np.array([2, 3], np.float32), np.ones(2)
    (found,) = tadc.inverse_jvp(f, [w, p], np.ones(2))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, 1 / w.astype(float))
    g = tadc.compile("w: f64[N]\np: f32[N]\np[i] *= w[i]")
    (found,) = tadc.inverse_vjp(g, [p, w], np.ones(2, np.float32))
    assert found.dtype == np.float32


MIXED = """{x}
y: f64[3]
x[i] *= 1
s = sum[i](x[i])
t = sum[i](y[i])
x[i] += 0.1 * t
y[i] += 0.2 * s
"""


@pytest.mark.parametrize("declaration", ["x: f32[2]", ""])
@pytest.mark.parametrize("mode", ["inverse_jvp", "inverse_vjp"])
def test_one_system_may_have_two_precisions(mode: str, declaration: str) -> None:
    f = tadc.compile(MIXED.format(x=declaration))
    arguments = {"x": np.ones(2, np.float32), "y": np.ones(3)}
    state = [arguments[t.name] for t in f.results]
    found = MODES[mode](f, [arguments[t.name] for t in f.args], state)
    assert [a.dtype for a in found] == [a.dtype for a in state]
    g = tadc.compile(MIXED.format(x="x: f64[2]"))
    wide = {name: a.astype(float) for name, a in arguments.items()}
    expected = MODES[mode](g, [wide[t.name] for t in g.args], [wide[t.name] for t in g.results])
    by_name = dict(zip((t.name for t in g.results), expected, strict=True))
    for t, a in zip(f.results, found, strict=True):
        np.testing.assert_allclose(a, by_name[t.name], rtol=1e-6)


P, Q, W = np.ones(3), np.ones(2), np.ones((3, 3))


@pytest.mark.parametrize("mode", ["inverse_jvp", "inverse_vjp"])
@pytest.mark.parametrize(
    ("arguments", "vectors", "words"),
    [
        ((W, P, Q), (P,), "2 .* are needed, here are 1"),
        ((W, P, Q), P, "2 .* are needed, here are 1"),
        ((W, P, Q), None, "2 .* are needed, here are 1"),
        ((W, P, Q), (P, Q, Q), "2 .* are needed, here are 3"),
        ((W, P, Q), (Q, P), "dimension 0 of d?p(_dot)? is 2, expected N = 3"),
        ((W, P, Q), (W, Q), "has rank 2, not 1"),
        ((W, P, Q), (None, Q), "is a NoneType, not an array"),
        ((W, P, Q), ("p", Q), "is a str, not an array"),
        ((W, P, Q), (P.astype(int), Q), "has dtype int64, not float64"),
        ((W, P, Q), (P.astype(np.float32), Q), "has dtype float32, not float64"),
        ((W, P), (P, Q), "takes 3 arguments, not 2"),
        ((W, P, Q, Q), (P, Q), "takes 3 arguments, not 4"),
        ((W, np.ones(4), Q), (P, Q), "dimension 0 of p is 4, expected N = 3"),
    ],
)
def test_wrong_vectors_and_arguments_are_refused(
    mode: str, arguments: Any, vectors: Any, words: str
) -> None:
    with pytest.raises(tadc.TadcError, match=words):
        MODES[mode](tadc.compile(DENSE), arguments, vectors)


# --- singular at these arguments ------------------------------------------------------------------

V = "v: f64[N]\np: f64[N]\n"
SINGULAR: dict[str, tuple[str, list[float], tuple[int, ...]]] = {
    "diagonal": (V + "p[i] *= v[i]", [1, 0, 2], (1,)),
    "elsewhere": (V + "p[i] = v[i] * p[N - 1 - i]", [0, 1, 2], (0,)),
    "substitution": (V + "p[i] = v[i] * p[i] + (p[i-1] if i % 2 == 1 else 0)", [1, 2, 0], (2,)),
    "monomial": (V + "p[i] = v[i] * p[i + 1] if i < N - 1 else p[0]", [1, 0, 2], (1,)),
    "banded": (V + "p[i] = v[i] * p[i] + pad(p[i - 1])", [1, 1, 1, 1, 0], (4,)),
    "triangular": (V + "p[i] = v[i] * p[i] + sum[j in range(i)](p[j])", [1, 2, 3, 0, 5], (3,)),
    "dense": (V + "p[i] = p[i] - sum[j](v[j] * p[j])", [0.5, 0.25, 0.25], (2,)),
}


@pytest.mark.parametrize("mode", ["inverse_jvp", "inverse_vjp"])
@pytest.mark.parametrize("name", SINGULAR)
def test_a_singular_lump_is_named(name: str, mode: str) -> None:
    source, values, element = SINGULAR[name]
    f = tadc.compile("# a comment\n" + source, file="update.tad")
    arguments = [np.array(values, float), np.ones(len(values))]
    with pytest.raises(SingularError, match="the Jacobian is singular: ") as error:
        MODES[mode](f, arguments, arguments[1])
    assert (error.value.file, error.value.line, error.value.column) == ("update.tad", 4, 1)
    assert error.value.element == element
    assert tadc.log_abs_det(f, arguments) == (0, -np.inf)


@pytest.mark.parametrize(("update", "shape"), [("p[i, b] = ", (2, 3)), ("p[b, i] = ", (3, 2))])
def test_a_singular_block_is_named_as_an_element(update: str, shape: tuple[int, ...]) -> None:
    batch = shape.index(3)
    there = "p[j, b]" if batch else "p[b, j]"
    f = tadc.compile(f"w: f64[3, 2, 2]\np: f64{list(shape)}\n{update}sum[j](w[b, i, j] * {there})")
    w = np.stack([np.eye(2), np.array([[1.0, 2], [2, 4]]), np.eye(2)])
    with pytest.raises(SingularError, match=r"its column for p\[1, 1\]") as error:
        tadc.inverse_jvp(f, [w, np.ones(shape)], np.ones(shape))
    assert (error.value.line, error.value.element) == (3, (1, 1))


def test_the_tensor_of_a_singular_system_is_named() -> None:
    source = "c: f64[]\nx: f64[2]\ny: f64[]\ns = x[0] + x[1]\nx[i] += y\ny = s + c * y"
    f = tadc.compile(source)
    # rows (1, 0, 1), (0, 1, 1), (1, 1, c): singular for c = 2
    with pytest.raises(SingularError, match="its column for y is a combination") as error:
        tadc.inverse_vjp(f, [2.0, np.ones(2), 1.0], [np.ones(2), 1.0])
    assert (error.value.line, error.value.element) == (6, ())


ILL: dict[str, tuple[str, list[float]]] = {
    "diagonal": (V + "p[i] *= v[i]", [1e-20, 1, 2]),
    "banded": (V + "p[i] = p[i] + 3 * pad(p[i - 1]) + v[i] * pad(p[i + 1])", [0.0] * 80),
    "triangular": (V + "p[i] = p[i] + sum[j in range(i)]((3 + v[j]) * p[j])", [0.0] * 60),
    "dense": (V + "p[i] = sum[j](p[j] / (i + j + 1 + v[j]))", [0.0] * 15),  # Hilbert's matrix
}


@pytest.mark.parametrize("mode", ["inverse_jvp", "inverse_vjp"])
@pytest.mark.parametrize("name", ILL)
def test_an_ill_conditioned_lump_warns(name: str, mode: str) -> None:
    source, values = ILL[name]
    f = tadc.compile(source)
    arguments = [np.array(values, float), np.ones(len(values))]
    with pytest.warns(IllConditionedWarning, match="<program>:3:1: .* is nearly singular") as found:
        MODES[mode](f, arguments, arguments[1])
    assert {warning.filename for warning in found} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MODES[mode](f, [np.full(3, 0.5), np.ones(3)], np.ones(3))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", SINGULAR)
def test_what_is_not_finite_is_never_lost(name: str, value: float) -> None:
    """A divisor or matrix that is not finite is an error; a vector gives what it should."""
    source, values, _ = SINGULAR[name]
    f = tadc.compile(source)
    v, p = np.full(len(values), 0.75), np.ones(len(values))
    v[1] = value
    for mode in ("inverse_jvp", "inverse_vjp"):
        with pytest.raises(SingularError, match=r"nan|inf") as error:
            MODES[mode](f, [v, p], p)
        assert error.value.line == 3
        bad = np.array([1.0, value, *p[2:]])
        assert not np.isfinite(MODES[mode](f, [np.full(len(values), 0.75), p], bad)[0]).all()
    assert not np.isfinite(tadc.log_abs_det(f, [v, p])[1])


def test_parts_aside_the_diagonal_pass_on_what_is_not_finite() -> None:
    f = tadc.compile(V + "p[i] = 2 * p[i] + (v[i] * p[i - 1] if i % 2 == 1 else 0)")
    (found,) = tadc.inverse_jvp(f, [np.array([1, np.nan, 1, 1]), np.ones(4)], np.ones(4))
    np.testing.assert_array_equal(found, [0.5, np.nan, 0.5, 0.25])


# --- never regular --------------------------------------------------------------------------------

X = "x: f64[4]\n"
REFUSED = [
    ("f[i] = x[i] * 2", 1, "returns f, which is no argument that it updates"),
    (X + "x[i] *= 2\nf[i] = x[i]", 3, "returns f, which is no argument"),
    (X + "x[i] = 3.0", 2, "returns x, which is no argument that it updates"),
    (X + "x[i] = sign(x[i])", 2, "the value that x has before is lost here"),
    (X + "s = sum[i](x[i])\nx[i] = s * i", 2, "4 elements, through 1 alone, those of s"),
    (X + "x[i] = x[i] - x[i]", 2, "the derivative of this value by the one that it replaces is 0"),
    (X + "x[i] = x[i] if i > 0 else 1", 2, r"x\[0\] gets a value here that does not depend"),
    (X + "x[i] = x[i // 2]", 2, r"the value that x\[2\] has before is lost here"),
    (
        X + "x[i] = sum[j in range(i + 1)](x[j]) if i != 2 else x[0] + x[1]",
        *(2, r"it is triangular, and 0 on the diagonal, since x\[2\] does not depend on x\[2\]"),
    ),
]


@pytest.mark.parametrize("mode", ["inverse-jvp", "inverse-vjp", "log-abs-det"])
@pytest.mark.parametrize(("source", "line", "words"), REFUSED)
def test_what_is_never_regular_is_refused(source: str, line: int, words: str, mode: str) -> None:
    with pytest.raises(UnsupportedError, match=words) as error:
        tadc.compile(source).inverse(mode)
    assert error.value.line == line and error.value.hint


def test_a_permutation_of_any_size_needs_no_matrix() -> None:
    """A cycle of n elements is n - 1 exchanges; each row has the factor 2 or -3."""
    f = tadc.compile("z: f64[N]\nz[i] = 2 * z[i + 1] if i < N - 1 else -3 * z[0]")
    for n in (1, 2, 3, 100_000):
        z, v = np.linspace(1, 2, n), np.linspace(-1, 1, n)
        factors = np.full(n, 2.0)
        factors[-1] = -3
        sign, logarithm = tadc.log_abs_det(f, (z,))
        assert sign == -((-1.0) ** (n - 1))
        assert logarithm == pytest.approx((n - 1) * np.log(2) + np.log(3))
        (undone,) = tadc.inverse_jvp(f, (z,), v)
        np.testing.assert_allclose(undone, np.roll(v / factors, 1))
        (adjoint,) = tadc.inverse_vjp(f, (z,), v)
        np.testing.assert_allclose(adjoint, np.roll(v, -1) / factors)

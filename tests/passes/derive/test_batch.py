"""`f.batched("x")`: slice b of its results is what `f` gives for the slices b of its arguments.

The reference is `f` itself in a loop, on the interpreter: random programs, their derivatives and
the programs that inverse modes take; then what a batched program is made of.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc import errors
from tadc.passes.derive.batch import BatchPass
from tadc.program import Tensor
from tests.support.campaign import seeds
from tests.support.derivations import Case, check_seeds, random_case
from tests.support.paths import EXAMPLES
from tests.support.random_programs import EVERYTHING
from tests.support.random_updates import random_update

CHUNK = 3
COUNT = 3
"""The size of the index in these tests."""

Arrays = list[np.ndarray]
Flags = list[bool]


# --- comparisons ----------------------------------------------------------------------------------


def longer(before: Sequence[Tensor], after: Sequence[Tensor]) -> Flags:
    """True for the arguments or results that have the index."""
    flags = [len(b.shape) - len(a.shape) for a, b in zip(before, after, strict=True)]
    assert {*flags} <= {0, 1}
    return [n == 1 for n in flags]


def stacked(values: Sequence[np.ndarray], flags: Flags, count: int = COUNT) -> Arrays:
    """Batches of `count` values, of each array whose flag is set; the others as they are."""

    def stack(v: np.ndarray) -> np.ndarray:
        return np.stack([np.asarray(v * (1 + 0.05 * b), v.dtype) for b in range(count)])

    return [stack(v) if flag else v for v, flag in zip(values, flags, strict=True)]


def sliced(values: Sequence[np.ndarray], flags: Flags, b: int) -> Arrays:
    return [v[b] if flag else v for v, flag in zip(values, flags, strict=True)]


def assert_slices(
    found: Sequence[np.ndarray],
    flags: Flags,
    expected: Callable[[int], Sequence[np.ndarray]],
    tolerance: float,
) -> None:
    for b in range(COUNT):
        for a, e in zip(sliced(found, flags, b), expected(b), strict=True):
            assert (a.shape, a.dtype) == (e.shape, e.dtype)
            np.testing.assert_allclose(a, e, rtol=tolerance, atol=tolerance)


def check_slices(
    f: tadc.Function, values: Sequence[np.ndarray], names: Sequence[str], tolerance: float = 1e-13
) -> None:
    """Every slice of the batched program, and of the one that its text says."""
    g = f.batched(*names)
    given = stacked(values, flags := longer(f.args, g.args))
    assert all(flags[n] for n, t in enumerate(f.args) if t.name in names)
    for h in (g, tadc.compile(str(g), f.target)):
        assert h.args == g.args
        found = h.call(given, {})
        assert_slices(
            found,
            longer(f.results, g.results),
            lambda b: f.call(sliced(given, flags, b), {}),
            tolerance,
        )


def some(rng: random.Random, names: Sequence[str]) -> list[str]:
    return rng.sample(names, rng.randint(1, len(names)))


# --- random programs ------------------------------------------------------------------------------


def functions(case: Case, target: str) -> list[tuple[tadc.Function, Arrays]]:
    """The program and its derivatives, with arguments."""
    f = case.function.with_target(target)
    with_tangents = [*case.values, *case.values]
    found = [(f, case.values), (f.derivative(), case.inputs), (f.forward(), with_tangents)]
    return [(g, list(values)) for g, values in found]


def check(seed: int) -> None:
    """A program, its gradients or its tangents: one of them, in a campaign by more seeds."""
    rng = random.Random(seed)
    f, values = rng.choice(
        functions(random_case(seed, **(EVERYTHING if seed % 2 else {})), "interpret")
    )
    check_slices(f, values, some(rng, [t.name for t in f.args]))


def check_derivative(seed: int) -> None:
    """The gradient of a batched program is the gradient, batched; shared arguments add theirs."""
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    f, rng = case.function.with_target("interpret"), random.Random(seed)
    g = f.batched(*some(rng, [t.name for t in f.args]))
    flags, results = longer(f.args, g.args), longer(f.results, g.results)
    if not all(results):
        return  # each slice would add all of the adjoint of a result that has no index
    given = stacked(case.values, flags), stacked(case.adjoints, results)
    found = g.derivative().call([*given[0], *given[1]], {})
    each = [
        f.derivative().call([*sliced(given[0], flags, b), *sliced(given[1], results, b)], {})
        for b in range(COUNT)
    ]
    for n, (gradient, flag) in enumerate(zip(found, flags, strict=True)):
        gradients = [e[n] for e in each]
        expected = np.stack(gradients) if flag else np.sum(gradients, axis=0)
        np.testing.assert_allclose(gradient, expected, rtol=1e-11, atol=1e-11)


def check_inverse_modes(seed: int) -> None:
    """Vectors by slices; the determinant of all slices together is their product."""
    update, rng = random_update(random.Random(seed)), random.Random(seed)
    f = tadc.compile(update.source, "interpret")
    g = f.batched(*some(rng, [t.name for t in f.args]))
    flags, states = longer(f.args, g.args), longer(f.results, g.results)
    given = stacked([update.arguments[t.name] for t in f.args], flags)
    numbers = np.random.default_rng(seed)
    vectors: Arrays = [numbers.uniform(-1, 1, r.shape) for r in g.call(given, {})]

    def each(mode: Callable[..., Sequence[np.ndarray]]) -> Callable[[int], Sequence[np.ndarray]]:
        return lambda b: mode(f, sliced(given, flags, b), sliced(vectors, states, b))

    assert_slices(tadc.inverse_jvp(g, given, vectors), states, each(tadc.inverse_jvp), 1e-6)
    if all(states):  # else slices add to the adjoint of what has no index
        assert_slices(tadc.inverse_vjp(g, given, vectors), states, each(tadc.inverse_vjp), 1e-6)
        found = [tadc.log_abs_det(f, sliced(given, flags, b)) for b in range(COUNT)]
        sign, logarithm = tadc.log_abs_det(g, given)
        assert sign == np.prod([s for s, _ in found])
        np.testing.assert_allclose(logarithm, sum(n for _, n in found), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("first", seeds(8, of=300)[::CHUNK])
def test_slices_are_those_of_a_loop(first: int):
    check_seeds(check, range(first, first + CHUNK))


@pytest.mark.parametrize("first", seeds(4, of=60, start=1000)[::CHUNK])
def test_batched_programs_derive(first: int):
    check_seeds(check_derivative, range(first, first + CHUNK))


@pytest.mark.parametrize("first", seeds(3, of=30, start=2000)[::CHUNK])
@pytest.mark.filterwarnings("ignore::tadc.IllConditionedWarning")
def test_batched_updates_have_inverse_modes(first: int):
    check_seeds(check_inverse_modes, range(first, first + CHUNK))


@pytest.mark.parametrize("seed", seeds(1, of=10, start=3000))
def test_code_for_processors(seed: int):
    case = random_case(seed, **EVERYTHING)
    check_slices(case.function, case.values, [case.function.args[0].name], 1e-12)


# --- programs that are known ----------------------------------------------------------------------


def arrays(f: tadc.Function, size: int = 8) -> Arrays:
    """Arguments in which every size that the program does not say is the same."""
    rng = np.random.default_rng(0)
    dtypes = {"f32": np.float32, "f64": np.float64, "real": np.float64}
    shapes = [[n if isinstance(n, int) else size for n in t.shape] for t in f.args]
    return [
        np.asarray(rng.uniform(0.1, 1, shape), dtypes[t.dtype])
        if t.is_real
        else rng.integers(0, size, shape)
        for shape, t in zip(shapes, f.args, strict=True)
    ]


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.tad")), ids=lambda path: path.stem)
def test_examples(path: Path):
    f = tadc.compile_file(path, "interpret")
    values = arrays(f, 2 if path.stem == "layer" else 8)
    for names in ([f.args[0].name], [f.args[-1].name], []):
        check_slices(f, values, names, 1e-5 if f.args[0].dtype == "f32" else 1e-13)


def test_what_does_not_depend_on_the_arguments_stays():
    f = tadc.compile("u[i] = exp(w[i])\ny[i] = u[i] * x[i]\nz[i] = u[i]**2\nreturn y, z")
    g = f.batched("x")
    assert str(g) == (
        "w: real[I]\nx: real[B, I]\nu[i] = exp(w[i])\ny[b, i] = u[i] * x[b, i]\n"
        "z[i] = u[i]**2\nreturn y, z\n"
    )


def test_sums_that_do_not_depend_on_the_arguments_get_names():
    f = tadc.compile("w: f64[N, K]\ny[i] = x[i] * log(sum[k](w[i, k]**2 * sum[l](w[k, l])))")
    assert str(f.batched("x")) == (
        "w: f64[K, K]\nx: real[B, K]\n"
        "y_sum[i] = sum[k](w[i, k]**2 * sum[l](w[k, l]))\n"
        "y[b, i] = x[b, i] * log(y_sum[i])\nreturn y\n"
    )


@pytest.mark.parametrize("name", ["p", "s"])
def test_an_argument_that_is_updated_with_slices_has_the_index(name: str):
    f = tadc.compile("p[i] += s * q[i]\nq[i] *= 2", "interpret")
    g = f.batched(name)
    assert [t.name for t, flag in zip(g.args, longer(f.args, g.args), strict=True) if flag] == (
        ["p"] if name == "p" else ["p", "s"]
    )
    assert longer(f.results, g.results) == [True, False]
    check_slices(f, [np.ones(4), np.array(2.0), np.arange(4.0)], [name])


def test_the_new_version_of_an_argument_has_its_index():
    f = tadc.compile("p: f64[N]\ny[i] = p[i]**2\np[i] = w[i]\nreturn p, y", "interpret")
    g = f.batched("p")
    assert longer(f.results, g.results) == [True, True]
    check_slices(f, [np.arange(3.0), np.ones(3)], ["p"])


def test_padding_stays_padding():
    f = tadc.compile("x: f64[N]\nw: f64[3]\ny[i in range(N)] = sum[k](w[k] * pad(x[i + k - 1]))")
    text = str(f.batched("x"))
    assert "y[b, i in range(N)] = sum[k](w[k] * pad(x[b, i + k - 1]))\n" in text
    assert str(tadc.compile(text)) == text


def test_names_that_are_taken():
    tadc.define_function("b_1", "v", value="v**2", derivative="2 * v")
    f = tadc.compile("b: f64[B, B_1]\nb_2: f64[B_2]\ny[b_3] = sum[j](b_1(b[b_3, j])) * b_2[b_3]")
    g = f.batched("b")
    assert g.args[0].shape == ("B_2", "B", "B_1")
    check_slices(f.with_target("interpret"), [np.ones((2, 3)), np.arange(2.0)], ["b"])
    assert tadc.compile(str(g)).args == g.args


def test_a_sum_takes_no_name_of_a_later_definition():
    text = "f[i] = x[i] * sum[k](sin(w[k]))\nf_sum[i] = 2 * f[i]\nreturn f, f_sum"
    g = tadc.compile(text).batched("x")
    assert g.program.definition_labels == ["f_sum_1", "f", "f_sum"]
    x, w = np.arange(6.0).reshape(2, 3), np.ones(4)
    f, f_sum = g(x=x, w=w)
    np.testing.assert_allclose(f, 4 * np.sin(1) * x, rtol=1e-14)
    np.testing.assert_allclose(f_sum, 2 * f, rtol=1e-14)


def test_twice():
    f = tadc.compile("w: f64[K]\nx: f64[N]\ny[i] = sum[k](w[k] * x[i + k])", "interpret")
    g = f.batched("x").batched("x", "w")
    assert [t.shape for t in g.args] == [("B_1", "K"), ("B_1", "B", "N")]
    w, x = np.random.default_rng(0).uniform(-1, 1, (2, 3)), np.arange(40.0).reshape(2, 4, 5)
    expected = [[f(w[n], x[n, m]) for m in range(4)] for n in range(2)]
    np.testing.assert_allclose(g(w, x), expected, rtol=1e-14)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_any_number_of_slices(count: int):
    f = tadc.compile("y[i] = sum[k](w[k] * x[i + k])")
    w, x = np.ones(3), np.random.default_rng(0).uniform(-1, 1, (count, 6))
    np.testing.assert_allclose(
        f.batched("x")(w, x), np.reshape([f(w, row) for row in x], (count, 4)), rtol=1e-14
    )


def test_functions_stay_as_they_were():
    tadc.define_function("grown", "v", value="v + 1", derivative="1")
    f = tadc.compile("y[i] = grown(x[i])")
    tadc.define_function("grown", "v", value="v + 2", derivative="1")
    assert f.batched()(np.zeros((1, 1))) == 1


def test_a_pullback_of_a_batched_program():
    f = tadc.compile("y = sum[i, k](log(1 + exp(w[i, k] * x[k])))").batched("x")
    w, x = np.ones((2, 3)), np.arange(12.0).reshape(4, 3) / 10
    y, pullback = tadc.vjp(f, w, x)
    dw, dx = pullback(np.ones(4))
    slope = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(y, 2 * np.log1p(np.exp(x)).sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(dx, 2 * slope, rtol=1e-13)
    np.testing.assert_allclose(dw, np.tile((slope * x).sum(axis=0), (2, 1)), rtol=1e-13)


def test_parts_of_a_pullback_can_be_batched():
    """As frameworks take them: the value with what it keeps, and the gradients given that."""
    both = tadc.compile("y[i] = exp(sum[k](w[i, k] * x[k]))", "interpret").with_pullback()
    w, x = np.ones((2, 3)), np.arange(3.0) / 10
    computed = both.value.call([w, x], {})
    for runner, given in (
        (both.value, [w, x]),
        (both.gradients, [w, x, *both.saved_of(computed), np.ones(2)]),
    ):
        (program,) = runner.program.derive([BatchPass(("x",))])
        plain = tadc.Function(runner.program, "interpret")
        flags = longer(plain.args, program.args)
        values = stacked(given, flags)
        assert_slices(
            tadc.Function(program, "interpret").call(values, {}),
            longer(plain.results, program.results),
            lambda b, plain=plain, values=values, flags=flags: plain.call(
                sliced(values, flags, b), {}
            ),
            1e-13,
        )


# --- the method -----------------------------------------------------------------------------------


def test_it_is_made_once():
    f = tadc.compile("y[i] = w[i] * x[i]")
    assert f.batched("x") is f.batched("x") is not f.batched("w")
    assert str(f.batched()) == str(f.batched("x", "w"))
    g = pickle.loads(pickle.dumps(f.batched("x")))
    np.testing.assert_array_equal(g(np.arange(2.0), np.ones((3, 2))), [[0, 1]] * 3)


def test_names_of_no_arguments():
    with pytest.raises(errors.UnknownNameError, match="there is no argument 'v'"):
        tadc.compile("y[i] = x[i]").batched("v")
    with pytest.raises(errors.ArgumentError, match="the program has no argument to batch"):
        tadc.compile("y[i in range(3)] = i * 0.5").batched()


def test_slices_must_be_as_many():
    g = tadc.compile("w: f64[N]\nx: f64[N]\ny[i] = w[i] * x[i]").batched()
    with pytest.raises(errors.SizeError, match="dimension 0 of x is 3, expected B = 2") as caught:
        g(np.ones((2, 4)), np.ones((3, 4)))
    assert (caught.value.line, caught.value.column) == (2, 1)

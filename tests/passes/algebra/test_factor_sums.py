"""Partial sums: what programs mean, what they cost, and that gradients gain by them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.factor_sums import factor_sums
from tadc.passes.algebra.factoring import contraction_order, partial_sums
from tadc.passes.analysis.machine_facts import MachineFacts
from tadc.passes.pipeline import pullback_passes
from tadc.sizes import bind_sizes
from tadc.summary import Summary
from tests.support.campaign import seeds
from tests.support.derivations import (
    Case,
    assert_close,
    assert_derivative,
    interpret,
    random_case,
)
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning


@pytest.fixture
def free_tensors(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Storing costs nothing: programs here are small."""
    monkeypatch.setattr(contraction_order, "MACHINE", MachineFacts(0, 0, 0, 0, 0, 0))
    monkeypatch.setattr(partial_sums, "LEAST_GAIN", 1)
    yield


# --- meaning --------------------------------------------------------------------------------------


def random_sum(rng: random.Random) -> Case:
    """A sum of one or two products over up to three indices, some of them in the same forms."""
    own = ["k", "l", "m"][: rng.randint(1, 3)]
    outer = ["i", "j"][: rng.randint(1, 2)]
    ranges = {v: rng.choice([0, 1, 2, 3, 4]) if rng.random() < 0.3 else 3 for v in (*own, *outer)}
    shapes: dict[str, tuple[int, ...]] = {}

    def index() -> tuple[str, int]:
        """A form that is at least 0, and the size that it needs."""
        used = rng.sample([*own, *outer], rng.choice([1, 1, 1, 2]))
        parts = [multiple(v, max(ranges[v] - 1, 0)) for v in used]
        start = rng.choice([0, 0, 1])
        text = " + ".join(text for text, _ in parts)
        return f"{text} + {start}", sum(most for _, most in parts) + start + 1

    def multiple(name: str, last: int) -> tuple[str, int]:
        """A multiple of an index, of its half, or of the rest, and the largest that it can be."""
        coefficient = rng.choice([1, 1, 1, 2])
        if name in outer and rng.random() < 0.3:
            if rng.random() < 0.4:
                return f"{coefficient}*({name} % 2)", coefficient
            return f"{coefficient}*({name} // 2)", coefficient * (last // 2)
        return f"{coefficient}*{name}", coefficient * last

    def factor() -> str:
        forms = [index() for _ in range(rng.randint(1, 2))]
        name = "abcdefgh"[len(shapes)]
        shapes[name] = tuple(size for _, size in forms)
        element = f"{name}[{', '.join(text for text, _ in forms)}]"
        return rng.choice([element, element, f"exp({element})", f"{element}**2", f"1 / {element}"])

    terms = [
        " * ".join(factor() for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 2))
    ]
    bounds = [f"{v} in range({ranges[v]})" for v in own]
    if len(own) > 1 and rng.random() < 0.3:
        bounds[1] = f"{own[1]} in range({own[0]}, {ranges[own[1]]})"
    result = ", ".join(f"{v} in range({ranges[v]})" for v in outer)
    total = f"sum[{', '.join(bounds)}]({rng.choice([' + ', ' - ']).join(terms)})"
    body = rng.choice([total, total, f"exp(-{total}**2)", f"{total} if i >= 1 else 0"])
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    lines = [f"{name}: f64[{', '.join(map(str, shape))}]" for name, shape in shapes.items()]
    arguments = {name: numbers.uniform(0.5, 1.5, shape) for name, shape in shapes.items()}
    return Case("\n".join([*lines, f"y[{result}] = {body}"]), arguments)


@pytest.mark.usefixtures("free_tensors")
@pytest.mark.parametrize("seed", seeds(45, of=600))
def test_sums_of_products_keep_their_meaning(seed: int) -> None:
    case = random_sum(random.Random(seed))
    for scans in (False, True):
        program = factor_sums(case.function.program.op, scans)
        program.verify()
        assert_close(interpret(program, case.values), case.results, 1e-12, case.source)


@pytest.mark.usefixtures("free_tensors")
def test_many_random_sums_have_partial_sums() -> None:
    cases = [random_sum(random.Random(seed)) for seed in range(60)]
    programs = [case.function.program.op for case in cases]
    assert sum(factor_sums(program) is not program for program in programs) > 20


@pytest.mark.usefixtures("free_tensors")
@pytest.mark.parametrize("seed", seeds(15, of=400, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    program = factor_sums(case.function.program.op)
    assert_close(interpret(program, case.values), case.results, 1e-11, case.source)


@pytest.mark.usefixtures("free_tensors")
@pytest.mark.parametrize("seed", seeds(10, of=100, start=2000))
def test_gradients_of_sums_of_products(seed: int) -> None:
    case = random_sum(random.Random(seed))
    gradients = interpret(case.function.derivative().program.op, case.inputs)
    f = case.interpreted
    assert_derivative(lambda v: f.call(v, {}), case.values, case.adjoints, gradients, case.source)


def test_an_empty_partial_sum_is_not_multiplied_by_infinity() -> None:
    f = tadc.compile("y[i] = sum[k, j](1 / w[i, k] * x[k, j])")
    np.testing.assert_array_equal(f(np.zeros((2, 3)), np.zeros((3, 0))), np.zeros(2))
    program = factor_sums(f.program.op)
    assert interpret(program, [np.zeros((2, 3)), np.zeros((3, 0))])[0].tolist() == [0, 0]


def test_a_partial_sum_reads_nothing_that_the_sum_does_not() -> None:
    """A sum without terms reads nothing of d, which may be too short."""
    f = tadc.compile("h[i, j] = sum[k](u[i, k] * v[k, j] + d[i + k])")
    program = factor_sums(f.program.op)
    assert len(program.definitions) == 2
    arguments = {"u": np.ones((4, 3)), "v": np.ones((3, 0)), "d": np.ones(1)}
    assert interpret(program, [arguments[name] for name in program.arguments])[0].shape == (4, 0)


@pytest.mark.usefixtures("free_tensors")
@pytest.mark.parametrize("seed", seeds(6, of=200))
def test_sums_up_to_an_index_keep_their_meaning(seed: int) -> None:
    rng = random.Random(seed)
    size, kind = rng.randint(1, 6), rng.choice(["range(j + 1)", "range(j, N)", "range(j)"])
    terms = ["a[i, k]", "b[i, j]", "c[k]", "a[k, j]", "b[k, i]", "c[i]"]
    product = " * ".join(rng.sample(terms, rng.randint(1, 3)))
    axes = rng.choice(["j in range(N)", "j in range(N), l in range(2)"])
    source = f"a: f64[N, N]\nb: f64[N, N]\nc: f64[N]\ny[{axes}] = sum[i in range(N), k in {kind}]"
    numbers = np.random.default_rng(seed)
    shapes = {"a": (size, size), "b": (size, size), "c": size}
    values = {name: numbers.normal(size=shape) for name, shape in shapes.items()}
    check_meaning(partial(factor_sums, scans=True), Case(f"{source}({product})", values))


@pytest.mark.usefixtures("free_tensors")
@pytest.mark.parametrize("n", [0, 1, 3, 4, 9])
@pytest.mark.parametrize("taps", [1, 2, 5])
def test_windows_at_an_index_of_the_sum_are_partial_sums(n: int, taps: int) -> None:
    """Some of their terms are not there, as bounds by that index say."""
    window = f"s in range(max(0, i - N + 1), min({taps}, i + 1))"
    f = tadc.compile(
        f"v: real[N]\nz: real[N + {taps + 2}]\na: real[{taps}]\n"
        f"y[t in range(3)] = sum[i in range(N + {taps - 1}), {window}](a[s] * v[i - s] * z[i + t])"
    )
    program, rng = f.program.op, np.random.default_rng(n)
    shapes = {"v": n, "z": n + taps + 2, "a": taps}
    values = [rng.normal(size=shapes[name]) for name in program.arguments]
    factored = factor_sums(program, False, {"N": 64})
    assert len(factored.definitions) == 2
    (found,), (expected,) = interpret(factored, values), interpret(program, values)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("keys", "values"), [(7, 7), (9, 7), (7, 9), (9, 8)])
def test_partial_sums_that_some_elements_have(keys: int, values: int) -> None:
    """Keys behind the last query have gradient 0, whether or not there are values beside them."""
    source = "dk[s, d] = sum[t in range(s, T), e](dy[t, e] * v[s, e] * q[t, d])"
    shapes = {"q": (7, 3), "dy": (7, 5), "v": (values, 5)}
    rng = np.random.default_rng(keys)
    arguments = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    declared = "q: f64[T, D]\ndy: f64[T, E]\nv: f64[V, E]\n"
    source = f"{declared}{source.replace('dk[s,', f'dk[s in range({keys}),')}"
    sizes = {"T": 512, "D": 8, "E": 8, "V": 512}
    assert check_meaning(partial(factor_sums, scans=True, sizes=sizes), Case(source, arguments))


# --- operations -----------------------------------------------------------------------------------


def work(program: tix.ProgramOp, length: int) -> int:
    """About how many operations a program takes where all arguments have dimensions of `length`."""
    return Summary.of(program).total_work(dict.fromkeys(Summary.of(program).size_names(), length))


def gains(source: str, length: int = 32) -> float:
    """The operations of a program without partial sums, as a multiple of those with them."""
    program = tadc.compile(source).program.op
    return work(program, length) / work(factor_sums(program), length)


@pytest.mark.parametrize(
    ("source", "least"),
    [
        ("f[i, j] = sum[k, l](a[i, k] * b[k, l] * c[l, j])", 20),
        ("f[i, j] = sum[k, l, m](a[i, k] * b[k, l] * c[l, m] * d[m, j])", 600),
        ("y = sum[i, j](u[i] * x[i, j] * v[j])", 1),
        ("s = sum[i, j](x[i] * y[j])", 15),
        ("f[i, j] = exp(-sum[k](a[k, j] * a[i, k] + c[k, k] * b[i, k] * exp(b[i, k])))", 2),
    ],
)
def test_partial_sums_save_operations(source: str, least: float) -> None:
    assert gains(source) >= least


def test_one_result_is_a_product_of_matrices_first() -> None:
    """The trace of a product reads three elements a term; rows of matrices share what they read."""
    program = tadc.compile("l = sum[i, j, k](a[i, j] * b[j, k] * c[k, i])").program.op
    made = factor_sums(program, sizes=bind_sizes(program, dict.fromkeys("abc", (128, 128))))
    assert [len(d.shape) for d in made.definitions] == [2, 0]


@pytest.mark.parametrize(("length", "width", "scores"), [(512, 64, True), (4096, 32, False)])
def test_attention_is_a_scan_of_products_where_sequences_are_long(
    length: int, width: int, scores: bool
) -> None:
    """Each term of the scan is written and read, as each of its elements is."""
    source = "o[t, f] = sum[s in range(t + 1), e](q[t, e] * k[s, e] * v[s, f])"
    program = tadc.compile("".join(f"{n}: f32[N, D]\n" for n in "kqv") + source).program.op
    made = factor_sums(program, scans=True, sizes={"N": length, "D": width})
    assert [len(d.shape) for d in made.definitions] == [2 if scores else 3, 2]


def test_a_separable_convolution_is_two() -> None:
    f = tadc.compile("y[i, j] = sum[s, t](u[s] * v[t] * x[i + s, j + t])")
    program = factor_sums(f.program.op)
    sizes = bind_sizes(program, {"u": (16,), "v": (16,), "x": (100, 100)})
    before, after = (Summary.of(p).total_work(sizes) for p in (f.program.op, program))
    assert before > 6 * after


@pytest.mark.parametrize(
    ("on_processors", "definitions"),
    # a GPU has no bands
    [(True, 2), (False, 1)],
)
def test_windows_that_bands_keep_near_are_in_two_steps(
    on_processors: bool, definitions: int
) -> None:
    source = "a: f32[5]\nb: f32[5]\ny[i, j, k] = sum[s, t](a[s] * b[t] * x[i + s, j + t, k])"
    sizes = {"X_0": 128, "X_1": 128, "X_2": 128}
    program = factor_sums(tadc.compile(source).program.op, on_processors, sizes)
    assert len(program.definitions) == definitions


def test_the_example_of_the_paper_computes_no_sum_twice() -> None:
    """The pullback takes as many operations as the value, up to a small factor."""
    f = tadc.compile("f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))")
    parts = f.program.derive(pullback_passes(("df",)).passes)
    sizes = bind_sizes(f.program.op, {"a": (64, 32), "b": (64, 32), "c": (64, 64), "d": (95,)})
    value, pullback = (part.summary.total_work(sizes) for part in parts)
    assert pullback < 3 * value


def test_the_gradient_by_a_factor_of_a_sum_reads_the_sum() -> None:
    f = tadc.compile("y[c] = sum[n, h, w](x[n, c, h, w] * g[c])")
    _, pullback = f.program.derive(pullback_passes(("dy",)).passes)
    assert not any(isinstance(op, tix.SumOp) for op in pullback.op.walk())


@pytest.mark.parametrize("kernel", [3, 5])
def test_the_gradient_of_a_convolution_stores_no_product_of_a_tap(kernel: int) -> None:
    """One test of a tap is for all channels, so that it is no reason to store their sum."""
    shapes = f"w: f32[O, C, {kernel}, {kernel}]\nx: f32[1, C, X, X_1]"
    f = tadc.compile(
        f"{shapes}\ny[n, o, h, v] = sum[c, s, t](w[o, c, s, t] * x[n, c, h + s, v + t])"
    )
    _, pullback = f.program.derive(pullback_passes(("dy",), ["x"], recompute=True).passes)
    assert [op.label.data for op in pullback.op.definitions] == ["dx"]


def test_channels_beside_groups_are_no_windows() -> None:
    """The gradient by the weights of a grouped convolution reads x beside a quotient of o."""
    f = tadc.compile(
        "x: f32[C, X, X]\nw: f32[O, 4, 3, 3]\ny[o, i in range(28), j in range(28)] = "
        "sum[c, u, v](pad(x[4*(o // 4) + c, i + u - 1, j + v - 1]) * w[o, c, u, v])"
    )
    _, pullback = f.program.derive(pullback_passes(("dy",), ["w"]).passes)
    program = factor_sums(pullback.op, scans=True, sizes={"C": 128, "O": 128, "X": 28})
    assert [op.label.data for op in program.definitions] == ["dw"]

"""Merged indices: programs mean the same, as definitions, as loops and in machine code."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix.affine import SizeValues, product
from tadc.passes.layout.merge_axes import merge_axes
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.rewriting.programs import reads_of
from tests.support.campaign import seeds
from tests.support.derivations import Arrays, check_seeds, interpret

CHUNK = 5


def ranks(program: tix.ProgramOp) -> list[int]:
    """For each definition, the number of its indices and those of its reductions."""
    reductions = [
        [len(op.indices) for op in d.walk() if isinstance(op, tix.ReductionOp)]
        for d in program.definitions
    ]
    return [len(d.indices) + sum(r) for d, r in zip(program.definitions, reductions, strict=True)]


def compiled(text: str) -> tix.ProgramOp:
    return set_precision(tadc.compile(text, "interpret").program.op, "f64")


@pytest.mark.parametrize(
    ("text", "merged"),
    [
        ("y[i, j] = exp(x[i, j])", 1),
        ("y[i, j, k, l] = exp(x[i, j, k, l])", 1),
        ("y[i, j, k] = x[i, j, k] * b[i]", 2),
        ("y[i, j, k] = x[i, j, k] * b[k]", 2),
        ("y[i, j, k] = x[i, j, k] * b[j]", 3),
        ("y = sum[i, j, k](x[i, j, k])", 1),
        ("y[c] = sum[n, h, w](x[n, c, h, w])", 3),
        ("y[n, o, h, w] = sum[c](u[o, c] * x[n, c, h, w])", 4),
        ("x: f64[N, N]\ny[i, j] = x[i, j] + x[j, i]", 2),
        ("y[i, j] = x[i, j, i]", 2),
        ("y[i, j] = x[i, j] * i", 2),
        ("y[i, j] = x[i, j + 1]", 2),
        ("y[i, j] = x[i // 2, j]", 2),
        ("x: f64[N, M]\ny[i, j] = x[i, j] if i <= j else 0", 2),
        ("x: f64[N, N]\ny = sum[i, j in range(i)](x[i, j])", 2),
        ("x: f64[N, M]\ny[i in range(N), j in range(M)] = 2.5", 1),
        ("x: f64[N, M + 1]\ny[i in range(N), j in range(M)] = x[i, j]", 2),
        ("x: f64[N - 1, M]\ny[i in range(N - 1), j in range(M)] = x[i, j]", 1),
        ("x: f64[N - 1, M - 1]\ny[i in range(N - 1), j in range(M - 1)] = x[i, j]", 2),
        ("u: f64[I, 3]\ny = sum[i, j](x[3*i + j] * u[i, j])", 1),
        ("y = sum[i, j in range(3)](x[3*i + j] * x[6*i + 2*j + 1])", 1),
        ("y = sum[i, j in range(3)](x[3*i + j + 4] * v[i])", 2),
        ("y = sum[i, j in range(3)](x[2*i + j])", 2),
        ("y = sum[i, j in range(3), k in range(4)](x[12*i + 4*j + k])", 1),
    ],
)
def test_only_what_is_read_as_one_becomes_one(text: str, merged: int) -> None:
    assert ranks(merge_axes(compiled(text)))[-1] == merged


ROWS = "a[i, q, r in range(4)] = exp(x[i, 4*q + r])\n"


@pytest.mark.parametrize(
    ("element", "rank"),
    [
        ("a[i, p // 4, p % 4]", 2),
        ("a[i, (p + 3) // 4, (p + 3) % 4]", 2),
        ("a[i, p // 4, (p + 1) % 4]", 3),
        ("a[i, p // 2, p % 2]", 3),
    ],
)
def test_quotients_beside_remainders_are_one_dimension(element: str, rank: int) -> None:
    text = f"x: f64[N, 64]\n{ROWS}y[i, p in range(13)] = {element} + z[p]"
    f = compiled(text)
    merged = merge_axes(f)
    (read,) = (r for r in reads_of(merged.definitions[-1]) if len(r.forms) > 1)
    assert len(read.forms) == rank
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(3, 64)), rng.normal(size=13)]
    for before, after in zip(interpret(f, values), interpret(merged, values), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize(("strided", "rank"), [(False, 1), (True, 2)])
def test_rows_of_arguments_are_one_dimension_unless_they_lie_apart(strided: bool, rank: int):
    merged = merge_axes(compiled("x: f64[N, 4]\ny[p in range(4*N)] = x[p // 4, p % 4]"), strided)
    (read,) = reads_of(merged.definitions[-1])
    assert len(read.forms) == rank


@pytest.mark.parametrize(
    ("condition", "divided"),
    [
        ("p // 4 < N", False),
        ("p // 4 >= N", False),
        ("(2*p + 1) // 3 <= M", False),
        ("p // 4 == N", True),
        ("2 * (p // 4) >= N", True),
    ],
)
def test_conditions_on_quotients_are_some_on_dividends(condition: str, divided: bool) -> None:
    f = compiled(f"a: f64[N]\nb: f64[M]\nx: f64[P]\ny[p] = x[p] if {condition} else 2")
    merged = merge_axes(f)
    (choice,) = (op for op in merged.walk() if isinstance(op, tix.IfOp))
    quotients = {v for d in choice.condition for c in d for v in c.form.indices} - {
        *merged.definitions[-1].indices
    }
    assert bool(quotients) == divided
    values = [np.zeros(3), np.zeros(5), np.arange(20.0)]
    for before, after in zip(interpret(f, values), interpret(merged, values), strict=True):
        np.testing.assert_array_equal(before, after)


def test_strided_tensors_keep_their_axes() -> None:
    program = compiled("y[i, j] = exp(x[i, j])")
    assert merge_axes(program, strided=True) is program


@pytest.mark.parametrize("a", [Affine(), Affine({}, 3), Affine({"N": 2, "M": 1}, 1)])
@pytest.mark.parametrize("b", [Affine({}, 1), Affine({"N": 1}), Affine({"M * N": 1, "K": 4}, 5)])
def test_products_of_sizes(a: Affine, b: Affine) -> None:
    sizes = SizeValues({"N": 3, "M": 5, "K": 7})
    assert product(a, b).evaluate(sizes) == a.evaluate(sizes) * b.evaluate(sizes)
    assert product(a, b) == product(b, a)
    with pytest.raises(KeyError):
        sizes["P"]


# --- random programs ------------------------------------------------------------------------------


def random_program(rng: random.Random) -> tuple[str, dict[str, tuple[int, ...]]]:
    """A sum of reads of tensors by runs of neighbouring indices, over some of these."""
    names = "ijkl"[: rng.randint(2, 4)]
    lengths = {v: rng.choice([0, 1, 1, 2, 3, 4]) for v in names}
    symbols = {v: v.upper() if rng.random() < 0.7 else str(lengths[v]) for v in names}
    lines: list[str] = []
    reads: list[str] = []
    shapes: dict[str, tuple[int, ...]] = {}
    for tensor in "xyz"[: rng.randint(1, 3)]:
        first = rng.randrange(len(names)) if tensor != "x" else 0
        last = rng.randint(first + 1, len(names)) if tensor != "x" else len(names)
        used = list(names[first:last])
        if rng.random() < 0.2:
            rng.shuffle(used)
        longer = rng.random() < 0.2
        extents = [f"{symbols[v]}{' + 1' if longer and v == used[-1] else ''}" for v in used]
        lines.append(f"{tensor}: f64[{', '.join(extents)}]")
        shapes[tensor] = tuple(lengths[v] + (longer and v == used[-1]) for v in used)
        reads.append(f"{tensor}[{', '.join(used)}]")
    bound = set(rng.sample(names, rng.randint(0, len(names))))
    value = " * ".join(f"{rng.choice(['', 'sin', 'exp'])}({read})" for read in reads)
    if rng.random() < 0.2:
        value += f" * {rng.choice(names)}"
    ranges = {v: f"{v} in range({symbols[v]})" for v in names}
    if bound:
        kind = rng.choice(["sum", "sum", "max", "prod"])
        value = f"{kind}[{', '.join(ranges[v] for v in names if v in bound)}]({value})"
    free = [ranges[v] for v in names if v not in bound]
    head = f"r[{', '.join(free)}]" if free else "r"
    return "\n".join([*lines, f"{head} = {value}", "return r"]), shapes


def check(seed: int) -> None:
    rng = random.Random(seed)
    text, shapes = random_program(rng)
    f = tadc.compile(text, "cpu")
    arrays = {n: np.random.default_rng(seed).normal(size=shape) for n, shape in shapes.items()}
    values = [arrays[t.name] for t in f.args]
    program = set_precision(f.program.op, "f64")
    expected = interpret(program, values)
    check_merged(program, values, expected)
    check_merged(set_precision(f.derivative().program.op, "f64"), [*values, expected[0]])
    apart = [np.repeat(v, 2, axis=0)[::2] if v.ndim > 1 else v for v in values]
    for given in (values, apart):
        np.testing.assert_allclose(f(*given), expected[0], rtol=1e-12, atol=1e-12)


def check_merged(program: tix.ProgramOp, values: Arrays, expected: Arrays | None = None) -> None:
    """The program and what it becomes have the same results."""
    results = interpret(program, values) if expected is None else expected
    merged = merge_axes(program)
    merged.verify()
    for version in (merged, merge_axes(merged)):
        for a, b in zip(interpret(version, values), results, strict=True):
            assert a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("first", seeds(30, of=300)[::CHUNK])
def test_random_programs_keep_their_meaning(first: int) -> None:
    check_seeds(check, range(first, first + CHUNK), lambda s: random_program(random.Random(s))[0])

"""Derivatives that are known: exact numbers, and loops over exactly the points that contribute."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.sizes import bind_sizes
from tests.support.derivations import derivative_stages, interpret, program_of
from tests.support.guarded_memory import before_a_locked_page, between_nan
from tests.support.loop_walk import walk

Index = tuple[int, ...]


@dataclass(frozen=True)
class Known:
    """A definition of `f`, its arguments, and the points of its index set with its sums.

    `points()` gives, for each point, the element of `f` and the element of every argument that is
    read there. `declared` and `symbolic` declare the arguments.
    """

    name: str
    definition: str
    declared: str
    symbolic: str
    shapes: dict[str, Index]
    points: Callable[[], Iterator[tuple[Index, dict[str, Index]]]]
    undeclared: bool = True


def box(*sizes: int) -> Iterator[Index]:
    return product(*map(range, sizes))


LINEAR = [
    Known(
        "stride",
        "f[i] = x[2*i]",
        "x: f64[9]",
        "x: f64[N]",
        {"x": (9,)},
        lambda: (((i,), {"x": (2 * i,)}) for (i,) in box(5)),
    ),
    Known(
        "two strides with a common divisor",
        "f[i in range(5), j in range(3)] = x[2*i + 4*j]",
        "x: f64[18]",
        "x: f64[N]",
        {"x": (18,)},
        lambda: (((i, j), {"x": (2 * i + 4 * j,)}) for i, j in box(5, 3)),
    ),
    Known(
        "two strides without one",
        "f[i in range(4), j in range(3)] = x[2*i + 3*j]",
        "x: f64[14]",
        "x: f64[N]",
        {"x": (14,)},
        lambda: (((i, j), {"x": (2 * i + 3 * j,)}) for i, j in box(4, 3)),
    ),
    Known(
        "a sheared lattice",
        "f[i in range(4), j in range(3)] = x[i + j, i - j + 2]",
        "x: f64[7, 7]",
        "x: f64[N, M]",
        {"x": (7, 7)},
        lambda: (((i, j), {"x": (i + j, i - j + 2)}) for i, j in box(4, 3)),
    ),
    Known(
        "the diagonal",
        "f[i] = x[i, i]",
        "x: f64[4, 4]",
        "x: f64[N, N]",
        {"x": (4, 4)},
        lambda: (((i,), {"x": (i, i)}) for (i,) in box(4)),
    ),
    Known(
        "broadcast",
        "f[i, j in range(3)] = x[i]",
        "x: f64[4]",
        "x: f64[N]",
        {"x": (4,)},
        lambda: (((i, j), {"x": (i,)}) for i, j in box(4, 3)),
    ),
    Known(
        "figure 3",
        "f[i in range(7), j in range(5)] = x[i - 2*j + 8]",
        "x: f64[15]",
        "x: f64[N]",
        {"x": (15,)},
        lambda: (((i, j), {"x": (i - 2 * j + 8,)}) for i, j in box(7, 5)),
    ),
    Known(
        "figure 4",
        "f[i in range(6), j in range(5), k in range(4)] = x[i - 2*j - 2*k + 14]",
        "x: f64[20]",
        "x: f64[N]",
        {"x": (20,)},
        lambda: (((i, j, k), {"x": (i - 2 * j - 2 * k + 14,)}) for i, j, k in box(6, 5, 4)),
    ),
    Known(
        "reversed",
        "f[i] = x[N - 1 - i]",
        "x: f64[5]\nf[i in range(5)] = x[4 - i]",
        "x: f64[N]\nf[i in range(N)] = x[N - 1 - i]",
        {"x": (5,)},
        lambda: (((i,), {"x": (4 - i,)}) for (i,) in box(5)),
        undeclared=False,
    ),
    Known(
        "every third, the rest twice",
        "f[i in range(10)] = x[i // 3, i % 3]",
        "x: f64[4, 3]",
        "x: f64[N, M]",
        {"x": (4, 3)},
        lambda: (((i,), {"x": (i // 3, i % 3)}) for (i,) in box(10)),
    ),
]
CONVOLUTION = Known(
    "convolution",
    "f[i in range(4)] = sum[k](x[i - k + 3] * w[k])",
    "x: f64[7]\nw: f64[4]",
    "x: f64[N]\nw: f64[K]",
    {"x": (7,), "w": (4,)},
    lambda: (((i,), {"x": (i - k + 3,), "w": (k,)}) for i, k in box(4, 4)),
)
PAPER = Known(
    "section 6",
    "f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))",
    "a: f64[3, 5]\nb: f64[4, 5]\nc: f64[3, 3]\nd: f64[8]",
    "a: f64[N, K]\nb: f64[M, K]\nc: f64[N, N]\nd: f64[N + K]",
    {"a": (3, 5), "b": (4, 5), "c": (3, 3), "d": (8,)},
    lambda: (
        ((i, j), {"a": (i, k), "b": (j, k), "c": (i, i), "d": (i + k,)}) for i, j, k in box(3, 4, 5)
    ),
    undeclared=False,
)
CASES = [*LINEAR, CONVOLUTION, PAPER]


def sources(case: Known) -> dict[str, str]:
    def whole(declaration: str) -> str:
        return declaration if "f[" in declaration else f"{declaration}\n{case.definition}"

    found = {"declared": whole(case.declared), "symbolic": whole(case.symbolic)}
    return found | ({"undeclared": case.definition} if case.undeclared else {})


PROGRAMS = [
    pytest.param(case, source, id=f"{case.name}, {kind}")
    for case in CASES
    for kind, source in sources(case).items()
]
programs = pytest.mark.parametrize(("case", "source"), PROGRAMS)


def arguments(case: Known) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {name: rng.uniform(0.1, 0.6, shape) for name, shape in case.shapes.items()}


def adjoint_for(f: tadc.Function, values: dict[str, np.ndarray]) -> np.ndarray:
    (result,) = interpret(f.program.op, [values[t.name] for t in f.args])
    return np.random.default_rng(2).uniform(-1, 1, result.shape)


def expected(case: Known, values: dict[str, np.ndarray], df: np.ndarray) -> dict[str, np.ndarray]:
    """By brute force over all points, with derivatives written by hand."""
    found = {name: np.zeros(shape) for name, shape in case.shapes.items()}
    for element, reads in case.points():
        for name, at in reads.items():
            found[name][at] += df[element] * partial(case, values, element, reads, name)
    return found


def partial(
    case: Known,
    values: dict[str, np.ndarray],
    element: Index,
    reads: dict[str, Index],
    name: str,
) -> float:
    """The derivative of `f[element]` by one of the elements that it reads."""
    v = {n: values[n][at] for n, at in reads.items()}
    if case is CONVOLUTION:
        return v["w" if name == "x" else "x"]
    if case is not PAPER:
        return 1.0
    (i, j), a, b, c, d = element, *(values[n] for n in "abcd")
    f = np.exp(-np.sum((a[i] + b[j]) ** 2 * c[i, i] + d[i : i + 5] ** 3))
    both = 2 * (v["a"] + v["b"]) * v["c"]
    inner = {"a": both, "b": both, "c": (v["a"] + v["b"]) ** 2, "d": 3 * v["d"] ** 2}
    return -f * inner[name]


@programs
def test_gradients_are_exact(case: Known, source: str) -> None:
    f = tadc.compile(source)
    values = arguments(case)
    df = adjoint_for(f, values)
    gradients = expected(case, values, df)
    inputs = [*(values[t.name] for t in f.args), df]
    for name, module in derivative_stages(f.program.module):
        # the interpreter refuses reads out of range
        for t, found in zip(f.args, interpret(program_of(module), inputs), strict=True):
            np.testing.assert_allclose(found, gradients[t.name], 1e-12, 1e-14, err_msg=name)
    guarded = [between_nan(array) for array in inputs]
    for t, found in zip(f.args, f.derivative().call(guarded, {}), strict=True):
        np.testing.assert_allclose(found, gradients[t.name], 1e-12, 1e-14)


def simplified(f: tadc.Function) -> tix.ProgramOp:
    return program_of(f.module_at("simplified"))


def inside_a_sum(op: tix.IfOp) -> bool:
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tix.SumOp):
        parent = parent.parent_op()
    return parent is not None


@programs
def test_no_test_inside_a_loop(case: Known, source: str) -> None:
    program = simplified(tadc.compile(source))
    tests = [op for op in program.walk() if isinstance(op, tix.IfOp)]
    assert not [op for op in tests if inside_a_sum(op)], str(program)


@programs
def test_loops_meet_the_contributing_points_only(case: Known, source: str) -> None:
    """Adjoints that are partial sums by now are read instead of those of the result."""
    f = tadc.compile(source)
    values = arguments(case)
    values["df"] = adjoint_for(f, values)
    program = simplified(f)
    results = {f"d{t.name}" for t in f.args}
    partial = any(
        d.label.data not in results for d in program.definitions if "_sum" in d.label.data
    )
    sizes = bind_sizes(program, {n: values[n].shape for n in program.arguments})
    definitions = {d.label.data: d for d in program.definitions}
    for t in f.args:
        wanted = Counter(reads[t.name] for _, reads in case.points())
        for element, visits in walk(definitions[f"d{t.name}"], sizes).items():
            reads = visits.reads[program.arguments["df"]]
            assert reads == wanted[element] or (partial and not reads), f"d{t.name}{element}"
            assert not visits.empty, f"d{t.name}{element}: {visits.empty} loops without iteration"


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("case", [c for c in CASES if c.name in ("stride", "the diagonal")])
def test_small_symbolic_sizes(case: Known, size: int) -> None:
    f = tadc.compile(sources(case)["symbolic"])
    x = np.ones((size,) * len(case.shapes["x"]))
    y, pullback = tadc.vjp(f, x)
    (dx,) = pullback(np.ones_like(y))
    assert dx.shape == x.shape and dx.sum() == y.size


def run_at_the_edge(number: int) -> None:
    case = CASES[number]
    values = arguments(case)
    for source in sources(case).values():
        f = tadc.compile(source)
        df = adjoint_for(f, values)
        inputs = [*(values[t.name] for t in f.args), df]
        found = f.derivative().call([before_a_locked_page(a) for a in inputs], {})
        for a, b in zip(found, f.derivative().call(inputs, {}), strict=True):
            np.testing.assert_array_equal(a, b)


def test_nothing_behind_the_arguments_is_touched() -> None:
    """In another process, since what is tested for would end it."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for future in [pool.submit(run_at_the_edge, n) for n in range(len(CASES))]:
            future.result()


def sum_indices(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if "tix.sum" in line]
    return [line.split("tix.sum ")[1].split(" in ")[0] for line in lines]


def test_the_derivatives_of_the_paper() -> None:
    """`da` sums over j only; `dc` is guarded by the diagonal; `dd` sums j and a bounded k.

    The condition of `dd` says that nothing reads d[7], so that no value there reaches a gradient.
    """
    f = tadc.compile(sources(PAPER)["declared"])
    program = simplified(f)
    bodies = {d.label.data: str(d) for d in program.definitions}
    assert sum_indices(bodies["da"]) == ["(%j)"]
    assert sum_indices(bodies["db"]) == ["(%i)"]
    assert "==" in bodies["dc"]
    assert re.findall(r"tix\.if (.*) {", bodies["dd"]) == ["(%p <= 6)"]
    assert "tix.exp" not in bodies["dd"]

"""Programs with index tensors in machine code, against the interpreter and NumPy."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.interpreter.tensor_index import evaluate
from tadc.program import Program
from tadc.runtime.located import located, views_of
from tests.index_tensors.programs import GRAPHS, KINDS, PROGRAMS, arguments
from tests.support.campaign import CAMPAIGN
from tests.support.derivations import assert_close, assert_derivative

SIZES = {"N": 6, "E": 12, "V": 5, "K": 3, "J": 4, "B": 4, "S": 3, "M": 4, "H": 2}
SMALL = {**SIZES, "E": 0, "K": 1, "B": 1, "J": 1, "S": 1}
"""No edges, and vectors of one element."""

LONG = {"ragged", "pna", "edge mlp", "gat"}
"""Graphs whose second derivatives take seconds to compile: campaigns compile them."""

Values = dict[str, Any]


def interpreted(f: tadc.Function, values: Values) -> list[np.ndarray]:
    return [np.asarray(v) for v in f.with_target("interpret").call([], chosen(f, values))]


def called(f: tadc.Function, values: Values) -> list[np.ndarray]:
    return [np.asarray(v) for v in f.call([], chosen(f, values))]


def chosen(f: tadc.Function, values: Values) -> Values:
    """The arguments of a program among these values, by name."""
    return {t.name: values[t.name] for t in f.args}


def drawn(f: tadc.Function, values: Values, like: Mapping[str, np.ndarray], seed: int) -> Values:
    """The values, and numbers for the arguments of a derivative that have no value yet."""
    rng = np.random.default_rng(seed)
    more = {t.name: rng.normal(size=like[t.name].shape) for t in f.args if t.name not in values}
    return {**values, **more}


def check(f: tadc.Function, values: Values) -> None:
    """Machine code says what the interpreter says, and so does what the text compiles to."""
    expected = interpreted(f, values)
    assert_close(called(f, values), expected, 1e-12, "cpu", 1)
    assert_close(interpreted(tadc.compile(str(f)), values), expected, 1e-12, "text", 1)


def assert_differences(f: tadc.Function, d: tadc.Function, values: Values) -> None:
    """The derivative agrees with differences of the interpreted program."""
    reals = [t.name for t in f.args if f"d{t.name}" in {r.name for r in d.results}]
    found = dict(zip((r.name for r in d.results), interpreted(d, values), strict=True))
    assert_derivative(
        lambda moved: interpreted(f, {**values, **dict(zip(reals, moved, strict=True))}),
        [values[name] for name in reals],
        [values[f"d{t.name}"] for t in f.results],
        [found[f"d{name}"] for name in reals],
        "derivative",
        kinks=True,
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_gradients(name: str) -> None:
    f = tadc.compile(PROGRAMS[name])
    values = arguments(f, SIZES, np.random.default_rng(0))
    check(f, values)
    results = {f"d{t.name}": r for t, r in zip(f.results, interpreted(f, values), strict=True)}
    d = f.derivative()
    values = drawn(d, values, results, 1)
    check(d, values)
    assert_differences(f, d, values)
    gradients = tadc.vjp(f, **chosen(f, values))[1](*(values[n] for n in results))
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    assert_close([np.asarray(g) for g in gradients], interpreted(d, values), 1e-12, "vjp", 1)
    tangents = f.forward()
    dots = {f"{r.name[1:]}_dot": g for r, g in zip(d.results, interpreted(d, values), strict=True)}
    values = drawn(tangents, values, dots, 2)
    check(tangents, values)
    along = [values[f"{r.name[1:]}_dot"] for r in d.results]
    moved = [*map(np.vdot, interpreted(tangents, values), (values[n] for n in results))]
    np.testing.assert_allclose(
        sum(moved), sum(map(np.vdot, interpreted(d, values), along)), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("name", PROGRAMS if CAMPAIGN else [n for n in PROGRAMS if n not in LONG])
def test_second_derivatives(name: str) -> None:
    f = tadc.compile(PROGRAMS[name])
    values = arguments(f, SIZES, np.random.default_rng(0))
    results = {f"d{t.name}": r for t, r in zip(f.results, interpreted(f, values), strict=True)}
    d = f.derivative()
    values = drawn(d, values, results, 1)
    seconds = d.derivative()
    first = {f"d{t.name}": r for t, r in zip(d.results, interpreted(d, values), strict=True)}
    values = drawn(seconds, values, first, 2)
    assert_close(called(seconds, values), interpreted(seconds, values), 1e-12, "cpu", 1)
    assert_differences(d, seconds, values)


@pytest.mark.parametrize("kind", KINDS if CAMPAIGN else ["few"])
@pytest.mark.parametrize("sizes", [SIZES, SMALL], ids=["edges", "no edges"])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_of_all_kinds(name: str, sizes: Mapping[str, int], kind: str) -> None:
    f = tadc.compile(GRAPHS[name])
    values = arguments(f, sizes, np.random.default_rng(3), kind)
    with np.errstate(all="ignore"):
        expected = interpreted(f, values)
    for found, wanted in zip(called(f, values), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_located_programs_and_their_derivatives(name: str) -> None:
    f = tadc.compile(PROGRAMS[name])
    values = arguments(f, SIZES, np.random.default_rng(0))
    results = {f"d{t.name}": r for t, r in zip(f.results, interpreted(f, values), strict=True)}
    d = f.derivative()
    for g in (f, d):
        given = drawn(g, values, results, 1)
        program = located(g.program)
        program.op.verify()
        found = evaluate(program.op, with_views(program, chosen(g, given)))
        assert_close(found, interpreted(g, given), 1e-12, "located", 1)


def with_views(program: Program, values: Values) -> Values:
    """The arguments of a located program, whose views are made by NumPy alone."""
    found = {n: np.empty(v, np.int8) if isinstance(v, int) else v for n, v in values.items()}
    inputs = [t for t in program.summary.inputs if t.name not in values]
    for (name, type), view in zip(inputs, views_of(program.summary), strict=True):
        idx = values[view.of]
        if view.dimension is None:
            ends = np.arange(type.shape[0].evaluate(SIZES))
            found[name] = np.searchsorted(np.sort(idx, axis=None), ends)
        else:
            places = np.argsort(idx, axis=None, kind="stable")
            found[name] = np.unravel_index(places, idx.shape)[view.dimension]
    return found


# --- plain NumPy ----------------------------------------------------------------------------------


def added(n: int, at: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """The sums of the terms of each of n segments."""
    total = np.zeros((n, *terms.shape[1:]))
    np.add.at(total, at, terms)
    return total


def gcn(c: Any, dst: Any, src: Any, x: Any) -> np.ndarray:
    return added(len(x), dst, c[:, None] * x[src])


def gat(src: Any, dst: Any, h: Any, a: Any, b: Any) -> np.ndarray:
    z = (h @ a)[dst] + (h @ b)[src]
    w = np.exp(np.maximum(z, 0.2 * z))
    return added(len(h), dst, w[:, None] * h[src]) / added(len(h), dst, w)[:, None]


def forces(a: Any, b: Any, r: Any) -> np.ndarray:
    d = ((r[a] - r[b]) ** 2).sum(1)
    return np.sum(1 / (1 + d) ** 6 - 1 / (1 + d) ** 3)


def least_squares(row: Any, col: Any, a: Any, x: Any, b: Any) -> np.ndarray:
    return np.sum((added(len(b), row, a * x[col]) - b) ** 2)


def elements(conn: Any, k: Any, x: Any, g: Any) -> np.ndarray:
    return g + added(len(x), conn.ravel(), np.einsum("eab,eb->ea", k, x[conn]).ravel())


TWINS: dict[str, Callable[..., np.ndarray]] = {
    "gcn": gcn,
    "gat": gat,
    "forces": forces,
    "least squares": least_squares,
    "elements": elements,
    "table": lambda nbr, w, x: np.einsum("is,isk->ik", w, x[nbr]),
    "embedding": lambda idx, w: w[idx],
    "bag": lambda idx, bag, w, o: o[:, None] * added(len(o), bag, w[idx]),
    "odd": lambda a, x: x[2 * a + 1] * x[a],
    "nested": lambda a, b, x: x[b[a]] ** 2,
    "half": lambda a, x: x[a // 2] * x[a],
    "less": lambda a, v, x: x + np.where(a <= np.arange(len(x))[:, None], v, 0).sum(1),
    "value": lambda a, x: a * x[a] ** 2 + np.arange(len(a)),
}


@pytest.mark.parametrize("name", TWINS)
def test_numpy_says_the_same(name: str) -> None:
    f = tadc.compile(PROGRAMS[name])
    values = arguments(f, {**SIZES, "E": 40, "K": 17, "N": 9}, np.random.default_rng(0))
    (found,) = called(f, values)
    np.testing.assert_allclose(found, TWINS[name](**chosen(f, values)), rtol=1e-12, atol=1e-13)


# --- arrays at calls ------------------------------------------------------------------------------


@pytest.fixture
def threads() -> Iterator[None]:
    before = tadc.get_num_threads()
    yield
    tadc.set_num_threads(before)


def test_threads_and_views_of_calls_before_change_no_bit(threads: None) -> None:
    f = tadc.compile(GRAPHS["gat"])
    values = arguments(f, {"N": 300, "E": 4000, "K": 16}, np.random.default_rng(0))
    seed = {"dy": np.random.default_rng(1).normal(size=values["h"].shape)}
    d = f.derivative()
    found: set[bytes] = set()
    for count in (1, 2, 7):
        tadc.set_num_threads(count)
        for _ in range(2):
            results = [*called(f, values), *called(d, {**values, **seed})]
            found.add(b"".join(r.tobytes() for r in results))
            again = {n: v.copy() for n, v in values.items()}
            assert called(f, again)[0].tobytes() == results[0].tobytes()
    assert len(found) == 1


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">i4"]
)
def test_whole_numbers_of_any_dtype(dtype: str) -> None:
    f = tadc.compile(GRAPHS["gcn"])
    values = arguments(f, SIZES, np.random.default_rng(0))
    narrow = {n: v.astype(dtype) if v.dtype.kind == "i" else v for n, v in values.items()}
    assert_close(called(f, narrow), called(f, values), 0, dtype)


def test_index_arrays_in_strides() -> None:
    f = tadc.compile(GRAPHS["elements"])
    values = arguments(f, SIZES, np.random.default_rng(0))
    wide = np.full((2 * SIZES["E"], 12), 1 << 40)
    apart = wide[::-2, ::3]
    apart[...] = values["conn"]
    turned = np.asfortranarray(values["conn"])
    for conn in (apart, turned, values["conn"][::-1][::-1]):
        assert_close(called(f, {**values, "conn": conn}), called(f, values), 0, "strides")


def test_single_precision() -> None:
    f = tadc.compile(GRAPHS["gat"].replace("f64", "f32"))
    values = arguments(f, {"N": 30, "E": 200, "K": 17}, np.random.default_rng(0))
    wide = called(tadc.compile(GRAPHS["gat"]), values)
    single = {n: v.astype(np.float32) if v.dtype.kind == "f" else v for n, v in values.items()}
    (found,) = called(f, single)
    assert found.dtype == np.float32
    assert_close([found], wide, 1e-5, "f32")


def test_an_array_changed_in_place_is_noticed() -> None:
    f = tadc.compile(GRAPHS["gcn"])
    values = arguments(f, SIZES, np.random.default_rng(0))
    before = called(f, values)[0].copy()
    values["dst"][:] = values["dst"][::-1].copy()
    after = called(f, values)
    assert not np.array_equal(before, after[0])
    assert_close(after, interpreted(f, values), 1e-12, "changed", 1)
    values["dst"][3] = SIZES["N"]
    with pytest.raises(tadc.TadcError, match="in range"):
        called(f, values)


SEGMENTS = "seg: sorted(range(B))[N]\nv: f64[N]\ny[b in range(B)] = sum[i, seg[i] == b](v[i])"
GOOD: Sequence[Any] = (np.array([0, 0, 2]), np.ones(3), 3)
BAD: dict[str, tuple[int, Any, str]] = {
    "out of range": (0, np.array([0, 1, 3]), r"seg\[2\] is 3"),
    "negative": (0, np.array([-1, 1, 2]), r"seg\[0\] is -1"),
    "not sorted": (0, np.array([0, 2, 1]), "sorted"),
    "floats": (0, np.array([0.0, 1.0, 2.0]), "whole numbers"),
    "truth values": (0, np.array([True, True, True]), "whole numbers"),
    "rank": (0, np.zeros((3, 1), int), "rank"),
    "length": (0, np.zeros(4, int), "N"),
    "wide": (0, np.array([0, 1, 2**63], np.uint64), "seg"),
    "size of a float": (2, 3.0, "whole number"),
    "negative size": (2, -3, "negative"),
    "no range": (2, 0, "seg"),
}


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("name", BAD)
def test_malformed_arguments_end_in_one_located_error(name: str, target: str) -> None:
    place, value, message = BAD[name]
    f = tadc.compile(SEGMENTS).with_target(target)
    np.testing.assert_array_equal(f(*GOOD), [2, 0, 1])
    values = [*GOOD]
    values[place] = value
    with pytest.raises(tadc.TadcError, match=message) as found:
        f(*values)
    assert re.search(r"<program>:\d+:\d+|size", str(found.value))


def test_a_size_that_is_missing_is_an_error() -> None:
    f = tadc.compile(SEGMENTS)
    with pytest.raises(tadc.TadcError, match="B"):
        f(*GOOD[:2])
    np.testing.assert_array_equal(f(*GOOD[:2], B=4), [2, 0, 1, 0])

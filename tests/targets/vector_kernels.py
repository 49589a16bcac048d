"""Scheduled functions of explicit vectors, for the tests of the LLVM target."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tadc.interpreter.loops import run
from tests.targets.llvm_kernels import DTYPES, compile_kernel, function, parse

SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 1e-40, -1e-42, 1e38, 2.5, -3.5)


def vector_of(element: str, lanes: int) -> str:
    return f"vector<{lanes}x{element}>"


def of_vectors(lines: str, buffers: Mapping[str, str], lanes: int) -> str:
    """A function that stores `%r` in the first buffer, of `%0`, `%1`, ... in the others.

    In the lines `V` is the type of its vectors, `W` that of the result, `M` that of their truth
    values, `n` the number of lanes; `%i` is the first of the elements.
    """
    (result, element), *sources = buffers.items()
    loads = [
        f"%{i} = vector.load %{name}[%i] : memref<?x{type_}>, {vector_of(type_, lanes)}"
        for i, (name, type_) in enumerate(sources)
    ]
    source = sources[0][1] if sources else element
    words = {
        "V": vector_of(source, lanes),
        "W": vector_of(element, lanes),
        "M": vector_of("i1", lanes),
        "n": str(lanes),
    }
    body = " ".join(words.get(word, word) for word in lines.split())
    text = f"""loops.parallel (%b) to (%N) {{
      %lanes = arith.constant {lanes} : index
      %i = arith.muli %b, %lanes : index
      {" ".join(loads)}
      {body}
      vector.store %r, %{result}[%i] : memref<?x{element}>, {words["W"]} }}"""
    return function(dict(buffers), ["N"], text)


def run_both(
    text: str, result: np.ndarray, *inputs: np.ndarray, sizes: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The elements that machine code and the interpreter write in the place of `result`."""
    got, expected = result.copy(), result.copy()
    compile_kernel(text)(got, *inputs, *sizes)
    run(parse(text), "y", [expected, *inputs], sizes)
    return got, expected


def apply(
    lines: str, lanes: int, source: str, result: str, *inputs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Lines on vectors of the inputs, by machine code and by the interpreter."""
    buffers = {"y": result} | {f"x{i}": source for i in range(len(inputs))}
    inputs = tuple(np.ascontiguousarray(x, DTYPES[source]) for x in inputs)
    output = np.zeros(inputs[0].size, DTYPES[result])
    text = of_vectors(lines, buffers, lanes)
    return run_both(text, output, *inputs, sizes=(output.size // lanes,))


def arguments(element: str, count: int, lanes: int) -> list[np.ndarray]:
    """Random vectors, and every pair of special numbers in some lanes."""
    rng = np.random.default_rng(lanes)
    pairs = np.array(np.meshgrid(SPECIAL, SPECIAL)).reshape(2, -1)
    third = rng.choice(SPECIAL, pairs.shape[1])
    special = [pairs[0], pairs[1], third][:count]
    whole = -(-(pairs.shape[1] + 64) // lanes) * lanes
    random = rng.normal(size=(count, whole - pairs.shape[1])) * 3
    with np.errstate(over="ignore"):
        return [
            np.concatenate([a, b]).astype(DTYPES[element])
            for a, b in zip(special, random, strict=True)
        ]


def assert_same_bits(got: np.ndarray, expected: np.ndarray) -> None:
    """Equal, NaN to NaN, and zeros of the same sign."""
    np.testing.assert_array_equal(got, expected)
    if got.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(expected[numbers]))

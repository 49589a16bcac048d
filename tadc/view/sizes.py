"""Sizes to look at a program with: small ones at which its tensors have some elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tadc.errors import SizeError, TadcError
from tadc.passes.rewriting.programs import type_of
from tadc.program import Program
from tadc.sizes import shape_of

TRIED = (6, 10, 16, 24, 36, 48)
"""The values that are tried for each size."""

ENOUGH = 5
"""Elements of a dimension from which on more are no better."""

LEAST, MOST = 1, 64
"""The values between which a size is chosen by hand."""


def example_sizes(program: Program, chosen: Mapping[str, int] | None = None) -> dict[str, int]:
    """A value for each size that callers choose: those `chosen`, else small ones.

    One size after the other gets the least value at which the dimensions of all definitions have
    `ENOUGH` elements, or as many as can be; twice, since sizes depend on each other. Where that is
    no call that the program takes, dimensions that reads leave grow until it is one, and sizes are
    improved among those of calls. Names that are no size of the program choose nothing; raises
    `SizeError` for sizes below 0.
    """
    for name, size in (chosen or {}).items():
        if size < 0:
            raise SizeError(f"the size {name} is {size}: no size is negative", size=name)
    chosen = chosen or {}
    smallest = {name: chosen.get(name, TRIED[0]) for name in program.summary.size_names()}
    sizes = _improved(program, chosen, smallest, _elements)
    if _is_call(program, sizes):
        return sizes
    return _improved(program, chosen, _grown(program, chosen, smallest), _elements_of_call)


def _grown(
    program: Program, chosen: Mapping[str, int], sizes: Mapping[str, int]
) -> Mapping[str, int]:
    """Sizes of a call, from these on: a dimension that a read leaves gets the next ones of `TRIED`.

    These themselves where that leads to no call.
    """
    found = dict(sizes)
    while not _is_call(program, found):
        short = [n for n in _sizes_of_left_dimension(program, found) if n not in chosen]
        larger = {n: next((size for size in TRIED if size > found[n]), 0) for n in short}
        if not larger or not all(larger.values()):
            return sizes
        found |= larger
    return found


def _improved(
    program: Program,
    chosen: Mapping[str, int],
    sizes: Mapping[str, int],
    score: Callable[[Program, Mapping[str, int]], int],
) -> dict[str, int]:
    """The sizes after one after the other has got the least value of the best score, twice."""
    found = dict(sizes)
    free = [name for name in found if name not in chosen]
    for name in (*free, *free):
        found[name] = max(TRIED, key=lambda n, name=name: (score(program, {**found, name: n}), -n))
    return found


def all_sizes(program: Program, sizes: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes with those that follow from them."""
    return program.summary.with_derived(sizes)


def _elements(program: Program, sizes: Mapping[str, int]) -> int:
    """The elements of all dimensions of definitions, as far as they count."""
    return sum(min(n, ENOUGH) for n in _dimensions(program, all_sizes(program, sizes)))


def _elements_of_call(program: Program, sizes: Mapping[str, int]) -> int:
    return _elements(program, sizes) if _is_call(program, sizes) else -1


def _is_call(program: Program, sizes: Mapping[str, int]) -> bool:
    """True if the program reads inside of its tensors at these sizes."""
    return _error(program, sizes) is None


def _error(program: Program, sizes: Mapping[str, int]) -> TadcError | None:
    try:
        program.check_sizes(all_sizes(program, sizes))
    except TadcError as error:
        return error
    return None


def _sizes_of_left_dimension(program: Program, sizes: Mapping[str, int]) -> list[str]:
    """The sizes in the length of the dimension that a read leaves, if it is one of an argument."""
    error = _error(program, sizes)
    tensor = program.op.arguments.get(error.argument) if error and error.argument else None
    if tensor is None or error is None or error.dimension is None:
        return []
    return [n for n in type_of(tensor).shape[error.dimension].sizes if n in sizes]


def _dimensions(program: Program, sizes: Mapping[str, int]) -> Iterator[int]:
    for definition in program.summary.definitions:
        yield from shape_of(definition.type, sizes)

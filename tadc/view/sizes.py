"""Sizes to look at a program with: small ones at which its tensors have some elements."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tadc.errors import SizeError, TadcError
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
    no call that the program takes, it is found again among those that it does. Names that are no
    size of the program choose nothing; raises `SizeError` for sizes below 0.
    """
    for name, size in (chosen or {}).items():
        if size < 0:
            raise SizeError(f"the size {name} is {size}: no size is negative", size=name)
    sizes = _chosen(program, chosen or {}, _elements)
    return sizes if _is_call(program, sizes) else _chosen(program, chosen or {}, _elements_of_call)


def _chosen(
    program: Program, chosen: Mapping[str, int], score: Callable[[Program, Mapping[str, int]], int]
) -> dict[str, int]:
    sizes = {name: chosen.get(name, TRIED[0]) for name in program.summary.size_names()}
    free = [name for name in sizes if name not in chosen]
    for name in (*free, *free):
        sizes[name] = max(TRIED, key=lambda n, name=name: (score(program, {**sizes, name: n}), -n))
    return sizes


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
    try:
        program.check_sizes(all_sizes(program, sizes))
    except TadcError:
        return False
    return True


def _dimensions(program: Program, sizes: Mapping[str, int]) -> Iterator[int]:
    for definition in program.summary.definitions:
        yield from shape_of(definition.type, sizes)

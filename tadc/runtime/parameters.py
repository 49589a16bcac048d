"""The arguments that a program declares: values and shapes of a call are bound to their names.

Every error names the argument and points to its declaration, or else to its first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

from tadc.errors import ArgumentError, SizeError, Span, did_you_mean
from tadc.language.hints import OTHER_CONSTANTS
from tadc.sizes import NUMBERS, Integers, Size, SizeMismatch


@dataclass(frozen=True)
class Parameter:
    """An argument as a program declares it; `dtype` is f32, f64 or real (not declared), int of an
    index tensor, size of a size that callers give."""

    name: str
    dtype: str
    rank: int
    locate: Callable[[], Span | None] = lambda: None

    @property
    def span(self) -> Span | None:
        """The declaration or first use of the argument, which only errors look for."""
        return self.locate()


def bind(
    parameters: Sequence[Parameter], positional: Sequence[Any], named: Mapping[str, Any]
) -> list[Any]:
    """The values in the order of `parameters`; raises `ArgumentError`."""
    if not named and len(positional) == len(parameters):
        return list(positional)
    if len(positional) > len(parameters):
        raise ArgumentError(
            f"{len(positional)} arguments for {len(parameters)} ({_listed(parameters)})",
            hint=f"leave out the last {len(positional) - len(parameters)}",
        )
    values = dict(zip((p.name for p in parameters), positional, strict=False))
    for name, value in named.items():
        _check_name(name, values, parameters)
        values[name] = value
    for parameter in parameters:
        if parameter.name not in values:
            raise ArgumentError(
                f"the argument {parameter.name} is missing",
                parameter.span,
                _missing_hint(parameter, parameters),
                argument=parameter.name,
            )
    return [values[p.name] for p in parameters]


def _missing_hint(missing: Parameter, parameters: Sequence[Parameter]) -> str:
    """The arguments, and what a name may be that was not meant as one: a size, or a constant."""
    name, listed = missing.name, f"the arguments are {_listed(parameters)}"
    if missing.dtype == "size":
        return f"no array tells this size: give it at the call, f(..., {name}=3)"
    if missing.rank == 0 and name in OTHER_CONSTANTS:
        return f"{listed}; no constant has a name: write {OTHER_CONSTANTS[name]} for {name}"
    array = next((p for p in parameters if p.rank > 0), None)
    if missing.rank == 0 and name[0].isupper() and array:
        shape = ", ".join([name, *(n for n in "NMLKJI" if n != name)][: array.rank])
        return f"{listed}; if {name} is a size, declare it: {array.name}: real[{shape}]"
    return listed


def _check_name(name: str, values: Mapping[str, Any], parameters: Sequence[Parameter]) -> None:
    if name in values:
        raise ArgumentError(f"the argument {name} is given twice", argument=name)
    names = [p.name for p in parameters]
    if name not in names:
        hint = did_you_mean(name, names) or f"the arguments are {_listed(parameters)}"
        raise ArgumentError(f"there is no argument {name}", hint=hint, argument=name)


def _listed(parameters: Sequence[Parameter]) -> str:
    return ", ".join(p.name for p in parameters) or "none"


def bind_shapes(
    names: Sequence[str], shapes: Sequence[Sequence[Size]], integers: Integers
) -> dict[str, tuple[Size, ...]]:
    """The shapes of the arguments of these names; raises `ArgumentError` for what is no shape."""
    try:
        if len(shapes) != len(names):
            raise ArgumentError(
                f"{len(shapes)} shapes for {len(names)} arguments",
                hint=f"the arguments are {', '.join(names) or 'none'}",
            )
        found = [tuple(map(index, s) if integers is NUMBERS else s) for s in shapes]
    except TypeError as error:
        hint = "a shape is a tuple of whole numbers, as that of an array"
        raise ArgumentError(f"these are no shapes: {error}", hint=hint) from None
    return dict(zip(names, found, strict=True))


def shape_error(parameters: Sequence[Parameter], found: SizeMismatch) -> SizeError | ArgumentError:
    """The error about an argument of a shape that does not fit the program."""
    parameter = next(p for p in parameters if p.name == found.argument)
    if found.dimension is None:
        return ArgumentError(
            f"the argument {parameter.name} has rank {found.actual}, not {found.expected}",
            parameter.span,
            "a shape has one dimension for each index",
            argument=parameter.name,
        )
    return SizeError(
        f"dimension {found.dimension} of {found.argument} is {found.actual}, "
        f"expected {found.expected}",
        parameter.span,
        _size_hint(found),
        argument=found.argument,
        dimension=found.dimension,
        size=found.actual,
    )


def _size_hint(found: SizeMismatch) -> str:
    """The way to make a size fit that does not."""
    if found.expected.isdigit():
        return f"the program fixes this size to {found.expected}; a name, like N, takes any size"
    if "=" in found.expected:
        if found.expected.partition(" =")[0].isidentifier():
            return "sizes of the same name must agree"
        return "the sizes of other arguments say so: an index runs over these dimensions alike"
    return f"no size makes {found.expected} equal to {found.actual}"

"""Sizes at a call: solved from the shapes of the arguments, then derived from each other.

    x: f64[N + 1], y: f64[N, M]   with shapes (4,) and (3, 5)   gives   N = 3, M = 5

A dimension is an affine form of sizes, and below 0 it means 0. A form with one unknown size gives
this size; when no such form is left, every form is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from dialects.tix import Affine, DerivedSizeAttr, TensorType, Variable
from dialects.tix.affine import show


@dataclass
class SizeMismatch(Exception):
    """An argument whose shape does not fit the program; `expected` describes what would."""

    argument: str
    dimension: int | None
    """The dimension concerned; None where the number of dimensions is wrong."""
    expected: str
    actual: int

    def __str__(self) -> str:
        where = "rank" if self.dimension is None else f"dimension {self.dimension}"
        return f"{where} of '{self.argument}' is {self.actual}, expected {self.expected}"


@dataclass
class SizeUnknown(Exception):
    """A size that no shape of an argument determines."""

    name: str

    def __str__(self) -> str:
        return f"no argument determines the size '{self.name}'"


@dataclass(frozen=True)
class _Dimension:
    """One equation: the `position`-th dimension of `argument` is `max(0, form) == actual`."""

    argument: str
    position: int
    form: Affine
    actual: int

    @property
    def exact(self) -> bool:
        """True if the form itself equals the dimension: 0 may stand for a negative value."""
        return self.actual > 0 or (len(self.form.terms) == 1 and not self.form.constant)

    def mismatch(self, expected: str | int) -> SizeMismatch:
        return SizeMismatch(self.argument, self.position, str(expected), self.actual)


def value_of(form: Affine, sizes: Mapping[str, int]) -> int:
    """The value of a form that has no index; raises `SizeUnknown` where a size has no value."""
    for name in form.sizes:
        if name not in sizes:
            raise SizeUnknown(name)
    return form.evaluate(cast("Mapping[Variable, int]", sizes))


def shape_of(type: TensorType, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor for given sizes."""
    return tuple(max(0, value_of(form, sizes)) for form in type.shape)


class Typed(Protocol):
    """An argument or a definition."""

    @property
    def type(self) -> Any: ...


class Sized(Protocol):
    """A program, or a summary of one."""

    @property
    def arguments(self) -> Mapping[str, Any]: ...
    @property
    def derived(self) -> Iterable[DerivedSizeAttr]: ...
    @property
    def definitions(self) -> Sequence[Typed]: ...


def bind_sizes(program: Sized, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Every size of `program` for arguments of these shapes."""
    dimensions = _dimensions(program, shapes)
    sizes = _solve(dimensions, list(program.derived))
    for d in dimensions:
        if max(0, value_of(d.form, sizes)) != d.actual:
            raise d.mismatch(_expected(d.form, sizes))
    for derived in program.derived:
        value_of(Affine.of(derived.data.name), sizes)
    for definition in program.definitions:
        shape_of(definition.type, sizes)
    return sizes


def argument_shapes(program: Sized, chosen: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes of the arguments, where callers choose the sizes that are not derived."""
    sizes = dict(chosen)
    for derived in program.derived:
        sizes[derived.data.name] = derived.evaluate(cast("Mapping[Variable, int]", sizes))
    return {name: shape_of(value.type, sizes) for name, value in program.arguments.items()}


def _dimensions(program: Sized, shapes: Mapping[str, tuple[int, ...]]) -> list[_Dimension]:
    dimensions: list[_Dimension] = []
    for name, value in program.arguments.items():
        assert isinstance(value.type, TensorType)
        shape = shapes[name]
        if len(shape) != value.type.rank:
            raise SizeMismatch(name, None, str(value.type.rank), len(shape))
        rows = enumerate(zip(value.type.shape, shape, strict=True))
        dimensions += [_Dimension(name, n, form, actual) for n, (form, actual) in rows]
    return dimensions


def _solve(dimensions: list[_Dimension], derived: list[DerivedSizeAttr]) -> dict[str, int]:
    """Solve forms with one unknown size until none is left, those that say most first.

    A derived size is computed as soon as all that it needs is known, and never solved for: an
    argument that has it in its shape must agree with it.
    """
    sizes: dict[str, int] = {}
    names = {d.data.name for d in derived}
    while True:
        for d in derived:
            if all(s in sizes for form, _ in d.bounds for s in form.sizes):
                sizes[d.data.name] = d.evaluate(cast("Mapping[Variable, int]", sizes))
        ready = [
            d for d in dimensions if len(unknown := _unknown(d, sizes)) == 1 and not names & unknown
        ]
        if not ready:
            return sizes
        d = min(ready, key=lambda d: not d.exact)
        (name,) = _unknown(d, sizes)
        known = value_of(d.form - Affine({name: d.form[name]}), sizes)
        value, rest = divmod(d.actual - known, d.form[name])
        if rest or value < 0:
            raise d.mismatch(_expected(d.form, sizes))
        sizes[name] = value


def _unknown(dimension: _Dimension, sizes: Mapping[str, int]) -> set[str]:
    return {s for s in dimension.form.sizes if s not in sizes}


def _expected(form: Affine, sizes: Mapping[str, int]) -> str:
    """`N + 1 = 5` where the sizes are known, else the form."""
    text = show(form, str)
    if any(name not in sizes for name in form.sizes):
        return text
    value = str(max(0, value_of(form, sizes)))
    return value if text == value else f"{text} = {value}"

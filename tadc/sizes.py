"""Sizes at a call: solved from the shapes of the arguments, then derived from each other.

    x: f64[N + 1], y: f64[N, M]   with shapes (4,) and (3, 5)   gives   N = 3, M = 5

A dimension is an affine form of sizes, and below 0 it means 0. First come dimensions that are a
size alone, then forms with one unknown size; when no such form is left, the others are checked.

Dimensions may be symbolic, as frameworks have them that trace programs for any sizes. Then each
comparison narrows the sizes for which a trace holds, so there is none without need: a dimension
that a size was solved from fits it, and a form that cannot be below 0 is not compared with 0.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from tadc.dialects.tix import Affine, DerivedSizeAttr, TensorType
from tadc.dialects.tix.affine import show

Size: TypeAlias = Any
"""A size or dimension: a number, or a symbolic integer of a framework."""


@dataclass
class SizeMismatch(Exception):
    """An argument whose shape does not fit the program; `expected` describes what would."""

    argument: str
    dimension: int | None
    """The dimension concerned; None where the number of dimensions is wrong."""
    expected: str
    actual: Size

    def __str__(self) -> str:
        where = "rank" if self.dimension is None else f"dimension {self.dimension}"
        return f"{where} of '{self.argument}' is {self.actual}, expected {self.expected}"


@dataclass
class SizeUnknown(Exception):
    """A size that no shape of an argument determines."""

    name: str

    def __str__(self) -> str:
        return f"no argument determines the size '{self.name}'"


class Integers(NamedTuple):
    """The larger and the smaller of two integers, of Python's or of a framework's symbolic ones.

    Besides these are needed `+ - * //`, comparisons, and that no dimension is negative.
    """

    max: Callable[[Size, Size], Size]
    min: Callable[[Size, Size], Size]


NUMBERS = Integers(max, min)
"""The integers of Python."""


def shape_of(type: TensorType, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a tensor for given sizes."""
    return dimensions_of(type.shape, sizes)


def dimensions_of(
    forms: Iterable[Affine], sizes: Mapping[str, Size], integers: Integers = NUMBERS
) -> tuple[Size, ...]:
    """The dimensions that these forms are, in integers of the kind of the sizes."""
    return tuple([_dimension(form, sizes, integers) for form in forms])


def _dimension(form: Affine, sizes: Mapping[str, Size], integers: Integers) -> Size:
    value = form.evaluate(sizes)
    if form.constant >= 0 and all(c > 0 for c in form.terms.values()):
        return value
    return integers.max(0, value)


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
    """Every size of `program` for arguments of these shapes: see `SizeEquations.solve`."""
    return SizeEquations(program).solve(shapes)


def argument_shapes(program: Sized, chosen: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes of the arguments, where callers choose the sizes that are not derived."""
    sizes = dict(chosen)
    for derived in program.derived:
        sizes[derived.data.name] = derived.evaluate(sizes)
    return {name: shape_of(value.type, sizes) for name, value in program.arguments.items()}


class _Equation(NamedTuple):
    """The `position`-th dimension of `argument` is `max(0, form)`."""

    argument: str
    position: int
    form: Affine
    size: str | None
    """The size that the form is, if it is one alone that callers choose."""

    def mismatch(self, actual: Size, sizes: Mapping[str, Size]) -> SizeMismatch:
        return SizeMismatch(self.argument, self.position, _expected(self.form, sizes), actual)


class SizeEquations:
    """The dimensions of the arguments of a program as equations for its sizes, made once."""

    def __init__(self, program: Sized):
        self._derived = list(program.derived)
        names = {d.data.name for d in self._derived}
        self._ranks: list[tuple[str, int]] = []
        self._equations: list[_Equation] = []
        for name, value in program.arguments.items():
            assert isinstance(value.type, TensorType)
            self._ranks.append((name, value.type.rank))
            for n, form in enumerate(value.type.shape):
                alone = form.sizes and form == Affine.of(form.sizes[0])
                size = form.sizes[0] if alone and form.sizes[0] not in names else None
                self._equations.append(_Equation(name, n, form, size))
        self._names = names
        self._known = self._determined()
        forms = [e.form for e in self._equations]
        forms += [form for d in self._derived for form, _ in d.bounds]
        forms += [form for d in program.definitions for form in d.type.shape]
        needed = (s for form in forms for s in form.sizes)
        self._unknown = next((s for s in needed if s not in self._known), None)

    def _determined(self) -> set[str]:
        """The sizes that arguments determine, whatever their shapes are."""
        known: set[str] = set()
        while True:
            before = len(known)
            known.update(d.data.name for d in self._derived if d.needs <= known)
            for e in self._equations:
                known.update(self._only_unknown(e, known))
            if len(known) == before:
                return known

    def _only_unknown(self, equation: _Equation, known: Container[str]) -> list[str]:
        """The size that the equation gives, given the known ones; empty if it gives none."""
        unknown = [s for s in equation.form.sizes if s not in known]
        return unknown if len(unknown) == 1 and unknown[0] not in self._names else []

    def solve(
        self, shapes: Mapping[str, Sequence[Size]], integers: Integers = NUMBERS
    ) -> dict[str, Size]:
        """Every size for arguments of these shapes.

        Raises `SizeMismatch` for shapes that do not fit, `SizeUnknown` where a size is not
        determined. Takes time linear in the dimensions that are a size alone.
        """
        for name, rank in self._ranks:
            if len(shapes[name]) != rank:
                raise SizeMismatch(name, None, str(rank), len(shapes[name]))
        if self._unknown is not None:
            raise SizeUnknown(self._unknown)
        sizes: dict[str, Size] = {}
        others: list[tuple[_Equation, Size]] = []
        for e in self._equations:
            actual = shapes[e.argument][e.position]
            if e.size is None or e.size in sizes:
                others.append((e, actual))
            elif isinstance(actual, int) and actual < 0:
                raise e.mismatch(actual, sizes)
            else:
                sizes[e.size] = actual
        self._derive(sizes, integers)
        while len(sizes) < len(self._known):
            e, actual = found = self._most_telling(others, sizes)
            others.remove(found)
            (name,) = self._only_unknown(e, sizes)
            sizes[name] = _solution(e, name, actual, sizes)
            self._derive(sizes, integers)
        for e, actual in others:
            if _dimension(e.form, sizes, integers) != actual:
                raise e.mismatch(actual, sizes)
        return sizes

    def _derive(self, sizes: dict[str, Size], integers: Integers) -> None:
        """Compute the derived sizes of which all that they need is known.

        They are never solved for: an argument that has one in its shape must agree with it.
        """
        for d in self._derived:
            if d.data.name not in sizes and d.needs <= sizes.keys():
                sizes[d.data.name] = d.evaluate(sizes, *integers)

    def _most_telling(
        self, others: Sequence[tuple[_Equation, Size]], sizes: Mapping[str, Size]
    ) -> tuple[_Equation, Size]:
        """An equation with one unknown size, if possible one whose dimension is not 0.

        For then the form itself equals the dimension: 0 may stand for a negative value.
        """
        ready = [(e, n) for e, n in others if self._only_unknown(e, sizes)]
        return next((e for e in ready if not _is_zero(e[1])), ready[0])


def _is_zero(dimension: Size) -> bool:
    """True for the number 0; symbolic dimensions are not asked, and count as positive."""
    return isinstance(dimension, int) and dimension == 0


def _solution(equation: _Equation, name: str, actual: Size, sizes: Mapping[str, Size]) -> Size:
    """The size `name` for which the form is the dimension, where it knows all others."""
    form = equation.form
    c = form[name]
    rest = actual - (form - Affine({name: c})).evaluate(sizes)
    value = rest * c if abs(c) == 1 else rest // c
    if (abs(c) != 1 and value * c != rest) or value < 0:
        raise equation.mismatch(actual, sizes)
    return value


def _expected(form: Affine, sizes: Mapping[str, Size]) -> str:
    """`N + 1 = 5` where the sizes are known, else the form."""
    text = show(form, str)
    if any(name not in sizes for name in form.sizes):
        return text
    value = str(_dimension(form, sizes, NUMBERS))
    return value if text == value else f"{text} = {value}"

"""Attributes that keep affine forms in the IR: index maps and index sets over numbered dimensions.

An operation has its indices as operands, and a map or a set over as many dimensions. `map_over` and
`set_over` split forms and constraints so; `FormRow.bind` and `constraints_of` put them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar, TypeVarTuple

from xdsl.ir import Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.tix.affine import (
    Affine,
    FormRow,
    ParseVariable,
    Variable,
    parse_affine,
    show,
    split,
)
from tadc.dialects.tix.constraints import Constraint, parse_constraint, show_constraint
from tadc.once import cached_property

T = TypeVar("T")
Parts = TypeVarTuple("Parts")

KEPT = "kept"
"""The name under which an operation keeps a value that follows from operands and attributes."""


class MapData(NamedTuple):
    """The data of an index map: each row has `dimensions` coefficients."""

    dimensions: int
    rows: tuple[FormRow, ...]


@irdl_attr_definition
class MapAttr(Data[MapData]):
    """An index map, one affine form per tensor dimension: `#tix.map<(d0, d1) -> (d0 + d1, 0)>`."""

    name = "tix.map"

    def __post_init__(self) -> None:
        self.verify()  # what xDSL asks beyond takes longer than all else

    @cached_property
    def shape(self) -> tuple[Affine, ...]:
        """The sizes of dimensions: the inverse of `shape_map`."""
        return tuple(row.bind(()) for row in self.data.rows)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MapData:
        with parser.in_angle_brackets():
            dimensions = _parse_dimensions(parser)
            parser.parse_punctuation("->")
            variable = _dimension_or_size(parser, dimensions)
            rows = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN,
                lambda: _to_row(parse_affine(parser, variable), len(dimensions)),
            )
            return MapData(len(dimensions), tuple(rows))

    def print_parameter(self, printer: Printer) -> None:
        names = _dimension_names(self.data.rows, self.data.dimensions)
        rows = ", ".join(show(_from_row(r, names), str) for r in self.data.rows)
        printer.print_string(f"<({', '.join(names)}) -> ({rows})>")

    def verify(self) -> None:
        _verify_rows(self.data.rows, self.data.dimensions)


class SetData(NamedTuple):
    """The data of an index set: a row and whether it is an equality, for each constraint."""

    dimensions: int
    rows: tuple[tuple[FormRow, bool], ...]


@irdl_attr_definition
class SetAttr(Data[SetData]):
    """A convex index set: `#tix.set<(d0, d1) : (d0 >= 0, d1 <= N - 1, d0 == 2 * d1)>`."""

    name = "tix.set"

    def __post_init__(self) -> None:
        self.verify()  # as for maps

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SetData:
        with parser.in_angle_brackets():
            dimensions = _parse_dimensions(parser)
            parser.parse_punctuation(":")
            variable = _dimension_or_size(parser, dimensions)

            def row() -> tuple[FormRow, bool]:
                constraint = parse_constraint(parser, variable)
                return _to_row(constraint.form, len(dimensions)), constraint.equality

            rows = parser.parse_comma_separated_list(parser.Delimiter.PAREN, row)
            return SetData(len(dimensions), tuple(rows))

    def print_parameter(self, printer: Printer) -> None:
        names = _dimension_names((r for r, _ in self.data.rows), self.data.dimensions)
        rows = ", ".join(
            show_constraint(Constraint(_from_row(r, names), equality), str, names.__contains__)
            for r, equality in self.data.rows
        )
        printer.print_string(f"<({', '.join(names)}) : ({rows})>")

    def verify(self) -> None:
        _verify_rows((r for r, _ in self.data.rows), self.data.dimensions)


def map_over(forms: Iterable[Affine]) -> tuple[list[SSAValue], MapAttr]:
    """The index operands of `forms`, in order of first use, and the map over them."""
    operands, rows = split(forms)
    return operands, MapAttr(MapData(len(operands), rows))


def shape_map(shape: Sequence[Affine]) -> MapAttr:
    """The sizes of dimensions, as a map without indices."""
    _, rows = split(shape)
    return MapAttr(MapData(0, rows))


def set_over(constraints: Sequence[Constraint], dimensions: Sequence[SSAValue]) -> SetAttr:
    """The set of `constraints` over these dimensions, in this order."""
    rows = tuple((c.form.row(dimensions), c.equality) for c in constraints)
    return SetAttr(SetData(len(dimensions), rows))


def constraints_of(attribute: SetAttr, operands: Sequence[SSAValue]) -> list[Constraint]:
    """The constraints of a set whose dimensions are `operands`: the inverse of `set_over`."""
    return [Constraint(row.bind(operands), equality) for row, equality in attribute.data.rows]


def kept(op: Operation, key: tuple[*Parts], make: Callable[[*Parts], T]) -> T:
    """The value that `make` gives for a key, made again where that of an operation has changed.

    Passes ask an operation for its forms many times. Each operation keeps one value. Keys of the
    same objects are quickly compared.
    """
    own = vars(op)
    found = own.get(KEPT)
    if found is None or found[0] != key:
        found = own[KEPT] = key, make(*key)
    return found[1]


# --- text ----------------------------------------------------------------------------------------


def _parse_dimensions(parser: AttrParser) -> dict[str, int]:
    words = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_identifier)
    if len(set(words)) < len(words):
        parser.raise_error("two dimensions of the same name")
    return {word: n for n, word in enumerate(words)}


def _dimension_or_size(parser: AttrParser, dimensions: dict[str, int]) -> ParseVariable:
    """Reads a word: a declared one is a dimension and stands as `#n`, another one is a size."""

    def parse() -> Variable | None:
        word = parser.parse_optional_identifier()
        return f"#{dimensions[word]}" if word in dimensions else word

    return parse


def _to_row(form: Affine, count: int) -> FormRow:
    sizes = tuple(sorted((s, form[s]) for s in form.sizes if not s.startswith("#")))
    return FormRow(tuple(form[f"#{n}"] for n in range(count)), sizes, form.constant)


def _from_row(row: FormRow, names: Sequence[str]) -> Affine:
    terms: dict[Variable, int] = dict(zip(names, row.coefficients, strict=True))
    return Affine(terms | dict(row.sizes), row.constant)


def _dimension_names(rows: Iterable[FormRow], count: int) -> list[str]:
    """`d0, d1, ...`, with a longer prefix where a size has such a name."""
    taken = {name for row in rows for name, _ in row.sizes}
    prefix = "d"
    while any(f"{prefix}{n}" in taken for n in range(count)):
        prefix += "d"
    return [f"{prefix}{n}" for n in range(count)]


def _verify_rows(rows: Iterable[FormRow], count: int) -> None:
    for row in rows:
        if len(row.coefficients) != count:
            raise VerifyException(f"a row has {len(row.coefficients)} coefficients, not {count}")

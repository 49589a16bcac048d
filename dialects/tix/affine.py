"""Affine forms over indices and sizes, and the attributes that keep them in the IR.

An `Affine` is `2*i - k + N + 1`: integer coefficients of *indices* (SSA values of type `index`) and
of *sizes* (names), and a constant. Passes work on `Affine`; operations keep them split into index
operands and an attribute of rows over these operands, so that equal maps are equal attributes.

    Affine           i + k - 1
    operands, row    (%i, %k), Row((1, 1), (), -1)
    attribute        #tix.map<(d0, d1) -> (d0 + d1 - 1)>
    in an operation  tix.read %d[%i + %k - 1]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Data, SSAValue
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

Variable: TypeAlias = SSAValue | str
"""An index (SSA value of type `index`) or the name of a size."""


class Affine:
    """An immutable affine form with integer coefficients; equal forms are equal and hash alike."""

    __slots__ = ("constant", "terms")

    terms: Mapping[Variable, int]
    constant: int

    def __init__(self, terms: Mapping[Variable, int] | None = None, constant: int = 0):
        terms = terms or {}
        self.terms = {k: c for k, c in terms.items() if c} if 0 in terms.values() else terms
        self.constant = constant

    @staticmethod
    def of(key: Variable) -> Affine:
        return Affine({key: 1})

    @staticmethod
    def sum(parts: Iterable[Affine]) -> Affine:
        terms: dict[Variable, int] = {}
        constant = 0
        for part in parts:
            constant += part.constant
            for key, c in part.terms.items():
                terms[key] = terms.get(key, 0) + c
        return Affine(terms, constant)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Affine)
            and self.constant == other.constant
            and self.terms == other.terms
        )

    def __hash__(self) -> int:
        return hash((frozenset(self.terms.items()), self.constant))

    def __repr__(self) -> str:
        return f"Affine({show(self, lambda k: k if isinstance(k, str) else str(k.name_hint))})"

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        terms = dict(self.terms)
        for key, c in other.terms.items():
            terms[key] = terms.get(key, 0) + c
        return Affine(terms, self.constant + other.constant)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        return self + (-other)

    def __rsub__(self, other: int) -> Affine:
        return -self + other

    def __mul__(self, factor: int) -> Affine:
        return Affine({k: c * factor for k, c in self.terms.items()}, self.constant * factor)

    def __floordiv__(self, divisor: int) -> Affine:
        """Exact division of the coefficients, which `divisor` divides; the constant is floored."""
        return Affine({k: c // divisor for k, c in self.terms.items()}, self.constant // divisor)

    __radd__ = __add__
    __rmul__ = __mul__

    def __getitem__(self, key: Variable) -> int:
        return self.terms.get(key, 0)

    @property
    def indices(self) -> list[SSAValue]:
        return [k for k in self.terms if isinstance(k, SSAValue)]

    @property
    def sizes(self) -> list[str]:
        return [k for k in self.terms if isinstance(k, str)]

    @property
    def single_index(self) -> SSAValue | None:
        """The index that this form consists of, where it is exactly one index."""
        if self.constant or len(self.terms) != 1:
            return None
        ((key, c),) = self.terms.items()
        return key if c == 1 and isinstance(key, SSAValue) else None

    def substitute(self, values: Mapping[Variable, Affine]) -> Affine:
        """Replace keys by affine forms; keys that `values` lacks stay."""
        terms: dict[Variable, int] = {}
        constant = self.constant
        for key, c in self.terms.items():
            form = values.get(key)
            if form is None:
                terms[key] = terms.get(key, 0) + c
                continue
            constant += c * form.constant
            for inner, factor in form.terms.items():
                terms[inner] = terms.get(inner, 0) + c * factor
        return Affine(terms, constant)

    def row(self, dimensions: Sequence[SSAValue]) -> Row:
        """This form over numbered dimensions, which must hold every index of it."""
        sizes = tuple(sorted((s, self.terms[s]) for s in self.sizes))
        return Row(tuple(self[v] for v in dimensions), sizes, self.constant)

    def evaluate(self, values: Mapping[Variable, int]) -> int:
        return self.constant + sum(c * values[k] for k, c in self.terms.items())


@dataclass(frozen=True, slots=True)
class Constraint:
    """`form >= 0`, or `form == 0` when `equality`."""

    form: Affine
    equality: bool = False

    def substitute(self, values: Mapping[Variable, Affine]) -> Constraint:
        return Constraint(self.form.substitute(values), self.equality)


def between(low: Affine | int, value: Affine, size: Affine | int) -> list[Constraint]:
    """`low <= value < size`."""
    return [Constraint(value - low), Constraint(size - value - 1)]


# --- rows: affine forms over numbered operands ---------------------------------------------------


class Row(NamedTuple):
    """An affine form whose indices are operand numbers: what attributes store."""

    coefficients: tuple[int, ...]
    sizes: tuple[tuple[str, int], ...]
    constant: int

    def bind(self, operands: Sequence[SSAValue]) -> Affine:
        terms: dict[Variable, int] = {}
        for v, c in zip(operands, self.coefficients, strict=True):
            terms[v] = terms.get(v, 0) + c
        return Affine(terms | dict(self.sizes), self.constant)


def split(forms: Iterable[Affine]) -> tuple[list[SSAValue], tuple[Row, ...]]:
    """The index operands that `forms` need, in order of first use, and the rows over them."""
    forms = list(forms)
    operands = list(dict.fromkeys(v for f in forms for v in f.indices))
    return operands, tuple(f.row(operands) for f in forms)


# --- text ----------------------------------------------------------------------------------------


def show(form: Affine, name: Callable[[Variable], str]) -> str:
    """`2*%i - %k + N - 1`: indices first, then sizes, then the constant."""
    keys = sorted(form.terms, key=lambda k: isinstance(k, str))
    parts = [(form[k], name(k)) for k in keys]
    text = ""
    for c, term in parts:
        sign = "-" if c < 0 else "+"
        body = term if abs(c) == 1 else f"{abs(c)} * {term}"
        text += f" {sign} {body}" if text else ("-" if c < 0 else "") + body
    if form.constant or not text:
        c = form.constant
        text += f" {'-' if c < 0 else '+'} {abs(c)}" if text else str(c)
    return text


def _is_value(key: Variable) -> bool:
    return isinstance(key, SSAValue)


def show_constraint(
    constraint: Constraint,
    name: Callable[[Variable], str],
    is_index: Callable[[Variable], bool] = _is_value,
) -> str:
    """Both sides with positive coefficients, an index to the left: `%k <= -4`, `%i + %k == %p`."""
    form = constraint.form
    if constraint.equality and not _leads_positive(form):
        form = -form
    left = Affine({k: c for k, c in form.terms.items() if c > 0}, max(form.constant, 0))
    right = left - form
    relation = "==" if constraint.equality else ">="
    if not any(map(is_index, left.terms)) and any(map(is_index, right.terms)):
        left, right = right, left
        relation = "==" if constraint.equality else "<="
    if left.terms and not right.terms:
        left, right = left - left.constant, right - left.constant
    return f"{show(left, name)} {relation} {show(right, name)}"


def _leads_positive(form: Affine) -> bool:
    return next(iter(form.terms.values()), 0) > 0


ParseKey: TypeAlias = Callable[[], Variable | None]


def parse_affine(parser: AttrParser, parse_key: ParseKey) -> Affine:
    """Read what `show` wrote: sums of `[integer *] key` and integers."""
    total = _parse_term(parser, parse_key, -1 if parser.parse_optional_punctuation("-") else 1)
    while True:
        if parser.parse_optional_punctuation("+"):
            total = total + _parse_term(parser, parse_key, 1)
        elif parser.parse_optional_punctuation("-"):
            total = total + _parse_term(parser, parse_key, -1)
        elif (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
            total = total + number  # the lexer joins the sign of `N -1` to the number
        else:
            return total


def _parse_term(parser: AttrParser, parse_key: ParseKey, sign: int) -> Affine:
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None and not parser.parse_optional_characters("*"):
        return Affine({}, sign * number)
    key = parse_key()
    if key is None:
        parser.raise_error("expected an index or a size")
    return Affine({key: sign * (1 if number is None else number)})


def parse_constraint(parser: AttrParser, parse_key: ParseKey) -> Constraint:
    """Read `a >= b`, `a <= b` or `a == b`."""
    left = parse_affine(parser, parse_key)
    relation = "".join(_parse_relation(parser))
    right = parse_affine(parser, parse_key)
    match relation:
        case ">=":
            return Constraint(left - right)
        case "<=":
            return Constraint(right - left)
        case _:
            return Constraint(left - right, equality=True)


def _parse_relation(parser: AttrParser) -> tuple[str, str]:
    for first in (">", "<", "="):
        if parser.parse_optional_punctuation(first):
            parser.parse_punctuation("=")
            return first, "="
    parser.raise_error("expected '>=', '<=' or '=='")


def operand_key(parser: Parser) -> ParseKey:
    """Keys inside an operation: `%i` is an index, a bare word a size."""

    def parse() -> Variable | None:
        operand = parser.parse_optional_operand(IndexType())
        return operand if operand is not None else parser.parse_optional_identifier()

    return parse


def _dimension_key(parser: AttrParser, dimensions: dict[str, int]) -> ParseKey:
    """Keys inside an attribute: a declared word is a dimension (as `#n`), another one a size."""

    def parse() -> Variable | None:
        word = parser.parse_optional_identifier()
        return f"#{dimensions[word]}" if word in dimensions else word

    return parse


def _to_row(form: Affine, count: int) -> Row:
    sizes = tuple(sorted((s, form[s]) for s in form.sizes if not s.startswith("#")))
    return Row(tuple(form[f"#{n}"] for n in range(count)), sizes, form.constant)


def _from_row(row: Row, names: Sequence[str]) -> Affine:
    terms: dict[Variable, int] = dict(zip(names, row.coefficients, strict=True))
    return Affine(terms | dict(row.sizes), row.constant)


def _dimension_names(rows: Iterable[Row], count: int) -> list[str]:
    """`d0, d1, ...`, with a longer prefix where a size has such a name."""
    taken = {name for row in rows for name, _ in row.sizes}
    prefix = "d"
    while any(f"{prefix}{n}" in taken for n in range(count)):
        prefix += "d"
    return [f"{prefix}{n}" for n in range(count)]


def _parse_dimensions(parser: AttrParser) -> dict[str, int]:
    words = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_identifier)
    if len(set(words)) < len(words):
        parser.raise_error("two dimensions of the same name")
    return {word: n for n, word in enumerate(words)}


def _verify_rows(rows: Iterable[Row], count: int) -> None:
    for row in rows:
        if len(row.coefficients) != count:
            raise VerifyException(f"a row has {len(row.coefficients)} coefficients, not {count}")


class MapData(NamedTuple):
    dimensions: int
    rows: tuple[Row, ...]


@irdl_attr_definition
class MapAttr(Data[MapData]):
    """An index map, one affine form per tensor dimension: `#tix.map<(d0, d1) -> (d0 + d1, 0)>`."""

    name = "tix.map"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MapData:
        with parser.in_angle_brackets():
            dimensions = _parse_dimensions(parser)
            parser.parse_punctuation("->")
            key = _dimension_key(parser, dimensions)
            rows = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN,
                lambda: _to_row(parse_affine(parser, key), len(dimensions)),
            )
            return MapData(len(dimensions), tuple(rows))

    def print_parameter(self, printer: Printer) -> None:
        names = _dimension_names(self.data.rows, self.data.dimensions)
        rows = ", ".join(show(_from_row(r, names), str) for r in self.data.rows)
        printer.print_string(f"<({', '.join(names)}) -> ({rows})>")

    def verify(self) -> None:
        _verify_rows(self.data.rows, self.data.dimensions)


class SetData(NamedTuple):
    dimensions: int
    rows: tuple[tuple[Row, bool], ...]


@irdl_attr_definition
class SetAttr(Data[SetData]):
    """A convex index set: `#tix.set<(d0, d1) : (d0 >= 0, d1 <= N - 1, d0 == 2 * d1)>`."""

    name = "tix.set"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> SetData:
        with parser.in_angle_brackets():
            dimensions = _parse_dimensions(parser)
            parser.parse_punctuation(":")
            key = _dimension_key(parser, dimensions)

            def row() -> tuple[Row, bool]:
                constraint = parse_constraint(parser, key)
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


def set_over(constraints: Sequence[Constraint], dimensions: Sequence[SSAValue]) -> SetAttr:
    """The set attribute of `constraints` over these dimensions, in this order."""
    rows = tuple((c.form.row(dimensions), c.equality) for c in constraints)
    return SetAttr(SetData(len(dimensions), rows))


def constraints_of(attribute: SetAttr, operands: Sequence[SSAValue]) -> list[Constraint]:
    """The inverse of `set_over`."""
    return [Constraint(row.bind(operands), equality) for row, equality in attribute.data.rows]

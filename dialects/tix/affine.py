"""Affine forms over indices and sizes, `2*i - k + N + 1`: their arithmetic, rows and text.

A form has integer coefficients of *indices* (SSA values of type `index`) and of *sizes* (names),
and a constant. Passes work on `Affine`. Operations keep a form as index operands, and a `FormRow`
over their numbers in an attribute (`attributes`), so that equal maps are equal attributes:

    Affine           i + k - 1
    operands, row    (%i, %k), FormRow((1, 1), (), -1)
    attribute        #tix.map<(d0, d1) -> (d0 + d1 - 1)>
    in an operation  tix.read %d[%i + %k - 1]

Where dimensions are seen as one, a product of sizes is a variable like any size, and its name is
the product: `H * W`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, TypeAlias, TypeGuard

from xdsl.ir import SSAValue
from xdsl.parser import AttrParser

Variable: TypeAlias = SSAValue | str
"""A variable of an affine form: an index (SSA value of type `index`), or the name of a size."""


class Affine:
    """An integer affine form, such as `2*i - k + N + 1`: `Affine({i: 2, k: -1, "N": 1}, 1)`.

    Forms add, subtract, and multiply by integers: `2 * Affine.of(i) - Affine.of(k) + 1`. They are
    immutable; forms are equal if they have the same coefficients and the same constant.
    """

    __slots__ = ("_hash", "constant", "terms")

    terms: Mapping[Variable, int]
    """The coefficients by variable, none of them zero, in the order in which variables came in."""
    constant: int

    def __init__(self, terms: Mapping[Variable, int] | None = None, constant: int = 0):
        terms = terms or {}
        self.terms = {v: c for v, c in terms.items() if c} if 0 in terms.values() else terms
        self.constant = constant

    @staticmethod
    def of(variable: Variable) -> Affine:
        """The form that is one variable."""
        return Affine({variable: 1})

    @staticmethod
    def sum(parts: Iterable[Affine]) -> Affine:
        """The sum of any number of forms, in time linear in their terms."""
        terms: dict[Variable, int] = {}
        constant = 0
        for part in parts:
            constant += part.constant
            for v, c in part.terms.items():
                terms[v] = terms.get(v, 0) + c
        return Affine(terms, constant)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Affine)
            and self.constant == other.constant
            and self.terms == other.terms
        )

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = hash((frozenset(self.terms.items()), self.constant))
            return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Affine, (self.terms, self.constant)  # hashes are those of one process

    def __repr__(self) -> str:
        return f"Affine({show(self, lambda v: v if isinstance(v, str) else str(v.name_hint))})"

    def __add__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        terms = dict(self.terms)
        for v, c in other.terms.items():
            terms[v] = terms.get(v, 0) + c
        return Affine(terms, self.constant + other.constant)

    def __neg__(self) -> Affine:
        return self * -1

    def __sub__(self, other: Affine | int) -> Affine:
        if isinstance(other, int):
            return Affine(self.terms, self.constant - other)
        terms = dict(self.terms)
        for v, c in other.terms.items():
            terms[v] = terms.get(v, 0) - c
        return Affine(terms, self.constant - other.constant)

    def __rsub__(self, other: int) -> Affine:
        return -self + other

    def __mul__(self, factor: int) -> Affine:
        return Affine({v: c * factor for v, c in self.terms.items()}, self.constant * factor)

    def __floordiv__(self, divisor: int) -> Affine:
        """⌊form / divisor⌋ for a divisor of all coefficients: `(4*i + 5) // 2` is `2*i + 2`."""
        return Affine({v: c // divisor for v, c in self.terms.items()}, self.constant // divisor)

    __radd__ = __add__
    __rmul__ = __mul__

    def __getitem__(self, variable: Variable) -> int:
        """The coefficient of a variable; 0 where it does not occur."""
        return self.terms.get(variable, 0)

    @property
    def indices(self) -> list[SSAValue]:
        """The indices that occur."""
        return [v for v in self.terms if not isinstance(v, str)]  # quicker than asking for a value

    @property
    def sizes(self) -> list[str]:
        """The names of the sizes that occur."""
        return [v for v in self.terms if isinstance(v, str)]

    @property
    def single_index(self) -> SSAValue | None:
        """The index i where the form is `i`, else None."""
        if self.constant or len(self.terms) != 1:
            return None
        ((variable, c),) = self.terms.items()
        return variable if c == 1 and not isinstance(variable, str) else None

    def substitute(self, values: Mapping[Variable, Affine]) -> Affine:
        """The form with variables replaced by forms; those that `values` lacks stay."""
        if not self.terms:
            return self
        terms: dict[Variable, int] = {}
        constant = self.constant
        for v, c in self.terms.items():
            form = values.get(v)
            if form is None:
                terms[v] = terms.get(v, 0) + c
                continue
            constant += c * form.constant
            for inner, factor in form.terms.items():
                terms[inner] = terms.get(inner, 0) + c * factor
        return Affine(terms, constant)

    def row(self, dimensions: Sequence[SSAValue]) -> FormRow:
        """The form over numbered dimensions, which must hold every index of it."""
        terms = self.terms
        sizes = tuple(sorted([(v, c) for v, c in terms.items() if isinstance(v, str)]))
        return FormRow(tuple([terms.get(v, 0) for v in dimensions]), sizes, self.constant)

    def evaluate(self, values: Mapping[Any, int]) -> int:
        """The number at these values of the variables. Raises KeyError if one is missing."""
        total = self.constant
        for v, c in self.terms.items():
            total += values[v] if c == 1 else c * values[v]
        return total


# --- products of sizes ----------------------------------------------------------------------------

TIMES = " * "
"""Stands between the names of sizes in the name of their product."""


def factors_of(size: str) -> list[str]:
    """The sizes of which a size is the product: itself unless it is one."""
    return size.split(TIMES)


def _product_name(factors: Iterable[str]) -> str:
    return TIMES.join(sorted(factors))


def product(a: Affine, b: Affine) -> Affine:
    """The product of two forms in sizes alone, multiplied out."""
    terms: dict[Variable, int] = {}
    for x, c in [*a.terms.items(), ("", a.constant)]:
        for y, d in [*b.terms.items(), ("", b.constant)]:
            names = [name for v in (x, y) if v for name in factors_of(str(v))]
            size = _product_name(names)
            terms[size] = terms.get(size, 0) + c * d
    constant = terms.pop("")
    return Affine(terms, constant)


class SizeValues(dict[str, int]):
    """The numbers that sizes are; those of products follow."""

    def __missing__(self, size: str) -> int:
        if size not in (factors := factors_of(size)):
            return prod(self[name] for name in factors)
        raise KeyError(size)


def least_value(form: Affine, least: Mapping[str, int]) -> int | None:
    """The least value of a form in sizes that are at least these; None where nothing is known."""
    sizes = SizeValues(least)
    if all(form[n] > 0 and {*factors_of(n)} <= sizes.keys() for n in form.sizes):
        return None if form.indices else form.evaluate(sizes)
    return None


# --- rows: affine forms over numbered operands ---------------------------------------------------


class FormRow(NamedTuple):
    """An affine form over numbered operands or dimensions: what attributes store."""

    coefficients: tuple[int, ...]
    """The coefficients of the operands, in order."""
    sizes: tuple[tuple[str, int], ...]
    """Names of sizes with their coefficients, sorted by name."""
    constant: int

    def bind(self, operands: Sequence[SSAValue]) -> Affine:
        """The form over these operands, one for each coefficient; an operand may come twice."""
        terms: dict[Variable, int] = {}
        for v, c in zip(operands, self.coefficients, strict=True):
            terms[v] = terms.get(v, 0) + c
        terms.update(self.sizes)
        return Affine(terms, self.constant)

    def at_zero(self, sizes: Mapping[str, int]) -> int | None:
        """The value for operands that are 0; None where these sizes are not all that it takes."""
        if not self.sizes:
            return self.constant
        if any(name not in sizes for name, _ in self.sizes):
            return None
        return self.constant + sum(c * sizes[name] for name, c in self.sizes)


def split(forms: Iterable[Affine]) -> tuple[list[SSAValue], tuple[FormRow, ...]]:
    """The index operands of `forms`, in order of first use, and the forms as rows over them."""
    forms = list(forms)
    operands = list(dict.fromkeys([v for f in forms for v in f.indices]))
    return operands, tuple([f.row(operands) for f in forms])


# --- text ----------------------------------------------------------------------------------------


def show(form: Affine, name: Callable[[Variable], str]) -> str:
    """The form as text, `2*%i - %k + N - 1`: indices first, then sizes, then the constant."""
    variables = sorted(form.terms, key=lambda v: isinstance(v, str))
    parts = [(form[v], name(v)) for v in variables]
    text = ""
    for c, term in parts:
        sign = "-" if c < 0 else "+"
        body = term if abs(c) == 1 else f"{abs(c)} * {term}"
        text += f" {sign} {body}" if text else ("-" if c < 0 else "") + body
    if form.constant or not text:
        c = form.constant
        text += f" {'-' if c < 0 else '+'} {abs(c)}" if text else str(c)
    return text


ParseVariable: TypeAlias = Callable[[], Variable | None]
"""Reads a variable, or nothing where the text goes on otherwise."""


def parse_affine(parser: AttrParser, parse_variable: ParseVariable) -> Affine:
    """Read what `show` wrote: sums of `[integer *] variable` and of integers.

    A variable that is a size may be a product of several.
    """
    total = _parse_term(parser, parse_variable, -1 if parser.parse_optional_punctuation("-") else 1)
    while True:
        if parser.parse_optional_punctuation("+"):
            total = total + _parse_term(parser, parse_variable, 1)
        elif parser.parse_optional_punctuation("-"):
            total = total + _parse_term(parser, parse_variable, -1)
        elif (number := parser.parse_optional_integer(allow_boolean=False)) is not None:
            total = total + number  # the lexer joins the sign of `N -1` to the number
        else:
            return total


def _parse_term(parser: AttrParser, parse_variable: ParseVariable, sign: int) -> Affine:
    number = parser.parse_optional_integer(allow_boolean=False)
    if number is not None and not parser.parse_optional_characters("*"):
        return Affine({}, sign * number)
    variable = parse_variable()
    if variable is None:
        parser.raise_error("expected an index or a size")
    while _is_size(variable) and parser.parse_optional_characters("*"):
        factor = parse_variable()
        if not _is_size(factor):
            parser.raise_error("expected a size")
        variable = _product_name([*factors_of(variable), factor])
    return Affine({variable: sign * (1 if number is None else number)})


def _is_size(variable: Variable | None) -> TypeGuard[str]:
    """True for a size; a numbered dimension of an attribute stands as `#0`."""
    return isinstance(variable, str) and not variable.startswith("#")

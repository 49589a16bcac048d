"""Affine constraints: `form >= 0` and `form == 0`, and their text, `%i + 1 <= N`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from xdsl.ir import SSAValue
from xdsl.parser import AttrParser

from tadc.dialects.tix.affine import Affine, ParseVariable, Variable, parse_affine, show


class Constraint(NamedTuple):
    """`form >= 0`, or `form == 0` when `equality`: so `i < N` is `Constraint(N - i - 1)`.

    A list of constraints stands for the points at which all of them hold: a convex index set.
    """

    form: Affine
    equality: bool = False

    def substitute(self, values: Mapping[Variable, Affine]) -> Constraint:
        """The constraint with variables replaced by forms; those that `values` lacks stay."""
        return Constraint(self.form.substitute(values), self.equality)

    @property
    def decided(self) -> bool | None:
        """True or False where the form is a number, None where it has variables."""
        if self.form.terms:
            return None
        return self.form.constant == 0 or (self.form.constant > 0 and not self.equality)


def between(low: Affine | int, value: Affine, size: Affine | int) -> list[Constraint]:
    """`low <= value < size`."""
    return [Constraint(value - low), Constraint(size - value - 1)]


# --- text ----------------------------------------------------------------------------------------


def _is_value(variable: Variable) -> bool:
    return isinstance(variable, SSAValue)


def show_constraint(
    constraint: Constraint,
    name: Callable[[Variable], str],
    is_index: Callable[[Variable], bool] = _is_value,
) -> str:
    """Both sides with positive coefficients, an index to the left: `%k <= -4`, `%i + %k == %p`."""
    form = constraint.form
    if constraint.equality and not _leads_positive(form):
        form = -form
    left = Affine({v: c for v, c in form.terms.items() if c > 0}, max(form.constant, 0))
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


def parse_constraint(parser: AttrParser, parse_variable: ParseVariable) -> Constraint:
    """Read `a >= b`, `a <= b` or `a == b`."""
    left = parse_affine(parser, parse_variable)
    relation = _parse_relation(parser)
    right = parse_affine(parser, parse_variable)
    match relation:
        case ">":
            return Constraint(left - right)
        case "<":
            return Constraint(right - left)
        case _:
            return Constraint(left - right, equality=True)


def _parse_relation(parser: AttrParser) -> str:
    """The first character of `>=`, `<=` or `==`, which the lexer takes for two tokens."""
    for first in (">", "<", "="):
        if parser.parse_optional_punctuation(first):
            parser.parse_punctuation("=")
            return first
    parser.raise_error("expected '>=', '<=' or '=='")

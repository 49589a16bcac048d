"""Affine forms, constraints and bodies in the text of operations: printing and parsing.

An attribute numbers its dimensions; operations write SSA names in their place: `%i + 1`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import reduce

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Region, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.tix.affine import Affine, ParseVariable, Variable, parse_affine, product, show
from tadc.dialects.tix.attributes import MapAttr
from tadc.dialects.tix.constraints import Constraint, parse_constraint, show_constraint


def _print_named(printer: Printer, render: Callable[[Callable[[Variable], str]], str]) -> None:
    """Print the text that `render` makes, with SSA values under the printer's names.

    The printer names a value only by printing it, so values stand as marks first.
    """
    values: list[SSAValue] = []

    def mark(variable: Variable) -> str:
        if isinstance(variable, str):
            return variable
        values.append(variable)
        return f"\0{len(values) - 1}\0"

    for n, part in enumerate(re.split("\0", render(mark))):
        if n % 2:
            printer.print_ssa_value(values[int(part)])
        else:
            printer.print_string(part)


def print_forms(printer: Printer, forms: Iterable[Affine]) -> None:
    """Affine forms with commas between them."""
    _print_named(printer, lambda name: ", ".join(show(f, name) for f in forms))


def print_constraints(printer: Printer, constraints: Iterable[Constraint]) -> None:
    """The constraints of a convex set, in parentheses."""
    _print_named(
        printer, lambda name: "(" + ", ".join(show_constraint(c, name) for c in constraints) + ")"
    )


def print_body(printer: Printer, region: Region) -> None:
    """The operations of a body in braces; its arguments stand with the operation that has it."""
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False)


def operand_or_size(parser: Parser) -> ParseVariable:
    """Reads a variable inside an operation: `%i` is an index, a bare word a size."""

    def parse() -> Variable | None:
        operand = parser.parse_optional_operand(IndexType())
        return operand if operand is not None else parser.parse_optional_identifier()

    return parse


def parse_forms(parser: Parser) -> list[Affine]:
    """Affine forms in square brackets."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_affine(parser, operand_or_size(parser))
    )


def print_view(printer: Printer, view: MapAttr | None) -> None:
    """` as [N * M]`, where dimensions are seen in another way."""
    if view is not None:
        printer.print_string(f" as [{', '.join(show(form, str) for form in view.shape)}]")


def verify_view(view: Sequence[Affine], shape: Sequence[Affine]) -> None:
    """Raise VerifyException unless both shapes have the same number of elements."""
    one = Affine({}, 1)
    if reduce(product, view, one) != reduce(product, shape, one):
        raise VerifyException("the shape behind `as` has another number of elements")


def parse_view(parser: Parser) -> list[Affine] | None:
    """The shape that `print_view` wrote, if one stands here."""
    if parser.parse_optional_keyword("as") is None:
        return None
    return parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, lambda: parse_affine(parser, parser.parse_optional_identifier)
    )


def parse_form(parser: Parser) -> Affine:
    """One affine form in parentheses."""
    with parser.in_parens():
        return parse_affine(parser, operand_or_size(parser))


def parse_constraints(parser: Parser, parse_variable: ParseVariable) -> list[Constraint]:
    """The constraints of a convex set, in parentheses."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parse_constraint(parser, parse_variable)
    )


def parse_tensor(parser: Parser) -> SSAValue:
    """A tensor; its type stands where it is defined, not at each use."""
    return parser.expect(lambda: parse_optional_tensor(parser), "expected a tensor")


def parse_optional_tensor(parser: Parser) -> SSAValue | None:
    """A tensor if an SSA name stands here, else None."""
    operand = parser.parse_optional_unresolved_operand()
    if operand is None:
        return None
    values = parser.ssa_values.get(operand.operand_name, ())
    if operand.index >= len(values):
        parser.raise_error(f"%{operand.operand_name} is not defined", operand.span)
    return values[operand.index]

"""Operations of bodies that have bodies themselves: reductions over index sets, and choices.

    %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {            %1 = tix.if (%i >= 1) {
      ...                                                  ...
      tix.yield %value                                   } else { ... }
    }

`tix.if` decides by indices, `tix.where` by values.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from math import inf
from typing import ClassVar, Literal, Self, TypeAlias, cast, get_args

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr
from xdsl.ir import OpResult, Region, SSAValue
from xdsl.irdl import (
    eq,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, RecursiveMemoryEffect
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.quick import QuickOperation, arguments_in, operands_of, operation
from tadc.dialects.tix.affine import Affine, ParseVariable, Variable
from tadc.dialects.tix.attributes import SetAttr, constraints_of, kept, set_over
from tadc.dialects.tix.bodies import HasBody, YieldOp, verify_yields
from tadc.dialects.tix.constraints import Constraint
from tadc.dialects.tix.text import operand_or_size, parse_constraints, print_body, print_constraints
from tadc.dialects.tix.types import real


class ReductionOp(QuickOperation, ABC):
    """One number for the values of a body at all points of a convex index set, such as their sum.

    `tix.sum (%k, %l) in (%k >= 0, %k <= %i, %k == 2 * %l) { ... }`. The constraints of `domain`
    are on the reduction's own `indices`, on `free_indices`, which belong to operations around it,
    and on sizes.

    A body may yield several values: then there is a result for each. Only `schedule` makes such
    reductions, for loops in which several sums advance; all else asks for *the* `result`.
    """

    IDENTITY: ClassVar[float]
    """The number for an empty set."""
    free_indices = var_operand_def(IndexType)
    domain = prop_def(SetAttr)
    body = region_def("single_block")
    totals = var_result_def(eq(real))
    traits = traits_def(Pure(), RecursiveMemoryEffect(), HasBody())

    def __init__(self, constraints: Sequence[Constraint], body: Region):
        own = body.block.args
        free = list(dict.fromkeys(v for c in constraints for v in c.form.indices if v not in own))
        last = body.block.last_op
        super().__init__(
            operands=free,
            properties={"domain": set_over(constraints, [*free, *own])},
            result_types=[real] * (len(last.operands) if isinstance(last, YieldOp) else 1),
            regions=[body],
        )

    @property
    def result(self) -> OpResult:
        """The one result."""
        (result,) = self.results
        return result

    @property
    def indices(self) -> list[SSAValue]:
        """The indices that the reduction runs over."""
        return list(arguments_in(self.body))

    @property
    def constraints(self) -> list[Constraint]:
        """The index set."""
        key = self.domain, operands_of(self), arguments_in(self.body)
        return [*kept(self, key, _bound)]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_keyword("in")
        own = {a.name.text[1:]: n for n, a in enumerate(arguments)}
        constraints = parse_constraints(parser, _own_or_free(parser, own))
        body = parser.parse_region([a.resolve(IndexType()) for a in arguments])
        bound: dict[Variable, Affine] = {
            f"#{n}": Affine.of(a) for n, a in enumerate(body.block.args)
        }
        return cls([c.substitute(bound) for c in constraints], body)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(" in ")
        print_constraints(printer, self.constraints)
        print_body(printer, self.body)

    def verify_(self) -> None:
        verify_yields(self.body, len(self.results))
        if self.domain.data.dimensions != len(self.free_indices) + len(self.indices):
            raise VerifyException("the index set has another number of dimensions")


@operation
class SumOp(ReductionOp):
    """The sum: the only reduction that is linear, and that derivatives introduce."""

    name = "tix.sum"
    IDENTITY: ClassVar[float] = 0.0


@operation
class ProdOp(ReductionOp):
    """The product."""

    name = "tix.prod"
    IDENTITY: ClassVar[float] = 1.0


class ExtremumOp(ReductionOp, ABC):
    """The largest or smallest value; NaN where one of the values is."""


@operation
class MaxOp(ExtremumOp):
    """The largest value."""

    name = "tix.max"
    IDENTITY: ClassVar[float] = -inf


@operation
class MinOp(ExtremumOp):
    """The smallest value."""

    name = "tix.min"
    IDENTITY: ClassVar[float] = inf


def _bound(domain: SetAttr, free: Sequence[SSAValue], own: Sequence[SSAValue]) -> list[Constraint]:
    """The constraints of the domain of a reduction."""
    return constraints_of(domain, [*free, *own])


def _own_or_free(parser: Parser, own: Mapping[str, int]) -> ParseVariable:
    """Reads a variable of a reduction's set: its own indices, no values yet, stand as `#n`."""

    def parse() -> Variable | None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return parser.parse_optional_identifier()
        if operand.operand_name in own:
            return f"#{own[operand.operand_name]}"
        return parser.resolve_operand(operand, IndexType())

    return parse


@operation
class IfOp(QuickOperation):
    """The value of one of two bodies, by a condition on indices in disjunctive normal form.

    `tix.if (%i >= 1, %j == 0) or (%i <= -3) { ... } else { ... }`: the first body where all the
    constraints of at least one disjunct hold.
    """

    name = "tix.if"
    indices = var_operand_def(IndexType)
    disjuncts = prop_def(ArrayAttr[SetAttr])
    then = region_def("single_block")
    otherwise = region_def("single_block")
    result = result_def(eq(real))
    traits = traits_def(Pure(), RecursiveMemoryEffect(), HasBody())

    def __init__(self, disjuncts: Sequence[Sequence[Constraint]], then: Region, otherwise: Region):
        indices = list(dict.fromkeys(v for p in disjuncts for c in p for v in c.form.indices))
        super().__init__(
            operands=indices,
            properties={"disjuncts": ArrayAttr(set_over(p, indices) for p in disjuncts)},
            result_types=[real],
            regions=[then, otherwise],
        )

    @property
    def condition(self) -> list[list[Constraint]]:
        """The disjuncts, each the constraints of a convex set."""
        found = kept(self, (self.disjuncts, operands_of(self)), _disjuncts)
        return [[*constraints] for constraints in found]

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        disjuncts = [parse_constraints(parser, operand_or_size(parser))]
        while parser.parse_optional_keyword("or"):
            disjuncts.append(parse_constraints(parser, operand_or_size(parser)))
        return cls(disjuncts, *_parse_branches(parser))

    def print(self, printer: Printer) -> None:
        for n, disjunct in enumerate(self.condition):
            printer.print_string(" or " if n else " ")
            print_constraints(printer, disjunct)
        _print_branches(printer, self)

    def verify_(self) -> None:
        _verify_branches(self)
        if any(p.data.dimensions != len(self.indices) for p in self.disjuncts):
            raise VerifyException("the condition has another number of dimensions")


Predicate: TypeAlias = Literal["lt", "le", "gt", "ge", "eq", "ne"]
"""Comparisons of two reals. With a NaN, all are false except `ne`."""

PREDICATES: tuple[Predicate, ...] = get_args(Predicate)


def _disjuncts(
    disjuncts: ArrayAttr[SetAttr], indices: Sequence[SSAValue]
) -> list[list[Constraint]]:
    """The constraints of each disjunct."""
    return [constraints_of(disjunct, indices) for disjunct in disjuncts]


@operation
class WhereOp(QuickOperation):
    """The value of one of two bodies, by a comparison: `tix.where %x gt %y { ... } else { ... }`.

    Only the chosen body is evaluated. Unlike the condition of `tix.if`, the comparison constrains
    no index: elements that the bodies read must be there at every point.
    """

    name = "tix.where"
    predicate = prop_def(StringAttr)
    lhs = operand_def(eq(real))
    rhs = operand_def(eq(real))
    then = region_def("single_block")
    otherwise = region_def("single_block")
    result = result_def(eq(real))
    traits = traits_def(Pure(), RecursiveMemoryEffect(), HasBody())

    def __init__(
        self, predicate: Predicate, lhs: SSAValue, rhs: SSAValue, then: Region, otherwise: Region
    ):
        super().__init__(
            operands=[lhs, rhs],
            properties={"predicate": StringAttr(predicate)},
            result_types=[real],
            regions=[then, otherwise],
        )

    @property
    def comparison(self) -> Predicate:
        """The predicate as a word."""
        return cast(Predicate, self.predicate.data)

    @classmethod
    def parse(cls, parser: Parser) -> WhereOp:
        lhs = parser.parse_operand(real)
        predicate = cast(Predicate, parser.parse_identifier())
        rhs = parser.parse_operand(real)
        return cls(predicate, lhs, rhs, *_parse_branches(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.lhs)
        printer.print_string(f" {self.predicate.data} ")
        printer.print_ssa_value(self.rhs)
        _print_branches(printer, self)

    def verify_(self) -> None:
        _verify_branches(self)
        if self.predicate.data not in PREDICATES:
            raise VerifyException(f"no comparison is called {self.predicate.data}")


# --- the two bodies of a choice -------------------------------------------------------------------


def _parse_branches(parser: Parser) -> tuple[Region, Region]:
    then = parser.parse_region([])
    parser.parse_keyword("else")
    return then, parser.parse_region([])


def _print_branches(printer: Printer, op: IfOp | WhereOp) -> None:
    print_body(printer, op.then)
    printer.print_string(" else")
    print_body(printer, op.otherwise)


def _verify_branches(op: IfOp | WhereOp) -> None:
    for region in (op.then, op.otherwise):
        verify_yields(region)
        if region.block.args:
            raise VerifyException("the bodies of a condition have no arguments")

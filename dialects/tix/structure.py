"""Structure of the `tix` dialect: programs, definitions, sums and conditions.

    tix.program @y (%w = "w" : !tix.tensor<[3], f64>, %x = "x" : !tix.tensor<[N], f64>) {
      %y = tix.define "y" (%i) : !tix.tensor<[N - 2], f64> {
        %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
          %1 = tix.read %w[%k]
          %2 = tix.read %x[%i + %k]
          %3 = tix.mul %1, %2
          tix.yield %3
        }
        tix.yield %0
      }
      tix.return %y
    }

All operations are pure: a definition names values, it does not write memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, IndexType, StringAttr, SymbolNameConstraint
from xdsl.ir import BlockArgument, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    eq,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import (
    HasParent,
    IsolatedFromAbove,
    IsTerminator,
    Pure,
    RecursiveMemoryEffect,
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from dialects.tix.affine import (
    Affine,
    Constraint,
    Key,
    SetAttr,
    constraints_of,
    operand_key,
    set_over,
)
from dialects.tix.text import (
    parse_constraints,
    parse_optional_tensor,
    parse_tensor,
    print_body,
    print_constraints,
)
from dialects.tix.types import DerivedSizeAttr, TensorType, real


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The value of a body."""

    name = "tix.yield"
    value = operand_def(eq(real))
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(DefineOp, SumOp, IfOp)))
    assembly_format = "$value attr-dict"

    def __init__(self, value: SSAValue):
        super().__init__(operands=[value])


def yielded(region: Region) -> SSAValue:
    """The value that the single block of `region` yields."""
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return last.value


def _verify_yields(region: Region) -> None:
    if not isinstance(region.block.last_op, YieldOp):
        raise VerifyException("the body must end in tix.yield")
    if any(not isinstance(a.type, IndexType) for a in region.block.args):
        raise VerifyException("the arguments of a body must be of type index")


@irdl_op_definition
class SumOp(IRDLOperation):
    """The sum of the body over the points of a convex index set; 0 where it is empty.

    `tix.sum (%k, %l) in (%k >= 0, %k <= %i, %k == 2 * %l) { ... }`. The set constrains the sum's
    own indices by each other, by the indices around it and by sizes.
    """

    name = "tix.sum"
    outer = var_operand_def(IndexType)
    domain = prop_def(SetAttr)
    body = region_def("single_block")
    result = result_def(eq(real))
    traits = traits_def(Pure(), RecursiveMemoryEffect())

    def __init__(self, constraints: Sequence[Constraint], body: Region):
        own = body.block.args
        outer = list(dict.fromkeys(v for c in constraints for v in c.form.indices if v not in own))
        super().__init__(
            operands=[outer],
            properties={"domain": set_over(constraints, [*outer, *own])},
            result_types=[real],
            regions=[body],
        )

    @property
    def own(self) -> list[SSAValue]:
        return list(self.body.block.args)

    @property
    def constraints(self) -> list[Constraint]:
        return constraints_of(self.domain, [*self.outer, *self.own])

    @classmethod
    def parse(cls, parser: Parser) -> SumOp:
        arguments = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
        )
        parser.parse_keyword("in")
        own = {a.name.text[1:]: n for n, a in enumerate(arguments)}
        key = _own_or_outer_key(parser, own)
        constraints = parse_constraints(parser, key)
        body = parser.parse_region([a.resolve(IndexType()) for a in arguments])
        bound: dict[Key, Affine] = {f"#{n}": Affine.of(a) for n, a in enumerate(body.block.args)}
        return cls([c.substitute(bound) for c in constraints], body)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.own, printer.print_ssa_value)
        printer.print_string(" in ")
        print_constraints(printer, self.constraints)
        print_body(printer, self.body)

    def verify_(self) -> None:
        _verify_yields(self.body)
        if self.domain.data.dimensions != len(self.outer) + len(self.own):
            raise VerifyException("the index set has another number of dimensions")


def _own_or_outer_key(parser: Parser, own: Mapping[str, int]) -> Callable[[], Key | None]:
    """Keys in a sum's constraints: its own indices are not values yet, they stand as `#n`."""

    def parse() -> Key | None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return parser.parse_optional_identifier()
        if operand.operand_name in own:
            return f"#{own[operand.operand_name]}"
        return parser.resolve_operand(operand, IndexType())

    return parse


@irdl_op_definition
class IfOp(IRDLOperation):
    """One of two bodies, by a condition on indices in disjunctive form.

    `tix.if (%i >= 1, %j == 0) or (%i <= -3) { ... } else { ... }`: the first body where all the
    constraints of at least one piece hold.
    """

    name = "tix.if"
    indices = var_operand_def(IndexType)
    pieces = prop_def(ArrayAttr[SetAttr])
    then = region_def("single_block")
    otherwise = region_def("single_block")
    result = result_def(eq(real))
    traits = traits_def(Pure(), RecursiveMemoryEffect())

    def __init__(self, pieces: Sequence[Sequence[Constraint]], then: Region, otherwise: Region):
        indices = list(dict.fromkeys(v for p in pieces for c in p for v in c.form.indices))
        super().__init__(
            operands=[indices],
            properties={"pieces": ArrayAttr(set_over(p, indices) for p in pieces)},
            result_types=[real],
            regions=[then, otherwise],
        )

    @property
    def condition(self) -> list[list[Constraint]]:
        return [constraints_of(p, self.indices) for p in self.pieces]

    @classmethod
    def parse(cls, parser: Parser) -> IfOp:
        pieces = [parse_constraints(parser, operand_key(parser))]
        while parser.parse_optional_keyword("or"):
            pieces.append(parse_constraints(parser, operand_key(parser)))
        then = parser.parse_region([])
        parser.parse_keyword("else")
        return cls(pieces, then, parser.parse_region([]))

    def print(self, printer: Printer) -> None:
        for n, piece in enumerate(self.condition):
            printer.print_string(" or " if n else " ")
            print_constraints(printer, piece)
        print_body(printer, self.then)
        printer.print_string(" else")
        print_body(printer, self.otherwise)

    def verify_(self) -> None:
        _verify_yields(self.then)
        _verify_yields(self.otherwise)
        if any(p.data.dimensions != len(self.indices) for p in self.pieces):
            raise VerifyException("the condition has another number of dimensions")
        if self.then.block.args or self.otherwise.block.args:
            raise VerifyException("the bodies of a condition have no arguments")


# --- definitions and programs ---------------------------------------------------------------------


@irdl_op_definition
class DefineOp(IRDLOperation):
    """A tensor given element by element: `%f = tix.define "f" (%i) : !tix.tensor<[N], f64> {...}`.

    Index `d` runs from 0 to the size of dimension `d` of the type.
    """

    name = "tix.define"
    label = prop_def(StringAttr)
    body = region_def("single_block")
    result = result_def(TensorType)
    traits = lazy_traits_def(lambda: (Pure(), HasParent(ProgramOp)))

    def __init__(self, label: str, type: TensorType, body: Region):
        super().__init__(
            properties={"label": StringAttr(label)}, result_types=[type], regions=[body]
        )

    @property
    def type(self) -> TensorType:
        assert isinstance(self.result.type, TensorType)
        return self.result.type

    @property
    def indices(self) -> list[SSAValue]:
        return list(self.body.block.args)

    @property
    def constraints(self) -> list[Constraint]:
        """The index set: every index within its dimension."""
        return [
            constraint
            for index, size in zip(self.indices, self.type.shape, strict=True)
            for constraint in (
                Constraint(Affine.of(index)),
                Constraint(size - Affine.of(index) - 1),
            )
        ]

    @classmethod
    def parse(cls, parser: Parser) -> DefineOp:
        label = parser.parse_str_literal()
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN,
            lambda: parser.parse_argument(expect_type=False).resolve(IndexType()),
        )
        parser.parse_punctuation(":")
        type = parser.parse_type()
        if not isinstance(type, TensorType):
            parser.raise_error("expected a tensor type")
        return cls(label, type, parser.parse_region(indices))

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}" ')
        with printer.in_parens():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        print_body(printer, self.body)

    def verify_(self) -> None:
        _verify_yields(self.body)
        if len(self.indices) != self.type.rank:
            raise VerifyException(f"{len(self.indices)} indices define rank {self.type.rank}")


@irdl_op_definition
class ReturnOp(IRDLOperation):
    """The results of a program."""

    name = "tix.return"
    values = var_operand_def(TensorType)
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ProgramOp)))

    def __init__(self, values: Sequence[SSAValue]):
        super().__init__(operands=[values])

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        values = parser.parse_optional_undelimited_comma_separated_list(
            lambda: parse_optional_tensor(parser), lambda: parse_tensor(parser)
        )
        return cls(values or [])

    def print(self, printer: Printer) -> None:
        if self.values:
            printer.print_string(" ")
            printer.print_list(self.values, printer.print_ssa_value)


@irdl_op_definition
class ProgramOp(IRDLOperation):
    """Definitions in order, over named argument tensors.

    `tix.program @f (%x = "x" : !tix.tensor<[N], f64>) { ... }`. Sizes are bound by the shapes of
    the arguments; those that no argument binds are derived from others and listed in front:
    `tix.program @f sizes (#tix.size<R = min((M + 1) floordiv 2)>) (...) { ... }`.
    """

    name = "tix.program"
    sym_name = prop_def(SymbolNameConstraint())
    argument_names = prop_def(ArrayAttr[StringAttr])
    derived = prop_def(ArrayAttr[DerivedSizeAttr])
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        argument_names: Sequence[str],
        body: Region,
        derived: Sequence[DerivedSizeAttr] = (),
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "argument_names": ArrayAttr(StringAttr(n) for n in argument_names),
                "derived": ArrayAttr(derived),
            },
            regions=[body],
        )

    @property
    def arguments(self) -> dict[str, BlockArgument]:
        """The argument tensors by name, in order."""
        names = (n.data for n in self.argument_names)
        return dict(zip(names, self.body.block.args, strict=True))

    @property
    def definitions(self) -> list[DefineOp]:
        return [op for op in self.body.block.ops if isinstance(op, DefineOp)]

    @property
    def returned(self) -> list[SSAValue]:
        """The returned tensors."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp)
        return list(last.values)

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name().data
        derived: list[DerivedSizeAttr] = []
        if parser.parse_optional_keyword("sizes"):
            derived = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_derived(parser)
            )

        def argument() -> tuple[str, Parser.Argument]:
            value = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            label = parser.parse_str_literal()
            parser.parse_punctuation(":")
            return label, value.resolve(parser.parse_type())

        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        body = parser.parse_region([a for _, a in arguments])
        return cls(name, [n for n, _ in arguments], body, derived)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.derived:
            printer.print_string(" sizes ")
            with printer.in_parens():
                printer.print_list(self.derived, printer.print_attribute)
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.arguments.items(), lambda item: self._argument(printer, *item))
        print_body(printer, self.body)

    @staticmethod
    def _argument(printer: Printer, name: str, value: SSAValue) -> None:
        printer.print_ssa_value(value)
        printer.print_string(f' = "{name}" : ')
        printer.print_attribute(value.type)

    def verify_(self) -> None:
        if not isinstance(self.body.block.last_op, ReturnOp):
            raise VerifyException("the program must end in tix.return")
        if len(self.argument_names) != len(self.body.block.args):
            raise VerifyException("every argument needs a name")
        if len(set(self.argument_names)) < len(self.argument_names):
            raise VerifyException("two arguments have the same name")
        if any(not isinstance(a.type, TensorType) for a in self.body.block.args):
            raise VerifyException("arguments must be tensors")


def _parse_derived(parser: Parser) -> DerivedSizeAttr:
    attribute = parser.parse_attribute()
    if not isinstance(attribute, DerivedSizeAttr):
        parser.raise_error("expected #tix.size")
    return attribute

"""Structure of the `tix` dialect: programs, definitions, sums, conditions and reads.

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

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, IndexType, IntAttr, StringAttr, SymbolNameConstraint
from xdsl.ir import Region, SSAValue
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
    MapAttr,
    MapData,
    SetAttr,
    constraints_of,
    operand_key,
    parse_affine,
    parse_constraint,
    set_over,
    show,
    show_constraint,
    split,
)
from dialects.tix.types import DerivedSizeAttr, TensorType, real

# --- printing affine forms with the names of SSA values -------------------------------------------


def _print_named(printer: Printer, render: Callable[[Callable[[Key], str]], str]) -> None:
    """Print the text that `render` makes, with SSA values under the printer's names.

    The printer names a value only by printing it, so values stand as marks first.
    """
    values: list[SSAValue] = []

    def mark(key: Key) -> str:
        if isinstance(key, str):
            return key
        values.append(key)
        return f"\0{len(values) - 1}\0"

    for n, piece in enumerate(re.split("\0", render(mark))):
        if n % 2:
            printer.print_ssa_value(values[int(piece)])
        else:
            printer.print_string(piece)


def _print_forms(printer: Printer, forms: Iterable[Affine]) -> None:
    _print_named(printer, lambda name: ", ".join(show(f, name) for f in forms))


def _print_constraints(printer: Printer, constraints: Iterable[Constraint]) -> None:
    _print_named(
        printer, lambda name: "(" + ", ".join(show_constraint(c, name) for c in constraints) + ")"
    )


def _print_body(printer: Printer, region: Region) -> None:
    printer.print_string(" ")
    printer.print_region(region, print_entry_block_args=False)


def _parse_forms(parser: Parser, delimiter: Parser.Delimiter) -> list[Affine]:
    return parser.parse_comma_separated_list(
        delimiter, lambda: parse_affine(parser, operand_key(parser))
    )


def _map_of(forms: Sequence[Affine]) -> tuple[list[SSAValue], MapAttr]:
    operands, rows = split(forms)
    return operands, MapAttr(MapData(len(operands), rows))


# --- values inside a body -------------------------------------------------------------------------


@irdl_op_definition
class ReadOp(IRDLOperation):
    """An element of a tensor, at affine forms of the indices: `tix.read %d[%i + %k, 0]`."""

    name = "tix.read"
    tensor = operand_def(TensorType)
    indices = var_operand_def(IndexType)
    map = prop_def(MapAttr)
    result = result_def(eq(real))
    traits = traits_def(Pure())

    def __init__(self, tensor: SSAValue, forms: Sequence[Affine]):
        operands, map = _map_of(forms)
        super().__init__(operands=[tensor, operands], properties={"map": map}, result_types=[real])

    @property
    def forms(self) -> list[Affine]:
        return [row.bind(self.indices) for row in self.map.data.rows]

    @property
    def tensor_type(self) -> TensorType:
        assert isinstance(self.tensor.type, TensorType)
        return self.tensor.type

    @classmethod
    def parse(cls, parser: Parser) -> ReadOp:
        # the type of a tensor stands where it is defined, not at each read
        tensor = parser.parse_operand()  # pyright: ignore[reportDeprecated]
        return cls(tensor, _parse_forms(parser, parser.Delimiter.SQUARE))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.tensor)
        printer.print_string("[")
        _print_forms(printer, self.forms)
        printer.print_string("]")

    def verify_(self) -> None:
        _verify_map(self.map, self.indices)
        if len(self.map.data.rows) != self.tensor_type.rank:
            raise VerifyException(
                f"{len(self.map.data.rows)} indices read a tensor of rank {self.tensor_type.rank}"
            )


@irdl_op_definition
class IndexToRealOp(IRDLOperation):
    """An affine form of indices and sizes as a real number: `tix.index_to_real (2 * %i + N)`."""

    name = "tix.index_to_real"
    indices = var_operand_def(IndexType)
    map = prop_def(MapAttr)
    result = result_def(eq(real))
    traits = traits_def(Pure())

    def __init__(self, form: Affine):
        operands, map = _map_of([form])
        super().__init__(operands=[operands], properties={"map": map}, result_types=[real])

    @property
    def form(self) -> Affine:
        return self.map.data.rows[0].bind(self.indices)

    @classmethod
    def parse(cls, parser: Parser) -> IndexToRealOp:
        (form,) = _parse_forms(parser, parser.Delimiter.PAREN)
        return cls(form)

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        _print_forms(printer, [self.form])
        printer.print_string(")")

    def verify_(self) -> None:
        _verify_map(self.map, self.indices)


@irdl_op_definition
class FloorDivOp(IRDLOperation):
    """A local index `q` with `form = divisor * q + r`, `0 <= r < divisor`.

    `%q = tix.floordiv (%i + 1) by 2`. The remainder is the affine form `form - divisor * q`, so
    this is all that `//` and `%` need.
    """

    name = "tix.floordiv"
    indices = var_operand_def(IndexType)
    map = prop_def(MapAttr)
    divisor = prop_def(IntAttr)
    result = result_def(IndexType())
    traits = traits_def(Pure())

    def __init__(self, form: Affine, divisor: int):
        operands, map = _map_of([form])
        super().__init__(
            operands=[operands],
            properties={"map": map, "divisor": IntAttr(divisor)},
            result_types=[IndexType()],
        )

    @property
    def form(self) -> Affine:
        return self.map.data.rows[0].bind(self.indices)

    @classmethod
    def parse(cls, parser: Parser) -> FloorDivOp:
        (form,) = _parse_forms(parser, parser.Delimiter.PAREN)
        parser.parse_keyword("by")
        return cls(form, parser.parse_integer(allow_boolean=False))

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        _print_forms(printer, [self.form])
        printer.print_string(f") by {self.divisor.data}")

    def verify_(self) -> None:
        _verify_map(self.map, self.indices)
        if self.divisor.data < 1:
            raise VerifyException(f"the divisor must be positive, not {self.divisor.data}")


def _verify_map(map: MapAttr, operands: Sequence[SSAValue]) -> None:
    if map.data.dimensions != len(operands):
        raise VerifyException(f"{len(operands)} indices for {map.data.dimensions} dimensions")


# --- regions --------------------------------------------------------------------------------------


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
        constraints = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_constraint(parser, key)
        )
        body = parser.parse_region([a.resolve(IndexType()) for a in arguments])
        bound: dict[Key, Affine] = {f"#{n}": Affine.of(a) for n, a in enumerate(body.block.args)}
        return cls([c.substitute(bound) for c in constraints], body)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.own, printer.print_ssa_value)
        printer.print_string(" in ")
        _print_constraints(printer, self.constraints)
        _print_body(printer, self.body)

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
        pieces = [cls._parse_piece(parser)]
        while parser.parse_optional_keyword("or"):
            pieces.append(cls._parse_piece(parser))
        then = parser.parse_region([])
        parser.parse_keyword("else")
        return cls(pieces, then, parser.parse_region([]))

    @staticmethod
    def _parse_piece(parser: Parser) -> list[Constraint]:
        return parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parse_constraint(parser, operand_key(parser))
        )

    def print(self, printer: Printer) -> None:
        for n, piece in enumerate(self.condition):
            printer.print_string(" or " if n else " ")
            _print_constraints(printer, piece)
        _print_body(printer, self.then)
        printer.print_string(" else")
        _print_body(printer, self.otherwise)

    def verify_(self) -> None:
        _verify_yields(self.then)
        _verify_yields(self.otherwise)
        if any(p.data.dimensions != len(self.indices) for p in self.pieces):
            raise VerifyException("the condition has another number of dimensions")


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
        _print_body(printer, self.body)

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
            parser.parse_optional_operand, parser.parse_operand
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
    `tix.program @f sizes (#tix.size<R = min(N, (M + 1) floordiv 2)>) (...) { ... }`.
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
    def arguments(self) -> dict[str, SSAValue]:
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
        _print_body(printer, self.body)

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
        if any(not isinstance(a.type, TensorType) for a in self.body.block.args):
            raise VerifyException("arguments must be tensors")


def _parse_derived(parser: Parser) -> DerivedSizeAttr:
    attribute = parser.parse_attribute()
    if not isinstance(attribute, DerivedSizeAttr):
        parser.raise_error("expected #tix.size")
    return attribute

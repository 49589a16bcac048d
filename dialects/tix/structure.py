"""Programs, definitions of tensors, and what a program returns.

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

All operations are pure: a definition is a value, it does not write memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    IntAttr,
    StringAttr,
    SymbolNameConstraint,
)
from xdsl.ir import Attribute, BlockArgument, Region, SSAValue
from xdsl.irdl import (
    lazy_traits_def,
    opt_prop_def,
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
    SymbolOpInterface,
)
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.quick import QuickOperation, arguments_in, block_in, operation, ops_in
from tadc.dialects.tix.affine import Affine
from tadc.dialects.tix.attributes import MapAttr, shape_map
from tadc.dialects.tix.bodies import HasBody, verify_yields
from tadc.dialects.tix.constraints import Constraint, between
from tadc.dialects.tix.registers import (
    AVX_512,
    Registers,
    parse_optional_registers,
    print_registers,
    registers_from,
    registers_property,
)
from tadc.dialects.tix.text import (
    parse_optional_tensor,
    parse_tensor,
    parse_view,
    print_body,
    print_view,
    verify_view,
)
from tadc.dialects.tix.types import DerivedSizeAttr, TensorType


@operation
class DefineOp(QuickOperation):
    """A tensor given element by element: `%f = tix.define "f" (%i) : !tix.tensor<[N], f64> {...}`.

    Index `d` runs from 0 to the size of dimension `d` of the type, or of the shape behind `as`,
    `(%p) : !tix.tensor<[N, M], f64> as [M * N] {...}`, in which its elements are the same ones in
    row-major order.
    """

    name = "tix.define"
    label = prop_def(StringAttr)
    view = opt_prop_def(MapAttr)
    body = region_def("single_block")
    result = result_def(TensorType)
    traits = lazy_traits_def(lambda: (Pure(), HasParent(ProgramOp), HasBody()))

    def __init__(
        self, label: str, type: TensorType, body: Region, view: Sequence[Affine] | None = None
    ):
        properties: dict[str, Attribute] = {"label": StringAttr(label)}
        if view is not None:
            properties["view"] = shape_map(view)
        super().__init__(properties=properties, result_types=[type], regions=[body])

    @property
    def type(self) -> TensorType:
        type = self.result.type
        assert isinstance(type, TensorType)
        return type

    @property
    def shape(self) -> tuple[Affine, ...]:
        """The size of each dimension, as the indices count them."""
        return self.type.shape if self.view is None else self.view.shape

    @property
    def indices(self) -> list[SSAValue]:
        """The indices of an element, one for each dimension."""
        return list(arguments_in(self.body))

    @property
    def constraints(self) -> list[Constraint]:
        """The index set: every index within its dimension."""
        return [
            constraint
            for index, size in zip(self.indices, self.shape, strict=True)
            for constraint in between(0, Affine.of(index), size)
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
        view = parse_view(parser)
        return cls(label, type, parser.parse_region(indices), view)

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}" ')
        with printer.in_parens():
            printer.print_list(self.indices, printer.print_ssa_value)
        printer.print_string(" : ")
        printer.print_attribute(self.type)
        print_view(printer, self.view)
        print_body(printer, self.body)

    def verify_(self) -> None:
        verify_yields(self.body)
        if not self.type.is_real:
            raise VerifyException(f"a definition has real elements, not {self.type.dtype}")
        if len(self.indices) != len(self.shape):
            raise VerifyException(f"{len(self.indices)} indices define rank {len(self.shape)}")
        if self.view is not None:
            verify_view(self.shape, self.type.shape)


@operation
class ReturnOp(QuickOperation):
    """The results of a program, with their names: `tix.return %f, %p_1 as "p", pivot %s`.

    A result has the label of its definition as its name; another one follows `as`, and says that
    the result is the new version of an argument. A *pivot* is a tensor that the program divides by,
    which its caller looks at: the other results hold only where none of its elements is 0.
    """

    name = "tix.return"
    values = var_operand_def(TensorType)
    names = prop_def(ArrayAttr[StringAttr])
    pivots = prop_def(ArrayAttr[StringAttr])
    traits = lazy_traits_def(lambda: (IsTerminator(), HasParent(ProgramOp)))

    def __init__(
        self,
        values: Sequence[SSAValue],
        names: Sequence[str] | None = None,
        pivots: Sequence[str] = (),
    ):
        names = [_label(v) for v in values] if names is None else names
        super().__init__(
            operands=values,
            properties={
                "names": ArrayAttr(StringAttr(n) for n in names),
                "pivots": ArrayAttr(StringAttr(n) for n in pivots),
            },
        )

    @classmethod
    def parse(cls, parser: Parser) -> ReturnOp:
        def is_pivot() -> bool:
            return parser.parse_optional_keyword("pivot") is not None

        def named(value: SSAValue, pivot: bool) -> tuple[SSAValue, str, bool]:
            renamed = parser.parse_optional_keyword("as")
            return value, parser.parse_str_literal() if renamed else _label(value), pivot

        def first() -> tuple[SSAValue, str, bool] | None:
            pivot = is_pivot()
            value = parse_tensor(parser) if pivot else parse_optional_tensor(parser)
            return None if value is None else named(value, pivot)

        def further() -> tuple[SSAValue, str, bool]:
            pivot = is_pivot()
            return named(parse_tensor(parser), pivot)

        results = parser.parse_optional_undelimited_comma_separated_list(first, further) or ()
        return cls(
            [value for value, _, _ in results],
            [name for _, name, _ in results],
            [name for _, name, pivot in results if pivot],
        )

    def print(self, printer: Printer) -> None:
        def result(item: tuple[SSAValue, StringAttr]) -> None:
            value, name = item
            if name in self.pivots:
                printer.print_string("pivot ")
            printer.print_ssa_value(value)
            if name.data != _label(value):
                printer.print_string(f' as "{name.data}"')

        if self.values:
            printer.print_string(" ")
            printer.print_list(list(zip(self.values, self.names, strict=True)), result)

    def verify_(self) -> None:
        if len(self.names) != len(self.values):
            raise VerifyException("every result needs a name")
        if not {*self.pivots} <= {*self.names}:
            raise VerifyException("a pivot is a result")


def _label(value: SSAValue) -> str:
    """The label of the definition of a tensor; empty for an argument."""
    return value.owner.label.data if isinstance(value.owner, DefineOp) else ""


@operation
class ProgramOp(QuickOperation):
    """A program: named argument tensors, definitions in order of evaluation, and results.

    `tix.program @f (%x = "x" : !tix.tensor<[N], f64>) { ... }`. Sizes are bound by the shapes of
    the arguments; those that no argument binds are derived from others and listed in front:
    `tix.program @f sizes (#tix.size<R = min((M + 1) floordiv 2)>) (...) { ... }`. A program for
    calls in which sizes are no larger than a number says so: `tix.program @f most {N = 127} (...)`;
    one for a processor, which registers it has (`dialects/tix/registers.py`).
    """

    name = "tix.program"
    sym_name = prop_def(SymbolNameConstraint())
    argument_names = prop_def(ArrayAttr[StringAttr])
    derived = prop_def(ArrayAttr[DerivedSizeAttr])
    most = prop_def(DictionaryAttr)
    vector_registers = opt_prop_def(DictionaryAttr)
    body = region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        argument_names: Sequence[str],
        body: Region,
        derived: Sequence[DerivedSizeAttr] = (),
        most: Mapping[str, int] | None = None,
        registers: Registers = AVX_512,
    ):
        super().__init__(
            properties={
                "sym_name": StringAttr(name),
                "argument_names": ArrayAttr(StringAttr(n) for n in argument_names),
                "derived": ArrayAttr(derived),
                "most": size_limits(most or {}),
            },
            regions=[body],
        )
        self.vector_registers = registers_property(registers)

    @property
    def arguments(self) -> dict[str, BlockArgument]:
        """The argument tensors by name, in order."""
        names = (n.data for n in self.argument_names)
        return dict(zip(names, self.body.block.args, strict=True))

    @property
    def definitions(self) -> list[DefineOp]:
        """The definitions in order of evaluation."""
        return [op for op in ops_in(block_in(self.body)) if isinstance(op, DefineOp)]

    @property
    def largest_sizes(self) -> dict[str, int]:
        """The largest values that sizes have in calls, of those for which they are known."""
        return {name: cast("IntAttr[int]", size).data for name, size in self.most.data.items()}

    @property
    def registers(self) -> Registers:
        """The registers of the processor that the program is made for."""
        return registers_from(self.vector_registers)

    @property
    def returned(self) -> list[SSAValue]:
        """The returned tensors."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp)
        return list(last.values)

    @property
    def result_names(self) -> list[str]:
        """The names of the results, in order."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp)
        return [name.data for name in last.names]

    @property
    def pivots(self) -> list[str]:
        """The names of the results that are pivots, in order."""
        last = self.body.block.last_op
        assert isinstance(last, ReturnOp)
        return [name.data for name in last.pivots]

    @classmethod
    def parse(cls, parser: Parser) -> ProgramOp:
        name = parser.parse_symbol_name().data
        derived: list[DerivedSizeAttr] = []
        if parser.parse_optional_keyword("sizes"):
            derived = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, lambda: _parse_derived(parser)
            )
        most: dict[str, int] = {}
        if parser.parse_optional_keyword("most"):
            most = dict(
                parser.parse_comma_separated_list(
                    parser.Delimiter.BRACES, lambda: _parse_largest(parser)
                )
            )
        registers = parse_optional_registers(parser)

        def argument() -> tuple[str, Parser.Argument]:
            value = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            label = parser.parse_str_literal()
            parser.parse_punctuation(":")
            return label, value.resolve(parser.parse_type())

        arguments = parser.parse_comma_separated_list(parser.Delimiter.PAREN, argument)
        body = parser.parse_region([a for _, a in arguments])
        return cls(name, [n for n, _ in arguments], body, derived, most, registers)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        if self.derived:
            printer.print_string(" sizes ")
            with printer.in_parens():
                printer.print_list(self.derived, printer.print_attribute)
        if largest := self.largest_sizes:
            printer.print_string(" most ")
            with printer.in_braces():
                printer.print_list(
                    largest.items(), lambda item: printer.print_string(f"{item[0]} = {item[1]}")
                )
        print_registers(printer, self.registers)
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


def size_limits(most: Mapping[str, int]) -> DictionaryAttr:
    """The property of a program whose sizes are at most these."""
    return DictionaryAttr({name: IntAttr(size) for name, size in most.items()})


def _parse_largest(parser: Parser) -> tuple[str, int]:
    name = parser.parse_identifier()
    parser.parse_punctuation("=")
    return name, parser.parse_integer()


def _parse_derived(parser: Parser) -> DerivedSizeAttr:
    attribute = parser.parse_attribute()
    if not isinstance(attribute, DerivedSizeAttr):
        parser.raise_error("expected #tix.size")
    return attribute

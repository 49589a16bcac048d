"""Functions of scalars that a program brings along, and calls of them.

    tix.program @y (%x = "x" : !tix.tensor<[N], f64>) {
      tix.function "softplus" (%v) {
        %0 = tix.exp %v
        %1 = tix.log1p %0
        tix.yield %1
      } derivative (%v, %value) {
        %2 = tix.sigmoid %v
        tix.yield %2
      }
      %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
        %3 = tix.read %x[%i]
        %4 = tix.call "softplus"(%3)
        tix.yield %4
      }
      tix.return %y
    }

A call stays a call until the pass `expand-calls`, so that derivatives of any order find its rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Region, SSAValue
from xdsl.irdl import (
    eq,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, Pure
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.quick import QuickOperation, operation
from tadc.dialects.tix.bodies import HasBody, YieldOp
from tadc.dialects.tix.regions import WhereOp
from tadc.dialects.tix.structure import ProgramOp
from tadc.dialects.tix.text import print_body
from tadc.dialects.tix.types import real


@operation
class FunctionOp(QuickOperation):
    """A function of scalars: a formula for its value, and one for each partial derivative.

    `tix.function "f" (%x, %y) {...} derivative (%x, %y, %f) {...} derivative (...) {...}`. The
    formula of a partial derivative takes the arguments and the value. Derivatives use it whatever
    the first formula is.
    """

    name = "tix.function"
    label = prop_def(StringAttr)
    value = region_def("single_block")
    partials = var_region_def("single_block")
    traits = traits_def(IsolatedFromAbove(), HasParent(ProgramOp), HasBody())

    def __init__(self, label: str, value: Region, partials: Sequence[Region]):
        super().__init__(properties={"label": StringAttr(label)}, regions=[value, *partials])

    @classmethod
    def parse(cls, parser: Parser) -> FunctionOp:
        label = parser.parse_str_literal()
        value = _parse_formula(parser)
        partials: list[Region] = []
        while parser.parse_optional_keyword("derivative"):
            partials.append(_parse_formula(parser))
        return cls(label, value, partials)

    def print(self, printer: Printer) -> None:
        printer.print_string(f' "{self.label.data}" ')
        _print_formula(printer, self.value)
        for partial in self.partials:
            printer.print_string(" derivative ")
            _print_formula(printer, partial)

    def verify_(self) -> None:
        parent, label = self.parent_op(), self.label.data
        if isinstance(parent, ProgramOp) and functions_of(parent)[label] is not self:
            raise VerifyException(f"two functions are called {label}")
        count = len(self.value.block.args)
        if not count or len(self.partials) != count:
            raise VerifyException("a function needs one derivative for each argument")
        for region in self.regions:
            if not isinstance(region.block.last_op, YieldOp):
                raise VerifyException("a formula must end in tix.yield")
            if any(a.type != real for a in region.block.args):
                raise VerifyException("the arguments of a formula must be real")
            if any(op.regions and not isinstance(op, WhereOp) for op in region.walk()):
                raise VerifyException("a formula is made of scalar operations")
        if any(len(region.block.args) != count + 1 for region in self.partials):
            raise VerifyException("a derivative takes the arguments and the value")


def _parse_formula(parser: Parser) -> Region:
    arguments = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False).resolve(real)
    )
    return parser.parse_region(arguments)


def _print_formula(printer: Printer, region: Region) -> None:
    with printer.in_parens():
        printer.print_list(region.block.args, printer.print_ssa_value)
    print_body(printer, region)


@operation
class CallOp(QuickOperation):
    """The value of a function of the program at scalars: `tix.call "softplus"(%x)`."""

    name = "tix.call"
    function = prop_def(StringAttr)
    arguments = var_operand_def(eq(real))
    result = result_def(eq(real))
    traits = traits_def(Pure())
    assembly_format = "$function `(` $arguments `)` attr-dict"

    def __init__(self, function: str, arguments: Sequence[SSAValue]):
        super().__init__(
            operands=list(arguments),
            properties={"function": StringAttr(function)},
            result_types=[real],
        )

    @property
    def callee(self) -> FunctionOp:
        """The function, which the program around the call has."""
        found = self._callee()
        assert found is not None, f"the program has no function {self.function.data}"
        return found

    def _callee(self) -> FunctionOp | None:
        parent = self.parent_op()
        while parent is not None and not isinstance(parent, ProgramOp):
            parent = parent.parent_op()
        return None if parent is None else functions_of(parent).get(self.function.data)

    def verify_(self) -> None:
        function = self._callee()
        if function is None:
            raise VerifyException(f"the program has no function {self.function.data}")
        if len(function.value.block.args) != len(self.arguments):
            count = len(function.value.block.args)
            raise VerifyException(f"{self.function.data} takes {count} arguments")


def functions_of(program: ProgramOp) -> dict[str, FunctionOp]:
    """The functions that a program brings along, by name."""
    ops = program.body.block.ops
    return {op.label.data: op for op in ops if isinstance(op, FunctionOp)}

"""Operations that scheduled programs need beside those of other dialects (`dialects/loops`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloatConstr,
    ArrayAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    VectorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Region, SSAValue
from xdsl.irdl import (
    VarConstraint,
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
    IsTerminator,
    MemoryReadEffect,
    MemoryWriteEffect,
    Pure,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.quick import INDEX, QuickOperation, operation


@operation
class ParallelOp(QuickOperation):
    """Independent iterations: each index runs from 0 to its size, in any order.

    `loops.parallel (%i, %j) to (%n, %m) { ... }`; a size below 1 means no iteration. With no
    index the body runs once.

    In supersteps, `loops.parallel (%i) to (%n) in 4 { ... }`, the range of the first index is cut
    into equal parts: iterations of one part are independent, and know what those of the parts
    before have written (Valiant, A bridging model for parallel computation, 1990).
    """

    name = "loops.parallel"
    supersteps = prop_def(IntegerAttr, default_value=IntegerAttr(1, i64))
    sizes = var_operand_def(IndexType)
    body = region_def("single_block")
    traits = lazy_traits_def(
        lambda: (SingleBlockImplicitTerminator(EndOp), RecursiveMemoryEffect())
    )

    def __init__(self, sizes: Sequence[SSAValue], body: Region, supersteps: int = 1):
        super().__init__(
            operands=sizes, regions=[body], properties={"supersteps": IntegerAttr(supersteps, i64)}
        )
        # not by `ensure_terminator`, which changes a method of all operations for a moment: those
        # that other threads make then would be added here, or nowhere
        last = body.block.last_op
        if last is None or not last.has_trait(IsTerminator):
            body.block.add_op(EndOp())

    @property
    def is_ordered(self) -> bool:
        """True if there are several supersteps."""
        return self.supersteps.value.data > 1

    @classmethod
    def parse(cls, parser: Parser) -> ParallelOp:
        indices = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN,
            lambda: parser.parse_argument(expect_type=False).resolve(IndexType()),
        )
        parser.parse_keyword("to")
        sizes = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_operand(IndexType())
        )
        count = parser.parse_integer() if parser.parse_optional_keyword("in") else 1
        return cls(sizes, parser.parse_region(indices), count)

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        with printer.in_parens():
            printer.print_list(self.body.block.args, printer.print_ssa_value)
        printer.print_string(" to ")
        with printer.in_parens():
            printer.print_list(self.sizes, printer.print_ssa_value)
        printer.print_string(f" in {self.supersteps.value.data} " if self.is_ordered else " ")
        printer.print_region(self.body, print_entry_block_args=False, print_block_terminators=False)

    def verify_(self) -> None:
        if len(self.sizes) != len(self.body.block.args):
            raise VerifyException(
                f"{len(self.body.block.args)} indices but {len(self.sizes)} sizes"
            )
        if any(not isinstance(a.type, IndexType) for a in self.body.block.args):
            raise VerifyException("loop indices must be of type index")
        if self.supersteps.value.data < 1 or (self.is_ordered and not self.sizes):
            raise VerifyException("supersteps cut the range of an index into one part or more")


@operation
class EndOp(QuickOperation):
    """The implicit end of a `loops.parallel` body."""

    name = "loops.end"
    traits = traits_def(IsTerminator(), HasParent(ParallelOp), Pure())
    assembly_format = "attr-dict"

    def __init__(self, **_: Any):
        super().__init__()


@operation
class CallOp(QuickOperation):
    """A function of the module once more, on these buffers: `loops.call @y ["z", "y"]`.

    The buffers are in the order of the function's own `buffers`, the written ones first.
    """

    name = "loops.call"
    kernel = prop_def(SymbolRefAttr)
    buffers = prop_def(ArrayAttr[StringAttr])

    def __init__(self, kernel: str, buffers: Sequence[str]):
        super().__init__(
            properties={
                "kernel": SymbolRefAttr(kernel),
                "buffers": ArrayAttr(StringAttr(name) for name in buffers),
            }
        )

    @classmethod
    def parse(cls, parser: Parser) -> CallOp:
        kernel = parser.parse_symbol_name().data
        square = parser.Delimiter.SQUARE
        return cls(kernel, parser.parse_comma_separated_list(square, parser.parse_str_literal))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.kernel.root_reference.data)
        printer.print_string(" [")
        printer.print_list(self.buffers, lambda b: printer.print_string_literal(b.data))
        printer.print_string("]")

    def verify_(self) -> None:
        name = self.kernel.root_reference.data
        ops = self.parent.ops if self.parent is not None else ()
        found = [f for f in ops if isinstance(f, FuncOp) and f.sym_name.data == name]
        if not found:
            raise VerifyException(f"there is no function @{name}")
        count = sum(isinstance(a.type, MemRefType) for a in found[0].body.block.args)
        if len(self.buffers) != count:
            raise VerifyException(f"{len(self.buffers)} buffers for the {count} of @{name}")


@operation
class LibmOp(QuickOperation):
    """A function of C's mathematical library that `math` lacks: `loops.libm "erfc" %x : f64`.

    It has the name for f64; that for f32 ends in `f`. With `fastmath<afn>` a form for vectors,
    which may round otherwise, can take its place.
    """

    T: ClassVar = VarConstraint("T", AnyFloatConstr | VectorType.constr(AnyFloatConstr))
    name = "loops.libm"
    function = prop_def(StringAttr)
    operand = operand_def(T)
    result = result_def(T)
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    traits = traits_def(Pure())
    assembly_format = "$function $operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"

    def __init__(self, function: str, operand: SSAValue, fastmath: FastMathFlagsAttr | None = None):
        properties: dict[str, Attribute] = {"function": StringAttr(function)}
        if fastmath is not None:
            properties["fastmath"] = fastmath
        super().__init__(operands=[operand], result_types=[operand.type], properties=properties)


@operation
class SharedCacheOp(QuickOperation):
    """The bytes of the largest cache of the machine: `loops.shared_cache : index`.

    What is larger is gone from it before the next reader comes. A program may be made faster by
    the number, and must mean the same for all.
    """

    name = "loops.shared_cache"
    result = result_def(IndexType)
    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self):
        super().__init__(result_types=[INDEX])


@operation
class PartOp(QuickOperation):
    """A buffer from an element on: `loops.part %x[%i] : memref<?xf32> -> memref<?xf32>`.

    Its elements are the same ones in memory; element 0 is that one.
    """

    name = "loops.part"
    base = operand_def(MemRefType)
    index = operand_def(IndexType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$base `[` $index `]` attr-dict `:` type($base) `->` type($result)"

    def __init__(self, base: SSAValue, index: SSAValue):
        type_ = cast("MemRefType[Attribute]", base.type)
        part = MemRefType(type_.element_type, [DYNAMIC_INDEX])
        super().__init__(operands=[base, index], result_types=[part])


@operation
class FenceOp(QuickOperation):
    """A hint to compilers to read again what they have read before: `loops.fence`.

    It means nothing, and is no instruction. Where registers are few, elements that stay in them
    until they are needed again take the place of others.
    """

    name = "loops.fence"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@operation
class PrefetchOp(QuickOperation):
    """A hint that an element is read soon: `loops.prefetch %x[%i] : memref<?xf32>`.

    It means nothing: the position may lie outside the buffer.
    """

    name = "loops.prefetch"
    base = operand_def(MemRefType)
    index = operand_def(IndexType)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$base `[` $index `]` attr-dict `:` type($base)"

    def __init__(self, base: SSAValue, index: SSAValue):
        super().__init__(operands=[base, index])

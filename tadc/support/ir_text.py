"""Text of the IR to modules and back, with the dialects of tadc."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO

from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.parser import Parser
from xdsl.printer import Printer

from tadc.dialects.loops import Loops
from tadc.dialects.tix import Tix
from tadc.once import once


@once
def context() -> Context:
    """A context with everything that a module of tadc may hold."""
    result = Context()
    for dialect in (
        Builtin, Tix, Loops, func.Func, scf.Scf, arith.Arith, math.Math, memref.MemRef
    ):  # fmt: skip
        result.load_dialect(dialect)
    return result


def module_text(module: ModuleOp) -> str:
    """The module with its locations, as text that `parse_module` reads.

    The names of values must be ASCII there: others become numbers.
    """
    if any(map(_is_foreign, _values(module))):
        module = module.clone()
        for value in filter(_is_foreign, _values(module)):
            value.name_hint = None
    out = StringIO()
    Printer(out, print_debuginfo=True).print_op(module)
    return out.getvalue()


def text_and_places(module: ModuleOp) -> tuple[str, dict[Operation, tuple[int, int]]]:
    """The text of `str(module)`, and which characters of it each operation is."""
    out = StringIO()
    printer = _PlacePrinter(out)
    printer.print_op(module)
    return out.getvalue(), printer.places


class _PlacePrinter(Printer):
    """A printer that keeps which characters it wrote for an operation."""

    def __init__(self, out: StringIO):
        super().__init__(out)
        self.out = out
        self.places: dict[Operation, tuple[int, int]] = {}

    def print_op(self, op: Operation) -> None:
        start = self.out.tell()
        super().print_op(op)
        self.places[op] = start, self.out.tell()


def _is_foreign(value: SSAValue) -> bool:
    """True if a value has a name that the text cannot hold."""
    return value.name_hint is not None and not value.name_hint.isascii()


def _values(module: ModuleOp) -> Iterator[SSAValue]:
    """Every value that an operation or a block of the module defines."""
    for op in module.walk():
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.args


def parse_module(text: str) -> ModuleOp:
    """The inverse of `module_text`."""
    return Parser(context(), text).parse_module()

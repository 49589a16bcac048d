"""Text of the IR to modules and back, with the dialects of tadc."""

from __future__ import annotations

from functools import cache
from io import StringIO

from xdsl.context import Context
from xdsl.dialects import arith, func, math, memref, scf
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from dialects.loops import Loops
from dialects.tix import Tix


@cache
def context() -> Context:
    """A context with everything that a module of tadc may hold."""
    result = Context()
    for dialect in (
        Builtin, Tix, Loops, func.Func, scf.Scf, arith.Arith, math.Math, memref.MemRef
    ):  # fmt: skip
        result.load_dialect(dialect)
    return result


def module_text(module: ModuleOp) -> str:
    """The module with its locations."""
    out = StringIO()
    Printer(out, print_debuginfo=True).print_op(module)
    return out.getvalue()


def parse_module(text: str) -> ModuleOp:
    """The inverse of `module_text`."""
    return Parser(context(), text).parse_module()

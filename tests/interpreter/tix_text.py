"""Programs of `tix` from text."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from tadc.dialects.tix import ProgramOp, Tix


def parse(text: str) -> ProgramOp:
    context = Context()
    for dialect in (Builtin, Tix):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    program = module.body.block.first_op
    assert isinstance(program, ProgramOp)
    return program

"""Scheduled programs as text, for tests of the interpreter and of targets."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from dialects.loops import Loops


def parse(text: str) -> ModuleOp:
    """The verified module that a text holds; raises `VerifyException` where it is wrong."""
    ctx = Context()
    dialects = (
        arith.Arith,
        builtin.Builtin,
        func.Func,
        math.Math,
        memref.MemRef,
        scf.Scf,
        vector.Vector,
        Loops,
    )
    for dialect in dialects:
        ctx.load_dialect(dialect)
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module

"""Scheduled programs: read from text, and run by the interpreter of loops."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, math, memref, scf, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from tadc.dialects.loops import Loops
from tadc.dialects.tix import ProgramOp
from tadc.interpreter.loops import run
from tadc.passes.rewriting.programs import label_of
from tadc.runtime.arguments import DTYPES
from tadc.runtime.executable import kernel_calls
from tadc.sizes import bind_sizes, shape_of


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


def run_scheduled(
    module: ModuleOp, program: ProgramOp, values: Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The results of a program, for these arguments, by what it became when it was scheduled."""
    arguments = dict(zip(program.arguments, values, strict=True))
    sizes = bind_sizes(program, {name: a.shape for name, a in arguments.items()})
    buffers = {name: np.asarray(a).reshape(-1) for name, a in arguments.items()}
    shapes = {d.label.data: shape_of(d.type, sizes) for d in program.definitions}
    for d in program.definitions:
        count = int(np.prod(shapes[d.label.data]))
        buffers[d.label.data] = np.full(count, np.nan, DTYPES[d.type.dtype])
    for step in kernel_calls(module):
        run(module, step.kernel, [buffers[n] for n in step.buffers], [sizes[s] for s in step.sizes])
    return [buffers[n].reshape(shapes[n]) for n in map(label_of, program.returned)]

"""A copy of a program with more arguments, to define derivatives beside what it defines."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.derive.differentiation.names import Labels
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    arguments_of,
    copy_definition,
    location_of,
    type_of,
)


class ExtendedProgram:
    """A program in the making: a copy of `program` with more arguments, to define more beside it.

    `seeds` are names of new arguments, each with the tensor whose type it has.
    """

    def __init__(
        self,
        program: tix.ProgramOp,
        seeds: Iterable[tuple[str, SSAValue]],
        reserved: Iterable[str],
    ):
        self.program = program
        added = [(name, type_of(v), location_of(v)) for name, v in seeds]
        self.builder = ProgramBuilder([*arguments_of(program), *added])
        self.builder.labels |= set(tix.functions_of(program))
        self.labels = Labels(self.builder, reserved)
        self.tensors = Cloner(BodyBuilder(self.builder.block, program.location))
        old, new = program.body.block.args, self.builder.block.args
        self.tensors.values.update(zip(old, new, strict=False))
        self.added = new[len(old) :]
        for op in program.definitions:
            label = self.labels.fresh(op.label.data)
            self.tensors.values[op.result] = copy_definition(self.builder, self.tensors, op, label)

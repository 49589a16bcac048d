"""`set-registers`: say which vector registers the processor has that a program is made for.

    tix.program @f (%x = "x" : ...) {...}

becomes, with `set-registers{count=16 of_vector=2}`,

    tix.program @f registers {count = 16, of_vector = 2} (%x = "x" : ...) {...}

Nothing else changes: passes that choose blocks and copies read it there. Without, these are made
for 32 registers that hold a vector of 64 bytes each.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.utils.exceptions import PassFailedException

from tadc.dialects import tix
from tadc.passes.rewriting.program_pass import ProgramPass


@dataclass(frozen=True)
class SetRegistersPass(ProgramPass):
    """`set-registers{count=16 of_vector=2}`: 16 registers, two for each 64 bytes of a vector."""

    name = "set-registers"
    count: int = 32
    of_vector: int = 1

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        if not 1 <= self.of_vector <= self.count:
            raise PassFailedException(
                f"a vector takes between 1 and all {self.count} registers, not {self.of_vector}"
            )
        return set_registers(program, tix.Registers(self.count, self.of_vector))


def set_registers(program: tix.ProgramOp, registers: tix.Registers) -> tix.ProgramOp:
    """The program, marked to be compiled for these registers; itself if it is so already."""
    if program.registers == registers:
        return program
    copy = program.clone()
    copy.vector_registers = tix.registers_property(registers)
    return copy

"""The target `cpu`: machine code of this machine, through LLVM."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from tadc.runtime.arguments import Array
from tadc.runtime.executable import Executable, Plan


class CpuExecutable(Executable):
    """Machine code of this machine, through LLVM."""

    tiles = True

    def _print(self) -> str:
        from tadc.runtime.machine import machine
        from tadc.targets.llvm import print_llvm

        return print_llvm(self.module, machine().vector_bits)

    @cached_property
    def code(self) -> Any:
        """The compiled module."""
        from tadc.runtime.cpu import CpuModule

        return CpuModule(self.text, quick=not self.tile)

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """Allocate as the assignment says, and run the steps in order."""
        if not plan.command_buffers:
            plan.command_buffers.append(self._command_buffer(sizes, plan))
        arrays = plan.command_buffers[0].run(arguments.values())
        return [_result(arrays, plan, name) for name in self.results]

    def _command_buffer(self, sizes: Mapping[str, int], plan: Plan) -> Any:
        from tadc.runtime.command_buffer import Command, CommandBuffer

        names = dict.fromkeys(step.kernel for step in self.steps)
        kernels = {name: self.code.kernel(name) for name in names}
        commands = [
            Command(kernels[s.kernel], s.buffers, s.sizes, plan.work[s.kernel]) for s in self.steps
        ]
        buffer_of = plan.assignment.buffer_of
        results = {buffer_of[name] for name in self.results if name in buffer_of}
        return CommandBuffer(
            list(self.program.arguments), sizes, plan.assignment, commands, results
        )


def _result(arrays: Sequence[Any], plan: Plan, name: str) -> Any:
    """The array in the buffer of a result; one without elements has no buffer."""
    number = plan.assignment.buffer_of.get(name)
    tensor = plan.tensors[name]
    return np.empty(tensor.shape, tensor.dtype) if number is None else arrays[number]

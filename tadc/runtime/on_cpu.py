"""The target `cpu`: machine code of this machine, through LLVM."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from tadc.dialects.quick import dissolve
from tadc.dialects.tix import Registers
from tadc.once import Lock, cached_property, once_property
from tadc.runtime.executable import (
    Executable,
    KernelCall,
    Plan,
    Strides,
    functions_with_large_numbers,
    kernel_calls,
)
from tadc.runtime.size_class import LARGEST_EXAMPLE
from tadc.support.disk_store import compiler_version, digest, disk_store
from tadc.support.garbage import collect_young, rarely_collecting

if TYPE_CHECKING:
    from tadc.runtime.cpu import CpuModule, Kernel
    from tadc.runtime.machine import Machine
    from tadc.targets.llvm import LlvmPrinter


class MachineCode:
    """The kernels of a program, and the calls of them that make up a run."""

    def __init__(self, steps: Sequence[KernelCall], safe: bool, module: CpuModule):
        self.steps = steps
        self.safe = safe
        """True if no index can exceed 64 bits, whatever the sizes."""
        self.module = module
        self.kernels: Mapping[str, Kernel] = {
            name: module.kernel(name) for name in dict.fromkeys(step.kernel for step in steps)
        }


_shared: WeakValueDictionary[str, MachineCode] = WeakValueDictionary()
"""The code in use by its key: programs that are alike share it."""
_sharing = Lock()
"""The lock of that: two threads that put code there get the same."""


class CpuExecutable(Executable):
    """Machine code of this machine, through LLVM; made once, also for later processes."""

    tiles = True
    largest_example = LARGEST_EXAMPLE
    strided = True

    @classmethod
    def registers(cls) -> Registers:
        """The registers of this machine, or of the level of texts where no LLVM knows it."""
        from tadc.runtime.machine import has_llvm, machine, machine_without_llvm

        return Registers(*(machine() if has_llvm() else machine_without_llvm()).registers)

    @classmethod
    def expect(cls, definitions: int, long: bool) -> bool:
        """Begin a process that compiles: it takes as long as it does to plan the first loops."""
        from tadc.runtime.compilation import begin

        return long and definitions > 1 and begin()

    def _print(self) -> str:
        from tadc.runtime.machine import has_llvm, machine, machine_without_llvm

        if has_llvm():
            return self.text_for(machine())
        m = machine_without_llvm()
        reason = "llvmlite, which knows this processor, is not installed"
        return f"; for {m.description}: {reason}\n\n{self.text_for(m)}"

    def text_for(self, m: Machine) -> str:
        """The LLVM IR for a machine whose registers these loops are made for."""
        return self._printer(m).text(self.functions)

    def _printer(self, m: Machine) -> LlvmPrinter:
        from tadc.targets.llvm import LlvmPrinter

        at_once, largest = m.has("avx512f"), self.sizes.bounds(self.largest_example)
        return LlvmPrinter(m.vector_bits, at_once, largest, m.shared_cache, m.has("fma"))

    @once_property
    def code(self) -> MachineCode:
        """The machine code: in use already, from the disk, or compiled."""
        found = _shared.get(self._key)
        if found is None:
            made = self._stored_code() or self._compiled_code()
            with _sharing:
                found = _shared.setdefault(self._key, made)
        return found

    @cached_property
    def _key(self) -> str:
        from tadc.runtime.llvm_compiler import machine_key

        choices = repr((self.precision, self.sizes, self.registers()))
        return digest("code", compiler_version(), machine_key(), self.program.key, choices)

    def _stored_code(self) -> MachineCode | None:
        from tadc.runtime.cpu import CpuModule

        stored = disk_store().load(self._key)
        if stored is None:
            return None
        steps, safe, objects = stored
        return MachineCode(steps, safe, CpuModule.of_objects(objects))

    def _compiled_code(self) -> MachineCode:
        """The code, of which parts are compiled while others are planned.

        The loops go then: they are most of what there is of a program, and few ask for them again.
        """
        from tadc.runtime.cpu import CpuModule
        from tadc.runtime.machine import machine
        from tadc.runtime.recent_objects import objects_of
        from tadc.targets.llvm import functions_of

        quick = not self.sizes.tiles
        several = len(self.summary.definitions) > 1
        facts: list[tuple[Sequence[KernelCall], bool]] = []

        def texts() -> Iterator[str]:
            """The modules of LLVM IR, each as soon as its functions are made."""
            asked: ModuleOp | None = vars(self).get("module")  # somebody may hold it
            module = asked or ModuleOp([])
            functions = functions_of(asked) if asked else self._functions_into(module)
            yield from self._printer(machine()).modules(functions, quick)
            # now others are at work
            safe = not functions_with_large_numbers([*functions_of(module)])
            facts.append((kernel_calls(module), safe))
            if not asked:
                dissolve(module)
            collect_young()

        with rarely_collecting:
            objects = objects_of(texts(), quick, soon=several and not quick)
        ((steps, safe),) = facts
        disk_store().save(self._key, (steps, safe, objects))
        return MachineCode(steps, safe, CpuModule.of_objects(objects))

    def _functions_into(self, module: ModuleOp) -> Iterator[FuncOp]:
        """The functions, each as soon as it is made; in the end the module has all steps."""
        for step in self.steps_made():
            module.body.block.add_op(step)
            if isinstance(step, FuncOp):
                yield step

    @cached_property
    def steps(self) -> Sequence[KernelCall]:
        """The kernel calls, in order: one for each definition, or for several of them."""
        return self.code.steps

    @cached_property
    def large_functions(self) -> Sequence[FuncOp]:
        """The functions with a number so large that a product with a size may exceed 64 bits."""
        return [] if self.code.safe else functions_with_large_numbers(self.functions)

    def _plan(self, sizes: Mapping[str, int], strides: Strides | None) -> Plan:
        from tadc.runtime.native_plan import NativePlan

        return NativePlan(self, self.code.kernels, sizes, strides)

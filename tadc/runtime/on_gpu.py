"""The target `cuda`: kernels on a GPU, through NVRTC and PyCUDA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from xdsl.dialects.func import FuncOp

from passes.schedule import names_in
from tadc.runtime.arguments import Array
from tadc.runtime.executable import Executable, Plan


class CudaExecutable(Executable):
    """Kernels on a GPU, through NVRTC and PyCUDA; arrays are copied there and back."""

    def _print(self) -> str:
        from tadc.targets.cuda import print_cuda

        return print_cuda(self.module)

    @cached_property
    def _kernels(self) -> dict[str, tuple[Any, FuncOp]]:
        from tadc.runtime.cuda import CudaModule
        from tadc.targets.cuda import kernel_names

        module, names = CudaModule(self.text), kernel_names(self.module)
        functions = {f.sym_name.data: f for f in self.functions}
        return {name: (module.kernel(names[name]), f) for name, f in functions.items()}

    def run(
        self, arguments: Mapping[str, Array], sizes: Mapping[str, int], plan: Plan
    ) -> list[Any]:
        """Copy the arguments to the device, run, and copy the results back."""
        from tadc.runtime.cuda import empty, to_device

        launch, assignment = self._launches(sizes), plan.assignment
        fixed = {name: to_device(a) for name, a in arguments.items()}
        none = {n: t for n, t in plan.tensors.items() if n not in assignment.buffer_of}
        fixed |= {name: empty(t.shape, t.dtype) for name, t in none.items()}
        made: list[Any] = [None] * len(assignment.buffers)

        def array(name: str) -> Any:
            return fixed[name] if name in fixed else made[assignment.buffer_of[name]]

        for step, change in zip(self.steps, assignment.changes, strict=True):
            for number in change.released:
                made[number] = None
            if change.created is not None:
                tensor = assignment.buffers[change.created]
                made[change.created] = empty(tensor.shape, tensor.dtype)
            launch[step.kernel](*map(array, step.buffers))
        return [array(name).get() for name in self.results]

    def _launches(self, sizes: Mapping[str, int]) -> dict[str, Callable[..., None]]:
        """For each kernel, a function of its buffers that starts it for these sizes."""
        from tadc.targets.cuda import thread_count

        def launch(kernel: Any, function: FuncOp) -> Callable[..., None]:
            numbers = [sizes[s] for s in names_in(function, "sizes")]
            threads = thread_count(function, numbers)
            return lambda *buffers: kernel(threads, *buffers, *numbers)

        return {name: launch(*made) for name, made in self._kernels.items()}

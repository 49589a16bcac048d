"""The target `cuda`: kernels on a GPU, through NVRTC and PyCUDA."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from xdsl.dialects.func import FuncOp

from tadc.dialects.loops.functions import names_in
from tadc.once import cached_property
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.runtime.executable import Executable, Plan, Strides, into

if TYPE_CHECKING:
    from tadc.runtime.arguments import Array


class CudaExecutable(Executable):
    """Kernels on a GPU, through NVRTC and PyCUDA; arrays are copied there and back."""

    largest_example = 1 << 40  # what pieces take depends on how large sizes are, however large
    many_threads = True

    def _print(self) -> str:
        from tadc.targets.cuda import print_cuda

        return print_cuda(self.module, self._bounds())

    def _bounds(self) -> dict[str, tuple[int, int]]:
        """The least and the largest value of sizes, those of which there are some."""
        least, most = self.sizes.least, self.sizes.most(self.largest_example)
        known = SizeBounds(self.program.op, least, most).known
        return {name: (int(a), int(b)) for name, (a, b) in known.items() if b < inf}

    @cached_property
    def _kernels(self) -> dict[str, tuple[Any, FuncOp]]:
        from tadc.runtime.cuda import CudaModule
        from tadc.targets.cuda import kernel_names

        module, names = CudaModule(self.text), kernel_names(self.module)
        functions = {f.sym_name.data: f for f in self.functions}
        return {name: (module.kernel(names[name]), f) for name, f in functions.items()}

    def _plan(self, sizes: Mapping[str, int], strides: Strides | None) -> Plan:
        return _CudaPlan(self, sizes)

    def launches(self, sizes: Mapping[str, int]) -> dict[str, Callable[..., None]]:
        """For each kernel, a function of its buffers that starts it for these sizes.

        With `stream` (PyCUDA's) it runs on that one, else on the default stream.
        """
        from tadc.targets.cuda import thread_count

        def launch(kernel: Any, function: FuncOp) -> Callable[..., None]:
            numbers = [sizes[s] for s in names_in(function, "sizes")]
            threads = thread_count(function, numbers)

            def start(*buffers: Any, stream: Any = None) -> None:
                kernel(threads, *buffers, *numbers, stream=stream)

            return start

        return {name: launch(*made) for name, made in self._kernels.items()}


class _CudaPlan(Plan):
    """Kernels on a GPU for given sizes; arrays are copied there and back."""

    def __init__(self, executable: CudaExecutable, sizes: Mapping[str, int]):
        super().__init__(executable, sizes)
        self._cuda = executable

    def run_on(self, arrays: Sequence[Array], out: Sequence[Array] | None = None) -> list[Any]:
        from tadc.runtime.cuda import empty, to_device

        launch, assignment = self._cuda.launches(self.sizes), self.assignment
        fixed = {
            name: to_device(a)
            for name, a in zip(self.executable.summary.arguments, arrays, strict=True)
        }
        none = {n: t for n, t in self.tensors.items() if n not in assignment.buffer_of}
        fixed |= {name: empty(t.shape, t.dtype) for name, t in none.items()}
        made: list[Any] = [None] * len(assignment.buffers)

        def array(name: str) -> Any:
            return fixed[name] if name in fixed else made[assignment.buffer_of[name]]

        for step, change in zip(self.executable.steps, assignment.changes, strict=True):
            for number in change.released:
                made[number] = None
            for number in change.created:
                tensor = assignment.buffers[number]
                made[number] = empty(tensor.shape, tensor.dtype)
            launch[step.kernel](*map(array, step.buffers))
        return into([array(name).get() for name in self.executable.results], out)

"""CUDA C of the derivatives of random programs: many programs in one text, and how to run each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import StringAttr

import tadc
from tadc.runtime.on_gpu import CudaExecutable
from tadc.sizes import bind_sizes
from tadc.targets.cuda import functions, kernel_names, print_cuda, thread_count

Kernels = Mapping[str, Callable[..., None]]


@dataclass(frozen=True)
class Launch:
    """One kernel: its number of threads, its buffers (the written one first) and its sizes."""

    kernel: str
    threads: int
    buffers: tuple[str, ...]
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class GradientKernels:
    """The text in a namespace of its own, with kernels named after the seed."""

    text: str
    launches: list[Launch]
    shapes: Mapping[str, tuple[int, ...]]
    arguments: Mapping[str, np.ndarray]
    results: Sequence[str]
    expected: Sequence[np.ndarray]

    def run(self, kernels: Kernels) -> list[np.ndarray]:
        """The results; what no thread writes is not a number."""
        buffers = {n: np.ascontiguousarray(a) for n, a in self.arguments.items()}
        for launch in self.launches:
            out = buffers[launch.buffers[0]] = np.full(self.shapes[launch.buffers[0]], np.nan)
            if out.size:
                inputs = [buffers[b] for b in launch.buffers]
                kernels[launch.kernel](launch.threads, *inputs, *launch.sizes)
        return [buffers[name] for name in self.results]


def gradient_kernels(
    seed: int,
    derivative: tadc.Function,
    inputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
) -> GradientKernels:
    """The kernels of a derivative, in names that begin with the seed."""
    executable = CudaExecutable(derivative.program, "f64")
    arguments = dict(zip((t.name for t in derivative.args), inputs, strict=True))
    sizes = bind_sizes(derivative.program.op, {n: a.shape for n, a in arguments.items()})
    module = executable.module.clone()
    kernels = {f.sym_name.data: f for f in functions(module)}
    for name, function in kernels.items():
        function.properties["sym_name"] = StringAttr(f"p{seed}_{name}")
    names = kernel_names(module)
    launches = [
        Launch(
            names[kernels[step.kernel].sym_name.data],
            thread_count(kernels[step.kernel], [sizes[s] for s in step.sizes]),
            step.buffers,
            tuple(sizes[s] for s in step.sizes),
        )
        for step in executable.steps
    ]
    text = f"namespace of_{seed} {{\n{print_cuda(module)}}}\nusing namespace of_{seed};\n"
    shapes = executable.plan(sizes).shapes
    return GradientKernels(text, launches, shapes, arguments, executable.results, expected)

"""Scheduled functions compiled for the CPU, for the tests of the LLVM target."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

import numpy as np

from tadc.runtime.cpu import CpuModule
from tadc.targets.llvm import print_llvm
from tests.support.scheduled_programs import parse

DTYPES = {"f32": np.float32, "f64": np.float64, "i64": np.int64, "i1": np.bool_}


ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


class CompiledKernel:
    """A function of a module, which lives as long."""

    def __init__(self, module: CpuModule, name: str):
        self.module = module
        self.kernel = module.kernel(name)
        self.entry = ENTRY(self.kernel.entry)

    def __call__(self, *arguments: np.ndarray | int) -> None:
        """Run everywhere, on this thread."""
        self.part(arguments, 0, self.extent(*arguments))

    def extent(self, *arguments: np.ndarray | int) -> int:
        return self.kernel.extent(words_of(arguments).ctypes.data)

    def part(self, arguments: Sequence[np.ndarray | int], begin: int, end: int) -> None:
        """Run the outermost index over [begin, end)."""
        stop = ctypes.c_int64(0)
        self.entry(words_of(arguments).ctypes.data, begin, end, ctypes.addressof(stop))


def words_of(arguments: Sequence[np.ndarray | int]) -> np.ndarray:
    words = [a.ctypes.data if isinstance(a, np.ndarray) else a for a in arguments]
    return np.array(words, np.int64)


def compile_kernel(text: str, name: str = "y") -> CompiledKernel:
    return CompiledKernel(CpuModule(print_llvm(parse(text))), name)


def functions_in(texts: Sequence[str]) -> list[str]:
    """The functions of the program in some texts, with their entries, extents and grains."""
    parts = [part.strip() for text in texts for part in text.split("\n\n")]
    return sorted(p for p in parts if re.match(r"define .* #0 \{$|@.* = constant", p, re.MULTILINE))


def function(buffers: dict[str, str], sizes: list[str], lines: str) -> str:
    """A scheduled function of the given buffers (name to element type) and sizes."""
    arguments = [f"%{name}: memref<?x{type_}>" for name, type_ in buffers.items()]
    arguments += [f"%{size}: index" for size in sizes]
    names = ", ".join(f'"{size}"' for size in sizes)
    header = f"func.func @y({', '.join(arguments)}) attributes {{sizes = [{names}]}}"
    return f"{header} {{\n{lines}\n func.return }}"


def elementwise(op: str, source: str, result: str, count: int) -> str:
    """`y[i] = op(x0[i], x1[i], ...)`, the op written with %0, %1, ... for its operands."""
    buffers = {"y": result} | {f"x{i}": source for i in range(count)}
    loads = "\n".join(f"%{i} = memref.load %x{i}[%i] : memref<?x{source}>" for i in range(count))
    store = f"memref.store %r, %y[%i] : memref<?x{result}>"
    return function(
        buffers, ["N"], f"loops.parallel (%i) to (%N) {{\n{loads}\n%r = {op}\n{store} }}"
    )


def evaluate(op: str, source: str, result: str, *inputs: np.ndarray) -> np.ndarray:
    inputs = tuple(np.ascontiguousarray(x, dtype=DTYPES[source]) for x in inputs)
    output = np.empty(inputs[0].size, dtype=DTYPES[result])
    kernel = compile_kernel(elementwise(op, source, result, len(inputs)))
    kernel(output, *inputs, output.size)
    return output

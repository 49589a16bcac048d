"""LLVM IR text to machine code of this machine, and calls of it on all cores."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from queue import SimpleQueue
from typing import Any

from tadc.runtime.machine import machine
from tadc.support.packages import installed
from tadc.targets.llvm_libmvec import LIBRARY, library, with_vector_variants

llvm = installed("llvmlite.binding", "the target cpu")

# Below this many scalar operations, waking a thread costs more than it saves.
MOST_WORK_ON_ONE_THREAD = 50_000

# More parts than threads, so that one slow part delays little.
PARTS_PER_THREAD = 4

Params = ctypes.Array[ctypes.c_int64] | int


@cache
def _load_libraries() -> None:
    """Let machine code find the functions of the C library."""
    if library() is not None:
        llvm.load_library_permanently(LIBRARY)
    with contextlib.suppress(RuntimeError):  # the process may hold it under another name
        llvm.load_library_permanently("libm.so.6")


def _target_machine() -> Any:
    _load_libraries()
    m = machine()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=m.cpu, features=m.flags, opt=3, codemodel="jitdefault", jit=True
    )


class CpuModule:
    """A compiled program: `CpuModule(print_llvm(module)).kernel("f")`.

    `quick` is for what runs shortly: loops are not unrolled, which makes half of the code or less.
    """

    def __init__(self, text: str, quick: bool = False):
        self._text = with_vector_variants(text, dict.fromkeys(machine().features, True))
        self._quick = quick
        self._machine = _target_machine()
        context = llvm.create_context()
        self._module = self._optimized_module(context)
        self._engine = llvm.create_mcjit_compiler(self._module, self._machine)
        self._engine.finalize_object()
        # in this order: the collector ends objects that refer to each other in any order, and
        # the end of a context is the end of its modules, which the engine ends too
        weakref.finalize(self, _close, self._engine, context).atexit = False

    def _optimized_module(self, context: Any = None) -> Any:
        module = llvm.parse_assembly(self._text, context or llvm.create_context())
        module.triple = self._machine.triple
        module.data_layout = str(self._machine.target_data)
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=1 if self._quick else 3)
        options.loop_vectorization = True
        options.loop_interleaving = True
        options.loop_unrolling = not self._quick
        options.slp_vectorization = not self._quick
        builder = llvm.create_pass_builder(self._machine, options)
        builder.getModulePassManager().run(module, builder)
        return module

    def kernel(self, name: str) -> CpuKernel:
        """The function of that name in the scheduled program."""
        return CpuKernel(self, name)

    def address(self, symbol: str) -> int:
        """The address of a function or constant, which stays there as long as the module lives."""
        found: int = self._engine.get_function_address(symbol)
        found = found or self._engine.get_global_value_address(symbol)
        if not found:
            raise KeyError(symbol)
        return found

    def optimized(self) -> str:
        """The LLVM IR that became machine code."""
        return str(self._optimized_module())

    def assembly(self) -> str:
        """The machine code, to read."""
        return self._machine.emit_assembly(self._optimized_module())


def _close(*resources: Any) -> None:
    for resource in resources:
        resource.close()


EXTENT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)
ENTRY = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.POINTER(ctypes.c_int64)
)
GO_ON = ctypes.c_int64(0)
"""The word that kernels look at, to stop when it is not 0."""


class CpuKernel:
    """One function of a module, called with its arguments as an array of 64-bit words."""

    def __init__(self, module: CpuModule, name: str):
        self._module = module  # owns the code
        self.extent: Callable[[Params], int] = EXTENT(module.address(f"{name}.extent"))
        """The extent of the outermost index; only the sizes among the arguments decide it."""
        self.entry = module.address(f"{name}.entry")
        """The address of the code."""
        self._entry: Callable[[Params, int, int, ctypes.c_int64], None] = ENTRY(self.entry)
        self._grain = ctypes.c_int64.from_address(module.address(f"{name}.grain")).value

    def __call__(self, params: Params, work: int = 0) -> None:
        """Run everywhere; `work` is about how many scalar operations that takes."""
        self.run(params, self.extent(params), work)

    def run(self, params: Params, extent: int, work: int = 0) -> None:
        """Run everywhere, given the extent of the outermost index."""
        if work < MOST_WORK_ON_ONE_THREAD:
            self._entry(params, 0, extent, GO_ON)
        else:
            self._run_in_parts(params, extent)

    def _run_in_parts(self, params: Params, extent: int) -> None:
        pool = _pool()
        grains = -(-extent // self._grain)
        parts = min(grains, PARTS_PER_THREAD * pool.threads)
        if pool.threads < 2 or parts < 2:
            self._entry(params, 0, extent, GO_ON)
            return
        cuts = [grains * i // parts * self._grain for i in range(parts)] + [extent]
        entry = self._entry
        pool.run([lambda b=b, e=e: entry(params, b, e, GO_ON) for b, e in itertools.pairwise(cuts)])


@dataclass
class _Job:
    """Parts of work that any thread may take; the last one finished frees the waiting caller."""

    parts: Iterator[Callable[[], None]]
    count: int

    def __post_init__(self) -> None:
        self._finished = itertools.count(1)
        self.done = threading.Lock()
        self.done.acquire()

    def work(self) -> None:
        # `next` of a list iterator and of `count` is one step of the interpreter: no lock needed.
        for part in self.parts:
            part()
            if next(self._finished) == self.count:
                self.done.release()


class _Pool:
    """Threads that wait for jobs; the caller of `run` works too."""

    def __init__(self, threads: int):
        self.threads = threads
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        for _ in range(threads - 1):
            threading.Thread(target=self._serve, name="tadc", daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._jobs.get().work()

    def run(self, parts: list[Callable[[], None]]) -> None:
        job = _Job(iter(parts), len(parts))
        for _ in range(min(self.threads, len(parts)) - 1):
            self._jobs.put(job)
        job.work()
        job.done.acquire()


_pools: dict[int, _Pool] = {}
_making_pool = threading.Lock()


def _pool() -> _Pool:
    """The pool of this process: threads do not survive a fork."""
    process = os.getpid()
    pool = _pools.get(process)
    if pool is None:
        with _making_pool:
            pool = _pools.setdefault(process, _Pool(_core_count()))
    return pool


def _core_count() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1

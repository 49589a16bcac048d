"""Machine code in memory: modules, their kernels, and what they may call."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tadc.runtime.compilation import compile_objects
from tadc.runtime.llvm_compiler import loading_machine, machine_key
from tadc.runtime.llvm_library import llvm
from tadc.support.disk_store import compiler_version, digest, disk_store
from tadc.support.uninterrupted import uninterrupted


def add_symbol(name: str, address: int) -> None:
    """Let machine code that is loaded from now on refer to this address by a name."""
    uninterrupted(llvm().add_symbol, name, address)


def add_python_function(name: str) -> None:
    """Let machine code call a function of Python's C API, by its own name."""
    function = getattr(ctypes.pythonapi, name)
    add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value or 0)


EXTENT = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)


@dataclass(frozen=True)
class Kernel:
    """One function of a module, by addresses: they hold as long as the module lives."""

    entry: int
    """Of `void entry(words, begin, end, stop)`: see `tadc/targets/llvm_functions.py`."""
    extent_known: int | None
    """The extent of the outermost index, where it is the same for all sizes."""
    extent_function: int
    """Of `int64 extent_of(words)`, where sizes decide; else 0."""
    grain: int
    """Runs may be cut at multiples of this index."""
    supersteps: int
    """The equal parts of a run of which each waits for the one before."""

    def extent(self, words: int) -> int:
        """The extent of the outermost index; only the sizes among the words decide it."""
        if self.extent_known is not None:
            return self.extent_known
        found: int = EXTENT(self.extent_function)(words)
        return found


class CpuModule:
    """A compiled program: `CpuModule(print_llvm(module)).kernel("f")`.

    `quick` is for what runs shortly: loops are not unrolled, which makes half of the code or less.
    """

    def __init__(self, text: str, quick: bool = False):
        self._load(compile_objects([text], quick))

    @staticmethod
    def of_objects(objects: Sequence[bytes]) -> CpuModule:
        """The module of the machine code that `compile_objects` made of a program."""
        module = CpuModule.__new__(CpuModule)
        module._load(objects)
        return module

    def _load(self, objects: Sequence[bytes]) -> None:
        uninterrupted(self._load_in_order, objects)

    def _load_in_order(self, objects: Sequence[bytes]) -> None:
        self._begin()
        for data in objects:
            self._engine.add_object_file(llvm().ObjectFileRef.from_data(data))
        if objects:  # a program without definitions has none, and MCJIT crashes on an empty engine
            self._engine.finalize_object()

    def _begin(self) -> None:
        """Make an engine without code, and see to its end."""
        context = llvm().create_context()
        empty = llvm().parse_assembly("", context)
        self._engine = llvm().create_mcjit_compiler(empty, loading_machine())
        self._engine.remove_module(empty)  # else it would be compiled, which takes longer than this
        empty.close()
        # in this order: the collector ends objects that refer to each other in any order, and
        # the end of a context is the end of its modules, which the engine ends too
        self._end = weakref.finalize(self, _close, self._engine, context)
        self._end.atexit = False
        self._context = context

    def keep(self) -> None:
        """Never free the code, which threads are in; nothing more can be asked of the module."""
        self._end.detach()
        self._engine.detach()
        self._context.detach()

    def kernel(self, name: str) -> Kernel:
        """The function of that name in the scheduled program."""
        extent = self._find(f"{name}.extent")
        return Kernel(
            self.address(f"{name}.entry"),
            _number_at(extent) if extent else None,
            0 if extent else self.address(f"{name}.extent_of"),
            self._constant(f"{name}.grain"),
            self._constant(f"{name}.supersteps"),
        )

    def _constant(self, symbol: str) -> int:
        return _number_at(self.address(symbol))

    def address(self, symbol: str) -> int:
        """The address of a function or constant, which stays there as long as the module lives."""
        found = self._find(symbol)
        if not found:
            raise KeyError(symbol)
        return found

    def _find(self, symbol: str) -> int:
        """Its address; 0 where there is none of that name."""
        return uninterrupted(self._find_in_order, symbol)

    def _find_in_order(self, symbol: str) -> int:
        found: int = self._engine.get_function_address(symbol)
        return found or self._engine.get_global_value_address(symbol)


def _number_at(address: int) -> int:
    return ctypes.c_int64.from_address(address).value


def stored_module(name: str, text: Callable[[], str]) -> CpuModule:
    """The module of LLVM IR text, quickly compiled, once for all processes of this machine.

    Its name stands for the text, which this version of the compiler makes where it is not there.
    """
    key = digest("module", compiler_version(), machine_key(), name)
    objects = disk_store().load(key)
    if objects is None:
        objects = compile_objects([uninterrupted(text)], quick=True)
        disk_store().save(key, objects)
    return CpuModule.of_objects(objects)


def _close(*resources: Any) -> None:
    for resource in resources:
        resource.close()

"""LLVM IR text to object files for this machine, by LLVM's own passes."""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from functools import cache
from typing import Any

from tadc.runtime.machine import machine
from tadc.support.packages import installed
from tadc.targets.llvm_libmvec import LIBRARY, library, with_vector_variants

llvm = installed("llvmlite.binding", "the target cpu")


@cache
def _load_libraries() -> None:
    """Let machine code find the functions of the C library."""
    if library() is not None:
        llvm.load_library_permanently(LIBRARY)
    with contextlib.suppress(RuntimeError):  # the process may hold it under another name
        llvm.load_library_permanently("libm.so.6")


def target_machine() -> Any:
    _load_libraries()
    m = machine()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=m.cpu, features=m.flags, opt=3, codemodel="jitdefault", jit=True
    )


def loading_machine() -> Any:
    """A target for machine code that is there already, which its features do not concern."""
    _load_libraries()
    machine()  # which lets LLVM know this processor
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=0, codemodel="jitdefault", jit=True)


def machine_key() -> str:
    """The triple, processor and libraries that machine code is made for."""
    m = machine()
    llvm_version = ".".join(map(str, llvm.llvm_version_info))
    triple, libmvec = llvm.get_default_triple(), library() is not None
    return f"LLVM {llvm_version} {triple} {m.cpu} {m.flags} {m.vector_bits} {libmvec}"


def object_of(text: str, quick: bool) -> bytes:
    """LLVM IR text as an object file, compiled in this process."""
    with _optimized(text, quick) as (module, machine):
        data: bytes = machine.emit_object(module)
        return data


def optimized_ir(text: str, quick: bool = False) -> str:
    """The LLVM IR that becomes machine code."""
    with _optimized(text, quick) as (module, _):
        return str(module)


def assembly(text: str, quick: bool = False) -> str:
    """The machine code, to read."""
    with _optimized(text, quick) as (module, machine):
        found: str = machine.emit_assembly(module)
        return found


@contextlib.contextmanager
def _optimized(text: str, quick: bool) -> Generator[tuple[Any, Any]]:
    """The optimized module, and the machine that it is for.

    What LLVM made ends in reverse order, also where a signal raises on the way.
    """
    target = target_machine()
    features = dict.fromkeys(machine().features, True)
    with (
        llvm.create_context() as context,
        llvm.parse_assembly(with_vector_variants(text, features), context) as module,
        llvm.create_pipeline_tuning_options(speed_level=1 if quick else 3) as options,
    ):
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        module.verify()
        options.loop_vectorization = True
        options.loop_interleaving = True
        options.loop_unrolling = not quick
        options.slp_vectorization = not quick
        with (
            llvm.create_pass_builder(target, options) as builder,
            builder.getModulePassManager() as manager,
        ):
            manager.run(module, builder)
            yield module, target

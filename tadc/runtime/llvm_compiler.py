"""LLVM IR text to object files for this machine, by LLVM's own passes where they are of use.

Functions of explicit vectors go without: LLVM has nothing to find there, and what it reorders takes
more registers than there are. They become a module of their own, which is linked with the other.
The code generator of LLVM would look for cheaper addresses in their loops, which takes it a quarter
of its time; they are cheap there as they were emitted (`passes/lowering/scalars`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from functools import partial
from typing import Any

from tadc.once import once
from tadc.runtime.llvm_library import llvm
from tadc.runtime.machine import Machine, machine
from tadc.support.uninterrupted import uninterrupted
from tadc.targets.llvm_libmvec import LIBRARY, library, with_vector_variants
from tadc.targets.llvm_sections import by_passes

LATEST_LLVM = 22
"""The last version that is known to have the option to generate code without looking for cheaper
addresses: LLVM ends the process where it does not know an option."""


@once
def _prepare() -> None:
    """Let LLVM know this processor, and machine code find the functions of the C library."""
    llvm().initialize_native_target()
    llvm().initialize_native_asmprinter()
    if library() is not None:
        llvm().load_library_permanently(LIBRARY)
    with contextlib.suppress(RuntimeError):  # the process may hold it under another name
        llvm().load_library_permanently("libm.so.6")


@once
def target_machine(m: Machine) -> Any:
    """The target for the code of a machine: made once, as LLVM looks up all features for each."""
    _prepare()
    target = llvm().Target.from_default_triple()
    return target.create_target_machine(
        cpu=m.cpu, features=m.flags, opt=1, codemodel="jitdefault", jit=True
    )


def loading_machine() -> Any:
    """A target for machine code that is there already, which its features do not concern."""
    _prepare()
    target = llvm().Target.from_default_triple()
    return target.create_target_machine(opt=0, codemodel="jitdefault", jit=True)


@once
def machine_key() -> str:
    """The triple, processor and libraries that machine code is made for."""
    m = machine()
    llvm_version = ".".join(map(str, llvm().llvm_version_info))
    triple, libmvec = uninterrupted(llvm().get_default_triple), library() is not None
    facts = f"{m.cpu} {m.flags} {m.vector_bits} {m.shared_cache}"
    return f"LLVM {llvm_version} {triple} {facts} {libmvec}"


def object_of(text: str, quick: bool, m: Machine) -> bytes:
    """LLVM IR text as an object file for a machine, compiled in this process."""
    with _optimized(text, quick, m) as (module, target):
        data: bytes = target.emit_object(module)
        return data


def optimized_ir(text: str, quick: bool = False) -> str:
    """The LLVM IR that becomes machine code."""
    with _optimized(text, quick, machine()) as (module, _):
        return str(module)


def assembly(text: str, quick: bool = False) -> str:
    """The machine code, to read."""
    with _optimized(text, quick, machine()) as (module, target):
        found: str = target.emit_assembly(module)
        return found


@contextlib.contextmanager
def _optimized(text: str, quick: bool, m: Machine) -> Generator[tuple[Any, Any]]:
    """The optimized module, and the target that it is for.

    What LLVM made ends in reverse order, also where a signal raises on the way.
    """
    target, features = target_machine(m), dict.fromkeys(m.features, True)
    plain, explicit = by_passes(text)
    with llvm().create_context() as context, contextlib.ExitStack() as made:
        modules: list[Any] = []
        for part, run in ((plain, partial(_run_passes, quick=quick)), (explicit, _run_no_passes)):
            if part:
                modules.append(made.enter_context(_parsed(part, context, target, features)))
                run(modules[-1], target)
        first, *others = modules
        for other in others:
            first.link_in(other)
        if not plain:
            made.enter_context(_addresses_as_they_are())
        yield first, target


@contextlib.contextmanager
def _addresses_as_they_are() -> Generator[None]:
    """LLVM generates code without strength reduction of loops in this context. That is an option of
    the whole process: code that another library compiles meanwhile goes without, too."""
    if llvm().llvm_version_info[0] > LATEST_LLVM:
        yield
        return
    llvm().set_option("tadc", "-disable-lsr")
    try:
        yield
    finally:
        llvm().set_option("tadc", "-disable-lsr=false")


def _parsed(text: str, context: Any, target: Any, features: Mapping[str, bool]) -> Any:
    module = llvm().parse_assembly(with_vector_variants(text, features), context)
    module.triple = target.triple
    module.data_layout = str(target.target_data)
    module.verify()
    return module


def _run_passes(module: Any, target: Any, quick: bool) -> None:
    """LLVM's own pipeline, which makes vectors of loops."""
    with llvm().create_pipeline_tuning_options(speed_level=1 if quick else 3) as options:
        options.loop_vectorization = True
        options.loop_interleaving = True
        options.loop_unrolling = not quick
        options.slp_vectorization = not quick
        with (
            llvm().create_pass_builder(target, options) as builder,
            builder.getModulePassManager() as manager,
        ):
            manager.run(module, builder)


def _run_no_passes(module: Any, target: Any) -> None:
    """Inline what must be inlined, and drop what nobody calls then."""
    with (
        llvm().create_pipeline_tuning_options(speed_level=0) as options,
        llvm().create_pass_builder(target, options) as builder,
        llvm().create_new_module_pass_manager() as manager,
    ):
        manager.add_always_inliner_pass()
        manager.add_global_dead_code_eliminate_pass()
        manager.run(module, builder)

"""The texts of a program: the language, loops, and code, exactly as the next call runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tadc.errors import unknown_name
from tadc.runtime import nvrtc
from tadc.runtime.compiled import Compiled
from tadc.runtime.executable import Executable
from tadc.runtime.loop_plan import loop_plan


@dataclass(frozen=True)
class Text:
    """A kind of text: whose target's code it shows (None for the program's own), and how."""

    target: str | None
    show: Callable[[Executable], str]


def _optimized(executable: Executable) -> str:
    from tadc.runtime.llvm_compiler import optimized_ir

    return optimized_ir(executable.text, quick=not executable.sizes.tiles)


def _assembly(executable: Executable) -> str:
    from tadc.runtime.llvm_compiler import assembly

    return assembly(executable.text, quick=not executable.sizes.tiles)


def _ptx(executable: Executable) -> str:
    return nvrtc.compile(executable.text, arch="compute_90").data.decode()


TEXTS: dict[str, Text] = {
    "scheduled": Text(None, lambda executable: str(executable.module)),
    "llvm": Text("cpu", lambda executable: executable.text),
    "llvm-optimized": Text("cpu", _optimized),
    "assembly": Text("cpu", _assembly),
    "cuda": Text("cuda", lambda executable: executable.text),
    "ptx": Text("cuda", _ptx),
}
"""All kinds of text beside `source`."""


def emit(compiled: Compiled, kind: str, sizes: Mapping[str, int] | None, precision: str) -> str:
    """A program as text of a kind, the code as `compiled.code(sizes, precision)` has it.

    Raises `UnknownNameError` for other kinds, and what `Compiled.code` raises.
    """
    if kind == "source":
        return str(compiled.program)
    if kind == "located":
        return str(compiled.executor.program)
    if kind != "plan" and kind not in TEXTS:
        raise unknown_name("kind of text", kind, ("source", "located", "plan", *TEXTS))
    if kind == "plan":
        return str(loop_plan(compiled.executor, sizes, precision))
    text = TEXTS[kind]
    if text.target not in (None, compiled.target):
        compiled = Compiled(compiled.program, text.target)
    compiled = compiled.executor
    with compiled.program.located_errors():
        return compiled.program.recurse(lambda: text.show(compiled.code(sizes, precision)))

"""`tadc derive`: print the derivative program of a mode, stages of it, or how it comes about."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module

from tadc.choices import DERIVATIVE_STAGES
from tadc.commands.programs import load
from tadc.commands.streams import say
from tadc.errors import ArgumentError, FileError, check_names
from tadc.function import Function
from tadc.inverse.text import COMMENTS
from tadc.modes import INVERSE_MODES, OTHER_WORDS
from tadc.passes.pipeline import STAGES
from tadc.support.stopwatch import Stopwatch, timed


def run(options: Namespace) -> int:
    """The command; its exit code."""
    mode: str = OTHER_WORDS.get(options.mode) or options.mode
    _require_sense(mode, options)
    if options.time:
        function, watch = timed_compilation(options.file, options.wrt, mode, Code.of(options))
    else:
        function, watch = load(options.file), None
    if options.explain_plan:
        print(_plan(function, options.wrt, mode, Code.of(options)), end="")
    elif options.explain:
        print(_explained(function, options.wrt, mode, options.read))
    elif options.diff:
        print(_differences(function, options, mode), end="")
    elif options.picture:
        _draw(function, options)
    else:
        print(_emitted(function, options, mode))
    if watch:
        sys.stdout.flush()
        say("\n".join(watch.table()))
    return 0


def _require_sense(mode: str, options: Namespace) -> None:
    """Refuse options that do not go together."""
    if options.wrt and mode in INVERSE_MODES:
        raise ArgumentError(
            f"--wrt says nothing to the mode {mode}",
            hint="it is always about the arguments that the program updates",
        )
    if options.explain and mode == "forward":
        raise ArgumentError(
            "--explain has nothing to say about the mode forward",
            hint="there, every read x[...] becomes a read x_dot[...] at the same place",
        )
    if options.read and not (options.explain and mode == "reverse"):
        raise ArgumentError(
            "--read chooses what --explain says of gradients",
            hint="give it with --explain, and without another --mode",
        )
    if options.picture and mode != "reverse":
        raise ArgumentError(
            f"--picture has nothing to draw in the mode {mode}",
            hint="it shows the points of a sum that contribute to an element of a gradient",
        )
    if options.element and not options.picture:
        raise ArgumentError("--element chooses what --picture shows", hint="give both")
    without_ir = [word for word in options.emit or ["source"] if word not in DERIVATIVE_STAGES]
    if options.source_lines and without_ir:
        raise ArgumentError(
            f"--source-lines has nothing to stand beside in {without_ir[0]}",
            hint=f"give it with --emit and some of {', '.join(DERIVATIVE_STAGES)}",
        )
    printed = {
        "--explain": options.explain,
        "--explain-plan": options.explain_plan,
        "--emit": options.emit not in ([], ["source"]),
        "--diff": options.diff,
        "--picture": options.picture,
    }
    given = [word for word, is_given in printed.items() if is_given]
    if len(given) > 1:
        raise ArgumentError(f"{' and '.join(given)} print different things: give one of them")


def _explained(function: Function, wrt: tuple[str, ...], mode: str, read: str | None) -> str:
    if mode in INVERSE_MODES:
        from tadc.explain.lumps import explain_lumps

        return explain_lumps(function, mode)
    from tadc.explain.gradients import explain

    return explain(function, *wrt, read=read)


def _emitted(function: Function, options: Namespace, mode: str) -> str:
    """All that `--emit` asks for; several texts are apart, each below its name."""
    texts: list[str] = []
    words: list[str] = list(dict.fromkeys(options.emit)) or ["source"]
    for word in words:
        if options.source_lines:
            text = _beside_source_lines(function, options.wrt, word, mode)
        else:
            text = emitted(function, options.wrt, word, mode, Code.of(options))
        head = f"{COMMENTS.get(word, '//')} {word}\n" if len(words) > 1 else ""
        texts.append(head + text.rstrip("\n"))
    return "\n\n".join(texts)


def _beside_source_lines(function: Function, wrt: tuple[str, ...], stage: str, mode: str) -> str:
    from tadc.view.source_lines import with_source_lines

    return with_source_lines(function.program, function.module_at(stage, wrt, mode))


def _differences(function: Function, options: Namespace, mode: str) -> str:
    from tadc.support.differences import differences

    first, second = options.diff
    code = Code.of(options)
    before, after = (emitted(function, options.wrt, word, mode, code) for word in (first, second))
    return differences(before, after, (first, second)) or f"{first} and {second} are the same\n"


def _draw(function: Function, options: Namespace) -> None:
    """Write the file of `--picture`; raises `FileError` where that cannot be."""
    from tadc.view.view import Seen

    sizes = dict(options.size)
    check_names("size", sizes, function.program.summary.size_names())
    drawing = Seen(function.program, options.wrt).drawing(sizes, dict(options.element))
    try:
        with open(options.picture, "w", encoding="utf-8") as file:
            file.write(drawing)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"cannot write it: {reason}", file=options.picture) from None


def _plan(function: Function, wrt: tuple[str, ...], mode: str, code: Code) -> str:
    from tadc.explain.loops import explain_loops

    return explain_loops(function, wrt, mode, code.sizes, code.precision)


@dataclass(frozen=True)
class Code:
    """The calls whose code is printed: their sizes, and the precision of undeclared tensors."""

    sizes: Mapping[str, int]
    precision: str

    @staticmethod
    def of(options: Namespace) -> Code:
        return Code(dict(options.size), options.precision)


def timed_compilation(
    file: str, wrt: tuple[str, ...], mode: str, code: Code
) -> tuple[Function, Stopwatch]:
    """The program in `file`, after its derivative was made, printed and compiled for this machine.

    What Python loads on the way counts as a step of its own.
    """
    with Stopwatch() as watch:
        with timed("loading tadc"):
            import_module("tadc.language.parse")
            import_module("tadc.targets.llvm")
            from tadc.inverse.text import steps
            from tadc.program import Program
            from tadc.runtime.compiled import Compiled
            from tadc.runtime.cpu import CpuModule
        with timed("parse, ranges"):
            function = load(file)
        if mode in INVERSE_MODES:
            programs = [s for s in steps(function.program, mode) if isinstance(s, Program)]
        else:
            programs = [_derived(function, wrt, mode).program]
        for program in programs:
            with timed("printing"):
                str(program)
            executable = Compiled(program, "cpu").code(code.sizes, code.precision)
            assert executable.module  # its passes are timed one by one
            with timed("LLVM IR"):
                text = executable.text
            with timed("machine code"):
                CpuModule(text, quick=not executable.sizes.tiles)
    return function, watch


def _derived(function: Function, wrt: tuple[str, ...], mode: str) -> Function:
    return function.forward(*wrt) if mode == "forward" else function.derivative(*wrt)


def emitted(function: Function, wrt: tuple[str, ...], emit: str, mode: str, code: Code) -> str:
    """The derivative of `function` in a mode, with respect to `wrt`, as what `emit` says."""
    if emit in STAGES and emit != "source":
        return function.ir(emit, mode, wrt, code.sizes, code.precision)
    if mode in INVERSE_MODES:
        from tadc.inverse.text import texts

        return texts(function.compiled, mode, emit, code.sizes, code.precision)
    return _derived(function, wrt, mode).emit(emit, code.sizes, code.precision)

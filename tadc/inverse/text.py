"""The output of `tadc derive` for an inverse mode: programs, and comments for systems between them.

    # solve p_1_matrix p_solution = p_1_rhs for p_solution: 9 equations
    #   line 2: p[i] = 3 * p[i] + pad(p[i - 1])
    #   banded: a new value depends on old ones at most 1 before and 0 behind it

The divisions stand in the programs as they are: what an `Inverse` returns in addition, to look
whether it is 0, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr

from tadc.dialects import tix
from tadc.dialects.tix import DeterminantOp, MatrixForm, ProgramOp, SolveOp
from tadc.emit import emit
from tadc.inverse import structures
from tadc.passes.analysis.element_counts import count, show
from tadc.passes.derive.split_pullback import program_part
from tadc.passes.pipeline import inverse_passes
from tadc.passes.rewriting.programs import reads_of, type_of
from tadc.program import Program
from tadc.runtime.compiled import Compiled

ProgramOrSystem = Program | SolveOp | DeterminantOp
COMMENTS = {"source": "#", "llvm": ";", "llvm-optimized": ";", "assembly": "#"}
"""The beginning of a comment in a kind of text; `//` in all others."""


def steps(program: Program, mode: str) -> list[ProgramOrSystem]:
    """The programs of an inverse mode and the linear systems between them, in order."""
    module = program.transformed(inverse_passes(mode).passes)
    several = sum(isinstance(op, ProgramOp) for op in module.ops) > 1
    found: list[ProgramOrSystem] = []
    for op in list(module.ops):
        op.detach()
        match op:
            case ProgramOp():
                part = _without_unread(op) if several else op
                found.append(program.derived(ModuleOp([part])))
            case SolveOp() | DeterminantOp():
                found.append(op)
            case _:
                raise AssertionError(op)
    return found


def texts(
    compiled: Compiled,
    mode: str,
    kind: str,
    sizes: Mapping[str, int] | None = None,
    precision: str = "f64",
) -> str:
    """Every program of an inverse mode as a kind of text, and comments where there are several.

    Kinds, sizes and precision are those of `tadc.emit`.
    """

    def text(step: ProgramOrSystem) -> str:
        assert isinstance(step, Program)
        return emit(Compiled(step, compiled.target), kind, sizes, precision).rstrip("\n")

    found = steps(compiled.program, mode)
    if len(found) == 1:
        return text(found[0])
    mark = COMMENTS.get(kind, "//")
    parts = [_commented([_headline(mode, found)], mark)]
    number = 0
    for step in found:
        if isinstance(step, Program):
            number += 1
            parts.append(f"{mark} program {number}\n{text(step)}")
        else:
            parts.append(_commented(list(_described(compiled.program, step, found)), mark))
    return "\n\n".join(parts) + "\n"


def _commented(lines: list[str], mark: str) -> str:
    return "\n".join(f"{mark} {line}" for line in lines)


def _headline(mode: str, found: list[ProgramOrSystem]) -> str:
    programs = sum(isinstance(step, Program) for step in found)
    systems = len(found) - programs
    what = "determinant" if mode == "log-abs-det" else "linear system"
    return (
        f"{mode}: {_plural(programs, 'program')} and {_plural(systems, what)}, in this order; "
        "they share tensors by name"
    )


def _plural(number: int, what: str) -> str:
    return f"{number} {what}" + ("s" if number > 1 else "")


def _without_unread(program: ProgramOp) -> ProgramOp:
    """The program without arguments that it neither reads nor takes sizes from."""
    read = {r.tensor for op in program.definitions for r in reads_of(op)}
    read.update(program.returned)
    kept = {name: v for name, v in program.arguments.items() if v in read}
    known = {form for v in kept.values() for form in type_of(v).shape}
    for name, v in program.arguments.items():
        if name not in kept and (program.derived or not known >= set(type_of(v).shape)):
            kept[name] = v
            known.update(type_of(v).shape)
    arguments = [item for item in program.arguments.items() if item[0] in kept]
    names = program.result_names
    _give_names(program, {*kept, *(op.label.data for op in program.definitions)})
    return program_part(program, arguments, program.definitions, program.returned, names)


def _give_names(program: ProgramOp, taken: set[str]) -> None:
    """Let results have their names inside of the program too, where they are not taken."""
    for name, tensor in zip(program.result_names, program.returned, strict=True):
        if name not in taken:
            _defined(tensor).label = StringAttr(name)


# --- linear systems -------------------------------------------------------------------------------


def _described(
    program: Program, system: SolveOp | DeterminantOp, found: list[ProgramOrSystem]
) -> Iterator[str]:
    """The use of a matrix, the lines that it comes from, and the reason for its form."""
    matrix = _matrix(system)
    if isinstance(system, SolveOp):
        unknown, known = _column(system.solution_names), _column(system.rhs_names)
        left = f"transpose({matrix})" if system.transposed is not None else matrix
        equations = _equations(system.rhs_names, found)
        yield f"solve {left} {unknown} = {known} for {unknown}: {equations}"
    else:
        yield f"det {matrix}: its sign multiplies signdet, its log|.| adds to logdet"
    yield from (f"  {line}" for line in _lines(program, system.location))
    yield f"  {_reason(system.form, _batch_names(system, found))}"


def _matrix(system: SolveOp | DeterminantOp) -> str:
    """One name, or rows of names as in `[a b; c d]`."""
    names, rows = system.matrix_names, len(system.form.rows)
    if len(names) == 1:
        return names[0]
    width = len(names) // rows
    return f"[{'; '.join(' '.join(names[n : n + width]) for n in range(0, len(names), width))}]"


def _column(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"[{'; '.join(names)}]"


def _definitions(found: list[ProgramOrSystem]) -> dict[str, tix.DefineOp]:
    """By name, what the programs return."""
    return {
        label: op
        for step in found
        if isinstance(step, Program)
        for label, op in zip(step.result_labels, map(_defined, step.op.returned), strict=True)
    }


def _defined(tensor: object) -> tix.DefineOp:
    owner = getattr(tensor, "owner", None)
    assert isinstance(owner, tix.DefineOp)
    return owner


def _equations(names: list[str], found: list[ProgramOrSystem]) -> str:
    known = _definitions(found)
    number = show(count([known[n].result for n in names]))
    return f"{number} equation" + ("" if number == "1" else "s")


def _batch_names(system: SolveOp | DeterminantOp, found: list[ProgramOrSystem]) -> list[str]:
    op = _definitions(found)[system.matrix_names[0]]
    return [v.name_hint or "?" for v in op.indices[: system.form.batch]]


def _lines(program: Program, location: LocationAttr) -> Iterator[str]:
    span = program.span(location)
    if span is not None:
        yield f"line {span.line}: {span.text.strip()}"


def _reason(form: MatrixForm, batch: list[str]) -> str:
    """The reason for the form of a matrix: the values that each value may depend on."""
    match form.kind:
        case "banded":
            text = structures.banded("a new value", "old ones", form.lower, form.upper)
        case "lower" | "upper":
            old = "its own old one and on those"
            text = structures.triangular("a new value", old, form.kind == "lower")
        case "permutation":
            text = f"{structures.PERMUTATION}; the matrix holds its column"
        case _:
            text = structures.DENSE
    return f"{text}, with the same {', '.join(batch)}" if batch else text

"""`split-pullback`: part a value-and-gradient program into what needs adjoints and what does not.

    tix.program @p (%x = "x" : ..., %df = "df" : ...) {
      %s = tix.define "s" ...  reads x
      %f = tix.define "f" ...  reads s
      %dx = tix.define "dx" ... reads df, s
      tix.return %f, %dx
    }

becomes, with `split-pullback{adjoints=df}`, two programs: the values, with what the gradients will
read of them, and the gradients as a program of the arguments, the saved values and the adjoints.

    tix.program @p (%x = "x" : ...) { ... tix.return %f, %s }
    tix.program @p_pullback (%x = "x" : ..., %s = "s" : ..., %df = "df" : ...) {
      ...
      tix.return %dx
    }

So a pullback computes nothing that its value has computed already, but for values that a few cheap
operations make of arguments and of what is saved anyway: those take memory until the pullback
comes, and computing them again costs little more than reading them. Of a result even a copy would
have to be saved, as its owner may change it: so elements of one or two elementary functions are
computed again rather than copied. Tensors of many elements made of few numbers, as the distances
of all pairs of points, may be left out, too (`passes/algebra/factoring/recomputation.py`). Other
values that decide something in a gradient, as the terms of an extremum do, are saved whatever they
cost: computed again within another definition, they might round differently. Gradients that are
long sums become running totals (`passes/rewriting/running_totals.py`), so that adjoints need not
wait for the last one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.algebra.factoring.recomputation import Recomputation
from tadc.passes.analysis.activity import useful, varied
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.rounding import has_equality
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.program_pass import ContractPass
from tadc.passes.rewriting.programs import ProgramBuilder, exchange, location_of, reads_of, type_of
from tadc.passes.rewriting.running_totals import accumulate_early

MOST_OPERATIONS_TO_RECOMPUTE = 10
"""The number of quick operations up to which an element is computed again rather than saved."""

MOST_COST_TO_RECOMPUTE_RESULT = 2 * COST_OF_FUNCTION + MOST_OPERATIONS_TO_RECOMPUTE
"""The cost up to which an element of a result is computed again rather than copied."""


@dataclass(frozen=True)
class SplitPullbackPass(ContractPass):
    """`split-pullback{adjoints=df,dg recompute=true}`: the first program must not need `adjoints`.

    With `recompute` large tensors made of few numbers are computed again rather than saved.
    """

    name = "split-pullback"
    adjoints: tuple[str, ...]
    recompute: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in list(op.ops):
            if isinstance(program, tix.ProgramOp):
                for part in split_pullback(program, self.adjoints, self.recompute):
                    op.body.block.insert_op_before(part, program)
                program.detach()
                program.erase()


def split_pullback(
    program: tix.ProgramOp, adjoints: Sequence[str], recompute: bool = False
) -> tuple[tix.ProgramOp, tix.ProgramOp]:
    """The program of the values and saved tensors, and the program of the gradients.

    They are made of the definitions of `program`, of which nothing is left.
    """
    unknown = [name for name in adjoints if name not in program.arguments]
    if unknown:
        raise PassFailure(program.location, f"no argument {unknown[0]}")
    count = len(adjoints)  # one for each value
    values, gradients = program.returned[:count], program.returned[count:]
    # a gradient that is known without adjoints is a gradient still
    late = varied(program, [program.arguments[name] for name in adjoints]) | set(gradients)
    late = accumulate_early(program, late)
    gradients = program.returned[count:]
    needed = useful(program, gradients)  # nothing is saved for what no gradient needs
    early = [op for op in program.definitions if op.result not in late]
    rest = [op for op in program.definitions if op.result in late & needed]
    read = {r.tensor for op in rest for r in reads_of(op)}
    saved = [op for op in early if op.result in read]
    many = _of_few_numbers(early, saved, rest) if recompute else []
    cheap = _of_few_operations([op for op in saved if op not in many], rest, values)
    again = [op for op in early if op in many or op in cheap]
    read |= {r.tensor for op in again for r in reads_of(op)}
    saved = [op for op in early if op.result in read and op not in again]
    kept = [*values, *(op.result for op in saved if op.result not in values)]
    arguments = [(n, v) for n, v in program.arguments.items() if n not in adjoints]
    seeds = [(n, program.arguments[n]) for n in adjoints]
    stored = [(op.label.data, op.result) for op in saved]
    labels = [op.label.data for op in saved if op.result not in values]
    names = program.result_names
    # first what reads saved values, which then are arguments there
    inputs = [*arguments, *stored, *seeds]
    second = program_part(
        program, inputs, _with_copies(rest, again), gradients, names[count:], "_pullback"
    )
    first = program_part(program, arguments, early, kept, [*names[:count], *labels])
    return first, second


def _of_few_numbers(
    early: Sequence[tix.DefineOp], saved: Sequence[tix.DefineOp], late: Sequence[tix.DefineOp]
) -> list[tix.DefineOp]:
    """The definitions of `saved` with many elements made of few numbers, and others they read."""
    found = Recomputation({})
    compared = {r.tensor for op in late if _compares(op) for r in reads_of(op)}
    many = {op.result: op for op in early if op.result not in compared and found.add(op)}
    again: list[tix.DefineOp] = []
    read: set[SSAValue] = set()
    for op in reversed(early):
        if op.result in many and (op in saved or op.result in read):
            again.append(op)
            read.update(r.tensor for r in reads_of(op))
    return again


def _of_few_operations(
    saved: Sequence[tix.DefineOp], late: Sequence[tix.DefineOp], values: Sequence[SSAValue]
) -> list[tix.DefineOp]:
    """The definitions of `saved` that take a few operations on arguments and other saved ones."""
    kept: set[SSAValue] = {op.result for op in saved}
    decisive = {r.tensor for op in late if _decides(op) for r in reads_of(op)}
    again: list[tix.DefineOp] = []
    for op in saved:
        read = {r.tensor for r in reads_of(op)}
        there = all(v in kept or not isinstance(v.owner, tix.DefineOp) for v in read)
        cheap = _is_cheaper_than_copy(op) if op.result in values else _is_cheap(op)
        if there and op.result not in decisive and cheap:
            kept.remove(op.result)
            again.append(op)
    return again


def _decides(op: tix.DefineOp) -> bool:
    """True if it chooses by values that it reads."""
    return any(isinstance(o, tix.WhereOp | tix.ExtremumOp | ew.StepOp) for o in op.walk())


def _compares(op: tix.DefineOp) -> bool:
    """True if it chooses by values that must round alike wherever they are computed."""
    kinds = tix.ExtremumOp | tix.ProdOp | ew.StepOp
    return has_equality(op) or any(isinstance(o, kinds) for o in op.walk())


def _is_cheap(op: tix.DefineOp) -> bool:
    """True if few operations make an element, each about as quick as a read."""
    ops = [o for o in op.walk() if o is not op and not isinstance(o, tix.YieldOp)]
    return len(ops) <= MOST_OPERATIONS_TO_RECOMPUTE and all(map(_is_quick, ops))


def _is_cheaper_than_copy(op: tix.DefineOp) -> bool:
    """True if an element takes at most two functions: no sum, and nothing that decides."""
    ops = [o for o in op.walk() if o is not op and not isinstance(o, FREE)]
    barred = tix.ReductionOp, tix.WhereOp, ew.StepOp
    cost = sum(0 if isinstance(o, tix.IndexToRealOp) else weight(o) for o in ops)
    return cost <= MOST_COST_TO_RECOMPUTE_RESULT and not any(isinstance(o, barred) for o in ops)


def _is_quick(op: Operation) -> bool:
    """True for what is about as quick as a read; a step decides, and is not computed again."""
    if isinstance(op, ew.PowOp):
        return tix.constant_value(op.rhs) in (2, 3)
    if isinstance(op, ew.StepOp):
        return False
    return isinstance(op, (*FREE, tix.IndexToRealOp)) or weight(op) == 1


def _with_copies(late: Sequence[tix.DefineOp], again: Sequence[tix.DefineOp]) -> list[tix.DefineOp]:
    """`late`, with a copy of each definition in `again` in front of the first one that reads it."""
    waiting: dict[SSAValue, tix.DefineOp] = {op.result: op for op in again}
    placed: list[tix.DefineOp] = []
    new: dict[SSAValue, SSAValue] = {}

    def place(op: tix.DefineOp) -> None:
        for tensor in dict.fromkeys(r.tensor for r in reads_of(op)):
            if tensor in waiting:
                copied = waiting.pop(tensor).clone()
                place(copied)
                new[tensor] = copied.result
        exchange(op, new)
        placed.append(op)

    for op in late:
        place(op)
    return placed


def program_part(
    program: tix.ProgramOp,
    arguments: Sequence[tuple[str, SSAValue]],
    definitions: Sequence[tix.DefineOp],
    results: Sequence[SSAValue],
    names: Sequence[str],
    suffix: str = "",
) -> tix.ProgramOp:
    """A program that takes over some definitions; what they read of others is arguments."""
    builder = ProgramBuilder([(name, type_of(v), location_of(v)) for name, v in arguments])
    new = dict(zip((v for _, v in arguments), builder.block.args, strict=True))
    for op in definitions:
        if op.parent is not None:
            op.detach()
        exchange(op, new)
        builder.append(op)
    part = builder.finish(program, [new.get(v, v) for v in results], names, suffix)
    part.location = program.location
    return part

"""Long sums of terms become running totals, each as soon as its terms are there.

    dq[i] = a_1[i] + a_2[i] + ... + a_100[i]

becomes

    dq_total[i] = a_1[i] + ... + a_8[i]                      behind a_8
    dq_total_1[i] = dq_total[i] + a_9[i] + ... + a_16[i]     behind a_16
    ...

in the same order of additions. A gradient by what every statement of a program reads is such a sum:
its terms need adjoints that come one after the other, and each would have to wait for the last one.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import fresh_name, reads_of, set_hint
from tadc.passes.rewriting.terms import Term, add_terms, running_terms

MOST_TERMS_OF_A_SUM = 8
"""The number of terms up to which a sum stays whole: a total is read and written once for so many.
"""


def accumulate_early(program: tix.ProgramOp, among: set[SSAValue]) -> set[SSAValue]:
    """Split the long sums among these definitions, in place; gives the definitions then."""
    names = {*program.arguments, *(d.label.data for d in program.definitions)}
    found = set(among)
    for op in program.definitions:
        terms = running_terms(tix.yielded(op.body), op.body.block) if op.result in among else []
        if len(terms) > MOST_TERMS_OF_A_SUM:
            found.remove(op.result)
            found |= _split(op, terms, names)
    return found


def _split(op: tix.DefineOp, terms: Sequence[Term], names: set[str]) -> set[SSAValue]:
    """Replace `op` by running totals, of which the last one is `op`."""
    totals: list[SSAValue] = []
    starts = range(0, len(terms), MOST_TERMS_OF_A_SUM)
    groups = [terms[n : n + MOST_TERMS_OF_A_SUM] for n in starts]
    for group in groups[:-1]:
        label = fresh_name(f"{op.label.data}_total", names)
        names.add(label)
        total = _total(op, label, group, totals[-1:])
        _insert_early(op, total)
        totals.append(total.result)
    last = _total(op, op.label.data, groups[-1], totals[-1:])
    Rewriter.replace_op(op, last)
    return {*totals, last.result}


def _total(
    op: tix.DefineOp, label: str, terms: Sequence[Term], before: Sequence[SSAValue]
) -> tix.DefineOp:
    """The total before, if there is one, and these terms of `op`."""
    assert op.parent is not None
    builder = BodyBuilder(op.parent, op.location)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = Cloner(builder).inner(e, op.indices, own)
        element = [Affine.of(v) for v in own]
        return add_terms(cloner, terms, e.read(before[0], element) if before else None)

    region = builder.region([v.name_hint for v in op.indices], body)
    made = tix.DefineOp(label, op.type, region)
    made.location = op.location
    set_hint(made.result, label)
    return made


def _insert_early(op: tix.DefineOp, total: tix.DefineOp) -> None:
    """Put a definition of the program of `op` in it, behind all that it reads."""
    assert op.parent is not None
    read = {r.tensor.owner for r in reads_of(total)}
    behind = [d for d in op.parent.ops if d in read]
    if behind:
        op.parent.insert_op_after(total, behind[-1])
    else:
        op.parent.insert_op_before(total, op)

"""`factor-sums`: a sum within a sum becomes a tensor, where that saves operations.

    f[i, j] = sum[k, l](a[i, k] * b[k, l] * c[l, j])       I K L J terms
    g[p] = sum[k, j](e[p - k, j])                          P K J terms
    h[i, j] = sum[k](u[i, k] * v[k, j] + w[i + k]**3)

become

    f_sum[i, l] = sum[k](a[i, k] * b[k, l])                I K L terms
    f[i, j] = sum[l](c[l, j] * f_sum[i, l])                I L J terms
    g_sum[p] = sum[j](e[p, j])
    g[p] = sum[k](g_sum[p - k])
    h_sum[i] = sum[k](w[i + k]**3)
    h[i, j] = sum[k](u[i, k] * v[k, j]) + h_sum[i]

by the distributive law: with `D_k = {l : (k, l) in D}` for the index set D of the sum,

    sum_{(k, l) in D} A(k) B(k, l) = sum_k A(k) sum_{l in D_k} B(k, l),    Σ (E + F) = Σ E + Σ F.

Which sums are worth it, and where this is safe, says `passes/algebra/factoring/partial_sums.py`: it
counts operations against elements to store. One partial sum after the other is taken out, until
none is. What several definitions sum is a tensor, too (`passes/algebra/factoring/shared_sums.py`).
Only the order changes in which terms are multiplied and added: by its rounding, and where an
argument is not finite, the result may differ. Sums that must round identically stay as they are,
and so do those inside extrema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Operation

from tadc.dialects import tix
from tadc.passes.algebra.factoring.equal_tensors import merge_equal_tensors
from tadc.passes.algebra.factoring.extracted_sums import Extractions, extracted
from tadc.passes.algebra.factoring.partial_sums import Extraction, TermsOfSums, find_extraction
from tadc.passes.algebra.factoring.shared_sums import shared_extractions
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.rewriting.part_sizes import with_derived_sizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.passes.simplify.simplify_sums import simplify_sums

MOST_ROUNDS = 100
"""Each round makes a sum cheaper, so that a few are enough; more are a mistake."""


@dataclass(frozen=True)
class FactorSumsPass(ProgramPass):
    """`factor-sums{scans=true sizes="N=512"}`: for loops that carry the totals of scans, made best
    for these sizes."""

    name = "factor-sums"
    requires = leaves = (sums_bounded,)
    scans: bool = False
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return factor_sums(program, self.scans, parse_sizes(self.sizes))


def factor_sums(
    program: tix.ProgramOp, scans: bool = False, sizes: Mapping[str, int] | None = None
) -> tix.ProgramOp:
    """The program with partial sums as tensors; itself where none is worth it for these `sizes`.

    With `scans`, sums over all terms up to an index take one term for an element.
    """
    terms = TermsOfSums(with_derived_sizes(program, sizes or {}))
    given = program
    labels = {op.label.data for op in program.definitions}
    settled: set[str] = set()
    for _ in range(MOST_ROUNDS):
        if found := _extractions(program, scans, terms, settled):
            program = extracted(program, found)
            continue
        if program is not given:
            program = simplify_sums(program) if _has_multiples(program) else program
            program = merge_equal_tensors(program, labels)
        found = shared_extractions(program, _kept(program), scans, terms)
        if not found:
            return program
        program = merge_equal_tensors(extracted(program, found), labels)
        settled.clear()
    raise RuntimeError(f"partial sums of partial sums without end: {program}")


def _has_multiples(program: tix.ProgramOp) -> bool:
    """True if all terms of a sum are the same."""
    sums, uses = (op for op in program.walk() if isinstance(op, tix.SumOp)), IndexUses()
    return any(uses.of(tix.yielded(op.body)).isdisjoint(op.indices) for op in sums)


def _kept(program: tix.ProgramOp) -> set[Operation]:
    """The operations that stay as they are: those of loops that carry totals are quickest so."""
    carried = (op for op in program.definitions if is_recurrence(op))
    return {*must_round_identically(program), *(o for op in carried for o in op.walk())}


def _extractions(
    program: tix.ProgramOp, scans: bool, terms: TermsOfSums, settled: set[str]
) -> Extractions:
    """The next partial sum of each sum that gains by one.

    Definitions without one are `settled`: their labels are added to those that need no look.
    """
    fixed = _kept(program)
    found: dict[tix.ReductionOp, Extraction] = {}
    for definition in program.definitions:
        if definition.label.data in settled:
            continue
        sums = [op for op in definition.walk() if isinstance(op, tix.SumOp) and op not in fixed]
        gains = {op: find_extraction(terms.of(op, definition), scans) for op in sums}
        found |= {op: extraction for op, extraction in gains.items() if extraction is not None}
        if found.keys().isdisjoint(sums):
            settled.add(definition.label.data)
    return found

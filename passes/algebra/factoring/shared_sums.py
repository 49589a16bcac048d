"""Partial sums that several definitions have in common: each is computed once, as a tensor.

    dv[c] = g[c] * sum[n, i](dy[n, c, i] * (x[n, c, i] - m[c]))       gradients of a batch norm:
    dg[c] = sum[n, i](dy[n, c, i] * (x[n, c, i] - m[c])) / s[c]       both read `dy` and `x`

become

    dv_sum[c] = sum[n, i](dy[n, c, i] * (x[n, c, i] - m[c]))
    dv[c] = g[c] * dv_sum[c]
    dg[c] = dv_sum[c] / s[c]

Of each term of a sum, products of some factors are summed over the indices that no other factor
depends on, as in `partial_sums`. Those that read the same tensors are written down as definitions,
and compared: partial sums are the same if these are equivalent. What is a tensor already is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.algebra.factoring.contraction_order import (
    MOST_FACTORS,
    MOST_INDICES,
    PartialSum,
    storing,
    subsets,
)
from tadc.passes.algebra.factoring.extracted_sums import Extractions, SumExtractor
from tadc.passes.algebra.factoring.partial_sums import Extraction, SumTerm, TermsOfSums
from tadc.passes.analysis.equivalence import canonical_form
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program

FEWEST_TERMS = 16
"""The terms of the shortest partial sums that are stored for several readers."""

LEAST_GAIN = 1.5
"""A partial sum is shared where its sums cost so many times as much without it."""


@dataclass(frozen=True, eq=False)
class _Part:
    """A partial sum of a term of a sum, with costs in additions."""

    definition: tix.DefineOp
    term: SumTerm
    partial: PartialSum

    @property
    def sum(self) -> tix.SumOp:
        """The sum that it is a part of."""
        return self.term.place.op

    @property
    def is_whole(self) -> bool:
        """True if it is a sum over all indices that no other factor depends on."""
        return self.partial.indices == self.term.contraction.inner(self.partial.members)

    def look(self) -> object:
        """Parts that look different are not the same: what is read, and along which indices."""
        ops, inner = self.term.operations_in(self.partial), self.partial.indices
        reads = Counter(
            (op.tensor, tuple(tuple(sorted(f[v] for v in inner if f[v])) for f in op.forms))
            for op in ops
            if isinstance(op, tix.ReadOp)
        )
        names = tuple(sorted(op.name for op in ops))
        return frozenset(reads.items()), len(inner), names

    def extraction(self, rank: Mapping[SSAValue, int]) -> Extraction | None:
        """The partial sum, if it is safe to store, with its factors in the order of tensors."""
        if self.term.elements(self.partial) is None:
            return None
        found = self.term.extract(self.partial)
        if found is None:
            return None
        reads = {
            value: sorted(rank[op.tensor] for op in ops if isinstance(op, tix.ReadOp))
            for value, ops in zip(self.term.values, self.term.operations, strict=True)
        }
        factors = sorted(found.inside.factors, key=reads.__getitem__)
        return replace(found, inside=replace(found.inside, factors=factors))

    def cost(self) -> int:
        """The operations of the sum in its best order, as if tensors cost nothing.

        What is stored for several must be cheaper for all sizes.
        """
        return replace(self.term.contraction, storing=_nothing).best().cost

    def cost_to_store(self) -> int:
        """The cost of the partial sum as a tensor."""
        members, indices = self.partial
        elements = self.term.elements(self.partial)
        assert elements is not None
        work = sum(self.term.works[n] + 1 for n in members)
        points = elements * self.term.contraction.points(indices)
        return points * work + storing(elements)

    def cost_left(self) -> int:
        """The cost of the sum of the other factors times the partial sum."""
        members, indices = self.partial
        others = [work + 1 for n, work in enumerate(self.term.works) if n not in members]
        points = self.term.place.outer * self.term.contraction.points(self.term.own - indices)
        return points * (sum(others) + 1)


def _nothing(_: int) -> int:
    return 0


@dataclass
class Group:
    """Partial sums that are the same."""

    parts: dict[_Part, Extraction] = field(default_factory=dict["_Part", Extraction])
    exists: bool = False
    """True if a definition in front of all of them is what they are."""

    def gain(self) -> int:
        """The operations saved by computing them once; negative if it is not worth it."""
        once = {part.definition: part for part in self.parts}.values()
        if len(once) + self.exists < 2:
            return -1
        before = sum(part.cost() for part in once)
        after = sum(part.cost_left() for part in once)
        after += 0 if self.exists else next(iter(once)).cost_to_store()
        return before - after if before >= LEAST_GAIN * after else -1


def shared_extractions(
    program: tix.ProgramOp,
    fixed: Collection[Operation],
    scans: bool,
    terms: TermsOfSums,
) -> Extractions:
    """The partial sums that definitions have in common, where it is cheaper to compute them once.

    Sums in `fixed` stay as they are, and with `scans` those that are scans.
    """
    groups = _groups(program, _candidates(_parts(program, fixed, scans, terms)))
    gains = [(gain, group.parts) for group in groups if (gain := group.gain()) > 0]
    found: dict[tix.ReductionOp, Extraction] = {}
    for _, parts in sorted(gains, key=lambda pair: pair[0], reverse=True):
        if not any(part.sum in found for part in parts):
            found.update((part.sum, extraction) for part, extraction in parts.items())
    return found


def _parts(
    program: tix.ProgramOp,
    fixed: Collection[Operation],
    scans: bool,
    terms: TermsOfSums,
) -> Iterator[_Part]:
    """The partial sums of all sums of one term.

    Differences stay together: `sum[k](x[k] - m)` is more exact than a difference of sums.
    """
    for definition in program.definitions:
        for op in definition.walk():
            if isinstance(op, tix.SumOp) and op not in fixed:
                several = terms.of(op, definition)
                for term in several if len(several) == 1 else ():
                    yield from (_Part(definition, term, p) for p in _partial_sums(term, scans))


def _partial_sums(term: SumTerm, scans: bool) -> Iterator[PartialSum]:
    """The products of some factors over the indices that no other factor depends on.

    That of all factors may be summed over some of these, too.
    """
    if not 1 <= len(term.values) <= MOST_FACTORS or not term.is_plain:
        return
    contraction, numbers = term.contraction, range(len(term.values))
    if contraction.points(term.own) < FEWEST_TERMS or len(term.own) > MOST_INDICES:
        return
    whole = frozenset(numbers)
    own = [v for v in term.place.op.indices if v in contraction.inner(whole)]
    parts = [PartialSum(whole, frozenset(indices)) for indices in subsets(own)]
    several = (frozenset(members) for members in subsets(numbers) if len(members) < len(numbers))
    parts += [PartialSum(members, contraction.inner(members)) for members in several]
    for partial in parts:
        is_long = contraction.points(partial.indices) >= FEWEST_TERMS
        if is_long and not (scans and term.is_scan(partial)):
            yield partial


def _candidates(parts: Iterable[_Part]) -> list[_Part]:
    """The partial sums that may be the same as some of another definition."""
    found: dict[object, list[_Part]] = {}
    for part in parts:
        found.setdefault(part.look(), []).append(part)
    several = (alike for alike in found.values() if len({p.definition for p in alike}) > 1)
    return [part for alike in several if any(p.is_whole for p in alike) for part in alike]


def _groups(program: tix.ProgramOp, parts: Sequence[_Part]) -> Iterable[Group]:
    """Partial sums, together where their definitions would be equivalent."""
    if not parts:
        return ()
    own: dict[tix.DefineOp, list[_Part]] = {}
    for part in parts:
        own.setdefault(part.definition, []).append(part)
    tensors = [*program.body.block.args, *(op.result for op in program.definitions)]
    rank: dict[SSAValue, int] = {tensor: n for n, tensor in enumerate(tensors)}
    groups: dict[object, Group] = {}

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        """Append the partial sums of a definition, and a copy of it."""
        extractor = SumExtractor(builder, tensors, op, {})
        for part in own.get(op, ()):
            if extraction := part.extraction(rank):
                tensor = extractor.define(extraction, part.sum)
                groups.setdefault(_form(tensor), Group()).parts[part] = extraction
        result = copy_definition(builder, tensors, op)
        group = groups.setdefault(_form(result), Group())
        if all(part.definition is op for part in group.parts):
            group.parts, group.exists = {}, True
        return result

    copy_program(program, define=define)
    return groups.values()


def _form(tensor: SSAValue) -> object:
    assert isinstance(tensor.owner, tix.DefineOp)
    form = canonical_form(tensor.owner)
    return form.key, form.tensors

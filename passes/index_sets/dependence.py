"""Exact dependence of the elements of one tensor on those of another one, from the reads.

`out[α]` depends on `t[f(α, k)]` by a read in the body of `out`, and `t[γ]` on `p[g(γ, m)]`: so
`out[α]` depends on `p[g(f(α, k), m)]`, for all points of the index sets of both reads. A
`Dependence` is one such chain of reads, under one convex disjunct of the conditions on the way:

    %s = tix.define "s" (%i) : !tix.tensor<[N], f64> {      s[i]  <-  z[j], 0 <= j < 2
      %0 = tix.sum (%j) in (%j >= 0, %j <= 1) {
        %1 = tix.read %z[%j] ...
    %z_1 = tix.define "z_1" (%i) : !tix.tensor<[N], f64> {
      %2 = tix.if (%i >= 2) {
        %3 = tix.read %s[%i] ...                            z_1[i]  <-  s[i]  <-  z[j],
                                                              2 <= i < N, 0 <= j < 2
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable, between
from tadc.dialects.tix import elementwise as ew
from tadc.once import cached_property
from tadc.passes.index_sets.disjuncts import Disjunct
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import index_set, quotient_constraints, quotients_of
from tadc.passes.index_sets.space import Space, feasible
from tadc.passes.polyhedral.inequalities import implied, solve_equations

MOST_CHAINS_OF_READS = 200
"""The number of chains of reads that are followed between two tensors."""
MOST_CONSTRAINTS = 150
"""The number of constraints up to which a chain is followed."""


@dataclass(frozen=True)
class Dependence:
    """`out[α]` depends on `tensor[element]` wherever `constraints` hold.

    `element` and `constraints` are in the indices α of `out`'s definition and of further indices,
    those of sums and quotients on the way, which may be any that meet the constraints.
    """

    reads: tuple[tix.ReadOp, ...]
    """The chain, from the read in the body of `out` to the read of the tensor."""
    element: tuple[Affine, ...]
    constraints: tuple[Constraint, ...]

    def substitute(self, values: dict[Variable, Affine]) -> Dependence:
        """The dependence in other indices."""
        return Dependence(
            self.reads,
            tuple(form.substitute(values) for form in self.element),
            tuple(c.substitute(values) for c in self.constraints),
        )

    @cached_property
    def _space(self) -> Space:
        forms = [*self.element, *(c.form for c in self.constraints)]
        return Space(list(dict.fromkeys(k for f in forms for k in f.terms)), [])

    @cached_property
    def _solved(self):
        space = self._space
        return solve_equations([*space.rows(self.constraints), *space.sizes_not_negative()])

    def always(self, constraint: Constraint) -> bool:
        """True if a constraint on indices and sizes holds wherever there is this dependence."""
        form = constraint.form
        if not form.terms:
            return form.constant == 0 if constraint.equality else form.constant >= 0
        if self._solved is None:
            return True
        if not set(form.terms) <= set(self._space.variables):
            return False
        rows = self._space.rows([constraint])
        return all(implied(self._solved.image(row), self._solved.rows) for row in rows)

    def is_zero(self, form: Affine) -> bool:
        """True if a form is 0 wherever there is this dependence."""
        return self.always(Constraint(form, equality=True))


Dependences = dict[SSAValue, "list[Dependence] | None"]
"""By tensor; None where there are too many chains, so that any element may depend on any."""


def dependences(
    definitions: Sequence[tix.DefineOp], tensors: Iterable[SSAValue]
) -> dict[SSAValue, Dependences]:
    """The dependences of each of the definitions, in order, on `tensors`, through the others."""
    wanted = set(tensors)
    found: dict[SSAValue, Dependences] = {}
    for op in definitions:
        collected: dict[SSAValue, _Chains] = {}
        disjuncts: dict[Block, list[Disjunct]] = {}
        for read in differentiable_reads(op):
            if read.tensor in wanted:
                chains = collected.setdefault(read.tensor, _Chains(op))
                chains.extend(_direct(read, op, disjuncts))
            elif read.tensor in found:
                first = _direct(read, op, disjuncts)
                for tensor, rest in found[read.tensor].items():
                    chains = collected.setdefault(tensor, _Chains(op))
                    chains.extend(_composed(first, rest))
        found[op.result] = {tensor: chains.found for tensor, chains in collected.items()}
    return found


class _Chains:
    """Chains from one definition to one tensor, each of them once."""

    def __init__(self, definition: tix.DefineOp):
        self.indices = definition.indices
        self.found: list[Dependence] | None = []
        self.seen: set[Hashable] = set()

    def extend(self, chains: Iterable[Dependence] | None) -> None:
        """Add chains; `found` is None when there are too many, or for None."""
        for chain in chains or ():
            chain = self._connected(chain)
            key = self._key(chain)
            if key not in self.seen and self.found is not None:
                self.seen.add(key)
                self.found.append(chain)
        if chains is None or len(self.seen) > MOST_CHAINS_OF_READS:
            self.found = None

    def _connected(self, chain: Dependence) -> Dependence:
        """Without constraints that share no index with α and the element, directly or not.

        They only say that there are such points: what is left may hold for more elements.
        """
        linked = {*self.indices, *(v for form in chain.element for v in form.indices)}
        sets = [set(c.form.indices) for c in chain.constraints]
        size = -1
        while size < len(linked):
            size = len(linked)
            linked = linked.union(*(s for s in sets if s & linked))
        kept = (c for c, s in zip(chain.constraints, sets, strict=True) if not s or s & linked)
        return Dependence(chain.reads, chain.element, tuple(kept))

    def _key(self, chain: Dependence) -> Hashable:
        """Equal for chains by one read that differ in names of indices only."""
        forms = [*chain.element, *(c.form for c in chain.constraints)]
        used = [*self.indices, *(v for form in forms for v in form.indices)]
        numbers = {v: n for n, v in enumerate(dict.fromkeys(used))}
        rows = (_row(form, numbers) for form in forms)
        return chain.reads[0], tuple(rows), tuple(c.equality for c in chain.constraints)


def _row(form: Affine, numbers: Mapping[SSAValue, int]) -> Hashable:
    terms = ((k if isinstance(k, str) else numbers[k], c) for k, c in form.terms.items())
    return frozenset(terms), form.constant


def _composed(
    first: Sequence[Dependence], rest: Sequence[Dependence] | None
) -> list[Dependence] | None:
    """`out <- t` by a read of `t`, then `t <- p`."""
    if rest is None or len(first) * len(rest) > MOST_CHAINS_OF_READS:
        return None
    chains: list[Dependence] = []
    for a in first:
        definition = a.reads[0].tensor.owner
        assert isinstance(definition, tix.DefineOp)
        at = dict[Variable, Affine](zip(definition.indices, a.element, strict=True))
        for b in rest:
            there = b.substitute(at)
            constraints = tuple(dict.fromkeys([*a.constraints, *there.constraints]))
            if len(constraints) > MOST_CONSTRAINTS:
                return None
            if feasible(constraints):
                chains.append(Dependence((*a.reads, *b.reads), there.element, constraints))
    return chains


def _direct(
    read: tix.ReadOp, definition: tix.DefineOp, found: dict[Block, list[Disjunct]]
) -> list[Dependence]:
    """One dependence for each convex disjunct of the index set of a read."""
    return [dependence for _, dependence in direct_dependences(read, definition, found)]


def direct_dependences(
    read: tix.ReadOp, definition: tix.DefineOp, found: dict[Block, list[Disjunct]]
) -> list[tuple[Disjunct, Dependence]]:
    """The convex disjuncts of the conditions around a read, each with the dependence in it.

    `found` keeps the disjuncts of each block, for other reads of the definition.
    """
    path = Path.to(read, definition)
    limits = [
        c for form, size in zip(read.forms, read.shape, strict=True) for c in between(0, form, size)
    ]
    chains: list[tuple[Disjunct, Dependence]] = []
    for disjunct in path.disjuncts(found):
        domain = [*index_set(definition), *path.ranges, *disjunct, *limits]
        quotients = quotients_of([*read.forms, *(c.form for c in domain)])
        domain += [c for q in quotients for c in quotient_constraints(q)]
        constraints = tuple(dict.fromkeys(domain))
        if feasible(constraints):
            chains.append((disjunct, Dependence((read,), tuple(read.forms), constraints)))
    return chains


# --- reads that have a derivative -----------------------------------------------------------------


def differentiable_reads(definition: tix.DefineOp) -> list[tix.ReadOp]:
    """The reads that the elements of a definition have a derivative by, in the order of the text.

    What is only compared, or only under `sign`, times 0 or to the power 0, has none.
    """
    pending = [tix.yielded(definition.body)]
    seen = set(pending)
    reads: set[Operation] = set()
    while pending:
        op = pending.pop().owner
        if not isinstance(op, Operation) or isinstance(op, tix.DefineOp):
            continue
        if isinstance(op, tix.ReadOp):
            reads.add(op)
            continue
        new = [v for v in [*_followed(op), *map(tix.yielded, op.regions)] if v not in seen]
        seen.update(new)
        pending += new
    return [op for op in definition.walk() if op in reads and isinstance(op, tix.ReadOp)]


def _followed(op: Operation) -> list[SSAValue]:
    """The operands with a derivative that is not always 0."""
    match op:
        case tix.WhereOp() | ew.StepOp():
            return []
        case ew.MulOp() if any(tix.constant_value(v) == 0 for v in op.operands):
            return []
        case ew.PowOp() if tix.constant_value(op.rhs) == 0:
            return []
        case _:
            return list(op.operands)

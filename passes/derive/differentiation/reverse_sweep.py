"""Reverse mode over definitions: each read contributes to the adjoint of the tensor it reads.

For each read `x[A α + a]` in a definition `f[α] = E`, with α extended by the indices of the sums
around the read (paper, 5.2), the adjoint of `x` gains (paper, eq. 38, with offsets)

    dx[β] += sum over { α : A α + a = β, α in the index set of the read }  df[α] · ∂E/∂(read)

The index set of a read collects, from outside in: the ranges of the definition, the sets of the
sums, the conditions (a branch of `tix.if` is cut into disjoint convex disjuncts, each its own sum),
and `0 <= e - m q < m` for every `q = e // m` that they or the read use.

What the value of `f` has compared, its derivative compares again, as an extremum with its terms:
both must be computed in one precision. So where `f` compares and is not of the precision of `x`,

    dx_f32[β] = what f contributes, in the precision of f          dx[β] = ... + dx_f32[β]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Block, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType, Variable
from tadc.passes.analysis.rounding import has_comparison
from tadc.passes.derive.differentiation.forward_values import count_ties
from tadc.passes.derive.differentiation.linked_elements import LinkedElements
from tadc.passes.derive.differentiation.names import Labels
from tadc.passes.derive.differentiation.reverse_scalars import Adjoint, LocalReverse
from tadc.passes.derive.differentiation.shared_adjoints import Gathered, Part, SharedAdjoints
from tadc.passes.index_sets.disjuncts import Disjunct
from tadc.passes.index_sets.paths import Path, elements
from tadc.passes.index_sets.sets import (
    element_constraints,
    elements_of,
    elements_of_quotients,
    quotient_constraints,
    quotients_of,
)
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import index_names, reads_of, type_of
from tadc.passes.rewriting.scoped_map import ScopedMap

Contribution = Callable[[BodyBuilder, list[Affine]], SSAValue]
"""Emits the sum that a read adds to the adjoint of its tensor, at the element of these forms."""


class ReverseSweep:
    """One sweep over definitions, last first: seed results, visit each definition, then gather.

    `tensors` maps the old tensors to the new ones, which hold the forward values.
    """

    def __init__(self, labels: Labels, tensors: Cloner):
        self.labels = labels
        self.tensors = tensors
        self.seeds: dict[SSAValue, Adjoint] = {}
        self._contributions: dict[SSAValue, list[Part]] = {}
        self._shared = SharedAdjoints(tensors)

    def visit(
        self,
        op: tix.DefineOp,
        counted: Callable[[tix.ReadOp], bool] = lambda read: True,
        stored: bool = False,
    ) -> Adjoint | None:
        """Add the contributions of the reads in `op`, given its seed and those of its readers.

        Consumes what was collected for `op`: later contributions wait for another visit. `counted`
        selects the reads through which adjoints flow. Gives the adjoint of `op`, as a definition of
        its own if it is to be `stored`; None where no result depends on it.
        """
        adjoint = self._adjoint_of(op, stored)
        self.forget(op.result)
        if adjoint is None:
            return None
        ties = self._ties_of(op)
        forward = self.tensors.value(op.result)
        reverse = LocalReverse(op, forward, frozenset(elements(op)), seed=adjoint, ties=ties)
        source = self._shared.source(op, adjoint, ties)
        found: dict[Block, list[Disjunct]] = {}
        for number, read in enumerate(reads_of(op)):
            if counted(read):
                parts = _contributions(read, reverse, self.tensors, found)
                self._contributions.setdefault(read.tensor, []).extend(
                    Part(read, part, source, (number, n)) for n, part in enumerate(parts)
                )
        return adjoint

    def forget(self, tensor: SSAValue) -> None:
        """Drop the seed of a tensor, and what was contributed to it."""
        self.seeds.pop(tensor, None)
        self._contributions.pop(tensor, None)

    def has_contributions(self, tensor: SSAValue) -> bool:
        """True if a read has contributed to the adjoint of a tensor."""
        return tensor in self._contributions

    def _ties_of(self, op: tix.DefineOp) -> SSAValue | None:
        """For an extremum, a definition of how many terms share its adjoint; else None."""
        if not any(isinstance(v.owner, tix.ExtremumOp) for v in elements(op)):
            return None

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = e.read(self.tensors.value(op.result), [Affine.of(v) for v in own])
            return _ties(self.tensors.inner(e, op.indices, own), tix.yielded(op.body), element)

        label = self.labels.fresh(f"{op.label.data}_ties")
        return self.labels.builder.define_like(op.result, label, body)

    def _adjoint_of(self, op: tix.DefineOp, stored: bool) -> Adjoint | None:
        if op.result not in self._contributions and not stored:
            return self.seeds.get(op.result)
        label = self.labels.fresh(f"d{op.label.data}")
        return self.gather(label, op.result, index_names(op.result), op.location)

    def index_names(self, tensor: SSAValue) -> list[str | None]:
        """Names for the indices of a gradient: the user's own, where one reads a dimension."""
        parts = self._contributions.get(tensor, ())
        return _index_names(type_of(tensor).rank, (part.read for part in parts))

    def gather(
        self,
        label: str,
        tensor: SSAValue,
        names: Sequence[str | None],
        location: LocationAttr,
    ) -> SSAValue:
        """Define the adjoint of `tensor`: its seed and what all visited reads contribute."""
        type, seed = type_of(tensor), self.seeds.get(tensor)
        parts: dict[TensorType, list[Part]] = {}
        for part in self._contributions.get(tensor, ()):
            parts.setdefault(_type_of_part(part, type), []).append(part)
        gathered = Gathered(type, tuple(names), location, seed, tuple(parts.pop(type, ())))
        for other, found in parts.items():
            rounded = replace(gathered, type=other, seed=None, parts=tuple(found), rounded=())
            name = self.labels.fresh(f"{label}_{other.dtype}")
            tensors = *gathered.rounded, self._shared.define(self.labels.builder, name, rounded)
            gathered = replace(gathered, rounded=tensors)
        return self._shared.define(self.labels.builder, label, gathered)


def _type_of_part(part: Part, adjoint: TensorType) -> TensorType:
    """The type in which a part of an adjoint is computed: its own, or that of what compares."""
    op = part.source.op
    if op.type.dtype == adjoint.dtype or not has_comparison(op):
        return adjoint
    return TensorType.of(adjoint.shape, tix.ELEMENT_TYPES[op.type.dtype])


def _ties(cloner: Cloner, value: SSAValue, element: SSAValue) -> SSAValue:
    """The number of terms of the extremum that `value` is which are equal to the element."""

    def branch(region: Region) -> Body:
        return lambda e, _: _ties(cloner.inner(e), tix.yielded(region), element)

    op, e = value.owner, cloner.builder
    if isinstance(op, tix.ExtremumOp | tix.IfOp | tix.WhereOp):
        cloner.require(op)
    match op:
        case tix.ExtremumOp():
            return count_ties(cloner, op, element)
        case tix.IfOp():
            disjuncts = [cloner.constraints(disjunct) for disjunct in op.condition]
            return e.choose(disjuncts, branch(op.then), branch(op.otherwise))
        case tix.WhereOp():
            sides = cloner.value(op.lhs), cloner.value(op.rhs)
            return e.where(op.comparison, *sides, branch(op.then), branch(op.otherwise))
        case _:
            return e.constant(1)


def _index_names(rank: int, reads: Iterable[tix.ReadOp]) -> list[str | None]:
    names: list[str | None] = [None] * rank
    spare = iter("pqrstuvwxyz")
    for read in reads:
        for d, form in enumerate(read.forms):
            index = form.single_index
            hint = None if index is None else index.name_hint
            if names[d] is None and hint not in names:
                names[d] = hint
    return [n if n is not None else next(c for c in spare if c not in names) for n in names]


# --- the index set of a read ----------------------------------------------------------------------


def _contributions(
    read: tix.ReadOp, reverse: LocalReverse, tensors: Cloner, found: dict[Block, list[Disjunct]]
) -> list[Contribution]:
    """One sum per convex disjunct of the index set of the read; `found` keeps those of blocks.

    Elements of index tensors that places and ranges are made of are unknowns of the equations, as
    quotients are; that they are what the tensors hold guards the terms. So do conditions on
    elements, which no index set can say.
    """
    path = Path.to(read, reverse.definition)
    disjuncts = path.disjuncts(found)
    bounds = elements_of(c.form for c in path.ranges)
    sets = [[c for c in disjunct if not elements_of([c.form])] for disjunct in disjuncts]
    # a place that is a quotient of an element is a condition on terms, too
    asked_places = {n for n, f in enumerate(read.forms) if elements_of_quotients([f])}
    known_places = [f for n, f in enumerate(read.forms) if n not in asked_places]
    forms = [*known_places, *(c.form for c in (*path.ranges, *chain.from_iterable(sets)))]
    quotients, places = quotients_of(forms), elements_of(forms)
    # the last unknowns are the first choice for what stays a summation index
    unknowns = [*(a.result for a in places), *(q.result for q in quotients), *path.indices]
    local = [c for q in quotients for c in quotient_constraints(q)]
    # those that bound other indices are bounded themselves until they are solved
    local += [c for a in bounds for c in element_constraints(a)]

    def contribution(domain: list[Constraint], asked: list[Constraint]) -> Contribution:
        """The sum over the points of one disjunct that read an element."""

        def emit(e: BodyBuilder, element: list[Affine]) -> SSAValue:
            def renamed(own: list[SSAValue]) -> dict[Variable, Affine]:
                return {a: Affine.of(b) for a, b in zip(unknowns, own, strict=True)}

            def constraints(own: list[SSAValue]) -> list[Constraint]:
                indices = renamed(own)
                equations = [
                    Constraint(form.substitute(indices) - beta, equality=True)
                    for n, (form, beta) in enumerate(zip(read.forms, element, strict=True))
                    if n not in asked_places
                ]
                return [*equations, *(c.substitute(indices) for c in domain)]

            def body(inner: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                indices = ScopedMap[Variable, Affine](renamed(own))
                links = LinkedElements(inner, tensors.values.new_child(), indices, constraints(own))
                guards = links.links_of(places) + links.conditions(asked)
                guards += links.equations(
                    [(read.forms[n], element[n]) for n in sorted(asked_places)]
                )

                def linked(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
                    return reverse.at(read.result, path, links.inner(e))

                return inner.guard(guards, linked)

            return e.sum([v.name_hint for v in unknowns], constraints, body)

        return emit

    return [
        contribution([*path.ranges, *known, *local], [c for c in disjunct if c not in known])
        for disjunct, known in zip(disjuncts, sets, strict=True)
    ]

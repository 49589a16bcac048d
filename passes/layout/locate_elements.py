"""`locate-elements`: sums over the places at which an index tensor has some values are segments.

    dw[q, k] = sum[i, idx[i] == q](dy[i, k])

visits all i for each q. The places of `idx`, sorted by what it holds there, make it

    dw[q, k] = sum[s in range(starts[q], starts[q + 1])](dy[places[s], k])

where `starts` and `places` are arguments of the new program: *views* of `idx`, which the caller
makes once for each array (`tadc/runtime/view_store.py`). This is the inspector and the executor of
Saltz, Mirchandaney and Crowley (IEEE Trans. Computers 40, 1991).

A condition `low <= idx[f] < high`, whose ends the terms of the sum do not change, is a segment from
`starts[low]` to `starts[high]`. Of an equation low and high are neighbours, and one that is missing
is an end of the view. At the places of the segment `f` is known, which is an equation for the
indices of the sum: `solve-index-kernels`, run behind this pass, finds them. So `idx` may be read at
any affine forms:

    sum[i, j, idx[i + j] == q](E)    becomes    sum[s in segment](sum[i, j, i + j == places[s]](E))

All other conditions stay.

A vector that is `sorted` has its places in order: a condition on its element at `f` bounds `f`
itself, by `starts[low] <= f < starts[high]`, and there may be several:

    da[p] = sum[i, ptr[i] <= p, p < ptr[i + 1]](dy[i])           of the rows of a sparse matrix
    da[p] = sum[i in range(starts[p + 1] - 1, starts[p + 1])](dy[i])
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Self

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, IndexRange, TensorType
from tadc.dialects.tix.affine import product
from tadc.dialects.tix.types import index_range
from tadc.passes.index_sets.conditional_constants import indices_of
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.index_sets.sets import elements_of, local_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.guards import is_guard
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    location_of,
    start_copy,
    tensor_names,
    type_of,
)


@dataclass(frozen=True)
class LocateElementsPass(ProgramPass):
    """`locate-elements`: no options."""

    name = "locate-elements"

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return locate_elements(program)


def locate_elements(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with segments; itself where it has none."""
    sums = (op for op in program.walk() if isinstance(op, tix.ReductionOp))
    if not any(_keys(op) for op in sums):
        return program
    builder, cloner = start_copy(_Locator, program)
    cloner.views = _Views(builder, tensor_names(program), _views_in(program, cloner))
    for op in program.definitions:
        cloner.values[op.result] = copy_definition(builder, cloner, op)
    return builder.finish(program, [cloner.value(v) for v in program.returned])


# --- views ----------------------------------------------------------------------------------------


@dataclass
class _Views:
    """The views of index tensors that a new program has asked for."""

    builder: ProgramBuilder
    names: dict[SSAValue, str]
    """The names of the old tensors."""
    made: dict[str, SSAValue]
    """The views by how they are made."""

    def starts(self, tensor: SSAValue) -> SSAValue:
        """The first place of each value, and at last the number of places."""
        type = type_of(tensor)
        assert type.end is not None
        return self._view(tensor, "starts", [type.end + 1], _count(type) + 1)

    def places(self, tensor: SSAValue) -> list[SSAValue]:
        """The positions in each dimension, by value and then in their order."""
        shape, count = type_of(tensor).shape, _count(type_of(tensor))
        return [self._view(tensor, f"places {n}", [count], size) for n, size in enumerate(shape)]

    def _view(self, tensor: SSAValue, what: str, shape: Sequence[Affine], end: Affine) -> SSAValue:
        name = self.names[tensor]
        view = f"{what} of {name}"
        if view not in self.made:
            label = self.builder.fresh_label(f"{name}_{what.replace(' ', '_')}")
            type = TensorType.of(shape, index_range(end, view=view))
            self.made[view] = self.builder.add_argument(label, type, location_of(tensor))
        return self.made[view]


def _views_in(program: tix.ProgramOp, cloner: Cloner) -> dict[str, SSAValue]:
    """The views that a program has already, in the new one."""
    elements = ((v, type_of(v).element) for v in program.arguments.values())
    return {e.view: cloner.value(v) for v, e in elements if isinstance(e, IndexRange) and e.view}


# --- keys -----------------------------------------------------------------------------------------


@dataclass
class _Key:
    """An element of an index tensor that a condition of all terms of a sum bounds."""

    element: tix.AtOp
    low: list[Affine] = field(default_factory=list[Affine])
    high: list[Affine] = field(default_factory=list[Affine])
    """The bounds of the element, both inclusive: forms that the sum's indices do not change."""
    conditions: list[Constraint] = field(default_factory=list[Constraint])
    """The conditions that say so."""

    @property
    def value(self) -> Affine | None:
        """The only value that the element has."""
        return next((form for form in self.low if form in self.high), None)

    @property
    def is_in_order(self) -> bool:
        """True if the places of the values are in their order: of a sorted vector."""
        type = self.element.tensor_type
        return isinstance(type.element, IndexRange) and type.element.is_sorted and type.rank == 1

    @property
    def rank(self) -> int:
        """The length of the segment, relatively: of one value, of a window, to one end."""
        return 0 if self.value is not None else 1 if self.low and self.high else 2

    @property
    def ends(self) -> list[Affine]:
        """All bounds."""
        return [*self.low, *self.high]


def _guards(op: tix.ReductionOp) -> Iterator[Constraint]:
    """The conditions without which a term of a reduction is its identity."""
    value, block = tix.yielded(op.body), op.body.block
    while is_guard(guard := value.owner, op.IDENTITY) and guard.parent is block:
        yield from guard.condition[0]
        value, block = tix.yielded(guard.then), guard.then.block


def _keys(op: tix.ReductionOp) -> list[_Key]:
    """The elements by which terms of a reduction are located, those of short segments first."""
    guards, own = [*_guards(op)], {*op.indices}
    found: list[_Key] = []
    for element in elements_of([c.form for c in guards]):
        if not _can_be_key(element, op):
            continue
        key = _Key(element)
        for c in guards:
            a = c.form[element.result]
            rest = c.form - Affine.of(element.result) * a
            if abs(a) == 1 and not own & indices_of(rest.indices):
                key.conditions.append(c)
                key.low += [-rest * a] if c.equality or a > 0 else []
                key.high += [-rest * a] if c.equality or a < 0 else []
        found += [key] if key.ends else []
    return sorted(found, key=lambda key: key.rank)


def _can_be_key(element: tix.AtOp, op: tix.ReductionOp) -> bool:
    """True if equations for an element's place are equations for indices of the reduction."""
    places = {v for form in element.forms for v in form.indices}
    return (
        isinstance(element.tensor.owner, Block)
        and element.end is not None
        and not element.is_clamped
        and bool(places & {*op.indices})
        and not any(op.is_ancestor(o.owner) for o in places if o not in op.indices)
    )


def _are_equal(one: tix.AtOp, other: tix.AtOp) -> bool:
    """True if two elements are the same one of the same tensor."""
    return one.tensor is other.tensor and one.forms == other.forms


# --- the pass -------------------------------------------------------------------------------------


class _Locator(ContextCloner):
    views: _Views
    settled: Sequence[Constraint] = ()
    """The old conditions that hold for all terms of the segments around."""

    def copy(self, op: Operation) -> None:
        if not (isinstance(op, tix.LocalIndexOp) and op.result in self.indices):
            super().copy(op)  # else it is read ahead, or known

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        left = [[c for c in disjunct if c not in self.settled] for disjunct in op.condition]
        if [] in left:
            return self.inner(self.builder).copy_body(op.then)
        return self.choice(op, left)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        keys = [key for key in _keys(op) if self._read_ahead(op, key)]
        in_order = [key for key in keys if key.is_in_order]
        if in_order:
            return self._between_starts(op, in_order)
        return self._segment(op, keys[0]) if keys else self._over(op)

    def _over(
        self,
        op: tix.ReductionOp,
        keys: Sequence[_Key] = (),
        more: Callable[[Self], Sequence[Constraint]] = lambda cloner: (),
    ) -> SSAValue:
        """The reduction over the terms with `more` constraints, at which these keys are settled."""

        def domain(own: list[SSAValue]) -> list[Constraint]:
            cloner = self.inner(self.builder, op.indices, own)
            return [*cloner.constraints(op.constraints), *more(cloner)]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, op.indices, own)
            cloner.assume(cloner.constraints(op.constraints))
            for key in keys:
                cloner.settle(key, op)
            return cloner.copy_body(op.body)

        return self.builder.reduce(type(op), [v.name_hint for v in op.indices], domain, body)

    def settle(self, key: _Key, op: tix.ReductionOp) -> None:
        """Take for true what holds of the key at all places of its segment."""
        self.settled = (*self.settled, *key.conditions)
        if key.value is not None:
            value = self.form(key.value)
            for other in op.body.walk():
                if isinstance(other, tix.AtOp) and _are_equal(other, key.element):
                    self.indices[other.result] = value

    def _read_ahead(self, op: tix.ReductionOp, key: _Key) -> bool:
        """Compute what the ends of a segment need; False where an element might not be there."""
        for local in local_indices(key.ends):
            if not op.is_ancestor(local):
                continue
            if not self.can_read_ahead([Affine.of(local.result)], op):
                return False
            self.fetch(local.result)
        return True

    def _between_starts(self, op: tix.ReductionOp, keys: Sequence[_Key]) -> SSAValue:
        """The reduction over the terms whose places are in the segments of vectors in order."""
        ends = [(key.element.forms[0], *self._ends(key)) for key in keys]

        def limits(cloner: Self) -> list[Constraint]:
            return [c for f, low, high in ends for c in _within(cloner.form(f), low, high)]

        return self._over(op, keys, limits)

    def _segment(self, op: tix.ReductionOp, key: _Key) -> SSAValue:
        """A reduction along the places of a segment, and in it one over the terms of each place."""
        low, high = self._ends(key)
        low, high = low or [Affine()], high or [_count(key.element.tensor_type)]
        places = self.views.places(key.element.tensor)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            s = Affine.of(own[0])
            at = [e.at(p, [s]) for p in places]
            cloner = self.inner(e)
            cloner.assume(_within(s, low, high))

            def is_there(inner: Self) -> list[Constraint]:
                pairs = zip(key.element.forms, at, strict=True)
                return [Constraint(inner.form(f) - p, equality=True) for f, p in pairs]

            return cloner._over(op, [key], is_there)

        domain: Callable[[list[SSAValue]], list[Constraint]] = lambda own: _within(
            Affine.of(own[0]), low, high
        )
        return self.builder.reduce(type(op), ["s"], domain, body)

    def _ends(self, key: _Key) -> tuple[list[Affine], list[Affine]]:
        """The first places of a segment and those behind it, as far as the key has such ends."""
        e, starts = self.builder, self.views.starts(key.element.tensor)
        low = [e.at(starts, [self.form(f)], clamp=True) for f in dict.fromkeys(key.low)]
        high = [e.at(starts, [self.form(f) + 1], clamp=True) for f in dict.fromkeys(key.high)]
        return low, high


def _within(form: Affine, low: Sequence[Affine], high: Sequence[Affine]) -> list[Constraint]:
    """All of `low <= form`, and of `form < high`."""
    return [*(Constraint(form - f) for f in low), *(Constraint(f - 1 - form) for f in high)]


def _count(type: TensorType) -> Affine:
    """The number of elements."""
    return reduce(product, type.shape, Affine({}, 1))

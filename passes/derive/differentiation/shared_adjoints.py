"""Adjoints that equivalent readers contribute to in the same way become copies of the first one.

    dx_1[i] = dx_2[i] - dv_1[i] * cos(x_1[i])

is made of the reads of `x_1`, and

    dx_2[i] = dx_3[i] - dv_2[i] * cos(x_2[i])

is a copy with other tensors: the reads of `x_2` stand in statements that are like those which read
`x_1`, and what these get as adjoints is related to them in the same way.

`run_passes` would find that out too, but only after all of them are emitted: without this module
the derivative of a program of many time steps takes half as long again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr, StringAttr
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.analysis.equivalence import CanonicalForm, canonical_form
from tadc.passes.derive.differentiation.reverse_scalars import Adjoint, adjoint_element
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import ProgramBuilder, reads_of


@dataclass(frozen=True, eq=False)
class Source:
    """A visited definition with its adjoint: the contributions of its reads follow from these."""

    op: tix.DefineOp
    adjoint: Adjoint
    ties: SSAValue | None
    form: CanonicalForm


@dataclass(frozen=True, eq=False)
class Part:
    """One sum that a read contributes to the adjoint of its tensor."""

    read: tix.ReadOp
    emit: Callable[[BodyBuilder, list[Affine]], SSAValue]
    """Emits the sum at the element of the tensor that the forms give."""
    source: Source
    place: tuple[int, int]
    """The number of the read in its definition, and of the part among those of the read."""


@dataclass(frozen=True)
class Gathered:
    """An adjoint before it is defined: its seed, and the parts that are added to that."""

    type: TensorType
    names: tuple[str | None, ...]
    """Of the indices of its definition."""
    location: LocationAttr
    seed: Adjoint | None
    parts: tuple[Part, ...]
    rounded: tuple[SSAValue, ...] = ()
    """Tensors of other precisions that are added, element by element."""

    def body(self, e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        """Emit one element."""
        element = [Affine.of(v) for v in own]
        total = e.constant(0) if self.seed is None else adjoint_element(e, self.seed, element)
        for part in self.parts:
            e.location = part.read.location
            total = e.add(total, part.emit(e, element))
        for tensor in self.rounded:
            total = e.add(total, e.read(tensor, element))
        return total


class _Case:
    """The ingredients of an adjoint: a key that equivalent ones share, and what they differ in."""

    def __init__(self, location: LocationAttr):
        self.key: list[Hashable] = []
        self.tensors: dict[SSAValue, int] = {}
        self.locations: dict[LocationAttr, int] = {location: 0}

    def add_tensor(self, tensor: SSAValue) -> None:
        self.key.append(self.tensors.setdefault(tensor, len(self.tensors)))

    def add_location(self, location: LocationAttr) -> None:
        self.key.append(self.locations.setdefault(location, len(self.locations)))

    def add_adjoint(self, adjoint: Adjoint | None) -> bool:
        """Add a tensor or a number; anything else is like nothing."""
        if isinstance(adjoint, SSAValue):
            self.add_tensor(adjoint)
        elif isinstance(adjoint, float):
            self.key.append(adjoint.hex())
        else:
            return adjoint is None
        return True


class SharedAdjoints:
    """The adjoints of one sweep; `tensors` maps the old tensors to those that adjoints read."""

    def __init__(self, tensors: Cloner):
        self.tensors = tensors
        self._made: dict[Hashable, tuple[tix.DefineOp, _Case]] = {}
        self._forms: dict[object, int] = {}

    def source(self, op: tix.DefineOp, adjoint: Adjoint, ties: SSAValue | None) -> Source:
        """The source that the parts of a visited definition have in common."""
        return Source(op, adjoint, ties, canonical_form(op, named=True))

    def define(self, builder: ProgramBuilder, label: str, adjoint: Gathered) -> SSAValue:
        """Append the definition of an adjoint: a new one, or a copy of an equivalent one."""
        case = self.case(adjoint)
        key = tuple(case.key) if case else None
        if case and key in self._made:
            return builder.append(_copied(*self._made[key], label, case))
        names, location = adjoint.names, adjoint.location
        result = builder.define(label, adjoint.type, names, location, adjoint.body)
        made = result.owner
        assert isinstance(made, tix.DefineOp)
        if case and all(read.tensor in case.tensors for read in reads_of(made)):
            self._made[key] = made, case
        return result

    def case(self, adjoint: Gathered) -> _Case | None:
        """The ingredients of an adjoint; None for one that is like no other."""
        case = _Case(adjoint.location)
        case.key += [adjoint.type, adjoint.names, adjoint.seed is None]
        fine = case.add_adjoint(adjoint.seed)
        numbers = {s: n for n, s in enumerate(dict.fromkeys(p.source for p in adjoint.parts))}
        for source in numbers:
            fine = fine and case.add_adjoint(source.adjoint)
            self._add_source(case, source)
        case.key += [(numbers[part.source], part.place) for part in adjoint.parts]
        for tensor in adjoint.rounded:
            case.add_tensor(tensor)
        return case if fine else None

    def _add_source(self, case: _Case, source: Source) -> None:
        """Add a visited definition: its canonical form, and the tensors and places that differ."""
        form = source.form
        case.key.append(self._forms.setdefault(form.key, len(self._forms)))
        case.key.append(source.ties is None)
        if source.ties is not None:
            case.add_tensor(source.ties)
        for tensor in (source.op.result, *form.tensors):
            case.add_tensor(self.tensors.value(tensor))
        for place in form.locations:
            case.add_location(place)


def _copied(template: tix.DefineOp, known: _Case, label: str, case: _Case) -> tix.DefineOp:
    """A copy of `template`, which was made for `known`, for another case with the same key."""
    copy = template.clone(dict(zip(known.tensors, case.tensors, strict=True)))
    copy.properties["label"] = StringAttr(label)
    places = dict(zip(known.locations, case.locations, strict=True))
    for op in copy.walk():
        op.location = places.get(op.location, op.location)
    return copy

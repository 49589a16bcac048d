"""Adjoints that are gathered alike, by readers that are alike, become copies of the first of them.

    dx_1[i] = dx_2[i] - dv_1[i] * cos(x_1[i])

is made of the reads of `x_1`, and

    dx_2[i] = dx_3[i] - dv_2[i] * cos(x_2[i])

is a copy with other tensors: the reads of `x_2` stand in statements that are like those which read
`x_1`, and what these get as adjoints is related to them in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr, StringAttr
from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine, TensorType
from passes.analysis.equivalence import CanonicalForm, structure
from passes.differentiation.reverse_scalars import Adjoint
from passes.rewriting.builder import Body, BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.programs import ProgramBuilder, reads_of


@dataclass(frozen=True, eq=False)
class Source:
    """A visited definition: what its reads contribute depends on nothing else."""

    op: tix.DefineOp
    adjoint: Adjoint
    ties: SSAValue | None
    structure: CanonicalForm


@dataclass(frozen=True, eq=False)
class Part:
    """What a read contributes: `part(e, element)` emits it."""

    emit: Callable[[BodyBuilder, list[Affine]], SSAValue]
    source: Source
    place: tuple[int, int]
    """The number of the read in its definition, and of the part among those of the read."""

    def __call__(self, e: BodyBuilder, element: list[Affine]) -> SSAValue:
        return self.emit(e, element)


class _Case:
    """What an adjoint is made of: a key for what alike ones share, and in what they differ."""

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
        self._structures: dict[object, int] = {}

    def source(self, op: tix.DefineOp, adjoint: Adjoint, ties: SSAValue | None) -> Source:
        """What the parts of a visited definition have in common."""
        return Source(op, adjoint, ties, structure(op, named=True))

    def define(
        self,
        builder: ProgramBuilder,
        label: str,
        type: TensorType,
        names: Sequence[str | None],
        location: LocationAttr,
        body: Body,
        seed: Adjoint | None,
        parts: Sequence[Part],
    ) -> SSAValue:
        """Append `label[names] = body`, a body of that seed and these parts, or a copy."""
        case = self.case(type, names, location, seed, parts)
        if case is None:
            return builder.define(label, type, names, location, body)
        key = tuple(case.key)
        if key in self._made:
            return builder.append(_copied(*self._made[key], label, case))
        result = builder.define(label, type, names, location, body)
        made = result.owner
        assert isinstance(made, tix.DefineOp)
        if all(read.tensor in case.tensors for read in reads_of(made)):
            self._made[key] = made, case
        return result

    def case(
        self,
        type: TensorType,
        names: Sequence[str | None],
        location: LocationAttr,
        seed: Adjoint | None,
        parts: Sequence[Part],
    ) -> _Case | None:
        """None for what is like nothing else."""
        case = _Case(location)
        case.key += [type, tuple(names), seed is None]
        fine = case.add_adjoint(seed)
        for source in dict.fromkeys(part.source for part in parts):
            fine = fine and case.add_adjoint(source.adjoint)
            same = source.structure
            case.key.append(self._structures.setdefault(same.key, len(self._structures)))
            case.key.append(source.ties is None)
            own = [source.op.result, *same.tensors]
            for tensor in [*([source.ties] if source.ties else []), *map(self.tensors.value, own)]:
                case.add_tensor(tensor)
            for place in same.locations:
                case.add_location(place)
        numbers = {source: n for n, source in enumerate(dict.fromkeys(p.source for p in parts))}
        case.key += [(numbers[part.source], part.place) for part in parts]
        return case if fine else None


def _copied(template: tix.DefineOp, known: _Case, label: str, case: _Case) -> tix.DefineOp:
    """A copy of `template`, which was made for `known`, for another case with the same key."""
    copy = template.clone(dict(zip(known.tensors, case.tensors, strict=True)))
    copy.properties["label"] = StringAttr(label)
    places = dict(zip(known.locations, case.locations, strict=True))
    for op in copy.walk():
        op.location = places.get(op.location, op.location)
    return copy

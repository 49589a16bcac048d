"""Equivalent definitions: equal but for their labels, and for the tensors that they read.

    x_1[i] = x[i] + 0.1 * v[i]      reads x, v
    x_2[i] = x_1[i] + 0.1 * v_1[i]  reads x_1, v_1

are equivalent, with `x, v` in the first where `x_1, v_1`, of the same types, are in the second.
What is made of one of them (loops, machine code) is right for the other one, too, with its tensors
exchanged.

The key is the body itself with its values numbered, not a hash of it: keys are equal exactly where
definitions are equivalent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from xdsl.dialects.builtin import FloatData, LocationAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import block_in, operands_of, ops_in
from tadc.passes.analysis.rounding import compared_definitions, has_equality
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    accesses_of,
    arguments_of,
    copy_definition,
    exchange,
    tensor_names,
)

Key = tuple[object, ...]


@dataclass(frozen=True)
class CanonicalForm:
    """A definition as a key that equivalent ones share, and the tensors in which they differ."""

    key: Key
    tensors: tuple[SSAValue, ...]
    """The tensors that the definition reads, in order of first use."""
    locations: tuple[LocationAttr, ...]
    """The places of its operations, in order of first use; empty without names."""


def canonical_form(
    op: tix.DefineOp, marked: Set[Operation] = frozenset(), named: bool = False
) -> CanonicalForm:
    """The canonical form of a definition; equivalent definitions have equal keys, and no others.

    Operations in `marked` are equivalent to marked ones only. With `named`, the names of indices
    count too, and which operations come from the same place: then whole texts, with their names and
    places, are equivalent.
    """
    walk = _Walk(marked, named)
    key = walk.definition(op)
    return CanonicalForm(key, tuple(walk.tensors), tuple(walk.locations))


class _Walk:
    """Numbers values where they are first seen."""

    def __init__(self, marked: Set[Operation], named: bool):
        self.marked = marked
        self.named = named
        self.numbers: dict[SSAValue, int] = {}
        self.tensors: dict[SSAValue, int] = {}
        self.locations: dict[LocationAttr, int] = {}

    def definition(self, op: tix.DefineOp) -> Key:
        place = self._place(op) if self.named else None
        body = self._block(op.body.block)
        return op.type, op.view, place, body, *(tensor.type for tensor in self.tensors)

    def _block(self, block: Block) -> Key:
        return self._own(block.args), *map(self._operation, ops_in(block))

    def _own(self, values: Iterable[SSAValue]) -> object:
        """Number the values; what tells them apart beyond that: how many there are, and names."""
        values = tuple(values)
        for value in values:
            self.numbers[value] = len(self.numbers)
        return tuple(v.name_hint for v in values) if self.named else len(values)

    def _operation(self, op: Operation) -> Key:
        operands = tuple(map(self._number, operands_of(op)))
        data = (*_exact(op.properties), *_exact(op.attributes))
        regions = tuple([self._block(block_in(region)) for region in op.regions])
        extra = (op in self.marked, self._place(op) if self.named else None)
        return op.name, operands, data, regions, self._own(op.results), *extra

    def _number(self, value: SSAValue) -> int:
        """Tensors come from outside, and count downwards from -1."""
        number = self.numbers.get(value)
        if number is None:
            return ~self.tensors.setdefault(value, len(self.tensors))
        return number

    def _place(self, op: Operation) -> int:
        return self.locations.setdefault(op.location, len(self.locations))


def _exact(attributes: Mapping[str, Attribute]) -> list[object]:
    """The attributes such that equal ones mean the same: 0.0 == -0.0, and no NaN equals another."""
    return [
        (key, a.data.hex() if type(a) is FloatData else a) for key, a in sorted(attributes.items())
    ]


@dataclass(frozen=True)
class Member:
    """A definition with the first one that it is equivalent to."""

    op: tix.DefineOp
    first: tix.DefineOp
    tensors: dict[SSAValue, SSAValue]
    """Maps each tensor of the first one to the tensor in its place in this definition."""
    locations: dict[LocationAttr, LocationAttr]
    """Maps places of operations of the first one to the places here; empty without names."""


def equivalent_definitions(
    program: tix.ProgramOp,
    marked: Set[Operation] = frozenset(),
    named: bool = False,
    apart: Set[str] = frozenset(),
) -> list[Member]:
    """Every definition, in order, with the first one that is equivalent.

    `marked` and `named` are as in `canonical_form`; labels in `apart` are equivalent to no other.
    """
    firsts: dict[Key, tuple[tix.DefineOp, CanonicalForm]] = {}
    members: list[Member] = []
    for op in program.definitions:
        own, label = canonical_form(op, marked, named), op.label.data
        key = (*own.key, label) if label in apart else own.key
        first, known = firsts.setdefault(key, (op, own))
        tensors = zip((first.result, *known.tensors), (op.result, *own.tensors), strict=True)
        locations = zip(known.locations, own.locations, strict=True)
        members.append(Member(op, first, dict(tensors), dict(locations)))
    return members


def only(program: tix.ProgramOp, definitions: Sequence[tix.DefineOp]) -> tix.ProgramOp:
    """Extracts `definitions` as a program of their own: other tensors that they read are arguments.

    It has no results.
    """
    kept = {op.result for op in definitions}
    read = dict.fromkeys(v for op in definitions for v in canonical_form(op).tensors)
    others = [d for d in program.definitions if d.result in read and d.result not in kept]
    more = [(d.label.data, d.type, d.location) for d in others]
    builder = ProgramBuilder([*arguments_of(program), *more])
    cloner = Cloner(BodyBuilder(builder.block, program.location))
    olds = [*program.body.block.args, *(d.result for d in others)]
    cloner.values.update(zip(olds, builder.block.args, strict=True))
    for op in definitions:
        cloner.values[op.result] = copy_definition(builder, cloner, op)
    return builder.finish(program, [], [])


class Deduplicated:
    """A program with only the first of equivalent definitions, and the way back.

    What a pass makes of one definition, and of that one alone, is made once for all that are
    equivalent:

        deduplicated = Deduplicated(program)
        program = deduplicated.expanded(simplify_sums(deduplicated.program))
    """

    def __init__(self, program: tix.ProgramOp):
        self.whole = program
        self.members = equivalent_definitions(program, named=True, apart=_apart(program))
        self.firsts = [m.op for m in self.members if m.op is m.first]
        self.program = only(program, self.firsts)
        self.program.location = program.location

    def expanded(self, made: tix.ProgramOp) -> tix.ProgramOp:
        """The whole program, of what the definitions that were kept have become in `made`.

        Definitions that have stayed as they were move there; nothing is left of the old program.
        """
        templates = dict(zip(self.firsts, made.definitions, strict=True))
        olds = {name: v for v, name in tensor_names(self.whole).items()}
        inside = {v: olds[name] for v, name in tensor_names(made).items()}
        builder = ProgramBuilder(arguments_of(self.whole))
        new: dict[SSAValue, SSAValue] = dict(
            zip(self.whole.body.block.args, builder.block.args, strict=True)
        )
        same = {op for op in self.firsts if _equal(op, templates[op], inside)}
        for member in self.members:
            if member.first in same:
                copy = member.op
                copy.detach()
                exchange(copy, new)
            else:
                template = templates[member.first]
                read = dict.fromkeys(r.tensor for r in accesses_of(template))
                own = {v: new[member.tensors[inside[v]]] for v in read}
                copy = _copied(template, member, own)
            new[member.op.result] = builder.append(copy)
        expanded = builder.finish(self.whole, [new[v] for v in self.whole.returned])
        expanded.location = self.whole.location
        if self.whole.parent is not None:
            self.whole.detach()
        self.whole.erase()  # what is left of it uses what has moved
        return expanded


def _equal(first: tix.DefineOp, second: tix.DefineOp, tensors: Mapping[SSAValue, SSAValue]) -> bool:
    """True if two definitions are equal but for tensors that `tensors` exchanges."""
    a, b = canonical_form(first, named=True), canonical_form(second, named=True)
    read = tuple(tensors[v] for v in b.tensors)
    return (a.key, a.locations, a.tensors) == (b.key, b.locations, read)


def _copied(
    template: tix.DefineOp, member: Member, tensors: dict[SSAValue, SSAValue]
) -> tix.DefineOp:
    """A copy of `template` in the place of a member, reading these tensors."""
    copy = template.clone(tensors)
    copy.properties["label"] = member.op.label
    for op in copy.walk():
        op.location = member.locations.get(op.location, op.location)
    return copy


def _apart(program: tix.ProgramOp) -> frozenset[str]:
    """Labels of definitions that compare for equality, or are compared: others need their bits."""
    comparing = (d.label.data for d in program.definitions if has_equality(d))
    return compared_definitions(program).union(comparing)

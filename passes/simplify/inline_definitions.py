"""`inline-definitions`: decide what is stored and what is computed where it is used.

A definition that no result depends on is dropped. One that is read in a single place, once per
element at most, moves there: storing it would only cost memory.

    %u = tix.define "u" (%i) : ... {           %f = tix.define "f" (%i) : ... {
      %0 = tix.sum (%k) in (...) {...}           %0 = tix.sum (%k) in (...) {...}
      tix.yield %0                     becomes   %2 = tix.exp %0
    }                                            tix.yield %2
    %f = tix.define "f" (%i) : ... {           }
      %1 = tix.read %u[%i]
      %2 = tix.exp %1
      tix.yield %2
    }

No two points read the same element of `%u[2*%i]`, nor of `%u[%p floordiv 64, %p mod 64]`. Sums
that are read elsewhere than at an index each stay: their loops are made for their own indices.

A definition that is another tensor, element by element, is that tensor for all who read it. A chain
of many definitions becomes several of about a hundred operations each: that saves as much as one
would, and they may be equivalent. All else stays stored: reading an element again, in a sum or in
two places, costs less than computing it again. Elements are then computed in the precision of the
definition that reads them, so a definition only moves into one of its own precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.properties import all_used, sums_bounded, sums_over_ranges
from tadc.passes.index_sets.disjuncts import negate
from tadc.passes.index_sets.paths import Path
from tadc.passes.polyhedral.images import rank
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import definition_around, reads_of, rewrite_definition

_Condition = frozenset[frozenset[Constraint]]
"""Constraints that hold in at least one of several sets."""

MOST_OPERATIONS_TO_MOVE = 128
"""The number of operations up to which a definition moves, so that long chains become several."""


@dataclass(frozen=True)
class InlineDefinitionsPass(ProgramPass):
    """`inline-definitions`: no options."""

    name = "inline-definitions"
    requires = (sums_bounded, sums_over_ranges)
    leaves = (sums_bounded, sums_over_ranges, all_used)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return inline_definitions(program)


def inline_definitions(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program without definitions that are not needed, or not needed in memory.

    It is the same one, changed in place.
    """
    for op in program.definitions:
        if (same := _copied_tensor(op)) is not None:
            _read_instead(op.result, same)
    needed = set(_needed(program))
    _erase(op for op in program.definitions if op not in needed)
    return move_definitions(program, _moved(program))


def move_definitions(
    program: tix.ProgramOp, moved: Mapping[SSAValue, tix.DefineOp]
) -> tix.ProgramOp:
    """The program in which whoever reads one of the `moved` tensors computes its elements.

    It is the same one, changed in place. None of them is a result.
    """
    for op in program.definitions:
        if op.result not in moved and any(r.tensor in moved for r in reads_of(op)):
            _rebuild(op, moved)
    _erase(moved.values())
    return program


def _copied_tensor(op: tix.DefineOp) -> SSAValue | None:
    """The tensor of the same type, if there is one, that is equal to the definition."""
    first = op.body.block.first_op
    if not isinstance(first, tix.ReadOp) or first.result is not tix.yielded(op.body):
        return None
    same = [form.single_index for form in first.forms] == op.indices
    return first.tensor if same and first.tensor.type == op.type else None


def _read_instead(tensor: SSAValue, other: SSAValue) -> None:
    """Let all that read `tensor` read `other`."""
    for use in list(tensor.uses):
        if isinstance(use.operation, tix.ReadOp):
            use.operation.operands[0] = other


def _moved(program: tix.ProgramOp) -> dict[SSAValue, tix.DefineOp]:
    """The definitions that move, by their tensors."""
    moved: dict[SSAValue, tix.DefineOp] = {}
    lengths: dict[SSAValue, int] = {}  # with what moves there
    for op in program.definitions:
        read = {r.tensor for r in reads_of(op)} & moved.keys()
        lengths[op.result] = sum(1 for _ in op.walk()) + sum(lengths[tensor] for tensor in read)
        if lengths[op.result] <= MOST_OPERATIONS_TO_MOVE and _moves(op):
            moved[op.result] = op
    return moved


def _erase(definitions: Iterable[tix.DefineOp]) -> None:
    """Erase definitions that are read by none but later ones of them."""
    for op in reversed(list(definitions)):
        Rewriter.erase_op(op)


def _rebuild(op: tix.DefineOp, moved: Mapping[SSAValue, tix.DefineOp]) -> None:
    """Put a definition in the place of `op` that holds the bodies of moved ones that it reads."""

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return _Inliner(e, moved).copy_definition(op, e, own)

    rewrite_definition(op, body)


def _needed(program: tix.ProgramOp) -> list[tix.DefineOp]:
    """The definitions that results depend on, in order."""
    used = set(program.returned)
    needed: list[tix.DefineOp] = []
    for op in reversed(program.definitions):
        if op.result in used:
            needed.append(op)
            used.update(r.tensor for r in reads_of(op))
    return needed[::-1]


def _moves(op: tix.DefineOp) -> bool:
    """True if `op` is read in one place, which reads each element once at most."""
    use = op.result.get_user_of_unique_use()
    if not isinstance(use, tix.ReadOp):
        return False
    reader = definition_around(use)
    if Path.to(use, reader).reductions:
        return False
    if reader.type.dtype != op.type.dtype:
        return False
    indices = [form.single_index for form in use.forms]
    if set(indices) == set(reader.indices):
        return True
    reduces = any(isinstance(o, tix.ReductionOp) for o in op.walk())  # in loops made for its places
    return not reduces and _are_apart(use.forms, reader.indices)


def _are_apart(forms: Sequence[Affine], indices: Sequence[SSAValue]) -> bool:
    """True if no two points have the same values of all forms, so far as linear algebra tells.

    Quotients count as variables of their own: `p // 64` and `p - 64*(p // 64)` tell every p. Where
    an index is a combination of forms, its unit vector adds nothing to their rank.
    """
    if not forms:
        return False
    variables = dict.fromkeys([*indices, *(v for form in forms for v in form.indices)])
    rows = [tuple(form[v] for v in variables) for form in forms]
    units = [tuple(int(v is index) for v in variables) for index in indices]
    width = len(variables)
    return rank([*rows, *units], width) == rank(rows, width)


class _Inliner(Cloner):
    """Copies a body; a read of a moved definition becomes the body of that.

    Of a choice under a condition that one around it decides, one side is left: moved definitions
    are 0 where their reader asks for nothing.
    """

    def __init__(self, builder: BodyBuilder, moved: Mapping[SSAValue, tix.DefineOp]):
        super().__init__(builder)
        self.moved = moved
        self.decided: frozenset[tuple[_Condition, bool]] = frozenset()
        """Conditions of choices around, and whether they hold here."""

    def copy(self, op: Operation) -> None:
        if isinstance(op, tix.ReadOp) and op.tensor in self.moved:
            definition = self.moved[op.tensor]
            body = self.inner(self.builder)
            elements = zip(definition.indices, op.forms, strict=True)
            body.indices.update({v: self.form(form) for v, form in elements})
            self.values[op.result] = body.copy_body(definition.body)
        else:
            super().copy(op)

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        """Copy a choice; of one that the same condition decides around it, just that side."""
        disjuncts = [self.constraints(disjunct) for disjunct in op.condition]
        condition = frozenset(map(frozenset[Constraint], disjuncts))
        for holds, region in zip((True, False), op.regions, strict=True):
            if (condition, holds) in self.decided:
                return self.inner(self.builder).copy_body(region)

        def then(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return self._where(condition, True, e).copy_body(op.then)

        def otherwise(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return self._where(condition, False, e).copy_body(op.otherwise)

        return self.builder.choose(disjuncts, then, otherwise)

    def _where(self, condition: _Condition, holds: bool, builder: BodyBuilder) -> _Inliner:
        """A cloner for what stands where a condition holds, or does not."""
        inner = self.inner(builder)
        inner.decided |= {(condition, holds)}
        constraints = [c for disjunct in condition for c in disjunct]
        if len(constraints) == 1 and not constraints[0].equality:
            inner.decided |= {(frozenset([frozenset(negate(constraints[0]))]), not holds)}
        return inner

"""`outline-reductions`: give a name to every sum whose value a derivative will need.

    %f = tix.define "f" (%i) : ... {            %f_sum = tix.define "f_sum" (%i) : ... {
      %0 = tix.sum (%k) in (...) {...}            %0 = tix.sum (%k) in (...) {...}
      %1 = tix.log %0                 becomes     tix.yield %0
      tix.yield %1                              }
    }                                           %f = tix.define "f" (%i) : ... {
                                                  %1 = tix.read %f_sum[%i]
                                                  %2 = tix.log %1
                                                  tix.yield %2
                                                }

A derivative evaluates the formula `f'` at every point that contributes, so a sum inside it would
be computed again at each of them: one factor of the sum's length per order of derivative. Once it
has a name its value is read instead, and its adjoint is a tensor of its own: every element of a
gradient is then a sum of terms of constant cost. Sums that only enter linearly (`add`, `sub`,
`neg`, products with numbers) need no value, and neither does `exp(-sum)` as the value of a
definition: its derivative is the definition's own element.

A sum inside a sum is outlined over the outer indices too, where these run over a box, or at least
about half of one (`passes/index_sets/half_boxes.py`), as the pairs of a triangle do; a short one
(`MOST_TERMS_TO_RECOMPUTE` terms) stays, since storing it would cost more than computing it again.
An index on which its value does not depend is left out
(`passes/algebra/factoring/needed_elements.py`): where the range of that may be empty, nothing says
that the elements which the sum reads are there, so that they must be, or a guard asks for it.

An element that a block reads several times becomes one read: it has one adjoint, of all its uses.
So do sums of one value in a definition (`passes/analysis/value_numbers.py`), all of which get the
name if one needs it.

`outline-reductions{shared=true}` does so, instead, with every extremum and product that is the same
for several elements or terms, as the maximum of a row in `exp(x[i, j] - max[k](x[i, k]))`:
it is computed once for all of them. Sums of that kind are those of `factor-sums`. And it does so
with long sums beside each other in a result of few elements: vectors run along the terms of one.
With `blocks=true`, for processors with vectors, sums inside of reductions get names where blocks of
their elements share what they read (`passes/algebra/factoring/block_sums.py`), and so do sums whose
vectors run across those of one beside them (`passes/algebra/factoring/crossing_sums.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.algebra.factoring.block_sums import has_blocks_alone
from tadc.passes.algebra.factoring.crossing_sums import crosses_another
from tadc.passes.algebra.factoring.equal_tensors import merge_equal_tensors
from tadc.passes.algebra.factoring.needed_elements import Branches, NeededElements, needed_elements
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.linear_uses import adjoint_needs
from tadc.passes.analysis.properties import sums_named
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.part_sizes import with_derived_sizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    copy_program,
    reductions_around,
)
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.recurrences import is_recurrence, recurrence_in

MOST_TERMS_TO_RECOMPUTE = 8
"""The number of terms up to which a sum inside a sum is computed again rather than stored."""

FEW_ELEMENTS = 256
"""The number of elements up to which sums beside each other get names: vectors have no room."""

Wanted: TypeAlias = Callable[[tix.ReductionOp, tix.DefineOp], bool]
"""True for a reduction in a definition that is to become a definition of its own."""


@dataclass(frozen=True)
class OutlineReductionsPass(ProgramPass):
    """`outline-reductions{shared=true blocks=true sizes="N=512"}`: what elements share, and what
    has blocks by itself for these sizes; else what derivatives need."""

    name = "outline-reductions"
    leaves = (sums_named,)
    shared: bool = False
    blocks: bool = False
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        if not self.shared:
            return outline_reductions(program)
        found = _worth_a_name(program, parse_sizes(self.sizes) if self.blocks else None)
        return outline_reductions(program, lambda op, _: op in found) if found else program


def outline_reductions(program: tix.ProgramOp, wanted: Wanted | None = None) -> tix.ProgramOp:
    """The program with a definition for every sum whose value a derivative needs.

    With `wanted`, for those that it wants in their definitions.
    """
    wanted = wanted or _must_be_named
    taken = {op.label.data for op in program.definitions}

    def outlined(program: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        """Append a copy of `op`, behind definitions of those of its sums that need a name."""
        return copy_definition(program, _Outliner(program, tensors, _Named.of(op, wanted)), op)

    return merge_equal_tensors(copy_program(program, define=outlined), taken)


@dataclass(frozen=True)
class _Named:
    """The reductions of a definition that are to have names, and those that have some."""

    definition: tix.DefineOp
    numbers: Mapping[SSAValue, int]
    """The numbers of their values: some may be equal."""
    tensors: dict[object, SSAValue]
    """The tensors of names that there are, by numbers and the places where they may be read."""

    @staticmethod
    def of(definition: tix.DefineOp, wanted: Wanted) -> _Named:
        ops = [op for op in definition.walk() if isinstance(op, tix.ReductionOp)]
        if not any(wanted(op, definition) for op in ops):
            return _Named(definition, {}, {})
        values = ValueNumbers(definition)
        chosen = {values[op.result] for op in ops if wanted(op, definition)}
        numbers = {op.result: values[op.result] for op in ops}
        return _Named(definition, {v: n for v, n in numbers.items() if n in chosen}, {})


class _Outliner(Cloner):
    """Copies a body; sums that need a name become definitions in front of it."""

    def __init__(self, program: ProgramBuilder, tensors: Cloner, named: _Named):
        super().__init__(tensors.builder, tensors.values)
        self.program = program
        self.tensors = tensors
        self.named = named
        self.reads: dict[tuple[Block, SSAValue, tuple[Affine, ...]], SSAValue] = {}
        """Elements that a block reads already: each gives one contribution to a gradient."""

    def copy(self, op: Operation) -> None:
        if not isinstance(op, tix.ReadOp):
            return super().copy(op)
        element = self.builder.block, self.value(op.tensor), tuple(map(self.form, op.forms))
        if element in self.reads:
            self.values[op.result] = self.reads[element]
        else:
            super().copy(op)
            self.reads[element] = self.values[op.result]

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The read of the tensor that a named reduction becomes; others are copied."""
        if op.result not in self.named.numbers:
            return super().copy_reduction(op)
        path = Path.to(op, self.named.definition)
        needed = None if path.reductions and _is_short(op) else needed_elements(op, path)
        if needed is None:
            return super().copy_reduction(op)
        place = self.named.numbers[op.result], *needed.indices, *needed.guards, *needed.branches
        if place not in self.named.tensors:
            self.named.tensors[place] = self._lift(op, needed)
        tensor = self.named.tensors[place]
        return self.builder.read(tensor, [self.form(Affine.of(v)) for v in needed.indices])

    def _lift(self, op: tix.ReductionOp, needed: NeededElements) -> SSAValue:
        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            outliner = _Outliner(self.program, self.tensors, self.named)
            cloner = outliner.inner(e, needed.indices, own)
            inside = cloner.constraints(needed.guards)
            return e.guard(inside, lambda e, _: cloner.inner(e)._under(needed.branches, op))

        definition = self.named.definition
        type = TensorType.of(needed.sizes, tix.ELEMENT_TYPES[definition.type.dtype])
        word = op.name.removeprefix("tix.")
        label = self.program.fresh_label(f"{definition.label.data}_{word}")
        names = [v.name_hint for v in needed.indices]
        return self.program.define(label, type, names, op.location, body)

    def _under(self, branches: Branches, op: tix.ReductionOp) -> SSAValue:
        """The sum, 0 where a condition on the way to it does not hold."""

        def guarded(cloner: _Outliner, rest: Branches) -> SSAValue:
            """The sum under the conditions that are left, the outermost first."""
            if not rest:
                cloner.require(op)
                return Cloner.copy_reduction(cloner, op)
            (branch, first), *rest = rest
            for v in branch.indices:
                cloner.fetch(v)
            disjuncts = [cloner.constraints(disjunct) for disjunct in branch.condition]

            def taken(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                return guarded(cloner.inner(e), rest)

            def not_taken(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                return e.constant(0)

            bodies = (taken, not_taken) if first else (not_taken, taken)
            return cloner.builder.choose(disjuncts, *bodies)

        return guarded(self, branches)


def _worth_a_name(program: tix.ProgramOp, sizes: Mapping[str, int] | None) -> set[Operation]:
    """The reductions that are better computed by themselves, though no derivative asks for their
    values; with `sizes`, those that have blocks then are among them."""
    ops = ((op, d) for d in program.definitions for op in d.walk())
    pairs = [(op, d) for op, d in ops if isinstance(op, tix.ReductionOp)]
    found: set[Operation] = {
        op for op, d in pairs if _is_shared(op, d) or _is_beside_another(op, d)
    }
    if sizes is not None:
        known, uses = with_derived_sizes(program, sizes), IndexUses()
        fixed = must_round_identically(program)
        sums = [(op, d) for op, d in pairs if isinstance(op, tix.SumOp) and op not in fixed]
        found |= {op for op, d in sums if has_blocks_alone(op, d, known, uses)}
        found |= {op for op, d in sums if not _is_short(op) and crosses_another(op, d, uses)}
    return found


def _is_beside_another(op: Operation, definition: tix.DefineOp) -> bool:
    """True for one of several long sums that few elements are made of; of the others some elements
    may have none."""
    if definition.view is not None or any(size.terms for size in definition.shape):
        return False
    if op.parent_op() is not definition or not isinstance(op, tix.SumOp) or _is_short(op):
        return False
    long = [o for o in definition.walk() if isinstance(o, tix.SumOp) and not _is_short(o)]
    others = (o for o in long if o is not op and not any(reductions_around(o)))
    return any(others) and _count(definition) <= FEW_ELEMENTS


def _count(definition: tix.DefineOp) -> int:
    """The number of elements of a result whose sizes are numbers."""
    return prod(max(0, size.constant) for size in definition.shape)


def _is_shared(op: Operation, definition: tix.DefineOp) -> bool:
    """True for a long reduction, no sum, that is the same for several elements or terms."""
    if not isinstance(op, tix.ReductionOp) or isinstance(op, tix.SumOp) or _is_short(op):
        return False
    if isinstance(op, tix.ProdOp) and is_recurrence(definition):
        return False
    around, parent = {*definition.indices}, op.parent_op()
    while parent is not None and parent is not definition:
        around |= {*parent.indices} if isinstance(parent, tix.ReductionOp) else set()
        parent = parent.parent_op()
    return definition.view is None and not around <= IndexUses().of_operation(op)


def _must_be_named(op: tix.ReductionOp, definition: tix.DefineOp) -> bool:
    """True if an adjoint needs the value of the reduction, which no definition has yet.

    Adjoints of terms of an extremum compare these with its value.
    """
    if isinstance(op, tix.ExtremumOp):
        return op.result is not tix.yielded(definition.body)
    around = op.parent_op()
    if isinstance(around, tix.SumOp) and (found := recurrence_in(around, definition)):
        return op is not found.product  # loops take it along, and so do those of adjoints
    return adjoint_needs(op.result, definition)


def _is_short(op: tix.ReductionOp) -> bool:
    boxes = boxed_indices(op)
    sizes = [boxes.get(v) for v in op.indices]
    numbers = [s.constant for s in sizes if s is not None and not s.terms]
    return len(numbers) == len(sizes) and prod(numbers) <= MOST_TERMS_TO_RECOMPUTE

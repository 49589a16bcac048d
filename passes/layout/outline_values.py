"""`outline-values`: expensive values that many elements or terms have in common become tensors.

    y[n, c] = (x[n, c] - m[c]) / sqrt(v[c] + e)                  sqrt for each n and c

becomes

    y_value[c] = sqrt(v[c] + e)
    y[n, c] = (x[n, c] - m[c]) / y_value[c]

A loop computes ahead what does not change along it, but vectors run along c, and each n asks again.
So do terms of a sum: of

    y[i] = sum[u in range(-3, 4)](a[i + u] * exp(-u * u))

each element asks for the same seven exponentials. A value becomes a tensor, over the ranges of the
indices that it depends on, where that saves much of the time:

    times it is computed * (cost of the value - a read)
        - elements of the tensor * cost of the value - storing the tensor

A value is computed once for each element and each term of the sums that it depends on; blocks of
long sums have it once for four rows, and rows of a vector or more have what does not change along
them. Choices around it halve the times. Of a value and its parts those become tensors that save
more together: each part is read in each place. What a tensor reads must be there for all values of
its indices; reductions stay where they are.

Values are computed as before. What must round identically stays as it is, and so does all that it
needs.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.ir import BlockArgument, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import block_in
from tadc.dialects.tix import Affine, TensorType, between
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.algebra.factoring.contraction_order import storing
from tadc.passes.algebra.factoring.equal_tensors import merge_equal_tensors
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import index_set
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, operations_behind
from tadc.passes.rewriting.part_sizes import is_never_negative, with_derived_sizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.tile_cost import COST_OF_LOAD
from tadc.passes.scheduling.rows.fuse_loops import is_long
from tadc.passes.scheduling.scans import is_scanned

SHARED_IN_BLOCKS = 4
"""Elements that share a value in loops of long reductions: the rows of a block, or more."""

LONG_ROW = 16
"""Elements of a row that has its own values computed ahead at least: those of a vector."""

FEWEST_OPERATIONS_SAVED = 1 << 17
"""Operations that a tensor saves at least: on vectors of 16 lanes they take some microseconds, and
one more definition takes one or two."""

KINDS = (
    tix.ConstantOp,
    tix.ReadOp,
    tix.IndexToRealOp,
    tix.UnaryOp,
    tix.BinaryOp,
    tix.CallOp,
)
"""The operations that values are made of which may move."""

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class OutlineValuesPass(ProgramPass):
    """`outline-values{sizes="N=512"}`: what is worth a tensor for these sizes; right for all."""

    name = "outline-values"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return outline_values(program, parse_sizes(self.sizes))


def outline_values(program: tix.ProgramOp, sizes: Sizes) -> tix.ProgramOp:
    """The program with tensors of dear values; itself where there are none."""
    dear = [op for op in program.definitions if op.view is None and _has_dear_values(op)]
    fixed = must_round_identically(program) if dear else frozenset[Operation]()
    free = [op for op in dear if not is_scanned(op)]
    known = with_derived_sizes(program, sizes) if free else sizes
    found = {op: own for op in free if (own := _Values(op, known, fixed).worth_a_tensor())}
    if not found:
        return program

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        if op not in found:
            return copy_definition(builder, tensors, op)
        reader = _Reader(tensors.builder, tensors.values)
        reader.made = {
            v: (_tensor(builder, tensors, op, v, own), own) for v, own in found[op].items()
        }
        reader.unused = _unused(op, found[op])
        return copy_definition(builder, reader, op)

    labels = {op.label.data for op in program.definitions}
    return merge_equal_tensors(copy_program(program, define=define), labels)


def _has_dear_values(op: tix.DefineOp) -> bool:
    """True if a definition divides or calls a function: only then is there a value worth it."""
    kinds = tix.UnaryOp | tix.BinaryOp | tix.CallOp
    return any(isinstance(o, kinds) and weight(o) >= COST_OF_FUNCTION for o in op.walk())


# --- which values ---------------------------------------------------------------------------------


class Range(NamedTuple):
    """The values that an index has at most: a number or size of them, from the lowest on."""

    low: Affine
    length: Affine


Box = Mapping[SSAValue, Range]
"""The ranges of indices."""


@dataclass(frozen=True)
class _Place:
    """A place of values: the loops around them, outermost first, and the number of choices."""

    loops: Sequence[Operation]
    """The definition, and the reductions."""
    box: Box
    """The ranges of their indices, of those that have one."""
    choices: int = 0

    def inside(self, op: Operation) -> _Place:
        """The place in the regions of an operation."""
        if isinstance(op, tix.ReductionOp):
            return _Place([*self.loops, op], {**self.box, **_ranges(op)}, self.choices)
        return _Place(self.loops, self.box, self.choices + 1)


class _Values:
    """The values of a definition that may move, and what they cost."""

    def __init__(self, op: tix.DefineOp, sizes: Sizes, fixed: Container[Operation]):
        self.op = op
        self.fixed = fixed
        self.known = SizeValues(sizes)
        self.uses = IndexUses()
        self.costs: dict[SSAValue, int] = {}
        """The operations of each value that may move, as additions."""
        self.saved: dict[SSAValue, int] = {}
        """The operations that a tensor of a value saves, where it does."""
        self.best: dict[SSAValue, frozenset[SSAValue]] = {}
        """Of each value those in it that are best made tensors: itself, or parts of it."""
        self.boxes: dict[SSAValue, Box] = {}
        """Of values that may be tensors the ranges of all indices that they depend on."""

    def worth_a_tensor(self) -> Mapping[SSAValue, Box]:
        """The values to make tensors of, with the ranges of their indices in order."""
        shape = zip(self.op.indices, self.op.shape, strict=True)
        box = {v: Range(Affine(), size) for v, size in shape}
        chosen = self._look_in(self.op.body, _Place([self.op], box))
        return {v: own for v, own in self.boxes.items() if v in chosen}

    def _look_in(self, region: Region, place: _Place) -> frozenset[SSAValue]:
        """Look at all values in a region; those that are best made tensors."""
        found = frozenset[SSAValue]()
        for op in block_in(region).ops:
            if isinstance(op, KINDS):
                self._look_at(op, place)
            parts = [self.best.get(v, frozenset()) for v in op.operands]
            parts += [self._look_in(inner, place.inside(op)) for inner in op.regions]
            own = frozenset[SSAValue]().union(*parts)
            if not isinstance(op, KINDS):
                found |= own
                continue
            (value,) = op.results
            gain = self.saved.get(value, 0)
            is_best = gain and gain >= sum(self.saved[v] for v in own)
            self.best[value] = frozenset([value]) if is_best else own
        return found

    def _look_at(self, op: Operation, place: _Place) -> None:
        """Note the cost of a value, and what a tensor of it saves."""
        if not self._may_move(op, place.box):
            return
        (value,), used = op.results, self.uses.of(op.results[0])
        self.costs[value] = _cost(op) + sum(self.costs.get(v, 0) for v in {*op.operands})
        saved = self._saved(value, place)
        box = {v: own for v, own in place.box.items() if v in used}
        if saved >= FEWEST_OPERATIONS_SAVED and self._is_there(value, box):
            self.saved[value], self.boxes[value] = saved, box

    def _may_move(self, op: Operation, box: Box) -> bool:
        """True if a value has a meaning for all values of the indices that it depends on, and
        nothing in it must round as it does elsewhere."""
        if not isinstance(op, tix.ReadOp | tix.IndexToRealOp):
            is_fixed = op in self.fixed and not isinstance(op, tix.ConstantOp)
            return not is_fixed and all(v in self.costs for v in op.operands)
        are_plain = all(isinstance(v, BlockArgument) for v in op.indices)
        return are_plain and self.uses.of(op.result) <= box.keys()

    def _saved(self, value: SSAValue, place: _Place) -> int:
        """The operations that a tensor of a value saves, less those that it takes."""
        used = self.uses.of(value)
        if not used or self.costs[value] < COST_OF_FUNCTION:
            return 0
        depth = max(n for n, loop in enumerate(place.loops) if used & {*_indices(loop)})
        loops = place.loops[: depth + 1]
        lengths = {v: self._length(place.box, v) for loop in loops for v in _indices(loop)}
        elements = prod(lengths[v] for v in used)
        times = prod(n for v, n in lengths.items() if v not in used)
        in_blocks = any(map(is_long, loops))
        if in_blocks:
            times //= min(times, SHARED_IN_BLOCKS)
        elif self._is_ahead_of_rows(used, lengths):
            return 0
        computed = elements * times >> place.choices
        cost = self.costs[value]
        return (cost - COST_OF_LOAD) * computed - cost * elements - storing(elements)

    def _is_ahead_of_rows(self, used: Container[SSAValue], lengths: Mapping[SSAValue, int]) -> bool:
        """True if rows of some length have a value in common, which loops compute ahead."""
        return all(v not in used and lengths[v] >= LONG_ROW for v in self.op.indices[-1:])

    def _length(self, box: Box, index: SSAValue) -> int:
        """The number of values of an index; 1 where it is not known, as nothing is known to be
        saved then."""
        size = box[index].length if index in box else Affine(constant=1)
        return size.evaluate(self.known) if {*size.sizes} <= {*self.known} else 1

    def _is_there(self, value: SSAValue, box: Box) -> bool:
        """True if all that a value reads is there for all values of its indices."""
        known = [c for c in index_set(self.op) if {*c.form.indices} <= box.keys()]
        for v, own in box.items():
            known += between(own.low, Affine.of(v), own.low + own.length)
        behind = operations_behind([value], self.op)
        return all(stays_inside(op, known) for op in behind if isinstance(op, tix.ReadOp))


def _indices(loop: Operation) -> Sequence[SSAValue]:
    """The indices of a definition, or of a reduction."""
    return loop.regions[0].block.args


def _ranges(op: tix.ReductionOp) -> Box:
    """The ranges of own indices between two bounds of sizes; others may bound them further."""
    found: dict[SSAValue, Range] = {}
    for v in op.indices:
        alone = [c.form for c in op.constraints if c.form.indices == [v] and not c.equality]
        low = [Affine.of(v) - form for form in alone if form[v] == 1]
        high = [form + Affine.of(v) for form in alone if form[v] == -1]
        if low and high:
            first, last = (min(ends, key=lambda f: len(f.terms)) for ends in (low, high))
            length = last - first + 1
            if not first.terms and (not first.constant or is_never_negative(length)):
                found[v] = Range(first, length)
    return found


def _cost(op: Operation) -> int:
    """The cost of an operation of a value; that of an index is one instruction for a vector."""
    if isinstance(op, FREE):
        return 0
    return 1 if isinstance(op, tix.IndexToRealOp) else weight(op)


# --- the change -----------------------------------------------------------------------------------


def _tensor(
    builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp, value: SSAValue, box: Box
) -> SSAValue:
    """Append the definition of a value."""

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = tensors.inner(e)
        for v, new in zip(box, own, strict=True):
            cloner.indices[v] = Affine.of(new) + box[v].low
        cloner.fetch(value)
        return cloner.value(value)

    return builder.define(
        builder.fresh_label(f"{op.label.data}_value"),
        TensorType.of([own.length for own in box.values()], tix.ELEMENT_TYPES[op.type.dtype]),
        [v.name_hint for v in box],
        op.location,
        body,
    )


def _unused(op: tix.DefineOp, made: Iterable[SSAValue]) -> set[Operation]:
    """The operations of a definition that nothing needs when these values are tensors."""
    unused = {v.owner for v in made if isinstance(v.owner, Operation)}
    for inner in reversed(list(op.body.walk())):
        users = [use.operation for v in inner.results for use in v.uses]
        if isinstance(inner, KINDS) and users and all(user in unused for user in users):
            unused.add(inner)
    return unused


class _Reader(Cloner):
    """Copies bodies; values that are tensors are read."""

    made: dict[SSAValue, tuple[SSAValue, Box]]
    unused: Container[Operation]

    def copy(self, op: Operation) -> None:
        value, *_ = op.results
        if value in self.made:
            tensor, box = self.made[value]
            forms = [self.form(Affine.of(v) - own.low) for v, own in box.items()]
            self.values[value] = self.builder.read(tensor, forms)
        elif op not in self.unused:
            super().copy(op)

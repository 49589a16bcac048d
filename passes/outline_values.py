"""`outline-values`: dear values that many elements or terms have in common become tensors.

    y[n, c] = (x[n, c] - m[c]) / sqrt(v[c] + e)                  sqrt for each n and c

becomes

    y_value[c] = sqrt(v[c] + e)
    y[n, c] = (x[n, c] - m[c]) / y_value[c]

A loop computes ahead what does not change along it, but vectors run along c, and each n asks again.
Blocks of a few rows share such a value among these alone. So do terms of a sum: of

    y[i] = sum[j](a[i, j] * exp(b[j]))

each element asks for all exponentials. A value becomes a tensor if it depends on some indices of
the elements or terms, if that saves many more operations than a tensor costs, and if what it reads
is there for all values of these indices. Reductions, and what is in choices, stay where they are.

Values are computed as before. Definitions that must round identically stay as they are: what
they add to or multiply by such a value may be one instruction with it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import block_in
from tadc.dialects.tix import Affine, Constraint, TensorType
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.factoring.equal_tensors import merge_equal_tensors
from tadc.passes.index_sets.context import stays_inside
from tadc.passes.index_sets.sets import boxed_indices, index_set
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, operations_behind
from tadc.passes.rewriting.part_sizes import with_derived_sizes
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.rows.row_parts import is_long
from tadc.passes.scheduling.scans import is_scanned

FEWEST_IN_COMMON = 16
"""Elements or terms that share a value at least: blocks have it once for four or six of them."""

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
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return outline_values(program, parse_sizes(self.sizes))


def outline_values(program: tix.ProgramOp, sizes: Sizes) -> tix.ProgramOp:
    """The program with tensors of dear values; itself where there are none."""
    dear = [op for op in program.definitions if op.view is None and _has_dear_values(op)]
    fixed = must_round_identically(program) if dear else frozenset[Operation]()
    free = [op for op in dear if is_free(op, fixed) and not is_scanned(op)]
    known = with_derived_sizes(program, sizes) if free else sizes
    found = {op: own for op in free if (own := _Values(op, known).worth_a_tensor())}
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

Boxes = Mapping[SSAValue, Affine]
"""The numbers of values of indices, each from 0 on."""


class _Values:
    """The values of a definition that may move, and what they cost."""

    def __init__(self, op: tix.DefineOp, sizes: Sizes):
        self.op = op
        self.known = SizeValues(sizes)
        self.uses = IndexUses()
        self.costs: dict[SSAValue, int] = {}
        """The operations of each value that may move, as additions."""
        self.shared: dict[SSAValue, Boxes] = {}
        """Of values that many elements or terms share, the indices that they depend on."""
        self.saved: dict[SSAValue, int] = {}
        """The operations that a tensor of such a value saves."""
        self.around: dict[SSAValue, Sequence[Constraint]] = {}
        """Of values that are read, the constraints of all indices there."""

    def worth_a_tensor(self) -> Mapping[SSAValue, Boxes]:
        """The values to make tensors of, with their indices in order."""
        for around in (self.op, *filter(is_long, self.op.body.block.ops)):
            boxes, constraints = self._space(around)
            for inner in block_in(around.regions[0]).ops:
                if isinstance(inner, tix.ReadOp):
                    self.around[inner.result] = constraints
                if isinstance(inner, KINDS) and self._may_move(inner, boxes):
                    self._look_at(inner, boxes, along=around.regions[0].block.args)
        return {v: own for v, own in self.shared.items() if self._is_best(v)}

    def _space(self, around: Operation) -> tuple[Boxes, Sequence[Constraint]]:
        """The indices of elements, or of terms, that have their values each for itself."""
        boxes = dict(zip(self.op.indices, self.op.shape, strict=True))
        if not isinstance(around, tix.ReductionOp):
            return boxes, index_set(self.op)
        return boxes | boxed_indices(around), [*index_set(self.op), *around.constraints]

    def _may_move(self, op: Operation, boxes: Boxes) -> bool:
        """True if a value has a meaning for all values of the indices that it depends on."""
        if not isinstance(op, tix.ReadOp | tix.IndexToRealOp):
            return all(v in self.costs for v in op.operands)
        are_plain = all(isinstance(v, BlockArgument) for v in op.indices)
        return are_plain and self.uses.of(op.result) <= boxes.keys()

    def _look_at(self, op: Operation, boxes: Boxes, along: Sequence[SSAValue]) -> None:
        """Note the cost of a value, and whether elements or terms share it."""
        (value,), used = op.results, self.uses.of(op.results[0])
        own = _cost(op)
        cost = self.costs[value] = own + sum(self.costs.get(v, 0) for v in op.operands)
        lengths = {v: self._length(size) for v, size in boxes.items()}
        if not used & {*along} or (along[-1] not in used and op.parent_op() is self.op):
            return
        elements = prod(lengths[v] for v in used)
        times = prod(n for v, n in lengths.items() if v not in used)
        if times >= FEWEST_IN_COMMON:
            self.shared[value] = {v: size for v, size in boxes.items() if v in used}
            self.saved[value] = cost * elements * (times - 1) if cost >= COST_OF_FUNCTION else 0

    def _length(self, size: Affine) -> int:
        """A size as a number; 1 where it is not known, as nothing is known to be saved then."""
        return size.evaluate(self.known) if {*size.sizes} <= {*self.known} else 1

    def _is_best(self, value: SSAValue) -> bool:
        """True if a tensor saves much, and is no part of a larger one."""
        users = (use.operation for use in value.uses)
        is_whole = any({*user.results}.isdisjoint(self.shared) for user in users)
        return is_whole and self.saved[value] >= FEWEST_OPERATIONS_SAVED and self._is_there(value)

    def _is_there(self, value: SSAValue) -> bool:
        """True if all that a value reads is there for all values of its indices."""
        used = self.uses.of(value)
        return all(
            stays_inside(op, [c for c in self.around[op.result] if {*c.form.indices} <= used])
            for op in operations_behind([value], self.op)
            if isinstance(op, tix.ReadOp)
        )


def _cost(op: Operation) -> int:
    """The cost of an operation of a value; that of an index is one instruction for a vector."""
    if isinstance(op, FREE):
        return 0
    return 1 if isinstance(op, tix.IndexToRealOp) else weight(op)


# --- the change -----------------------------------------------------------------------------------


def _tensor(
    builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp, value: SSAValue, boxes: Boxes
) -> SSAValue:
    """Append the definition of a value."""

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = tensors.inner(e, [*boxes], own)
        cloner.fetch(value)
        return cloner.value(value)

    return builder.define(
        builder.fresh_label(f"{op.label.data}_value"),
        TensorType.of([*boxes.values()], tix.ELEMENT_TYPES[op.type.dtype]),
        [v.name_hint for v in boxes],
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

    made: dict[SSAValue, tuple[SSAValue, Boxes]]
    unused: Container[Operation]

    def copy(self, op: Operation) -> None:
        value, *_ = op.results
        if value in self.made:
            tensor, boxes = self.made[value]
            forms = [self.form(Affine.of(v)) for v in boxes]
            self.values[value] = self.builder.read(tensor, forms)
        elif op not in self.unused:
            super().copy(op)

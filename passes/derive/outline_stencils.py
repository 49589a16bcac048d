"""`outline-stencils`: give a name to written-out sums whose adjoint many elements need.

    y[i] = sqrt((x[i + 1] + 2 * x[i] + x[i - 1])**2 + 1)

becomes

    y_value[i] = x[i + 1] + 2 * x[i] + x[i - 1]
    y[i] = sqrt(y_value[i]**2 + 1)

An element x[p] enters y at p - 1, p and p + 1. Its gradient has three terms, and each would compute
the derivative of y by the sum again, at its own element: that of the square root and of the square,
of a sum whose reads a boundary makes choices. With a name, the derivative by the sum is a tensor,
and the gradient is a stencil like the sum:

    dx[p] = dy_value[p - 1] + 2 * dy_value[p] + dy_value[p + 1]

So `outline-reductions` does with sums that are written as such. A value gets a name, be it a sum or
not, where that saves more operations than moving two tensors costs, the value and its adjoint:

    (elements of a tensor that it reads - 1) * operations of its adjoint > moving both tensors

A sum of three, as above, is too small for that; six elements with a boundary are enough. Of values
within each other the innermost one gets it, but no part of a sum. Values inside of sums and choices
stay: they may have many elements, or none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with, ops_in
from tadc.dialects.tix import Affine
from tadc.passes.analysis.costs import FREE, weight
from tadc.passes.analysis.linear_uses import linear_results
from tadc.passes.analysis.machine_facts import MACHINE
from tadc.passes.analysis.properties import sums_named
from tadc.passes.derive.differentiation.reverse_scalars import LocalReverse
from tadc.passes.index_sets.paths import Path, elements
from tadc.passes.polyhedral.images import rank
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, operations_behind
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program

LEAST_SAVED = 4 * MACHINE.far_element
"""The operations that a name saves for each element: more than writing and reading the value and
its adjoint costs."""


@dataclass(frozen=True)
class OutlineStencilsPass(ProgramPass):
    """`outline-stencils`: no options."""

    name = "outline-stencils"
    requires = leaves = (sums_named,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return outline_stencils(program)


def outline_stencils(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with a definition for each value that is worth it; itself without any."""
    found = _worth_a_name(program)
    if not found:
        return program

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        if op not in found:
            return copy_definition(builder, tensors, op)
        reader = _Reader(tensors.builder, tensors.values)
        reader.made = {v: _tensor(builder, tensors, op, v) for v in found[op]}
        return copy_definition(builder, reader, op)

    return copy_program(program, define=define)


# --- which values ---------------------------------------------------------------------------------


def _worth_a_name(program: tix.ProgramOp) -> Mapping[tix.DefineOp, Sequence[SSAValue]]:
    """The values whose names save more than they cost, none of them inside another."""
    stencils = [op for op in program.definitions if op.view is None and _parts([op], op) > 1]
    found = {op: _values(op) for op in stencils}
    return {op: values for op, values in found.items() if values}


def _values(definition: tix.DefineOp) -> list[SSAValue]:
    """The values of a definition that are worth a name.

    Adjoints are emitted for a copy of it: what they use has no more uses for that.
    """
    copy = definition.clone()
    pairs = zip(ops_in(definition.body.block), ops_in(copy.body.block), strict=True)
    same = {inner: op for op, inner in pairs}
    found = [same[op].results[0] for op in _innermost(copy)]
    copy.erase()
    return list(found)


def _innermost(definition: tix.DefineOp) -> list[Operation]:
    """The innermost operations of a definition that are worth a name."""
    found: list[Operation] = []
    for op in list(ops_in(definition.body.block)):
        if isinstance(op, tix.UnaryOp | tix.BinaryOp) and not _is_in_a_sum(op, definition):
            behind = set(operations_behind(op.results, definition))
            parts = _parts(behind, definition) - 1
            is_new = parts > 0 and behind.isdisjoint(found)
            if is_new and parts * _cost_of_adjoint(op, definition) > LEAST_SAVED:
                found.append(op)
    return found


def _is_in_a_sum(op: Operation, definition: tix.DefineOp) -> bool:
    """True if a value is nothing but a part of a sum, or of a multiple of one."""
    (value,) = op.results
    uses = [use.operation for use in value.uses]
    return all(linear_results(use, value, definition) is not None for use in uses)


def _parts(behind: Iterable[Operation], definition: tix.DefineOp) -> int:
    """The terms that a value adds to the gradient of a tensor: one for each of its elements."""
    reads = (r for op in behind for r in op.walk() if isinstance(r, tix.ReadOp))
    found = {(r.tensor, *r.forms) for r in reads if _is_one_to_one(r, definition)}
    return max(Counter(tensor for tensor, *_ in found).values(), default=0)


def _is_one_to_one(read: tix.ReadOp, definition: tix.DefineOp) -> bool:
    """True if no two elements of a definition read the same element; `i % N` counts as i."""
    rows = [tuple(form[v] for v in definition.indices) for form in read.forms]
    return rank(rows, len(definition.indices)) == len(definition.indices)


def _cost_of_adjoint(op: Operation, definition: tix.DefineOp) -> int:
    """The operations of the derivative of an element by the result of an operation, which are
    emitted to count them."""
    block = block_with([INDEX] * len(definition.indices))
    cloner = Cloner(BodyBuilder(block, definition.location))
    cloner.indices.update(zip(definition.indices, map(Affine.of, block.args), strict=True))
    y = definition.result
    reverse = LocalReverse(definition, y, frozenset(elements(definition)), seed=y)
    reverse.at(op.results[0], Path.to(op, definition), cloner)
    cost = sum(map(_cost, block.walk()))
    block.erase()
    return cost


def _cost(op: Operation) -> int:
    """The cost of an operation; a quotient in an address is one where neighbours go around."""
    return 0 if isinstance(op, FREE) and not isinstance(op, tix.FloorDivOp) else weight(op)


# --- the change -----------------------------------------------------------------------------------


def _tensor(
    builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp, value: SSAValue
) -> SSAValue:
    """Append the definition of a value at all elements of a definition."""

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = tensors.inner(e, op.indices, own)
        cloner.fetch(value)
        return cloner.value(value)

    label = builder.fresh_label(f"{op.label.data}_value")
    return builder.define_like(op.result, label, body)


class _Reader(Cloner):
    """Copies a body; values that are tensors are read, and what only they need is left out."""

    made: Mapping[SSAValue, SSAValue]

    def copy_definition(
        self, op: tix.DefineOp, builder: BodyBuilder, own: Sequence[SSAValue]
    ) -> SSAValue:
        """Read the tensors, and copy what the element needs besides."""
        cloner = self.inner(builder, op.indices, own)
        for value, tensor in self.made.items():
            cloner.values[value] = builder.read(tensor, [Affine.of(v) for v in own])
        cloner.fetch(tix.yielded(op.body))
        return cloner.value(tix.yielded(op.body))

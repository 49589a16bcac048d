"""`elide-copies`: a tensor that is only copied is written where the copy would be.

    %y_split = tix.define "y_split" (%i, %r, %j) : !tix.tensor<[N, 2, M], f32> { ... }
    %y = tix.define "y" (%p, %j) : !tix.tensor<[2 * N, M], f32> {
      %0 = tix.read %y_split[%p, %j] as [2 * N, M]
      tix.yield %0
    }

becomes

    %y = tix.define "y" (%i, %r, %j) : !tix.tensor<[2 * N, M], f32> as [N, 2, M] { ... }

`split-axes` makes two indices of one, in definitions of their own, whose elements the result reads
in the order in which they lie in memory wherever sizes are multiples: `merge-axes` shows that. What
else reads the tensor reads the result.

On entry and on exit neighbouring indices are merged. The copy comes right behind the tensor, which
is no result itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    copy_program,
    index_names,
    type_of,
)

Copies = Mapping[tix.DefineOp, tix.DefineOp]
"""For a definition that is only copied, the copy."""


@dataclass(frozen=True)
class ElideCopiesPass(ProgramPass):
    """`elide-copies`: no options."""

    name = "elide-copies"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return elide_copies(program)


def elide_copies(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program without whole copies; itself where there are none."""
    found = _copies(program)
    if not found:
        return program

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        """A definition in the place of its copy, and nothing new for the copy."""
        if op in found.values():
            return tensors.value(_source(op))
        cloner = _Reader(tensors.builder, tensors.values)
        if op not in found:
            return copy_definition(builder, cloner, op)
        copy = found[op]
        return builder.define(
            copy.label.data,
            copy.type,
            index_names(op.result),
            op.location,
            lambda e, own: cloner.copy_definition(op, e, own),
            op.shape,
        )

    return copy_program(program, define=define)


def _copies(program: tix.ProgramOp) -> Copies:
    """The definitions that only the next one is a copy of."""
    results = set(program.returned)
    found: dict[tix.DefineOp, tix.DefineOp] = {}
    for op, copy in pairwise(program.definitions):
        if op not in found.values() and op.result not in results and _is_copy(copy, op):
            found[op] = copy
    return found


def _is_copy(copy: tix.DefineOp, op: tix.DefineOp) -> bool:
    """True if a definition reads all elements of another, in the order of memory, and no more."""
    read = copy.body.block.first_op
    return (
        isinstance(read, tix.ReadOp)
        and tix.yielded(copy.body) is read.result
        and read.tensor is op.result
        and op.type.element == copy.type.element
        and read.shape == copy.shape
        and [form.single_index for form in read.forms] == [*copy.indices]
    )


def _source(copy: tix.DefineOp) -> SSAValue:
    """The tensor that is copied."""
    read = copy.body.block.first_op
    assert isinstance(read, tix.ReadOp)
    return read.tensor


class _Reader(Cloner):
    """Copies; what is read may have another shape than before, which reads view as the old one."""

    def _copied(self, op: Operation) -> SSAValue:
        if not isinstance(op, tix.ReadOp):
            return super()._copied(op)
        tensor = self.value(op.tensor)
        view = None if op.shape == type_of(tensor).shape else op.shape
        return self.builder.read(tensor, [self.form(f) for f in op.forms], view)

"""`recompute-elements`: a tensor of many elements made of few numbers is computed where it is read.

    r[i, j] = sum[d in range(3)]((x[i, d] - z[j, d])**2)
    f[i] = sum[j](exp(-r[i, j]) * b[j])

becomes

    f[i] = sum[j](exp(-sum[d in range(3)]((x[i, d] - z[j, d])**2)) * b[j])

Storing all pairs takes longer than computing them again
(`passes/algebra/factoring/recomputation.py`), and sums between which nothing is stored may share
loops. Definitions move to all that read them if none reads an element for more than `MOST_TIMES`
values of other indices: blocks of rows compute it once for these. Nor do they move to windows, as
`sum[d in range(3)](r[i + d, j])`: no block computes once what several elements of one read.
Definitions that must round identically stay as they are.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from math import prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.algebra.factoring.recomputation import Recomputation
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import boxed_indices
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.costs.tile_cost import length_of
from tadc.passes.simplify.inline_definitions import move_definitions

MOST_TIMES = 8
"""The number of values of other indices for which an element is read and yet not stored."""

LEAST_WINDOW = 2
"""The points at least, over the indices that a read of windows depends on, for each element of the
tensor. A read of one element each may have a few more points than there are elements."""


@dataclass(frozen=True)
class RecomputeElementsPass(ProgramPass):
    """`recompute-elements{sizes="N=512"}`: made best for these, right for all."""

    name = "recompute-elements"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return recompute_elements(program, parse_sizes(self.sizes))


def recompute_elements(program: tix.ProgramOp, sizes: Mapping[str, int]) -> tix.ProgramOp:
    """The program without tensors that are better computed where they are read.

    It is the same one, changed in place.
    """
    fixed = {definition_around(op) for op in must_round_identically(program)}
    found = Recomputation(sizes)
    moved: dict[SSAValue, tix.DefineOp] = {}
    for op in program.definitions:
        if op not in fixed and _may_move(op, found, fixed) and found.add(op):
            moved[op.result] = op
    return move_definitions(program, moved)


def _may_move(op: tix.DefineOp, found: Recomputation, fixed: Container[Operation]) -> bool:
    """True if all that read elements of a definition may compute them, none of them often."""
    for use in op.result.uses:
        read = use.operation
        if not isinstance(read, tix.ReadOp):
            return False
        reader = definition_around(read)
        if reader in fixed or reader.type.dtype != op.type.dtype:
            return False
        if _is_often(read, reader, found):
            return False
    return True


def _is_often(read: tix.ReadOp, reader: tix.DefineOp, found: Recomputation) -> bool:
    """True if `reader` reads an element for many values of other indices, or in several windows."""
    path, used = Path.to(read, reader), IndexUses().of(read.result)
    extents: dict[SSAValue, Affine] = dict(zip(reader.indices, reader.shape, strict=True))
    for around in path.reductions:
        extents.update(boxed_indices(around))
    times = found.points(extents.get(v) for v in path.indices if v not in used)
    in_windows = _points_of(used, path, found) >= LEAST_WINDOW * found.elements(read.shape)
    return times > MOST_TIMES or in_windows


def _points_of(indices: Container[SSAValue], path: Path, found: Recomputation) -> float:
    """The number of points at most that these indices take around a read."""
    own = path.definition
    shape = [size for v, size in zip(own.indices, own.shape, strict=True) if v in indices]
    lengths = (
        length_of(op, v, found.sizes) for op in path.reductions for v in op.indices if v in indices
    )
    return found.elements(shape) * prod(lengths)

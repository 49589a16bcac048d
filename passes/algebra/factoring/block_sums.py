"""Sums inside of reductions that have register blocks only as tensors of their own.

    y[i] = log(sum[l](exp(sum[k](w[l, k] * x[i, k]))))

    s[i, l] = sum[k](w[l, k] * x[i, k])           a block of rows i and columns l: six loads of x
    y[i] = log(sum[l](exp(s[i, l])))              and four of w for 24 products

As it stands, elements along i have nothing in common but w[l, k]: each product loads an x[i, k] for
itself. What the tensor takes, to be written and read again, is less for sums of some length.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import prod

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.algebra.factoring.contraction_order import storing
from tadc.passes.algebra.factoring.sum_places import SumPlace
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.machine_facts import MACHINE
from tadc.passes.index_sets.disjuncts import complement, is_thin
from tadc.passes.index_sets.half_boxes import is_triangle
from tadc.passes.rewriting.programs import type_of

FEWEST_IN_BLOCK = 4
"""Elements along an index that share what does not depend on it: as many as rows of a low block."""

SAVED_FOR_TERM = 4
"""Additions in whose time a term of a block is done sooner, at least: loads, and additions that
wait for each other. A Zen 4 saves 7 to 15 for terms that are products."""


def has_blocks_alone(
    op: tix.SumOp, definition: tix.DefineOp, sizes: Mapping[str, int], uses: IndexUses
) -> bool:
    """True for a sum inside a reduction that has blocks as a tensor, and none where it stands.

    The tensor is no larger than others of the program, or stays in the cache that cores share.
    """
    place = SumPlace(op, definition, sizes)
    if not place.path.reductions or definition.view is not None:
        return False
    if not all(_is_mostly_taken(choice, first) for choice, first in place.path.branches):
        return False
    used = uses.of_operation(op).intersection(place.path.indices)
    wide = {v for v in used if place.lengths[v] >= FEWEST_IN_BLOCK}
    reads = [uses.of_operation(o) for o in op.body.walk() if isinstance(o, tix.ReadOp)]
    if not _share(reads, wide) or _share(reads, {*definition.indices}):
        return False
    elements = prod(place.lengths[v] for v in used)
    terms = prod(place.lengths[v] for v in op.indices)
    room = max(MACHINE.shared_elements, _largest(place))
    return elements <= room and elements * terms * SAVED_FOR_TERM > storing(elements)


def _is_mostly_taken(choice: tix.IfOp, first: bool) -> bool:
    """True if the first body of a choice, or the other one, is left out on diagonals alone, or on
    one side of one."""
    outside = complement(choice.condition)
    taken, left_out = (choice.condition, outside) if first else (outside, choice.condition)
    return is_thin(left_out) or is_triangle(taken)


def _share(reads: Collection[Collection[SSAValue]], indices: Collection[SSAValue]) -> bool:
    """True if several elements along these indices read the same, whatever they read."""
    return all(any(v not in used for v in indices) for used in reads)


def _largest(place: SumPlace) -> int:
    """The elements of the largest tensor of a program."""
    program = place.program
    tensors = [*program.arguments.values(), *(d.result for d in program.definitions)]
    return max(prod(map(place.length, type_of(t).shape)) for t in tensors)

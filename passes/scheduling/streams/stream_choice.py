"""Streams: results larger than the caches, written once, whole lines at a time, past the caches.

A store first reads the line of memory that it changes into the caches. Of a large result the line
is gone before anyone reads it again, so a third of the traffic of a copy is for nothing: stores of
whole lines that bypass the caches (`nontemporal`) save it.

    y[i, j] = exp(x[i, j])                       one iteration writes a row:

    | - - 0 1 | 2 3 4 5 | 6 7 8 9 | 10 11 - - |      four lanes; y[i, 0] is in the third one

Vectors lie where lines do, wherever rows begin: the address of the row tells. Those inside the row
are written whole; a part of a line, at either end, goes through the caches, under a mask.

    for %j = -(address of y[i, 0], counted in elements) % lanes to %J step lanes
      if all lanes are elements for which no condition changes
        vector.store f(x[%i, %j ..]) {nontemporal}
      else
        vector.maskedstore f(...) where lanes are elements

So stencils have no conditions but at their borders. All places compute the same operations on
vectors: the bits do not depend on the address. Sizes that are known at run time only decide there
whether stores bypass the caches: from the size of the machine's largest one on
(`loops.shared_cache`). In calls that caches hold, rows begin and end with a whole vector
(`passes/lowering/loop_tree/border_loops.py`).

A window is a short sum of neighbours, some of whose terms are not there at borders:

    y[i, j] = sum[t in range(3)](x[i, j + t - 1] if 1 <= j + t <= N else 0)

Inside, where all terms are there for all lanes, it has no tests either: 1 <= j <= N - 2. Elements
that are the same for all columns, as weights are, are loaded before them. Rows with
quotients of their column, as `x[i, j // 2]`, are written in phases (`stream_phases`), and those of
which choices make several parts, as `a[i, j] if j < 64 else b[i, j - 64]`, in segments
(`stream_segments`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod

from xdsl.ir import BlockArgument, Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.analysis.access import MASKABLE, Access, access, known_size
from tadc.passes.analysis.costs import COST_OF_FUNCTION, FREE, is_dear, weight
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.rewriting.programs import reductions_around, type_of
from tadc.passes.scheduling.streams.masked_lanes import (
    UNDER_MASKS,
    is_there,
    is_there_ahead,
    reads_ahead,
)
from tadc.passes.scheduling.streams.stream_guards import guards_of, is_guard
from tadc.passes.scheduling.streams.stream_phases import MOST_PHASES, Phase, modulus_of, phases_of
from tadc.passes.scheduling.streams.stream_segments import has_segments, segments_of
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element, lanes_of

FEWEST_BYTES = 32 << 20
"""The bytes of large streams: fewer stay in most machines' largest cache until the next reader
comes, so that stores past the caches are slower. From there on the machine decides."""

MOST_BYTES = 96 << 20
"""The bytes from which on code does not test at run time whether a cache holds them."""

FEWEST_ELEMENTS_OF_ROW = 16
"""The length of the shortest rows: two of their vectors are parts of lines, and still no slower
than one element after the other."""

FEWEST_ELEMENTS_OF_PHASES = 8
"""The length of the shortest rows in phases: an iteration for a part of a vector is no slower than
as many quotients."""

MOST_FUNCTIONS = 2
"""The most elementary functions of an element that are hidden behind memory traffic."""


Shape = tuple[int, Sequence[Affine]]
"""The bytes of an element of a tensor, and its sizes."""


@dataclass(frozen=True)
class Stream:
    """A definition that is written as a stream."""

    op: tix.DefineOp
    lanes: int
    modulus: int
    """The number of its phases."""
    guards: Sequence[tix.IfOp]
    """Choices that differ along a row, where there is one phase."""
    is_near: bool = False
    """True if it is never written past the caches."""
    in_segments: bool = False
    """True if choices cut its rows."""

    @property
    def tests_terms(self) -> bool:
        """True if windows have terms under conditions, as at the borders of a tensor."""
        return any(isinstance(op.parent_op(), tix.ReductionOp) for op in self.guards)


def stream_of(op: tix.DefineOp, sizes: Mapping[str, int]) -> Stream | None:
    """The definition as a stream; None where it is none, or where a plain nest is as fast.

    That is where its elements are few, or take longer than memory does; but for windows, which a
    plain nest reads again for each element, and for choices along rows, of which a stream asks at
    borders alone. Rows must not be short, those of windows neither for these `sizes`.
    Quotients of the column, of which a plain nest computes one for each element, pay sooner.
    """
    if not has_long_rows(op, {}, FEWEST_ELEMENTS_OF_PHASES):
        return None
    stream = possible_stream(op)
    if stream is None:
        return None
    if stream.modulus > 1:
        return stream if has_long_rows(op, sizes, FEWEST_ELEMENTS_OF_PHASES) else None
    known: Mapping[str, int] = sizes if stream.tests_terms else {}
    if not has_long_rows(op, known, FEWEST_ELEMENTS_OF_ROW):
        return None
    return stream if stream.guards or (_may_be_large(op) and not _computes_much(op)) else None


def is_window(op: tix.DefineOp, sizes: Mapping[str, int]) -> bool:
    """True for a stream of windows, whose terms have conditions at borders."""
    has_terms = any(isinstance(o, tix.ReductionOp) for o in op.walk())
    stream = stream_of(op, sizes) if has_terms else None
    return stream is not None and stream.tests_terms


def possible_stream(op: tix.DefineOp) -> Stream | None:
    """The definition as a stream, be it fast or not; None where its elements are no vectors.

    Sums of several results, which definitions in one nest have, are computed in blocks alone.
    """
    if not op.indices or (modulus := modulus_of(op)) > MOST_PHASES:
        return None
    if any(isinstance(o, tix.ReductionOp) and len(o.results) > 1 for o in op.walk()):
        return None
    if has_segments(op):
        with segments_of(op) as segments:
            if not all(map(_has_vectors, (segment.phase for segment in segments))):
                return None
        return Stream(op, lanes_of(op), modulus, guards_of(op, IndexUses()), in_segments=True)
    with phases_of(op, modulus) as phases:
        if not all(map(_has_vectors, phases)):
            return None
        return Stream(op, lanes_of(op), modulus, phases[0].guards if modulus == 1 else ())


def _computes_much(op: tix.DefineOp) -> bool:
    """True if functions take longer than memory does."""
    if any(isinstance(o, tix.ReductionOp) for o in _body(op)):
        return False
    functions = [o for o in _body(op) if not isinstance(o, FREE) and weight(o) >= COST_OF_FUNCTION]
    return len(functions) > MOST_FUNCTIONS


def shapes_of(*ops: tix.DefineOp) -> list[Shape]:
    """The shapes of all tensors that definitions write or read, each once, the first result
    first."""
    written = (op.result for op in ops)
    read = (o.tensor for op in ops for o in op.walk() if isinstance(o, tix.ReadOp))
    types = map(type_of, dict.fromkeys(chain(written, read)))
    return [(bytes_of_element(type_), list(type_.shape)) for type_ in types]


def has_long_rows(op: tix.DefineOp, sizes: Mapping[str, int], fewest: int) -> bool:
    """False if a definition has no rows, or rows known to be shorter than `fewest`."""
    if not op.shape:
        return False
    unknown = any(name not in sizes for name in op.shape[-1].sizes)
    return unknown or op.shape[-1].evaluate(sizes) >= fewest


def _may_be_large(op: tix.DefineOp) -> bool:
    """False if the tensors are known to be small."""
    known = constant_bytes(shapes_of(op))
    return known is None or known >= FEWEST_BYTES


def is_large(op: tix.DefineOp, sizes: Mapping[str, int]) -> bool:
    """True if, for these sizes, stores may go past the caches."""
    known = [(n, [known_size(size, sizes) for size in shape]) for n, shape in shapes_of(op)]
    count = constant_bytes(known)
    return count is not None and count >= FEWEST_BYTES


def constant_bytes(shapes: Sequence[Shape]) -> int | None:
    """The bytes that are read and written, as a number; None where they are known at run time only.

    The result comes first. Of larger tensors about as many elements are read as it has.
    """
    if any(size.terms for _, shape in shapes for size in shape):
        return None
    counts = [prod(max(0, n.constant) for n in shape) for _, shape in shapes]
    return sum(bytes_ * min(n, counts[0]) for (bytes_, _), n in zip(shapes, counts, strict=True))


def _body(op: Operation) -> Iterator[Operation]:
    return (inner for inner in op.walk() if inner is not op)


def _has_vectors(phase: Phase) -> bool:
    """True if all of a phase has a form for vectors."""
    return all(_has_lanes(o, phase.column, phase.uses) for o in _body(phase.op))


def _has_lanes(op: Operation, column: SSAValue, uses: IndexUses) -> bool:
    """True if an operation has a form for vectors along the column, of which lanes may be off."""
    match op:
        case tix.ConstantOp() | tix.UnaryOp() | tix.BinaryOp() | tix.YieldOp() | tix.WhereOp():
            return True
        case tix.ReadOp():
            return access(op, column, uses) is not Access.GATHERED
        case tix.ReductionOp():
            return is_short(op) and not any(isinstance(o, tix.ReductionOp) for o in _body(op))
        case tix.IfOp():
            return not is_guard(op, column, uses) or _is_maskable(op, column, uses)
        case _:
            return column not in uses.of_operation(op) and isinstance(
                op, tix.FloorDivOp | tix.IndexToRealOp
            )


def _is_maskable(op: tix.IfOp, column: SSAValue, uses: IndexUses) -> bool:
    """True for a condition on indices, and quotients that are the same for all columns, whose
    branches read neighbours alone, or choose likewise.

    Lanes that are off do not touch these. Numbers are there anyway, short sums that are the
    same for all columns among them; those that are not are computed lane by lane, at borders
    alone, unless a function might round otherwise there, or all that a choice does is to leave
    a term of a window out.
    """
    own = {v for disjunct in op.condition for c in disjunct for v in c.form.indices}
    if any(not isinstance(v, BlockArgument) and column in uses.of(v) for v in own):
        return False

    def is_number(o: Operation) -> bool:
        is_sum = isinstance(o, tix.ReductionOp)
        return is_sum and is_short(o) and column not in uses.of_operation(o)

    if not all(isinstance(o, (*UNDER_MASKS, tix.ReadOp)) or is_number(o) for o in _body(op)):
        return False
    reads = [(o, is_there) for o in _body(op) if isinstance(o, tix.ReadOp)]
    reads += [(o, is_there_ahead) for o in reads_ahead(op)]
    leaves_out = any(reductions_around(op)) and tix.constant_value(tix.yielded(op.otherwise)) == 0
    may_be_alone = not leaves_out and not any(is_dear(o) for o in _body(op) if not is_number(o))
    # vectors leave lanes out
    kinds = ((access(o, column, uses), known, o) for o, known in reads)
    return all(
        kind in MASKABLE or (kind is Access.INVARIANT and (may_be_alone or known(o)))
        for kind, known, o in kinds
    )

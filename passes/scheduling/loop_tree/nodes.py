"""Nodes of the tree of loops.

    m[n, p] = max[c](x[n, c, p])                parallel n
    y[n, c, p] = exp(x[n, c, p] - m[n, p])        parallel p by 64
                                                    vector p by 64 in 16
                                                      for p by 64 mask
                                                        begin max m.1[c]
                                                        for c
                                                          add m.1
                                                        keep and store m
                                                        for c_1
                                                          store y

A loop runs over the range of its axis, or over the part of it that a loop around leaves: so
`parallel p by 64` makes parts of 64 values, and `for p` goes over one of them (strip-mining).

**What is jammed stands outside.** Loops marked `VECTOR` or `JAM` are around what they are jammed
into: each statement inside runs at all of their values before the next one does. A sum over rows
of vectors is `vector j { begin; for k { add }; store }`, with an accumulator for each vector, and a
sum along lanes `vector j { begin; for j { add }; combine }`. Statements with no loop between them
may run point by point, as they read nothing of other points.

Trees are immutable, and know nothing of how code is emitted: `passes/scheduling/recipes` make them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.scheduling.recurrences import Recurrence
from tadc.passes.scheduling.scans import Scan
from tadc.passes.scheduling.streams.stream_choice import Shape
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.tiles.tile import Neighbour


class Mark(Enum):
    """The way in which the iterations of a loop run."""

    SERIAL = "for"
    PARALLEL = "parallel"
    """In any order, by any thread."""
    UNROLL = "unroll"
    """Written out, one after the other: what several of them load is loaded once."""
    JAM = "jam"
    """At the same time: each statement inside runs in all of them before the next one does."""
    VECTOR = "vector"
    """Jammed, in the lanes of vectors."""


class Tail(Enum):
    """The end of a loop whose range is no multiple of its step."""

    PARTIAL = ""
    """The last iteration has the values that are left."""
    MASK = "mask"
    """Whole steps first, then single vectors, the last of which leaves lanes out."""
    PEEL = "peel"
    """Whole steps first, which are jammed, then one value at a time."""
    EXACT = "exact"
    """Nothing is left: all steps are whole."""
    SHIFT = "shift"
    """The last step begins earlier, and computes elements again; a range without room for a step
    has its lanes under a mask."""
    BORDER = "border"
    """Vectors in which no choice changes sides are whole; others leave out the lanes behind the
    end, and choose lane by lane."""
    ALIGN = "align"
    """Vectors begin at cache lines, and are whole or masked as for `BORDER`: the first one may have
    lanes before the range. Parts of a range end at cache lines."""


class Storage(Enum):
    """The memory of a buffer."""

    STACK = "on the stack"
    RESULT = "in the result"
    """The elements of the definition whose reduction it is."""


@dataclass(frozen=True)
class Ahead:
    """The terms of a scan that come before the first one that an element adds."""

    of: Scan


@dataclass(frozen=True)
class AtMost:
    """A test that a product of sizes is no larger than a number."""

    sizes: Sequence[Affine]
    number: int


@dataclass(frozen=True, eq=False)
class Exceeds:
    """A test that these tensors have more bytes than the largest cache of the machine."""

    shapes: Sequence[Shape]


Range = Affine | tix.ReductionOp | Ahead
"""The range of a loop: the number of elements of a result, a reduction whose constraints bound its
index, or the terms of a scan ahead of its first element."""


@dataclass(frozen=True, eq=False)
class Axis:
    """The index that a loop runs over, or one of each definition that shares the loop."""

    indices: Sequence[SSAValue]
    range: Range
    divisor: int = 1
    """The number by which the size in a range is divided, rounded up: the residues of the index."""

    def index_in(self, own: Sequence[SSAValue]) -> SSAValue | None:
        """The index among `own` that the loop runs over; None if there is none."""
        return next((v for v in self.indices if v in own), None)


@dataclass(frozen=True, eq=False)
class For:
    """A loop over an axis."""

    axis: Axis
    body: Node
    mark: Mark = Mark.SERIAL
    step: int = 1
    tail: Tail = Tail.PARTIAL
    lanes: int = 1
    """The elements of each vector."""
    backwards: bool = False
    """True if the last value of the range comes first."""
    limit: AtMost | None = None
    """A test that must hold for iterations to be jammed."""
    undivided: AtMost | None = None
    """A test under which the range is not strip-mined: all its values are one part."""
    first: int = 0
    """The first value, where a loop runs over a segment of the range."""
    end: int | None = None
    """The value behind the last one of a segment; None: the end of the range."""
    phases: Sequence[Phase] = ()
    """The definitions in a loop over vectors whose choices change sides along it."""


@dataclass(frozen=True, eq=False)
class Seq:
    """Nodes that run one after the other."""

    parts: Sequence[Node]


@dataclass(frozen=True, eq=False)
class If:
    """A node that runs where tests hold, and another one elsewhere.

    An index that has no value yet is the first one of the part that a loop around leaves.
    """

    tests: Sequence[Constraint | Exceeds]
    body: Node
    otherwise: Node | None = None


@dataclass(frozen=True, eq=False)
class Lazy:
    """A node that runs only where one side of a choice needs the value of its reduction."""

    of: tix.ReductionOp
    body: Node


@dataclass(frozen=True, eq=False)
class ByReciprocals:
    """A node in which a definition is divided by numbers that do not vary in it: by products with
    their reciprocals, where these give the same bits."""

    of: tix.DefineOp
    body: Node


@dataclass(frozen=True, eq=False)
class Buffer:
    """Memory for the accumulators of a reduction, one for each value of an axis."""

    of: tix.ReductionOp
    axis: Axis
    """The index of the accumulators, over the part of its range that a loop around leaves."""
    size: int
    """The values of the longest part; 0 in a result, which has all of them."""
    body: Node
    tests: Sequence[Constraint] = ()
    """Tests of a term, which leave lanes out."""
    is_compensated: bool = False
    """True for a sum in segments, whose totals are added with their rounding errors."""
    storage: Storage = Storage.STACK


@dataclass(frozen=True, eq=False)
class Begin:
    """Accumulators of a reduction, one at each point, without terms yet."""

    of: tix.ReductionOp


@dataclass(frozen=True, eq=False)
class Add:
    """A term of a reduction, added to its accumulators."""

    of: tix.ReductionOp


@dataclass(frozen=True, eq=False)
class Join:
    """The end of a segment: its accumulators are added to the totals before, and cleared."""

    of: tix.ReductionOp


@dataclass(frozen=True, eq=False)
class Combine:
    """The accumulators of a reduction along lanes, combined to a number."""

    of: tix.ReductionOp


@dataclass(frozen=True, eq=False)
class Carry:
    """The next element of a recurrence or a scan, from the one before it, which its accumulator
    holds."""

    of: Recurrence | Scan


@dataclass(frozen=True, eq=False)
class Store:
    """The elements of a definition at all points."""

    of: tix.DefineOp
    is_stored: bool = True
    """True if they are stored in the memory of its tensor."""
    is_kept: bool = False
    """True if they are kept in registers, where later statements of the same points read them."""
    is_streaming: bool = False
    """True if whole vectors bypass the caches."""
    taken: Mapping[SSAValue, Sequence[Neighbour]] = field(
        default_factory=dict["SSAValue", "Sequence[Neighbour]"]
    )
    """Values of the body that are reused from other points of a block, which compute them."""


@dataclass(frozen=True, eq=False)
class Interleave:
    """The elements of definitions at all points, one of each in turn, as those of one row."""

    of: Sequence[tix.DefineOp]


Statement = Begin | Add | Join | Combine | Carry | Store | Interleave
Node = For | Seq | If | Lazy | ByReciprocals | Buffer | Statement


def nodes_in(node: Node) -> Iterator[Node]:
    """The node with all nodes inside it, in the order in which they run."""
    yield node
    match node:
        case Seq(parts):
            for part in parts:
                yield from nodes_in(part)
        case For() | If() | Lazy() | ByReciprocals() | Buffer():
            yield from nodes_in(node.body)
            if isinstance(node, If) and node.otherwise:
                yield from nodes_in(node.otherwise)
        case _:
            pass


def nested(axes: Sequence[Axis], body: Node, mark: Mark = Mark.SERIAL) -> Node:
    """Loops over these axes, the first one outermost."""
    for axis in reversed(axes):
        body = For(axis, body, mark)
    return body

"""Frequencies of the operations of a definition: terms of sums, and shares of guards, per element.

    y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])      x[i, k]: K J times per element

Where the index sets of sums are boxes, these numbers are exact. Others are means over some elements
spread evenly over the definition's: point n has the coordinates frac(n phi_d), where 1 / phi_d is
the d-th power of the root of x**(D + 1) = x + 1 (a sequence of low discrepancy; Roberts, The
unreasonable effectiveness of quasirandom sequences, 2018). Of a scan, whose total loops carry from
element to element, each element adds one term. The elements of index tensors, which nobody knows,
rise evenly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import floor

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix.affine import SizeValues
from tadc.passes.rewriting.programs import accesses_of, type_of
from tadc.passes.scheduling.recurrences import carried_reductions
from tadc.passes.scheduling.scans import carried_scans

POINTS = 64
"""The number of sample elements over which means are taken."""

INNER = 2
"""The coordinates of a sample point that place the indices of sums, taken in turn."""

Values = dict[SSAValue | str, int]


@dataclass
class Frequencies:
    """Means per element of a definition."""

    runs: dict[Operation, float] = field(
        default_factory=lambda: defaultdict[Operation, float](float)
    )
    """Runs of each operation."""
    terms: dict[Operation, float] = field(
        default_factory=lambda: defaultdict[Operation, float](float)
    )
    """Terms of each reduction."""
    lengths: dict[SSAValue, float] = field(
        default_factory=lambda: defaultdict[SSAValue, float](float)
    )
    """The trip count of the loop over each index of a sum."""


def frequencies(op: tix.DefineOp, sizes: Mapping[str, int]) -> Frequencies:
    """The frequencies of a definition's operations for `sizes`, which name all its sizes.

    Takes time in proportion to the operations of the body.
    """
    found = Frequencies()
    visits: dict[SSAValue, float] = defaultdict(float)
    known = SizeValues(sizes)
    extents = [max(0, n.evaluate(known)) for n in op.shape]
    points = list(_points(len(extents) + INNER, POINTS))
    carried = {*(scan.op for scan in carried_scans(op)), *carried_reductions(op)}
    for point in points:
        values: Values = {**sizes}
        values.update(
            (v, floor(x * n)) for v, n, x in zip(op.indices, extents, point, strict=False)
        )
        walk = _Walk(found, visits, carried, known, values, point[len(extents) :])
        walk.region(op.body, 1 / POINTS)
    for index in found.lengths:
        found.lengths[index] /= visits[index]
    return found


def _points(dimensions: int, count: int) -> Iterator[Sequence[float]]:
    """Points of the unit cube, spread evenly."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimensions + 1))
    for n in range(count):
        yield [(0.5 + (n + 1) * root ** -(d + 1)) % 1 for d in range(dimensions)]


@dataclass
class _Walk:
    """Counts the operations of one sample element; each sum is sampled at one of its terms."""

    found: Frequencies
    visits: dict[SSAValue, float]
    carried: Set[Operation]
    """The reductions whose totals loops carry."""
    sizes: Mapping[str, int]
    values: Values
    places: Sequence[float]
    """The fractions of their ranges at which indices of sums are sampled, taken in turn."""

    def region(self, region: Region, weight: float) -> None:
        for op in region.block.ops:
            self.operation(op, weight)

    def operation(self, op: Operation, weight: float) -> None:
        """Count an operation that runs `weight` times, and all inside it."""
        self.found.runs[op] += weight
        match op:
            case tix.FloorDivOp():
                self.values[op.result] = self._at(op.form) // op.divisor.data
            case tix.AtOp():
                self.values[op.result] = self._element(op)
            case tix.ReductionOp():
                terms = weight * self._terms(op, weight)
                self.found.terms[op] += terms
                self.region(op.body, terms)
            case tix.IfOp():
                holds = any(all(map(self._holds, disjunct)) for disjunct in op.condition)
                self.region(op.then if holds else op.otherwise, weight)
            case tix.WhereOp():
                self.region(op.then, weight / 2)
                self.region(op.otherwise, weight / 2)
            case _:
                pass

    def _element(self, op: tix.AtOp) -> int:
        """An element of an index tensor, as if its elements rose evenly to the end of their range.

        So a segment is as long as the mean one, from `starts[p]` to `starts[p + 1]`.
        """
        if op.end is None or not op.forms:
            return 0
        last = max(1, self._at(op.shape[0]) - 1)
        place = min(max(0, self._at(op.forms[0])), last)
        return place * max(0, self._at(op.end) - 1) // last

    def _terms(self, op: tix.ReductionOp, weight: float) -> int:
        """The terms of a reduction, whose indices are set to one of them."""
        terms = 1
        for n, index in enumerate(op.indices):
            low, high = self._bounds(op, index)
            length = max(0, high - low + 1)
            if op in self.carried:
                length = min(1, length)
            self.found.lengths[index] += weight * length
            self.visits[index] += weight
            self.values[index] = low + floor(self.places[n % len(self.places)] * length)
            terms *= length
        return terms

    def _bounds(self, op: tix.ReductionOp, index: SSAValue) -> tuple[int, int]:
        """The bounds of an index, from constraints on it and those before it."""
        low, high = -(1 << 60), 1 << 60
        for constraint in op.constraints:
            c = constraint.form[index]
            rest = constraint.form - tix.Affine.of(index) * c
            if not c or any(v not in self.values for v in rest.indices):
                continue
            value = self._at(rest)
            if c > 0 or constraint.equality:  # c index >= -rest
                low = max(low, -(value // abs(c)) if c > 0 else -(-value // abs(c)))
            if c < 0 or constraint.equality:  # |c| index <= rest
                high = min(high, value // abs(c) if c < 0 else -value // abs(c))
        return low, high

    def _holds(self, constraint: tix.Constraint) -> bool:
        value = self._at(constraint.form)
        return value == 0 if constraint.equality else value >= 0

    def _at(self, form: tix.Affine) -> int:
        return form.constant + sum(
            c * (self.sizes[v] if isinstance(v, str) else self.values[v])
            for v, c in form.terms.items()
        )


def bytes_of(op: tix.DefineOp, sizes: Mapping[str, int]) -> int:
    """The bytes of the result and of all tensors that the definition reads, each once."""
    tensors = {op.result, *(access.tensor for access in accesses_of(op))}
    return sum(tensor_bytes(type_of(t), sizes) for t in tensors)


def tensor_bytes(type_: tix.TensorType, sizes: Mapping[str, int]) -> int:
    """The bytes of a tensor."""
    known = SizeValues(sizes)
    count = 4 if type_.dtype in ("f32", "int") else 8
    for size in type_.shape:
        count *= max(0, size.evaluate(known))
    return count

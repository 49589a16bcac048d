"""Reads in the lanes of vectors: neighbours, elements at a fixed distance, masks.

    x[i, j]          j along the lanes: side by side      vector.load
    x[i, N - 1 - j]  the other way round                  vector.load, vector.shuffle
    x[j, i]          a row apart                          loops.strided_load, or squares

An element, or a vector, is loaded once for all places that read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects import vector
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import StridedLoadOp, vector_of
from tadc.dialects.tix import Affine
from tadc.passes.analysis.access import MASKED_STEPS
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering import operations
from tadc.passes.lowering.lanes.vector_lowering import VectorLowering
from tadc.passes.lowering.loop_builders import select
from tadc.passes.lowering.scalars.index_lowering import Ring


class LaneReads(VectorLowering):
    """Emits loads: of a number where it is uniform across lanes, else of a vector."""

    uses: IndexUses
    mask: SSAValue | None = None
    """The lanes that may be read; None for all."""
    is_asked: SSAValue | None = None
    """A bit that implies an empty mask where it is false; None where no such bit is known."""
    loaded: dict[object, SSAValue]
    """Elements that are loaded, by tensor and forms."""

    # --- quotients ---

    def operation(self, op: Operation) -> None:
        """Emit an operation by numbers; a quotient has a place, which other points do not share."""
        if isinstance(op, tix.LocalIndexOp):
            self.provide_quotients([Affine.of(op.result)])
        else:
            super().operation(op)

    def provide_quotients(self, forms: Sequence[Affine]) -> None:
        """Compute the floor divisions in these forms, and let each form refer to the results."""
        for v in dict.fromkeys(v for form in forms for v in form.indices):
            op = v.owner
            if isinstance(op, tix.AtOp) and v not in self.index.places:
                self.provide_quotients(op.forms)
                element = self.element_of_indices(op)
                self.index.values[element] = element
                self.index.places[v] = Affine.of(element)
            if isinstance(op, tix.FloorDivOp) and v not in self.index.places:
                self.provide_quotients([op.form])
                quotient = self.index.floordiv(op.form, op.divisor.data)
                self.index.values[quotient] = quotient
                self.index.places[v] = Affine.of(quotient)

    def _placed(self, forms: Sequence[Affine]) -> tuple[Affine, ...]:
        places = self.index.places
        return tuple([form.substitute(places) for form in forms] if places else forms)

    def is_divided(self, forms: Sequence[Affine]) -> bool:
        """True if a quotient in these forms varies along the lanes."""
        column = self.tile.column_index
        return any(
            v is not column and column in self.uses.of(v) for form in forms for v in form.indices
        )

    # --- reads ---

    def number(self, op: tix.ReadOp) -> SSAValue:
        """Load an element that is uniform across lanes."""
        self.provide_quotients(op.forms)
        key = op.tensor, op.shape, *self._placed(op.forms)
        if key not in self.loaded:
            self.loaded[key] = self._read(op)
        return self.loaded[key]

    def elements(self, op: tix.ReadOp) -> SSAValue | None:
        """The elements of a read in all lanes; None without a fixed stride or a masked load.

        Contiguous elements and those at a short stride have masked loads. An unmasked load of the
        same elements serves all lanes, and is not repeated.
        """
        step = self.step(op)
        if step is None:
            return None
        self.provide_quotients(op.forms)
        key = self.key(op, self.mask)
        if self.mask is not None and (whole := self.key(op, None)) in self.loaded:
            return self.loaded[whole]
        if self.mask is not None and step not in MASKED_STEPS:
            return None
        if key not in self.loaded:
            first = self.index.linear(op.forms, self.strides[op.tensor, op.shape])
            source = self.buffers[op.tensor]
            if step == 1:
                found = self.neighbours(source, first, self.mask)
            elif self.mask is None and step != -1:
                found = self._apart(source, first, step)
            elif isinstance(step, int) and step < 0:
                found = self._backwards(step, source, first)
            else:
                assert isinstance(step, int) and self.mask is not None
                found = self._every(step, source, first, self.mask)
            self.loaded[key] = self.widened(found)
        return self.loaded[key]

    def is_loaded(self, op: tix.ReadOp) -> bool:
        """True if the elements of a read are loaded for all lanes, without a mask."""
        return self.key(op, None) in self.loaded

    def key(self, op: tix.ReadOp, mask: SSAValue | None) -> object:
        """The key of the elements of a read among those that are loaded."""
        return op.tensor, op.shape, self.lanes, mask, *self._placed(op.forms)

    def step(self, op: tix.ReadOp) -> SSAValue | int | None:
        """The stride of a read from lane to lane; None where a floor division varies along them."""
        if self.is_divided(op.forms):
            return None
        fixed, rest = 0, None
        for form, stride in zip(op.forms, self.strides[op.tensor, op.shape], strict=True):
            c = form[self.tile.column_index]
            assert not c or not isinstance(stride, Ring)  # lanes are in one plane
            if c and isinstance(stride, int):
                fixed += c * stride
            elif c and isinstance(stride, SSAValue):
                part = stride if c == 1 else self.index.mul(stride, self.index.constant(c))
                rest = part if rest is None else self.index.add(rest, part)
        if rest is None:
            return fixed
        return self.index.add(rest, self.index.constant(fixed)) if fixed else rest

    def neighbours(self, source: SSAValue, first: SSAValue, mask: SSAValue | None) -> SSAValue:
        """Load contiguous elements of a buffer from a position on, under a mask if there is one.

        With an empty mask the load is from the beginning of the buffer: at an address without
        memory, a processor takes a thousand times as long for it.
        """
        element = cast("MemRefType[Any]", source.type).element_type
        if mask is None:
            kind = vector_of(element, self.lanes)
            return self.insert(operations.load_lanes(source, first, kind)).result
        if self.is_asked is not None:
            first = select(self, self.is_asked, first, self.index.constant(0))
        zeros = self.zeros(element)
        return self.insert(vector.MaskedLoadOp(source, [first], mask, zeros)).result

    def _backwards(self, step: int, source: SSAValue, first: SSAValue) -> SSAValue:
        """Load elements at a negative stride: in the order of memory, and then reversed."""
        lowest = self.index.add(first, self.index.constant(step * (self.lanes - 1)))
        mask = None if self.mask is None else self.reversed(self.mask)
        if mask is None or step == -1:
            return self.reversed(self.neighbours(source, lowest, mask))
        return self.reversed(self._every(-step, source, lowest, mask))

    def _every(self, step: int, source: SSAValue, first: SSAValue, mask: SSAValue) -> SSAValue:
        """Load elements at a short stride under a mask, out of `step` contiguous vectors."""
        width = self.lanes
        places = [divmod(lane * step, width) for lane in range(width)]
        parts: list[SSAValue] = []
        for n in range(step):
            lanes = {place: lane for lane, (part, place) in enumerate(places) if part == n}
            taken = self._spread(mask, tuple(lanes.get(place, width) for place in range(width)))
            begin = self.index.add(first, self.index.constant(n * width))
            parts.append(self.neighbours(source, begin, taken))
        return self.picked(parts, places)

    def _spread(self, mask: SSAValue, order: tuple[int, ...]) -> SSAValue:
        """Reorder the lanes of a mask, in the block of the mask, and so outside of all loops in it.

        In `order`, the number of lanes stands for a lane that is off.
        """
        at, owner = self.index, mask.owner
        home = owner.parent_block() if isinstance(owner, Operation) else owner
        while at.outer and at.block is not home:
            at = at.outer
        none = at.once(
            ("no lanes", self.lanes), lambda: operations.first_lanes(at.constant(0), self.lanes)
        )
        return at.once(("spread", mask, order), lambda: operations.shuffle(mask, none, order))

    def _apart(self, source: SSAValue, first: SSAValue, step: SSAValue | int) -> SSAValue:
        distance = self.index.constant(step) if isinstance(step, int) else step
        kind = vector_of(cast("MemRefType[Any]", source.type).element_type, self.lanes)
        return self.insert(StridedLoadOp(source, first, distance, kind)).result

"""Ranges of indices that stand alone in a dimension: `i` in `a[i, k]` runs over that dimension."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint, IfOp, between
from tadc.errors import SizeError
from tadc.language.reads import Access
from tadc.language.statement import Progress
from tadc.passes.index_sets.space import Space

_SURE, _CONDITIONAL, _PADDED = range(3)
"""A read happens always, under a condition, or under the condition that it is inside."""

Place = tuple[Access, int]
"""A dimension of a read."""


class Dimensions:
    """The dimensions of a statement's reads that indices stand alone in, and their sizes."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.sizes = progress.sizes
        self.describer = progress.describer
        self._places: dict[SSAValue, list[Place]] = {}
        for access in progress.accesses:
            for dimension, form in enumerate(access.read.forms):
                if (alone := form.single_index) is not None:
                    self._places.setdefault(alone, []).append((access, dimension))

    def check_pinned(self, index: SSAValue) -> None:
        """Bind open sizes to the range of a declaration, or of the tensor that is updated.

        Raises `SizeError` where a read that always happens has another size than an updated tensor.
        """
        places, size = self._places.get(index, []), self.progress.statement.sizes[index]
        self._bind_open(places, size)
        if self.progress.statement.old is not None:
            for place in [p for p in places if kind(self.progress, *p) == _SURE]:
                if not self.sizes.unify(size, self._size(place)):
                    raise self._update_disagreement(index, place)

    def common_size(self, index: SSAValue) -> Affine | None:
        """The size that all dimensions where the index stands alone agree on.

        Reads that happen always must agree. Reads under conditions may differ from them, since
        they only have to be inside where the condition holds.
        """
        places = self._places.get(index, [])
        kinds = [kind(self.progress, *place) for place in places]
        for wanted in (_SURE, _CONDITIONAL, _PADDED):
            chosen = [place for place, k in zip(places, kinds, strict=True) if k == wanted]
            if chosen and (wanted == _SURE or self._compatible(chosen)):
                size = self._agreed(index, chosen)
                others = [p for p, k in zip(places, kinds, strict=True) if k == _CONDITIONAL]
                self._bind_open(others, size)
                self.sizes.wish(size, self.describer.index(index).upper())
                return self.sizes.resolve(size)
        return None

    def _size(self, place: Place) -> Affine:
        return self.progress.shape(place[0])[place[1]]

    def _compatible(self, places: Sequence[Place]) -> bool:
        sizes = map(self._size, places)
        return len({size for size in sizes if not self.sizes.is_open(size)}) <= 1

    def _bind_open(self, places: Sequence[Place], size: Affine) -> None:
        for place in places:
            if self.sizes.is_open(self._size(place)):
                self.sizes.unify(self._size(place), size)

    def _agreed(self, index: SSAValue, places: Sequence[Place]) -> Affine:
        size = self._size(places[0])
        for place in places[1:]:
            if not self.sizes.unify(size, self._size(place)):
                raise self._disagreement(index, places[0], place)
        return size

    def _disagreement(self, index: SSAValue, first: Place, second: Place) -> SizeError:
        def place(access: Access, dimension: int) -> str:
            size = self.describer.size(self._size((access, dimension)))
            return f"dimension {dimension} of {self.describer.tensor(access)} (size {size})"

        name = self.describer.index(index)
        size = self._size(second)
        return SizeError(
            f"{name} runs over {place(*first)} and over {place(*second)}",
            self.describer.dimension_span(*second),
            f"make the sizes equal, or give the range: {name} in range(...)",
            index=name,
            size=self.describer.size(size) if size.terms else size.constant,
            argument=self.describer.tensor(second[0]),
            dimension=second[1],
        )

    def _update_disagreement(self, index: SSAValue, place: Place) -> SizeError:
        name, tensor = self.describer.index(index), self.describer.tensor(place[0])
        size = self._size(place)
        own = self.describer.size(self.progress.statement.sizes[index])
        return SizeError(
            f"{name} runs over the updated tensor (size {own}) and over dimension {place[1]} of "
            f"{tensor} (size {self.describer.size(size)})",
            self.describer.dimension_span(*place),
            "make the sizes equal",
            index=name,
            size=self.describer.size(size) if size.terms else size.constant,
            argument=tensor,
            dimension=place[1],
        )


def _holds(op: IfOp, then: bool) -> bool:
    """True if a branch is always taken."""
    return op.condition == ([[]] if then else [])


def _follows(constraint: Constraint, disjunct: list[Constraint]) -> bool:
    space = Space([], [constraint, *disjunct])
    return space.implied(constraint, space.rows(disjunct))


def is_padded(progress: Progress, access: Access, dimension: int) -> bool:
    """True if a read happens where it is inside of a dimension, as `pad` says."""
    return kind(progress, access, dimension) == _PADDED


def kind(progress: Progress, access: Access, dimension: int) -> int:
    """The kind of a read: it happens always, under a condition, or inside of a dimension."""
    branches = [(op, then) for op, then in access.branches if not _holds(op, then)]
    if not branches:
        return _SURE
    if (access.read, dimension) in progress.statement.beyond:
        return _PADDED
    form, size = access.read.forms[dimension], progress.shape(access)[dimension]
    inside = between(0, form, size)
    for op, then in branches:
        disjuncts = [
            [Constraint(progress.sizes.resolve(c.form), c.equality) for c in disjunct]
            for disjunct in op.condition
        ]
        if (
            then
            and disjuncts
            and all(_follows(c, disjunct) for disjunct in disjuncts for c in inside)
        ):
            return _PADDED
    return _CONDITIONAL

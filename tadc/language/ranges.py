"""Ranges of indices that have none in the text.

An index that stands alone in a dimension, `a[i, k]`, runs over that dimension. Any other gets the
largest interval from 0 in which every read is inside its tensor. For `x[i + k]` with 0 <= k < K
known, the reads at i that leave x are

    { i : there is k with i + k >= N, 0 <= k < K }   =   { i : i >= N - K + 1 }

by projection along k, so that i runs from 0 to below N - K + 1. With sizes as columns, the one
derivation serves every size. A range of no element at all is an error, unless the tensor that
is read has none: it is a mistake far more often than a wish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.ir import Region, SSAValue

from dialects.tix import Affine, Constraint, IfOp, ReductionOp, between
from passes.index_sets.space import Space, feasible
from passes.polyhedral.division import lower_bound
from passes.polyhedral.fourier_motzkin import project_bounds
from passes.polyhedral.loop_nests import integer_point
from tadc.errors import RangeError, SizeError
from tadc.language.describe import Describer
from tadc.language.reads import Access, Ranges, component, reads, some_point, used
from tadc.language.sizes import Bound, Sizes

_TRIES = 64
_SURE, _CONDITIONAL, _PADDED = range(3)


@dataclass
class Statement:
    """One definition, whose ranges are partly open."""

    region: Region
    sizes: dict[SSAValue, Affine]
    """The definition's indices that have a range."""
    open: list[SSAValue]
    """Indices without a range, in order of appearance."""
    shape_of: Callable[[SSAValue], Sequence[Affine]]
    open_ranges: dict[ReductionOp, list[Constraint]] = field(
        default_factory=dict[ReductionOp, list[Constraint]]
    )
    """What is known of the reductions with open indices."""
    pinned: list[SSAValue] = field(default_factory=list[SSAValue])
    """Indices whose range is that of a declaration: it binds open sizes too."""
    old: SSAValue | None = None
    """The version before, where the statement updates a tensor."""


def infer(statement: Statement, sizes: Sizes, describer: Describer) -> dict[SSAValue, Affine]:
    """The size `n` of each open index, which then runs over 0 <= i < n."""
    return Inference(statement, sizes, describer).run()


class Inference:
    """One run of the inference; `current` is the index that is dealt with, or that failed."""

    def __init__(self, statement: Statement, sizes: Sizes, describer: Describer):
        self.statement = statement
        self.sizes = sizes
        self.describer = describer
        self.ranges = Ranges(statement.sizes, sizes.resolve, statement.open_ranges)
        self.accesses = reads(used(statement.region))
        self._mentioned = [self.ranges.mentioned(access) for access in self.accesses]
        self._places: dict[SSAValue, list[tuple[Access, int]]] = {}
        """The dimensions that each index stands alone in."""
        for access in self.accesses:
            for dimension, form in enumerate(access.read.forms):
                if (alone := form.single_index) is not None:
                    self._places.setdefault(alone, []).append((access, dimension))
        self.open = list(statement.open)
        self.found: dict[SSAValue, Affine] = {}
        self.current: SSAValue | None = None

    def run(self) -> dict[SSAValue, Affine]:
        """The sizes of the open indices; raises `RangeError` or `SizeError` where one has none."""
        for index in self.statement.pinned:
            self._bind_open(self._places.get(index, []), self.statement.sizes[index])
            self._check_pinned(index)
        for index in list(self.open):
            size = self._standing_alone(index)
            if size is not None:
                self._set(index, size)
        while self.open:
            index = next((i for i in self.open if self._try_interval(i)), None)
            if index is None:
                raise self._not_inferred(self.open[0])
        return {index: self.sizes.resolve(size) for index, size in self.found.items()}

    def _check_pinned(self, index: SSAValue) -> None:
        """The dimensions that an index of an update runs over agree with the updated one."""
        places = [p for p in self._places.get(index, []) if self._kind(*p) == _SURE]
        for place in places if self.statement.old is not None else ():
            if not self.sizes.unify(self.statement.sizes[index], self._size(place)):
                raise self._update_disagreement(index, place)

    def _set(self, index: SSAValue, size: Affine) -> None:
        self.open.remove(index)
        self.found[index] = self.ranges.sizes[index] = size

    def _shape(self, access: Access) -> list[Affine]:
        return [self.sizes.resolve(s) for s in self.statement.shape_of(access.read.tensor)]

    # --- indices that stand alone ---

    def _standing_alone(self, index: SSAValue) -> Affine | None:
        """The size that all dimensions where the index stands alone agree on.

        Reads that happen always must agree. Reads under conditions may differ from them, since
        they only have to be inside where the condition holds.
        """
        self.current = index
        places = self._places.get(index, [])
        kinds = [self._kind(access, dimension) for access, dimension in places]
        for kind in (_SURE, _CONDITIONAL, _PADDED):
            chosen = [place for place, k in zip(places, kinds, strict=True) if k == kind]
            if chosen and (kind == _SURE or self._compatible(chosen)):
                size = self._agreed(index, chosen)
                others = [p for p, k in zip(places, kinds, strict=True) if k == _CONDITIONAL]
                self._bind_open(others, size)
                self.sizes.wish(size, self.describer.index(index).upper())
                return self.sizes.resolve(size)
        return None

    def _kind(self, access: Access, dimension: int) -> int:
        branches = [(op, then) for op, then in access.branches if not _holds(op, then)]
        if not branches:
            return _SURE
        form, size = access.read.forms[dimension], self._shape(access)[dimension]
        inside = between(0, form, size)
        for op, then in branches:
            disjuncts = [
                [Constraint(self.sizes.resolve(c.form), c.equality) for c in disjunct]
                for disjunct in op.condition
            ]
            if (
                then
                and disjuncts
                and all(_follows(c, disjunct) for disjunct in disjuncts for c in inside)
            ):
                return _PADDED
        return _CONDITIONAL

    def _size(self, place: tuple[Access, int]) -> Affine:
        return self._shape(place[0])[place[1]]

    def _compatible(self, places: Sequence[tuple[Access, int]]) -> bool:
        sizes = map(self._size, places)
        return len({size for size in sizes if not self.sizes.is_open(size)}) <= 1

    def _bind_open(self, places: Sequence[tuple[Access, int]], size: Affine) -> None:
        for place in places:
            if self.sizes.is_open(self._size(place)):
                self.sizes.unify(self._size(place), size)

    def _agreed(self, index: SSAValue, places: Sequence[tuple[Access, int]]) -> Affine:
        size = self._size(places[0])
        for place in places[1:]:
            if not self.sizes.unify(size, self._size(place)):
                raise self._disagreement(index, places[0], place)
        return size

    def _disagreement(
        self, index: SSAValue, first: tuple[Access, int], second: tuple[Access, int]
    ) -> SizeError:
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

    def _update_disagreement(self, index: SSAValue, place: tuple[Access, int]) -> SizeError:
        name, tensor = self.describer.index(index), self.describer.tensor(place[0])
        size = self._size(place)
        own = self.describer.size(self.statement.sizes[index])
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

    # --- intervals ---

    def _try_interval(self, index: SSAValue) -> bool:
        self.current = index
        bounds: list[Bound] = []
        for access, dimension, system in self._outside(index, feasible):
            blocked = any(v in self.open for c in system for v in c.form.indices if v is not index)
            if not blocked:
                bounds += self._bounds(index, access, dimension, system)
        if not bounds:
            return False
        name = self.describer.index(index)
        self._set(index, self.sizes.derive(bounds, name.upper()))
        return True

    def _outside(
        self, index: SSAValue, happens: Callable[[list[Constraint]], bool] = lambda _: True
    ) -> Iterator[tuple[Access, int, list[Constraint]]]:
        """For each way to leave a tensor, the constraints that tell where; those with `index`."""
        for access, mentioned in zip(self.accesses, self._mentioned, strict=True):
            if index not in mentioned:
                continue
            for dimension, form in enumerate(map(self.sizes.resolve, access.read.forms)):
                size = self._shape(access)[dimension]
                for system in self.ranges.systems(access, form):
                    for outside in (Constraint(-form - 1), Constraint(form - size)):
                        near = [outside, *component(system, outside.form)]
                        if any(c.form[index] for c in near) and happens([outside, *system]):
                            yield access, dimension, near

    def _bounds(
        self, index: SSAValue, access: Access, dimension: int, system: list[Constraint]
    ) -> list[Bound]:
        """The least value at which the system has a point, as what the range must stay below."""
        system = [Constraint(Affine.of(index)), *system]
        if not feasible(system):
            return []
        indices = [index, *(v for c in system for v in c.form.indices)]
        space = Space(indices, system)  # the sizes come last
        rows, variables = space.rows(system), len(set(indices))
        if variables == len(space.keys):
            least = _least_point(rows, variables)
            bounds = [] if least is None else [(Affine({}, least), 1)]
        else:
            sizes = space.sizes_not_negative()
            lower, _ = project_bounds(rows, 0, range(1, variables), sizes)
            bounds = [_bound(space.constraint(row).form, index) for row in lower]
            bounds = [b for b in bounds if b[0].terms] or bounds
            if len(bounds) > 1:
                raise self._too_hard(index, access)
        for form, divisor in bounds:
            if not form.terms and form.constant // divisor <= 0:
                self._check_not_empty(index, access, dimension, system)
        return bounds

    def _check_not_empty(
        self, index: SSAValue, access: Access, dimension: int, system: list[Constraint]
    ) -> None:
        size = self._shape(access)[dimension]
        if not size.terms and size.constant <= 0:
            return
        point = some_point([*system, Constraint(-Affine.of(index))])
        if point is not None:
            form = self.sizes.resolve(access.read.forms[dimension])
            raise self.describer.leaves(access, dimension, form, size, point)
        name = self.describer.index(index)
        raise RangeError(
            f"{self.describer.access(access)} leaves dimension {dimension} of "
            f"{self.describer.tensor(access)} already at {name} = 0",
            self.describer.access_span(access),
            f"shift the index, or read pad({self.describer.access(access)})",
            index=name,
            argument=self.describer.tensor(access),
            dimension=dimension,
        )

    # --- what cannot be inferred ---

    def _too_hard(self, index: SSAValue, access: Access) -> RangeError:
        name = self.describer.index(index)
        return RangeError(
            f"the range of {name} cannot be inferred: {self.describer.access(access)} "
            "limits it in a way that depends on which size is larger",
            self.describer.index_span(index),
            f"write {name} in range(...)",
            index=name,
        )

    def _check_constants(self) -> None:
        """Raise `RangeError` for `x[-1]`, which no range can mend."""
        for access in self.accesses:
            for dimension, form in enumerate(access.read.forms):
                if not access.blocks and not form.terms and form.constant < 0:
                    size = self._shape(access)[dimension]
                    raise self.describer.leaves(access, dimension, form, size, {})

    def _not_inferred(self, index: SSAValue) -> RangeError:
        self._check_constants()
        self.current = index
        name = self.describer.index(index)
        near = list(self._outside(index))
        why = f"no element is read at {name}"
        for access, _, system in near:
            others = [
                v for c in system for v in c.form.indices if v in self.open and v is not index
            ]
            text = self.describer.access(access)
            if others:
                other = self.describer.index(others[0])
                why = f"{text} has {other} too, which has no range either"
                break
            why = f"{text} is inside for every {name}"
        return RangeError(
            f"the range of {name} cannot be inferred: {why}",
            self.describer.index_span(index),
            f"write {name} in range(...)",
            index=name,
        )


def _holds(op: IfOp, then: bool) -> bool:
    """Whether a branch is always taken."""
    return op.condition == ([[]] if then else [])


def _follows(constraint: Constraint, disjunct: list[Constraint]) -> bool:
    space = Space([], [constraint, *disjunct])
    return space.implied(constraint, space.rows(disjunct))


def _bound(form: Affine, index: SSAValue) -> Bound:
    """`a z + rest >= 0` says that z is at least `ceil(-rest / a)`, as a floor division."""
    a = form[index]
    return Affine.of(index) * a - form + (a - 1), a


def _least_point(system: list[tuple[int, ...]], variables: int) -> int | None:
    """The least value of the first variable in the integer points of the system.

    Projection gives a rational bound; points are looked for from there. Where none is near, the
    bound itself is returned, below which there is none.
    """
    lower, upper = project_bounds(system, 0, range(1, variables))
    start = max(lower_bound(row, 0, (0,)) for row in lower)
    end = min((-row[-1] // row[0] for row in upper), default=inf)
    for value in range(start, start + _TRIES):
        if value > end:
            return None
        fixed = (1, *(0,) * (variables - 1), -value)
        if integer_point([*system, fixed, tuple(-x for x in fixed)], variables) is not None:
            return value
    return start

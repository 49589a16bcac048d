"""Ranges of indices that stand alone nowhere: the largest intervals in which reads stay inside.

For `x[i + k]` with 0 <= k < K known, the reads at i that leave x are

    { i : there is k with i + k >= N, 0 <= k < K }   =   { i : i >= N - K + 1 }

by projection along k, so that i runs from 0 to below N - K + 1. With sizes as columns, the one
derivation serves every size. A range of no element at all is an error, unless the tensor that
is read has none: it is a mistake far more often than a wish.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint
from tadc.errors import RangeError
from tadc.language.dimensions import is_padded
from tadc.language.reads import Access, component, some_point
from tadc.language.sizes import Bound
from tadc.language.statement import Progress
from tadc.passes.index_sets.sets import quotients_of
from tadc.passes.index_sets.space import Space, feasible
from tadc.passes.polyhedral.division import lower_bound
from tadc.passes.polyhedral.fourier_motzkin import project_bounds
from tadc.passes.polyhedral.loop_nests import integer_point

_MOST_POINTS_TO_TRY = 64
"""Values above the rational bound of an index at which an integer point is looked for."""


class Intervals:
    """The largest intervals from 0 in which every read of a statement is inside its tensor."""

    def __init__(self, progress: Progress):
        self.progress = progress
        self.sizes = progress.sizes
        self.describer = progress.describer
        self._mentioned = [progress.ranges.mentioned(access) for access in progress.accesses]

    def size(self, index: SSAValue) -> Affine | None:
        """The end of the interval of an index; None where no read limits it, or others are open."""
        bounds: list[Bound] = []
        for access, dimension, system in self._outside(index, feasible):
            if not self._other_open(index, system):
                bounds += self._bounds(index, access, dimension, system)
        if not bounds:
            return None
        return self.sizes.derive(bounds, self.describer.index(index).upper())

    def _outside(
        self, index: SSAValue, happens: Callable[[list[Constraint]], bool] | None = None
    ) -> Iterator[tuple[Access, int, list[Constraint]]]:
        """For each way to leave a tensor, the constraints that tell where; those with `index`.

        With `happens`, only of what tells ranges, and may happen.
        """
        beyond = self.progress.statement.beyond if happens else ()
        for access, mentioned in zip(self.progress.accesses, self._mentioned, strict=True):
            if index not in mentioned:
                continue
            for dimension, form in enumerate(map(self.sizes.resolve, access.read.forms)):
                if (access.read, dimension) in beyond:
                    continue
                size = self.progress.shape(access)[dimension]
                for system in self.progress.ranges.systems(access, form):
                    for outside in (Constraint(-form - 1), Constraint(form - size)):
                        near = [outside, *component(system, outside.form)]
                        if any(c.form[index] for c in near) and (
                            happens is None or happens([outside, *system])
                        ):
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
        if variables == len(space.variables):
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

    def _other_open(self, index: SSAValue, system: list[Constraint]) -> list[SSAValue]:
        """The other indices of a system that have no range yet."""
        others = (v for c in system for v in c.form.indices if v is not index)
        return [v for v in others if v in self.progress.open]

    def _check_not_empty(
        self, index: SSAValue, access: Access, dimension: int, system: list[Constraint]
    ) -> None:
        size = self.progress.shape(access)[dimension]
        if not size.terms and size.constant <= 0:
            return
        point = some_point([*system, Constraint(-Affine.of(index))])
        if point is not None:
            form = self.sizes.resolve(access.read.forms[dimension])
            raise self.describer.leaves(access, dimension, form, size, point)
        form = access.read.forms[dimension]
        raise self._decided_by_size(index, access, dimension, bool(quotients_of([form])))

    def _decided_by_size(
        self, index: SSAValue, access: Access, dimension: int, moves_round: bool
    ) -> RangeError:
        """The error about a read that is inside at index 0 for some sizes alone."""
        name, text = self.describer.index(index), self.describer.access(access)
        tensor = self.describer.tensor(access)
        if moves_round:
            message = (
                f"the range of {name} cannot be inferred: whether {text} is inside for every "
                f"{name}, or for none, the size of dimension {dimension} of {tensor} decides"
            )
            span, hint = self.describer.index_span(index), f"write {name} in range(...)"
        else:
            message = f"{text} leaves dimension {dimension} of {tensor} already at {name} = 0"
            span, hint = self.describer.access_span(access), f"shift the index, or read pad({text})"
        return RangeError(message, span, hint, index=name, argument=tensor, dimension=dimension)

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
        for access in self.progress.accesses:
            for dimension, form in enumerate(access.read.forms):
                if not access.blocks and not form.terms and form.constant < 0:
                    size = self.progress.shape(access)[dimension]
                    raise self.describer.leaves(access, dimension, form, size, {})

    def not_inferred(self, index: SSAValue) -> RangeError:
        """The error about an index without a range; raises that about a read such as `x[-1]`."""
        self._check_constants()
        name = self.describer.index(index)
        near = list(self._outside(index))
        why, hint = f"no element is read at {name}", f"write {name} in range(...)"
        for access, dimension, system in near:
            text = self.describer.access(access)
            if others := self._other_open(index, system):
                other = self.describer.index(others[0])
                why = f"{text} has {other} too, which has no range either"
                break
            why = f"{text} is inside for every {name}"
            if is_padded(self.progress, access, dimension):
                why = f"every {name} is possible in {text}"
                shape = self.progress.shape(access)
                hint = self.describer.range_hint(name, access, shape, dimension)
        return RangeError(
            f"the range of {name} cannot be inferred: {why}",
            self.describer.index_span(index),
            hint,
            index=name,
        )


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
    for value in range(start, start + _MOST_POINTS_TO_TRY):
        if value > end:
            return None
        fixed = (1, *(0,) * (variables - 1), -value)
        if integer_point([*system, fixed, tuple(-x for x in fixed)], variables) is not None:
            return value
    return start

"""Bands of a Jacobian: entries at affine places, with few coordinates for each row.

Row α of the Jacobian of `t[α] = E` by x has entries in the columns P of the elements that E reads.
A `Band` holds those at

    P = element(α, u)      ⌈-low(α) / m⌉ <= u < ⌈-low(α) / m⌉ + size

for *offsets* u, one after another; `low` may hold the offsets before. So `x[i - 1]` gives a band
without offsets, `sum[k](w[k] * x[i + k])` one with `P = u`, `i <= u < i + K`, and `x[i // 2]` one
with `P = u`, `⌈(i - 1) / 2⌉ <= u < ⌈(i - 1) / 2⌉ + 1`. Its entries fill a box, over α and what an
offset is above the least one. Not all of the box need be entries: a band may be too wide.

`band_around` finds the band around a set of entries. With κ for the indices of the reads,
`P = a(α) + G κ` for integers κ is `a(α) + H u` for all integers u, where the columns of H are an
echelon basis of the lattice of those of G. Fourier-Motzkin elimination of κ leaves bounds of u by
α. Of all pairs of a lower bound `m u + l >= 0` and an upper one `n u <= h`, those count whose
width `(m h + n l) / (m n)` depends on sizes alone; the narrowest gives the offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects.quick import INDEX, block_with
from tadc.dialects.tix import Affine, Constraint, Variable, between
from tadc.once import cached_property
from tadc.passes.index_sets.space import Space
from tadc.passes.polyhedral.fourier_motzkin import project
from tadc.passes.polyhedral.inequalities import implied
from tadc.passes.polyhedral.lattice import echelon_basis
from tadc.passes.polyhedral.matrix import Row


@dataclass(frozen=True)
class Offset:
    """A coordinate of the elements of a band: `size` numbers from `⌈-low / divisor⌉` on."""

    index: SSAValue
    low: Affine
    """In the indices of the row and the offsets before this one."""
    divisor: int
    size: Affine
    """In sizes alone."""

    @property
    def is_fixed(self) -> bool:
        """True if there is one number for each row."""
        return self.size == Affine({}, 1)

    @property
    def region(self) -> list[Constraint]:
        """The numbers, as constraints: `0 <= divisor u + low < divisor size`."""
        return between(0, Affine.of(self.index) * self.divisor + self.low, self.size * self.divisor)

    def substitute(self, values: dict[Variable, Affine]) -> Offset:
        return Offset(self.index, self.low.substitute(values), self.divisor, self.size)


@dataclass(frozen=True)
class Band:
    """The entries (α, P) of a Jacobian with `P = element(α, u)`, for all α and offsets u."""

    indices: tuple[SSAValue, ...]
    """The indices α of the row."""
    element: tuple[Affine, ...]
    """The indices P of the column, in those of the row and the offsets."""
    offsets: tuple[Offset, ...] = ()

    @property
    def region(self) -> list[Constraint]:
        """The numbers of all offsets."""
        return [c for offset in self.offsets for c in offset.region]

    @property
    def dimensions(self) -> list[Offset]:
        """The offsets that take more than one number in a row: the band stores a dimension each."""
        return [offset for offset in self.offsets if not offset.is_fixed]

    @cached_property
    def key(self) -> object:
        """Equal for bands of the same tensor that hold the same entries in the same order."""
        own = (*self.indices, *(offset.index for offset in self.offsets))
        numbers: dict[Variable, Variable] = {v: f"#{n}" for n, v in enumerate(own)}

        def numbered(form: Affine) -> Affine:
            return Affine({numbers.get(v, v): c for v, c in form.terms.items()}, form.constant)

        offsets = ((numbered(o.low), o.divisor, o.size) for o in self.offsets)
        return tuple(map(numbered, self.element)), tuple(offsets)


def identity_band(rank: int) -> Band:
    """The diagonal: the Jacobian of a tensor of this rank by itself."""
    indices = tuple(block_with([INDEX] * rank).args)
    return Band(indices, tuple(map(Affine.of, indices)))


def whole_band(indices: Sequence[SSAValue], shape: Sequence[Affine]) -> Band:
    """All entries, of the columns that are elements of a tensor of this shape."""
    own = block_with([INDEX] * len(shape)).args
    offsets = (Offset(u, Affine(), 1, size) for u, size in zip(own, shape, strict=True))
    return Band(tuple(indices), tuple(map(Affine.of, own)), tuple(offsets))


def band_around(
    indices: Sequence[SSAValue],
    element: Sequence[Affine],
    constraints: Sequence[Constraint],
    shape: Sequence[Affine],
) -> Band | None:
    """A band with all entries (α, `element`) at which the constraints hold.

    These are in the indices α and any others; `shape` is that of the tensor of the columns. None
    where there is no entry.
    """
    own = other_indices([*element, *(c.form for c in constraints)], indices)
    basis, pivots = echelon_basis([tuple(f[v] for f in element) for v in own], len(element))
    offsets = list(block_with([INDEX] * len(basis)).args)
    fixed: dict[Variable, Affine] = dict.fromkeys(own, Affine())
    forms = tuple(
        form.substitute(fixed) + Affine({u: c[n] for u, c in zip(offsets, basis, strict=True)})
        for n, form in enumerate(element)
    )
    equal = [Constraint(a - b, True) for a, b in zip(element, forms, strict=True)]
    limits = [c for form, size in zip(forms, shape, strict=True) for c in between(0, form, size)]
    space = Space([*own, *offsets], [*constraints, *limits, *equal])
    sizes = space.sizes_not_negative()
    rows = project(space.rows([*constraints, *limits, *equal]), range(len(own)), sizes)
    found: list[Offset] = []
    for n in reversed(range(len(offsets))):
        if rows is None:
            break
        pivot = pivots[n]
        around = [*rows, *space.rows(between(0, forms[pivot], shape[pivot]))]
        found.append(offset := _narrowest(space, len(own) + n, around))
        if not offset.size.terms and offset.size.constant < 1:
            return None
        rows = project(rows, [len(own) + n], sizes)
    if rows is None:
        return None
    return _without_affine(Band(tuple(indices), forms, tuple(reversed(found))))


def other_indices(forms: Sequence[Affine], indices: Sequence[SSAValue]) -> list[SSAValue]:
    """The indices in the forms that are none of `indices`, in order."""
    return [v for v in dict.fromkeys(v for f in forms for v in f.indices) if v not in indices]


def _narrowest(space: Space, column: int, rows: Sequence[Row]) -> Offset:
    """The offset in a column between the two bounds among the rows that are closest to each other.

    There is a pair whose distance depends on sizes alone: that of the limits of the tensor.
    """
    u = space.variables[column]
    assert not isinstance(u, str)
    distances: dict[Affine, Offset] = {}
    for low in (row for row in rows if row[column] > 0):
        for high in (row for row in rows if row[column] < 0):
            a, b = low[column], -high[column]
            width = space.constraint(
                tuple(a * y + b * x for x, y in zip(low, high, strict=True))
            ).form
            if not width.indices:
                below = space.constraint(low).form - Affine({u: a})
                size = _quotient_above(width, a * b) + 1
                if size not in distances or not distances[size].low.indices:
                    distances[size] = Offset(u, below, a, size)
    found = distances.values()
    numbers = [offset for offset in found if not offset.size.terms]
    if numbers:
        return min(numbers, key=lambda offset: offset.size.constant)
    known = [*rows, *space.sizes_not_negative()]

    def rank(offset: Offset) -> tuple[int, bool]:
        """The number of those that are as wide in any case, then whether it moves with the row."""
        wider = (space.rows([Constraint(other.size - offset.size)])[0] for other in found)
        return sum(implied(row, known) for row in wider), bool(offset.low.indices)

    return max(found, key=rank)


def _quotient_above(form: Affine, divisor: int) -> Affine:
    """A form of sizes, which are not negative, that is at least `⌊form / divisor⌋`."""
    terms = {v: -(-c // divisor) for v, c in form.terms.items()}
    return Affine(terms, form.constant // divisor)


def _without_affine(band: Band) -> Band:
    """The band without those offsets that are affine in the row: `u = -low`."""
    values: dict[Variable, Affine] = {}
    kept: list[Offset] = []
    for offset in band.offsets:
        offset = offset.substitute(values)
        if offset.is_fixed and offset.divisor == 1:
            values[offset.index] = -offset.low
        else:
            kept.append(offset)
    element = tuple(form.substitute(values) for form in band.element)
    return Band(band.indices, element, tuple(kept))

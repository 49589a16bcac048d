"""Lengths of sums: which are unrolled where they stand, and which are long enough for a block.

Products, maxima and minima run in the loops of sums, as other ways to combine terms: what is said
of sums in these loops is said of them, but for segments and the joining of several sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, prod
from typing import NamedTuple

from xdsl.ir import Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import arguments_in, operands_of
from tadc.dialects.tix.affine import FormRow
from tadc.passes.analysis.access import MASKED_STEPS
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.rewriting.programs import definition_around

SEGMENT_TERMS = 4096
"""The most terms that are added plainly: totals of such segments are added with their rounding
errors."""

MOST_TERMS_TO_UNROLL = 8
"""Sums of at most so many terms are unrolled where they stand."""

MOST_TERMS_OF_WINDOW = 32
"""The most terms of a window, `x[i + k]`, that is unrolled: successive terms read the same lines,
so that blocks would share no more."""

MOST_TERMS_OF_SHARED_WINDOW = 16
"""The most terms of an unrolled window, where rows share one of several windows. Blocks of unrolled
rows share it, too (`stream_tiles`), but not with more terms."""

FEWEST_ELEMENTS_OF_STREAM = 256
"""The length of the shortest rows whose windows are streams: shorter ones have borders in most of
their vectors, and blocks of several rows share what they load (`row_terms`)."""

FEWEST_TO_SHARE = 4
"""The fewest rows of a block that share a window: sharing by fewer does not pay for loops."""

MOST_TERMS_OF_ROWS = 8
"""The most terms side by side that rows of a block share: a register holds the factor of each."""

SHORT = "_is_short"
"""The name under which an operation keeps whether it is a short sum."""

BOUNDS = "_bounds"
"""The name under which an operation keeps the bounds of its indices."""


def constant_range(
    op: tix.ReductionOp, index: SSAValue, sizes: Mapping[str, int] | None = None
) -> tuple[int, int] | None:
    """First value and length of an index whose bounds are numbers, for these `sizes`.

    The bounds are kept with the operation, as `is_short` is.
    """
    kept: dict[SSAValue, _Bounds | None] = vars(op).setdefault(BOUNDS, {})
    if index not in kept:
        kept[index] = _bounds(op, index)
    bounds = kept[index]
    return bounds.range(sizes or {}) if bounds else None


class _Bounds(NamedTuple):
    """The bounds of an index by sizes alone, which may be kept."""

    low: Sequence[FormRow]
    """Each `f` of the bounds `k + f >= 0`."""
    high: Sequence[FormRow]
    """Each `f` of the bounds `-k + f >= 0`."""

    def range(self, sizes: Mapping[str, int]) -> tuple[int, int] | None:
        """First value and length; None where these sizes do not tell."""
        low = [n for row in self.low if (n := row.at_zero(sizes)) is not None]
        high = [n for row in self.high if (n := row.at_zero(sizes)) is not None]
        if len(low) < len(self.low) or len(high) < len(self.high):
            return None
        first = -min(low)
        return first, max(0, min(high) - first + 1)


def _bounds(op: tix.ReductionOp, index: SSAValue) -> _Bounds | None:
    """The bounds of an index of a reduction; None where others than sizes bound it."""
    low: list[FormRow] = []
    high: list[FormRow] = []
    place = (*operands_of(op), *arguments_in(op.body)).index(index)
    for row, equality in op.domain.data.rows:  # asked so often that forms would take too long
        c = row.coefficients[place]
        if not c:
            continue
        is_alone = row.coefficients.count(0) == len(row.coefficients) - 1
        if abs(c) != 1 or equality or not is_alone:
            return None
        (low if c > 0 else high).append(row)
    return _Bounds(low, high) if low and high else None


def term_count(op: tix.ReductionOp) -> int | None:
    """The number of terms of a sum over a box of numbers."""
    ranges = [constant_range(op, v) for v in op.indices]
    return None if None in ranges else prod(r[1] for r in ranges if r)


def is_short(op: tix.ReductionOp) -> bool:
    """True if a sum certainly has so few terms that it is unrolled where it stands.

    One with a long sum inside is a loop, of which blocks have the totals. The answer is kept with
    the operation, which is asked hundreds of times and does not change.
    """
    own = vars(op)
    if SHORT not in own:
        own[SHORT] = _is_short(op)
    return own[SHORT]


def _is_short(op: tix.ReductionOp) -> bool:
    count = term_count(op)
    if count is None or count > _most_terms(op):
        return False
    return all(is_short(o) for o in op.body.walk() if isinstance(o, tix.ReductionOp))


def _most_terms(op: tix.ReductionOp) -> int:
    """The most terms of a short sum.

    They are more where each index of it moves a read beside one of another index, x[i + k], and no
    other elements read the same there: those of several channels share it. Neither do rows of
    blocks.
    """
    own = {*op.indices}
    reads = [r for r in op.walk() if isinstance(r, tix.ReadOp)]
    windows = [r for r in reads if any(_is_shifted(f, own) for f in r.forms)]
    shifted = {v for r in windows for f in r.forms if _is_shifted(f, own) for v in f.indices}
    if not own <= shifted or _are_shared(windows, op):
        return MOST_TERMS_TO_UNROLL
    if _are_in_short_rows(windows, op) or any(
        all(_is_shared(r, op) for r in same) for same in _by_tensor(reads)
    ):
        return MOST_TERMS_TO_UNROLL
    shares = any(_are_shared(same, op) for same in _by_tensor(windows))
    return MOST_TERMS_OF_SHARED_WINDOW if shares else MOST_TERMS_OF_WINDOW


def _by_tensor(reads: Sequence[tix.ReadOp]) -> Iterable[Sequence[tix.ReadOp]]:
    """The reads grouped by tensor, as conditions at borders read it in several places."""
    found: dict[SSAValue, list[tix.ReadOp]] = {}
    for read in reads:
        found.setdefault(read.tensor, []).append(read)
    return found.values()


def _are_in_short_rows(windows: Sequence[tix.ReadOp], op: tix.ReductionOp) -> bool:
    """True if rows are known to be short, and their windows overlap: strided ones must overlap
    along another index, too."""
    around = definition_around(op)
    if not around.indices or _longest_row(around) >= FEWEST_ELEMENTS_OF_STREAM:
        return False
    *others, last = around.indices
    forms = [form for read in windows for form in read.forms]
    apart = [form for form in forms if abs(form[last]) > 1]
    return not apart or (
        all(form[last] in MASKED_STEPS and _overlaps(form, last, op) for form in apart)
        and any(_overlaps(form, v, op) for form in forms for v in others if form[v])
    )


def _longest_row(op: tix.DefineOp) -> float:
    """The elements of a row of a definition at most, infinity where nothing is known."""
    size, program = op.shape[-1], op.parent_op()
    if not size.terms or not isinstance(program, tix.ProgramOp) or not program.largest_sizes:
        return inf if size.terms else size.constant
    return SizeBounds.in_calls(program).of(size)[1]


def _overlaps(form: tix.Affine, index: SSAValue, op: tix.ReductionOp) -> bool:
    """True if windows at neighbouring values of an index overlap: `x[2 * i + k]` for k < 3."""
    ranges = ((abs(form[v]), constant_range(op, v)) for v in op.indices if form[v])
    return any(found and step * (found[1] - 1) >= abs(form[index]) for step, found in ranges)


def _is_shared(read: tix.ReadOp, op: tix.ReductionOp) -> bool:
    """True if a read is contiguous along the last index, and reused along another one, as weights
    of channels are: the rows of a block load its vectors once."""
    around = definition_around(op)
    lengths = [found[1] for v in op.indices if (found := constant_range(op, v))]
    if not around.indices or not lengths or min(lengths) > MOST_TERMS_OF_ROWS:
        return False
    last, used = around.indices[-1], {v for form in read.forms for v in form.indices}
    sizes = zip(around.indices, around.shape, strict=True)
    along = [form for form in read.forms if form[last]]
    return (
        along == [*read.forms[-1:]]
        and bool(along)
        and abs(along[0][last]) == 1
        and any(v not in used and not _is_few(size) for v, size in sizes)
    )


def _is_shifted(form: tix.Affine, own: set[SSAValue]) -> bool:
    used = {*form.indices}
    return bool(used & own) and not used <= own


def _are_shared(windows: Sequence[tix.ReadOp], op: tix.ReductionOp) -> bool:
    """True if there is an index of the definition, of some values, that no window depends on."""
    around = op.parent_op()
    while around is not None and not isinstance(around, tix.DefineOp):
        around = around.parent_op()
    if around is None:
        return False
    used = {v for read in windows for form in read.forms for v in form.indices}
    sizes = zip(around.indices, around.shape, strict=True)
    return any(v not in used and not _is_few(size) for v, size in sizes)


def _is_few(size: tix.Affine) -> bool:
    return not size.terms and size.constant < FEWEST_TO_SHARE


def blocked_sums(region: Region) -> list[tix.ReductionOp]:
    """The reductions directly in a body that are long enough for a block."""
    return [op for op in region.block.ops if isinstance(op, tix.ReductionOp) and not is_short(op)]


def long_sums(region: Region) -> Iterator[tix.ReductionOp]:
    """The `blocked_sums` of a body, and of the choices in it."""
    yield from blocked_sums(region)
    for op in region.block.ops:
        if isinstance(op, tix.IfOp | tix.WhereOp):
            for inner in op.regions:
                yield from long_sums(inner)


def most_values(
    op: tix.ReductionOp, own: Sequence[SSAValue], sizes: SizeBounds | None = None
) -> int | None:
    """The largest number of values that the first of `own` has, where a number bounds it, or the
    bounds of sizes do.

    `c k + f >= 0` and `-d k + g >= 0` with c, d > 0 leave the integers from -f/c to g/d: at most
    one more than the whole part of g/d + f/c = (c g + d f) / (c d). In that sum of both, times d
    and times c, k cancels, and so may all else: `i <= 2 k + 4` and `2 k <= i` leave 8 // 4 + 1 = 3.
    """
    index = own[0]
    forms = [c.form for c in constraints_of(op, own)]
    pairs = [(a, b) for a in forms if a[index] > 0 for b in forms if b[index] < 0]
    widths = [(a * -b[index] + b * a[index], a[index] * -b[index]) for a, b in pairs]
    ends = [(_greatest(width, sizes), divisor) for width, divisor in widths]
    numbers = [int(end) // divisor + 1 for end, divisor in ends if end < inf]
    return max(0, min(numbers)) if numbers else None


def _greatest(form: tix.Affine, sizes: SizeBounds | None) -> float:
    """The greatest value of a form, infinity where it is not known."""
    if not form.terms:
        return form.constant
    return sizes.of(form)[1] if sizes else inf


def constraints_of(op: tix.ReductionOp, own: Sequence[SSAValue]) -> list[tix.Constraint]:
    """The constraints that bound the first of `own`, the last indices of a reduction."""
    index, *rest = own
    return [c for c in op.constraints if c.form[index] and not any(c.form[v] for v in rest)]

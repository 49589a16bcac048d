"""`shape-loops`: index sets become loops as narrow as they are, or boxes with tests inside.

Sums in the language, and in derivatives after `absorb-conditions`, run over exactly the points that
contribute. For a machine that is best where much is skipped, but loops of known length can be
unrolled, and loops with the same bounds for neighbouring elements run side by side in vectors and
register blocks, where a test is only a mask. So short sums go back to boxes. Long ones do where
that gives blocks of rows and columns (`passes/scheduling/tiles/tile_choice.py`), and conditions
stay where they are if nothing else has a tile: the bounds of windows are masks of the first and the
last terms then.

A sum goes back to a box, along the indices that have one, by

    sum over k in {k >= 0, k >= 1 - i, k <= 2, k <= N - i} of E(k)
    sum over k in {k >= 0, k <= 2} of (if k >= 1 - i, k <= N - i { E(k) } else 0)

Windows at the border of a tensor are like this, in convolutions with padding and in the gradients
of all convolutions; of long rows they are streams (`passes/scheduling/streams`), of
shorter ones where no version has tiles whose rows share what they read. A long index needs a side
on which its bounds stay, so that about half of the box are points of the set: a band is not made a
square. Without vectors, and where elements side by side have the same bounds, a box is at most
twice as long as a band: beyond, terms that are not there take longer than loops, as what they would
read may be no memory, and a vector without lanes that begins there takes a microsecond.

Scans stay as narrow as they are: their loops carry totals (`passes/scheduling/scans.py`).

A condition around a sum hides it from tiles. Where nothing else has one, and beside a sum that has,
terms are tested instead:

    if i < N { sum over k of E(k) } else 0
    sum over k of (if i < N { E(k) } else 0)

or, where all that the sum reads is there anyway, its value, once:

    s = sum over k of E(k);  if i < N { s } else 0

What is made of the sum under the condition stays there:

    if i < N { 2 * sum over k of E(k) } else 0
    s = sum over k of E(k);  if i < N { 2 * s } else 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint, between
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import axes_apart, calls_expanded, precisions_set, sums_bounded
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.index_sets.conditional_constants import absent_values
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import implied_by
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner, free_values
from tadc.passes.rewriting.guards import is_guard
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import choose_definitions, copy_program, definition_around
from tadc.passes.rewriting.terms import terms_of
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.recurrences import is_recurrence
from tadc.passes.scheduling.rows.rfactored_sums import piece_sum_of, residue_sum_of
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.streams.stream_choice import has_long_rows, is_window
from tadc.passes.scheduling.streams.stream_guards import guards_of
from tadc.passes.scheduling.tiles.bounding_boxes import box_around
from tadc.passes.scheduling.tiles.sum_lengths import is_short
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import rows_share
from tadc.passes.scheduling.tiles.tile_choice import ChooseTiles, tile_chooser

FEWEST_ELEMENTS_BEFORE_TILES = 128
"""The length of the shortest rows that are faster as streams than in tiles with masks."""

FEWEST_ELEMENTS_OF_WHOLE_ROWS = 32
"""The length of the shortest rows that are faster as streams where tests hold for whole rows, which
have no masks then."""


@dataclass(frozen=True)
class ShapeLoopsPass(LocalPass):
    """`shape-loops{tile=true sizes="N=512"}`: for code in tiles, made best for these sizes.

    The result is right for all other sizes too. Without tiles, conditions in sums are all that
    changes.
    """

    name = "shape-loops"
    requires = (axes_apart, sums_bounded, calls_expanded, precisions_set)
    leaves = (sums_bounded,)
    tile: bool = False
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        choose = tile_chooser(self.tile, self.sizes, registers=program.registers)
        return shape_loops(program, choose, parse_sizes(self.sizes))


def shape_loops(
    program: tix.ProgramOp, choose: ChooseTiles | None, sizes: Mapping[str, int] | None = None
) -> tix.ProgramOp:
    """The program with each definition in its best form for these sizes; no tiles without `choose`.

    The same program where nothing changes.
    """
    narrow = bounded_without_conditions(program)
    if choose is None and narrow is program:
        return program
    if choose is None:
        return _boxed(narrow, _PlainBoxer)
    short = _boxed(narrow, _ShortBoxer)
    long, masked = _boxed(narrow, _LongBoxer), in_boxes(narrow)
    if program is short is long is masked:
        return program

    def best(ways: Sequence[tix.DefineOp]) -> tix.DefineOp:
        return _best(ways, choose, sizes or {})

    return choose_definitions([short, long, masked, program, narrow], best)


def in_boxes(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with short sums over boxes, and conditions around sums moved into their terms.

    The same program where nothing changes.
    """
    return _boxed(program, _Masker)


def _best(
    ways: Sequence[tix.DefineOp], choose: ChooseTiles, sizes: Mapping[str, int]
) -> tix.DefineOp:
    short, long, masked, given, narrow = ways
    if is_scanned(given) or is_recurrence(given) or piece_sum_of(given) or residue_sum_of(given):
        return given
    tile = _tile(short, choose)
    if (
        (tile is None or tile.row_index is None)
        and (wide := _tile(long, choose))
        and wide.row_index
    ):
        return long
    windows = [w for w in (short, masked) if is_window(w, sizes)]
    if tile and (short not in windows or rows_share(short, tile)):
        return masked if _hides_sums(short) and _tile(masked, choose) else short
    wide = (w for w in windows if has_long_rows(w, sizes, _fewest_before_tiles(w)))
    exact = [masked, narrow] if _leaves_out_terms(given) else [masked, given, narrow]
    tiles = [(way, t) for way in exact if (t := _tile(way, choose))]
    blocks = (way for way, t in tiles if rows_share(way, t))
    return next(chain(wide, blocks, windows, (way for way, _ in tiles)), short)


def _leaves_out_terms(op: tix.DefineOp) -> bool:
    """True if a condition makes a factor of a term 0: the product with infinity or NaN is NaN."""
    for total in (o for o in op.walk() if isinstance(o, tix.SumOp)):
        absent = absent_values(total.body)
        terms = terms_of(tix.yielded(total.body), total.body.block)
        if any(t.value in absent and not isinstance(t.value.owner, tix.IfOp) for t in terms):
            return True
    return False


def _fewest_before_tiles(op: tix.DefineOp) -> int:
    """The length of the shortest rows of a window that are faster as a stream than in tiles."""
    uses = IndexUses()
    tests = [c.form for guard in guards_of(op, uses) for d in guard.condition for c in d]
    moving = any(op.indices[-1] in uses.of(v) for form in tests for v in form.indices)
    return FEWEST_ELEMENTS_BEFORE_TILES if moving else FEWEST_ELEMENTS_OF_WHOLE_ROWS


def _hides_sums(op: tix.DefineOp) -> bool:
    """True if a condition that may hold for many elements hides a long sum from tiles."""
    return any(
        not is_short(s)
        for guard in op.body.block.ops
        for s in _guarded_sums(guard)
        if isinstance(guard, tix.IfOp) and not any(c.equality for d in guard.condition for c in d)
    )


def _tile(op: tix.DefineOp, choose: ChooseTiles) -> Tile | None:
    """The first tile with a read that depends on its column; None without any."""
    reads = [r for r in op.walk() if isinstance(r, tix.ReadOp)]
    uses = IndexUses()
    tiles = (t for t in choose(op) if any(t.column_index in uses.of_operation(r) for r in reads))
    return next(tiles, None)


def _boxed(program: tix.ProgramOp, kind: type[_ShortBoxer]) -> tix.ProgramOp:
    if not any(map(kind.applies, program.walk())):
        return program
    return copy_program(program, kind)


def _guarded_sums(op: Operation) -> list[tix.SumOp]:
    """The sums inside of a guard that use no other value computed inside of it."""
    if not is_guard(op):
        return []
    sums = [o for o in op.then.block.ops if isinstance(o, tix.SumOp)]
    return [s for s in sums if not any(op.is_ancestor(v.owner) for v in free_values(s))]


class _ShortBoxer(ContextCloner):
    """Copies; a reduction over a part of a short box becomes one over the whole box."""

    long = False
    bands = True
    """True if bands may become boxes that hold many times as many points, where elements side by
    side have bounds of their own."""
    tests: Sequence[Constraint] = ()
    """Tests that the terms of the next reduction get besides its own."""

    @classmethod
    def applies(cls, op: Operation) -> bool:
        return isinstance(op, tix.ReductionOp) and box_around(op, cls.long, cls.bands) is not None

    def copy(self, op: Operation) -> None:
        if op.results[0] not in self.values:
            super().copy(op)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """Copy a reduction over its box; constraints that the box drops become tests of terms."""
        box = box_around(op, self.long, self.bands)
        if box is None and not self.tests:
            return super().copy_reduction(op)
        box, outer = box or op.constraints, self.tests
        varying = [c for c in op.constraints if c not in box]

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(box)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, op.indices, own)
            cloner.tests = ()
            cloner.assume(cloner.constraints(box))
            every = [*outer, *cloner.constraints(varying)]
            tests = [c for c in every if not cloner.holds(c)]
            cloner.read_ahead(op, tests)

            def tested(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
                inner = cloner.inner(e)
                inner.assume(tests)
                return inner.copy_body(op.body)

            return e.guard(tests, tested, op.IDENTITY)

        return self.builder.reduce(type(op), [v.name_hint for v in op.indices], domain, body)

    def read_ahead(self, op: tix.ReductionOp, tests: list[Constraint]) -> None:
        """Copy reads ahead of the tests of a term: untested if in bounds, else under tests of their
        own.

        An untested read may be invariant in a loop, and a test of a read alone only masks it.
        """
        for read in op.body.block.ops:
            if isinstance(read, tix.ReadOp) and not any(map(op.is_ancestor, _local_indices(read))):
                needed = self._needed(read, tests)
                self.values[read.result] = self.builder.guard(needed, partial(self._read, read))

    def _needed(self, read: tix.ReadOp, tests: list[Constraint]) -> list[Constraint]:
        """The tests that keep a read in bounds: none, those of its own indices, or else all."""
        used = {v for form in read.forms for v in self.form(form).indices}
        own = [c for c in tests if used.issuperset(c.form.indices)]
        return next((few for few in ([], own) if self._is_there(read, few)), tests)

    def _read(self, read: tix.ReadOp, builder: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return builder.read(self.value(read.tensor), [self.form(f) for f in read.forms])

    def _is_there(self, read: tix.ReadOp, tests: Sequence[Constraint]) -> bool:
        """True if a read is in bounds where these tests hold."""
        here = self.inner(self.builder)
        here.assume(tests)
        limits = zip(read.forms, read.shape, strict=True)
        return all(here.holds(c) for form, n in limits for c in between(0, self.form(form), n))


class _PlainBoxer(_ShortBoxer):
    """Boxes short loops but those over bands: without vectors a test takes as long as a term."""

    bands = False


class _LongBoxer(_ShortBoxer):
    """Boxes short loops and long ones."""

    long = True


class _Masker(_ShortBoxer):
    """Boxes short loops; a condition around a sum moves into its terms, or into their reads."""

    @classmethod
    def applies(cls, op: Operation) -> bool:
        return bool(_guarded_sums(op)) or super().applies(op)

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        sums = _guarded_sums(op)
        if not sums:
            return super().copy_if(op)
        tests = [c for disjunct in op.condition for c in self.constraints(disjunct)]
        missing = _missing(op, sums)
        for total in sums:
            self.values[total.result] = self._unguarded(total, tests, missing)
        if missing is None and tix.yielded(op.then).owner in sums:
            return self.value(tix.yielded(op.then))  # 0 without the condition, as all terms are
        return super().copy_if(op)

    def _unguarded(
        self,
        op: tix.SumOp,
        tests: Sequence[Constraint],
        missing: Mapping[Operation, Sequence[Constraint]] | None,
    ) -> SSAValue:
        """Copy a sum; its terms, or their reads, get the condition that was around it."""
        if missing is not None:
            cloner = _Padder(self, missing)
        else:
            cloner = self.inner(self.builder)
            cloner.tests = tests
        cloner.copy(op)
        return cloner.value(op.result)


class _Padder(ContextCloner):
    """Copies; reads that a condition kept in bounds are padded with 0."""

    def __init__(self, at: Cloner, missing: Mapping[Operation, Sequence[Constraint]]):
        super().__init__(at.builder, at.values, at.indices)
        self.missing = missing

    def copy(self, op: Operation) -> None:
        if not isinstance(op, tix.ReadOp) or not self.missing.get(op):
            return super().copy(op)

        def read(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return e.read(self.value(op.tensor), [self.form(f) for f in op.forms])

        self.values[op.result] = self.builder.guard(self.constraints(self.missing[op]), read)


def _missing(op: tix.IfOp, sums: Sequence[tix.SumOp]) -> dict[Operation, list[Constraint]] | None:
    """The bounds tests that each read of these sums needs without the condition around them.

    None where the values cannot be computed without the condition: where that is the same for all
    elements, or an equality, which holds for few, and where a read needs more than an index in its
    range.
    """
    tests = [c for disjunct in op.condition for c in disjunct]
    definition = definition_around(op)
    found: dict[Operation, list[Constraint]] = {}
    for read in (o for s in sums for o in s.walk() if isinstance(o, tix.ReadOp)):
        reductions = Path.to(read, definition).reductions
        known = [*index_set(definition), *(c for r in reductions for c in r.constraints)]
        limits = zip(read.forms, read.shape, strict=True)
        needed = (c for form, size in limits for c in between(0, form, size))
        found[read] = [c for c in needed if not implied_by(c, known)]
    every = [c for constraints in found.values() for c in constraints]
    varies = any(c.form.indices for c in tests) and not any(c.equality for c in tests)
    simple = all(len(c.form.indices) == 1 for c in every)
    return found if varies and simple else None


def _local_indices(read: tix.ReadOp) -> list[tix.LocalIndexOp]:
    return [v.owner for v in read.indices if isinstance(v.owner, tix.LocalIndexOp)]

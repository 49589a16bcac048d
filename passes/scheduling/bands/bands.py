"""Several stencils, one after the other, computed band by band, so that bands stay in a near cache.

    z[i, j] = sum[t in range(5)](b[t] * x[i, j + t])        for each band of rows of y:
    y[i, j] = sum[s in range(5)](a[s] * z[i + s, j])          the rows of z that it reads
                                                              the rows of y

One after the other, each of them goes over a whole tensor, and what does not fit into a near cache
goes to memory and back. A band is a box of the last definition, its *root*; those before it have a
buffer for the elements that a band reads, and no tensor. What two bands read is computed for both:
so bands do not wait for each other, and bits do not depend on who computes them.

    band     rows i .. i + 7 of y            a root, and
    stage    rows i .. i + 11 of z           a stage before it, which reaches 4 rows further

The root may be a sum over pieces of an image (`band_pieces`): a piece is a band. There may be
several roots (`band_roots`), as gradients of a filter by its weights and by what it reads:

    e[i, j] = sum[s in range(5)](a[s] * v[i - s, j])        for each band: the rows of e,
    dx[i, j] = sum[t in range(5)](b[t] * e[i, j - t])         those of dx, and
    db[t] = sum[i, j](e[i, j] * x[i, j + t])                  a piece of db

Then e has no tensor, though two others read it, and what roots read of the same tensors is read
from memory once. Stages come as late as they can, so that few of them wait at a time: those that
wait for nothing leave their buffer to the next one.

Of volumes bands slide along the first dimension, and hold the planes that are read again
(`slides`). A stage is a definition like any other, whose indices begin at that of the band, so that
it runs in blocks or as a stream (`band_loops`). How many elements a band has, sizes tell at run
time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.rewriting.programs import reads_of, type_of
from tadc.passes.scheduling.bands.band_layout import (
    FEWEST_COLUMNS,
    MOST_TERMS,
    Layout,
    all_axes,
    layouts_of,
    stages_in,
)
from tadc.passes.scheduling.bands.band_stages import Bands, stages_of
from tadc.passes.scheduling.bands.band_windows import most_terms
from tadc.passes.scheduling.blocking import Blocking, ChooseBlocking
from tadc.passes.scheduling.nest import Nest
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.tiles.tile_analysis import bytes_of_element

MOST_STAGES = 4
"""Definitions in a row that share bands at most: the first ones reach over the windows of all
others."""

FEWEST_BYTES_OF_STAGE = 3 << 18
"""The bytes from which on a result leaves the near caches before it is read."""

GROUPS_AHEAD = 16
"""The number of later groups that are searched for those that may share a group's bands."""

Group = list[Nest]
"""Definitions that share bands, or a nest that shares none."""


def bands_shared(
    runs: Sequence[Sequence[Nest]], alone: Collection[tix.DefineOp], choose: ChooseBlocking
) -> list[Nest]:
    """The nests of several runs, of which some share bands; those in `alone` share nothing."""
    return _Sharing(alone, choose).shared(runs)


@dataclass(frozen=True)
class _Sharing:
    """Finds the definitions that share bands."""

    alone: Collection[tix.DefineOp]
    """Definitions that share nothing."""
    choose: ChooseBlocking

    def shared(self, runs: Sequence[Sequence[Nest]]) -> list[Nest]:
        """The nests of several runs, of which some share bands."""
        groups, found = [*chain(*map(self._neighbours, runs))], list[Nest]()
        while groups:
            first, *groups = groups
            others = self._others(first, groups[:GROUPS_AHEAD])
            several = _in_order([*first, *chain(*others)])
            made = _joined(several, self.choose) if others else None
            if made:
                groups = [group for group in groups if not any(group is o for o in others)]
            else:
                made = _joined(first, self.choose)
            found += [made] if made else first
        return found

    def _neighbours(self, nests: Sequence[Nest]) -> list[Group]:
        """The nests of a run in groups: each definition together with the stages that it reads."""
        found: list[Group] = []
        for nest in reversed(nests):
            if found and self._may_join(nest, found[0]):
                found[0].insert(0, nest)
            else:
                found.insert(0, [nest])
        return found

    def _may_join(self, nest: Nest, group: Group) -> bool:
        """True if a nest may become the first stage of a group."""
        ops = _ops([nest, *group])
        return (
            len(group) < MOST_STAGES
            and stages_in(ops) == ops[:-1]
            and self._may_share([nest, *group])
        )

    def _others(self, first: Group, later: Sequence[Group]) -> list[Group]:
        """The later groups that share the bands of the first: all candidates, or a greedy
        choice."""
        if not (len(first) == 1 or _has_bands(first)):
            return []
        found = self._followers(first, later, lambda _: True)
        if found and self._may_share([*first, *chain(*found)]):
            return found
        return self._followers(first, later, self._may_share)

    def _followers(
        self, first: Group, later: Sequence[Group], may_share: Callable[[Sequence[Nest]], bool]
    ) -> list[Group]:
        """The groups that may move up to the first: they read no result of a group passed over."""
        nests, found, passed = [*first], list[Group](), set[SSAValue]()
        for group in later:
            is_free = all(_is_free(nest, self.alone) for nest in group)
            is_free = is_free and passed.isdisjoint(_reads(group))
            if is_free and _are_related(nests, group) and may_share([*nests, *group]):
                found.append(group)
                nests += group
            else:
                passed |= _results(group)
        return found

    def _may_share(self, nests: Sequence[Nest]) -> bool:
        """True if definitions may share bands.

        What takes long is asked last: how loops run, of definitions that have stages.
        """
        ops = _ops(nests)
        stages = stages_in(ops)
        return (
            all(_is_free(nest, self.alone) for nest in nests)
            and all(map(has_few_terms, stages))
            and any(layouts_of(_ops(_in_order(nests))))
            and all(_leaves_caches(op, self.choose(op)) for op in stages)
            and not any(self.choose(op).alone for op in ops)
            and not any(_has_short_rows(self.choose(op)) for op in stages)
        )


def _in_order(nests: Sequence[Nest]) -> list[Nest]:
    """The nests in an order that computes each root as early as possible, so that few stages are
    live."""
    left, found, stages = [*nests], list[Nest](), stages_in(_ops(nests))
    while left:
        ready = [n for n in left if _reads([n]).isdisjoint(_results(left))]
        roots = [n for n in ready if n.members[0] not in stages]
        found.append(following := (roots or ready)[0])
        left = [nest for nest in left if nest is not following]
    return found


def _ops(nests: Sequence[Nest]) -> list[tix.DefineOp]:
    return [nest.members[0] for nest in nests]


def _has_bands(group: Group) -> bool:
    """True for definitions that share bands, of which none rolls along with another one."""
    layout = next(layouts_of(_ops(group)), None) if len(group) > 1 else None
    return layout is not None and layout.roll is None


def _are_related(nests: Sequence[Nest], group: Group) -> bool:
    """True if a group reads a result of the nests, or has bands and reads a tensor of a stage's
    rank that they read, too."""
    read = _reads(group)
    if not read.isdisjoint(_results(nests)):
        return len(group) == 1 or _has_bands(group)
    rank = min(len(op.type.shape) for op in _ops(nests[:1]))
    shared = [t for t in read & _reads(nests) if type_of(t).rank >= rank]
    return bool(shared) and _has_bands(group)


def _reads(nests: Sequence[Nest]) -> set[SSAValue]:
    """The tensors that nests read, but for their own results."""
    return {r.tensor for n in nests for op in n.members for r in reads_of(op)} - _results(nests)


def _results(nests: Sequence[Nest]) -> set[SSAValue]:
    return {op.result for nest in nests for op in nest.members}


def _leaves_caches(op: tix.DefineOp, blocking: Blocking) -> bool:
    """True if a result is, or may be, so large that it leaves the caches until others read it."""
    count = blocking.extents.elements
    is_large = count is None or count * bytes_of_element(op.type) >= FEWEST_BYTES_OF_STAGE
    return is_large or blocking.in_bands


def _has_short_rows(blocking: Blocking) -> bool:
    """True if rows are known to be too short for the blocks of a stage."""
    row = blocking.extents.row
    return row is not None and row < FEWEST_COLUMNS


def _is_free(nest: Nest, alone: Collection[tix.DefineOp]) -> bool:
    """True if bands support a nest: one definition, not in `alone`, without scans and quotients."""
    if not nest.is_free:
        return False
    op = nest.members[0]
    if not op.indices or op in alone or is_scanned(op):
        return False
    return not any(isinstance(o, tix.FloorDivOp) for o in op.body.walk())


def has_few_terms(op: tix.DefineOp) -> bool:
    """True if elements are windows that take no longer than memory does."""
    terms = most_terms(op)
    return terms is not None and terms <= MOST_TERMS


def _joined(group: Group, choose: ChooseBlocking) -> Nest | None:
    """The nest of definitions that share bands; None for a single one, or without vectors."""
    if len(group) < 2:
        return None
    found = (_nest_of(group, layout, choose) for layout in layouts_of(_ops(group)))
    return next(filter(None, found), None)


def _nest_of(group: Group, layout: Layout, choose: ChooseBlocking) -> Nest | None:
    """The nest of definitions that share bands of a layout, if loops have vectors."""
    ops = _ops(group)
    with all_axes(ops) as whole:
        stages = stages_of(whole, layout.axes, layout.buffers, layout.planes, choose)
    bands = Bands(stages, layout.sides, layout.elements, layout.again, layout.roll)
    nest = Nest.apart(ops, bands)
    if layout.roll:
        return nest
    in_planes = not bands.slides or all(stage.has_whole_planes for stage in stages)
    if in_planes and all(s.has_vectors_along(layout.sides[-1].index) for s in stages):
        return nest
    nest.forget()
    return None

"""The bands of all tensors of a program by one argument, and the entries in them.

An element `t[α]` depends on `x[P]` through each read in the body of t: of x itself, or of a tensor
s whose element γ depends on x. `band_flow` goes through the definitions. For each of them it finds
the `Share` that each read has, under each disjunct of the conditions around it and for each band of
the tensor that it reads, and the band around that share. Shares with the same band go together:

    s[i] = sin(x[i]) + pad(x[i + 1])          s: bands P = i  and  P = i + 1
    t[i] = s[i] * s[N - 1 - i]                t: P = i, P = i + 1, P = N - 1 - i, P = N - i

So each share is in one band, and the derivative of t is the sum of those of its bands. Bands may
hold the same entry, as P = i and P = N - 1 - i do in the middle: its value is the sum of both.

Which entries a band holds is known exactly: as *cells*, convex sets of points (α, u) and of
further indices where these cannot be eliminated in integers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.index_sets.bands import Band, band_around, identity_band, other_indices, whole_band
from tadc.passes.index_sets.dependence import Dependence, differentiable_reads, direct_dependences
from tadc.passes.index_sets.disjuncts import Disjunct
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import Space, feasible
from tadc.passes.polyhedral.fourier_motzkin import eliminate_exactly
from tadc.passes.polyhedral.inequalities import implied

MOST_BANDS = 64
"""The number of bands of a tensor beyond which any of its elements may depend on any."""
MOST_CELLS = 200
"""The number of cells of a tensor beyond which any of its elements may depend on any."""

Cell = tuple[Constraint, ...]
"""The points at which all constraints hold."""


@dataclass(frozen=True, eq=False)
class Flow:
    """A band of a tensor: its entries, and the reads that they come from."""

    band: Band
    shares: list[Share] = field(default_factory=list["Share"])
    cells: list[Cell] = field(default_factory=list[Cell])
    """Together they have each entry of the band, in its indices and offsets and others."""


@dataclass(frozen=True)
class Share:
    """The part of the entries of a band that comes through one read under some conditions."""

    read: tix.ReadOp
    disjunct: Sequence[Constraint]
    """One of the disjoint disjuncts of the conditions around the read; none, if all count."""
    source: Flow
    """The band of the tensor that is read."""

    @property
    def key(self) -> object:
        """The read and the band, which several disjuncts may share."""
        return self.read, self.source


Flows = dict[SSAValue, list[Flow]]
"""The bands of each tensor that depends on the argument."""


def band_flow(
    program: tix.ProgramOp, argument: SSAValue, constants: Iterable[SSAValue] = ()
) -> Flows:
    """The bands of an argument and of all definitions that depend on it, but the constants.

    Takes time in proportion to the pairs of a read and a band of what it reads, each with a few
    eliminations.
    """
    constants = set(constants)
    assert isinstance(argument.type, tix.TensorType)
    shape = argument.type.shape
    flows: Flows = {argument: [Flow(identity_band(len(shape)), cells=[()])]}
    for op in program.definitions:
        if op.result not in constants and (found := _flows_of(op, flows, shape)):
            flows[op.result] = found
    return flows


def _flows_of(op: tix.DefineOp, flows: Flows, shape: Sequence[Affine]) -> list[Flow]:
    disjuncts: dict[Block, list[Disjunct]] = {}
    found: dict[object, Flow] = {}
    for read in differentiable_reads(op):
        sources = flows.get(read.tensor, ())
        direct = direct_dependences(read, op, disjuncts) if sources else ()
        for disjunct, dependence in direct:
            for source in sources:
                _add(found, Share(read, disjunct, source), dependence, op, shape)
    found = {key: flow for key, flow in found.items() if flow.cells}
    cells = sum(len(flow.cells) for flow in found.values())
    if len(found) > MOST_BANDS or cells > MOST_CELLS:
        band = whole_band(op.indices, shape)
        shares = [share for flow in found.values() for share in flow.shares]
        found = {band.key: Flow(band, shares, [(*index_set(op), *band.region)])}
    parts = Counter(share.key for flow in found.values() for share in flow.shares)
    for flow in found.values():
        flow.shares[:] = _together(flow.shares, parts)
    return list(found.values())


def _together(shares: Iterable[Share], parts: Mapping[object, int]) -> Iterator[Share]:
    """The shares of a band, as one where all parts of what a read gives are in it."""
    grouped: dict[object, list[Share]] = {}
    for share in shares:
        grouped.setdefault(share.key, []).append(share)
    for key, group in grouped.items():
        if len(group) == parts[key]:
            yield replace(group[0], disjunct=())
        else:
            yield from group


def _add(
    found: dict[object, Flow],
    share: Share,
    dependence: Dependence,
    op: tix.DefineOp,
    shape: Sequence[Affine],
) -> None:
    """Put a share into its band, with the cells that it has there."""
    source = share.source
    at = dict[Variable, Affine](zip(source.band.indices, dependence.element, strict=True))
    element = [form.substitute(at) for form in source.band.element]
    around = [*dependence.constraints, *(c.substitute(at) for c in source.band.region)]
    cells = [[*around, *(c.substitute(at) for c in cell)] for cell in source.cells]
    cells = [cell for cell in cells if feasible(cell)]
    band = band_around(op.indices, element, around, shape) if cells else None
    if band is None:
        return
    flow = found.setdefault(band.key, Flow(band))
    flow.shares.append(share)
    for cell in cells:
        here = [Constraint(a - b, True) for a, b in zip(flow.band.element, element, strict=True)]
        _add_cell(flow, [*here, *flow.band.region, *cell])


def _add_cell(flow: Flow, constraints: Sequence[Constraint]) -> None:
    """Add a cell, without indices that can be eliminated, unless the band has its points."""
    own = [*flow.band.indices, *(offset.index for offset in flow.band.offsets)]
    others = other_indices([c.form for c in constraints], own)
    space = Space([*own, *others], constraints)
    sizes = space.sizes_not_negative()
    columns = range(len(own), len(own) + len(others))
    rows = eliminate_exactly(space.rows(constraints), columns, sizes)
    if rows is None:
        return
    cell = tuple(map(space.constraint, rows))
    kept = [other for other in flow.cells if not _covers(cell, other, own)]
    if not any(_covers(other, cell, own) for other in kept):
        flow.cells[:] = [*kept, cell]


def _covers(large: Cell, small: Cell, own: Sequence[SSAValue]) -> bool:
    """True if it is proved that all points of `small` are in `large`, a cell without others."""
    if other_indices([c.form for c in large], own):
        return False
    space = Space(own, [*large, *small])
    known = [*space.rows(small), *space.sizes_not_negative()]
    return all(implied(row, known) for row in space.rows(large))

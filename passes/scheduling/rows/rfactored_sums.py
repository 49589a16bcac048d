"""Sums over the rows of a piece, to which a row that is computed adds its part (`rows`).

    dg_pieces[p, j] = sum[i in range(32*p, min(32*p + 32, I))](dy[i, j] * (x[i, j] - m[i]))

Each row `i in range(I)` belongs to one piece p. A walk over pairs (`pairs`) adds to sums over the
rows of one residue p, of a number of pieces that does not grow with that of rows:

    dz_pieces[p, j] = sum[q](exp(x[16*q + p] * z[j]))
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.rewriting.programs import forms_of, reads_of

ROWS_OF_PIECE = 32
"""Rows of a piece at least: sums over fewer are windows, or means of neighbours. Adding up the sums
of pieces takes a 32nd of a pass over the rows."""


@dataclass(frozen=True)
class PieceSum:
    """A definition each of whose elements is a sum over the rows of a piece."""

    op: tix.DefineOp
    total: tix.SumOp
    outer: Sequence[SSAValue]
    """The indices in front of the piece: outer indices of its rows."""
    length: Affine
    """The number of values of the index that is cut into pieces."""
    height: int
    """The rows of a piece; the last one may have fewer."""

    @property
    def is_cut(self) -> bool:
        """True if pieces have the height that `cut-sums` gives them."""
        return self.height == ROWS_OF_PIECE

    @property
    def row(self) -> SSAValue:
        """The index of the sum, which runs over the rows of a piece."""
        return self.total.indices[0]

    @property
    def rows(self) -> list[SSAValue]:
        """The indices of a row."""
        return [*self.outer, self.row]

    @property
    def lengths(self) -> list[Affine]:
        """The extents of the row indices."""
        return [*self.op.shape[: len(self.outer)], self.length]

    @property
    def inside(self) -> Sequence[SSAValue]:
        """The indices of elements of a piece, the last one along a row."""
        return self.op.indices[len(self.outer) + 1 :]

    @property
    def count(self) -> Affine:
        """The number of pieces."""
        return self.op.shape[len(self.outer)]


@dataclass(frozen=True)
class ResidueSum:
    """A definition each of whose elements is a sum over the rows of one residue."""

    op: tix.DefineOp
    total: tix.SumOp
    count: int
    """The number of residues, which are the first index of the definition."""
    length: Affine
    """The number of rows."""


def piece_sum_of(op: tix.DefineOp) -> PieceSum | None:
    """The sum over rows of pieces that a definition is, if it is one and leaves no row out."""
    total, *others = (value.owner for value in tix.all_yielded(op.body))
    if others or not isinstance(total, tix.SumOp) or len(total.indices) != 1:
        return None
    (row,) = total.indices
    for n, piece in enumerate(op.indices[:-1]):
        heights = {-c.form[piece] for c in total.constraints if c.form[row] == 1}
        height = next(iter(heights), 0)
        if len(heights) != 1 or height < ROWS_OF_PIECE:
            continue
        place = Affine.of(row) - Affine.of(piece) * height
        inside = {Constraint(place), Constraint(height - 1 - place)}
        rest = {*total.constraints} - inside
        ends = [c.form + Affine.of(row) + 1 for c in rest]
        length = ends[0] if ends else op.shape[n] * height
        found = PieceSum(op, total, op.indices[:n], length, height)
        is_one = inside <= {*total.constraints} and len(rest) < 2 and not length.indices
        return found if is_one and _has_all_rows(found) else None
    return None


def _has_all_rows(found: PieceSum) -> bool:
    """True if the pieces cover all rows."""
    missing = found.length - found.count * found.height
    if not missing.terms:
        return missing.constant <= 0
    program = found.op.parent_op()
    assert isinstance(program, tix.ProgramOp)
    bound = found.length + (found.height - 1), found.height
    return any(
        Affine.of(d.data.name) == found.count and d.bounds == (bound,) for d in program.derived
    )


def residue_sum_of(op: tix.DefineOp) -> ResidueSum | None:
    """The sum over the rows of a residue that a definition is, if it is one."""
    total, *others = (value.owner for value in tix.all_yielded(op.body))
    if others or not isinstance(total, tix.SumOp) or len(total.indices) != 1 or len(op.indices) < 2:
        return None
    count = op.shape[0].constant if not op.shape[0].terms else 0
    (index,), place = total.indices, op.indices[0]
    start = Constraint(Affine.of(index))
    row = Affine.of(index) * count + Affine.of(place)
    ends = [c.form + row + 1 for c in total.constraints if c != start]
    forms = [form for o in total.body.walk() for form in forms_of(o)]
    is_one = len(total.constraints) == 2 and len(ends) == 1 and not ends[0].indices
    is_one &= count > 1 and all(form[index] == count * form[place] for form in forms)
    return ResidueSum(op, total, count, ends[0]) if is_one else None


def rows_of_pieces(program: tix.ProgramOp) -> dict[tix.DefineOp, int]:
    """The sums over pieces of a program, and the definitions with rows that they read, too: of each
    the number of first indices that say which piece, or which row.

    These indices stay as they are: then all may share the rows. Those of walks over pairs all do.
    """
    found = {op: len(op.indices) for op in program.definitions if residue_sum_of(op)}
    for piece in filter(None, map(piece_sum_of, program.definitions)):
        near, count = {r.tensor for r in reads_of(piece.op)}, len(piece.rows)
        found[piece.op] = count
        for op in program.definitions:
            shares = op.result in near or not near.isdisjoint(r.tensor for r in reads_of(op))
            if shares and [*op.shape[:count]] == piece.lengths:
                found[op] = count
    return found

"""The matrix of a lump as definitions: its diagonal, or all that its structure leaves.

Let `out[α]` take the place of `in[β]` in a lump (`passes/derive/inversion/lumps.py`), with the
matrix `A[α, β] = ∂out[α] / ∂in[β]`. Forward mode with the tangent of `in` as seed gives `A` times
that:

    a seed of 1 everywhere               the diagonal, where all else is 0
    a seed of 1 where β = c, else 0      column c of the matrix
    a seed of 1 where β mod w = c        what is in column c of a band of width w, pushed together

(columns that share no row are found together: Curtis, Powell and Reid, "On the estimation of sparse
Jacobian matrices", 1974). Batch indices are equal on both sides, so one seed serves all batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, MatrixForm, TensorType
from tadc.once import cached_property
from tadc.passes.derive.differentiation.forward_sweep import ForwardSweep, Seed, number_everywhere
from tadc.passes.derive.differentiation.names import Labels
from tadc.passes.derive.inversion import structures
from tadc.passes.derive.inversion.lumps import Lump
from tadc.passes.derive.inversion.signed_permutations import SignedPermutation
from tadc.passes.derive.inversion.singularity import require_nonzero
from tadc.passes.index_sets.dependence import differentiable_reads
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import reads_of, type_of


@dataclass(frozen=True)
class Axes:
    """The indices of a tensor as a batch and a rest, after a signed permutation if there is one."""

    batch: tuple[int, ...]
    rest: tuple[int, ...]
    permutation: SignedPermutation | None = None

    def split(self, element: Sequence[Affine]) -> list[Affine]:
        """Batch and rest of an element, one behind the other."""
        coordinates = self.permutation.preimage(element) if self.permutation else element
        return [coordinates[d] for d in (*self.batch, *self.rest)]

    def join(self, coordinates: Sequence[Affine]) -> list[Affine]:
        """The element of which `split` gives these."""
        found = dict(zip((*self.batch, *self.rest), coordinates, strict=True))
        element = [found[d] for d in range(len(found))]
        return self.permutation.image(element) if self.permutation else element


def _without(dims: Sequence[int], rank: int) -> tuple[int, ...]:
    return tuple(d for d in range(rank) if d not in dims)


@dataclass(frozen=True)
class LumpMatrix:
    """The matrix of one lump, in a program in the making."""

    lump: Lump
    structure: structures.Structure
    labels: Labels
    tensors: Cloner

    @property
    def definitions(self) -> list[tix.DefineOp]:
        """The definitions of `outs`."""
        return self.lump.out_definitions

    def visit_inside(self, sweep: ForwardSweep) -> ForwardSweep:
        """Define the tangents of what the lump computes and reads itself; gives the sweep."""
        read = {r.tensor for op in self.lump.definitions for r in reads_of(op)}
        for op in self.lump.definitions:
            if op.result in read:
                sweep.visit(op)
        return sweep

    # --- diagonals ---

    def on_diagonal(self, read: tix.ReadOp) -> bool:
        """True if the read belongs to the diagonal part of the matrix."""
        return (
            not isinstance(self.structure, structures.DiagonalPlusNilpotent)
            or read in self._diagonal_reads
        )

    def off_diagonal(self, read: tix.ReadOp) -> bool:
        """True if the read belongs to the rest of the matrix beside its diagonal part."""
        return not self.on_diagonal(read)

    @cached_property
    def _diagonal_reads(self) -> frozenset[tix.ReadOp]:
        assert isinstance(self.structure, structures.DiagonalPlusNilpotent)
        reads = differentiable_reads(self.definitions[0])
        return frozenset(reads[n] for n in self.structure.reads)

    @cached_property
    def divisors(self) -> list[SSAValue | float]:
        """By elements of each of `outs`, what solving divides by: what stands on the diagonal, or
        the square of the only element in the row of a permutation. A number where it is the same
        everywhere."""
        if isinstance(self.structure, structures.Monomial):
            return [
                self._row_sums(op, "square", lambda e, a: e.mul(a, a)) for op in self.definitions
            ]
        return self.entries

    @cached_property
    def entries(self) -> list[SSAValue | float]:
        """The diagonal, or the only elements in the rows of a permutation, by elements of each of
        `outs`; a number where it is the same everywhere."""
        return [self._row_sums(op, "slope", lambda e, a: a) for op in self.definitions]

    def _row_sums(
        self, op: tix.DefineOp, name: str, then: Callable[[BodyBuilder, SSAValue], SSAValue]
    ) -> SSAValue | float:
        """A function of the sums of the rows of the diagonal part, defined by elements of `op`."""

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = [Affine.of(v) for v in own]
            return then(e, self._ones.element(e, op, element, counted=self.on_diagonal))

        names = [v.name_hint for v in op.indices]
        label = self.labels.fresh(f"{op.label.data}_{name}")
        sums = self.labels.builder.define(label, op.type, names, op.location, body)
        assert isinstance(sums.owner, tix.DefineOp)
        number = tix.constant_value(tix.yielded(sums.owner.body))
        if number is None:
            return sums
        sums.owner.detach()
        sums.owner.erase()
        require_nonzero(number, op.location)
        return number

    @cached_property
    def _ones(self) -> ForwardSweep:
        """Forward mode with 1 for every element of `ins`."""
        sweep = ForwardSweep(self.labels, self.tensors)
        sweep.tangents.update((v, number_everywhere(1)) for v in self.lump.ins)
        return self.visit_inside(sweep)

    @cached_property
    def columns(self) -> list[SSAValue]:
        """By elements of each of `outs`, the column of the only element in the row of a
        permutation: elements of `ins` are numbered one tensor after the other, as in memory."""
        sweep = ForwardSweep(self.labels, self.tensors)
        for j, tensor in enumerate(self.lump.ins):
            sweep.tangents[tensor] = _number_of_element(self.lump.ins[: j + 1])
        self.visit_inside(sweep)
        return [
            self._columns_of(op, sweep, a)
            for op, a in zip(self.definitions, self.entries, strict=True)
        ]

    def _columns_of(
        self, op: tix.DefineOp, sweep: ForwardSweep, entry: SSAValue | float
    ) -> SSAValue:
        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = [Affine.of(v) for v in own]
            # the row of A has only `a`, in column c: A times the numbers of columns is a c there
            a = e.read(entry, element) if isinstance(entry, SSAValue) else e.constant(entry)
            return e.div(sweep.element(e, op, element), a)

        type = TensorType.of(op.type.shape, tix.ELEMENT_TYPES["f64"])
        names = [v.name_hint for v in op.indices]
        label = self.labels.fresh(f"{op.label.data}_columns")
        return self.labels.builder.define(label, type, names, op.location, body)

    # --- matrices ---

    @cached_property
    def form(self) -> MatrixForm:
        """The form in which the matrix is stored."""
        batch, rows = len(self.out_axes[0].batch), tuple(len(a.rest) for a in self.out_axes)
        match self.structure:
            case structures.Banded(lower=lower, upper=upper):
                return MatrixForm("banded", batch, rows, lower, upper)
            case structures.Triangular(lower=lower):
                return MatrixForm("lower" if lower else "upper", batch, rows)
            case _:
                return MatrixForm("dense", batch, rows)

    @cached_property
    def out_axes(self) -> list[Axes]:
        """The order in which the indices of each of `outs` number the rows."""
        ranks = [type_of(v).rank for v in self.lump.outs]
        match self.structure:
            case structures.Blocks(out_dims=dims):
                pass
            case structures.Triangular(batch=batch) | structures.Banded(batch=batch):
                dims = (batch,)
            case _:
                dims = ((),) * len(ranks)
        return [Axes(d, _without(d, rank)) for d, rank in zip(dims, ranks, strict=True)]

    @cached_property
    def in_axes(self) -> list[Axes]:
        """The order in which the indices of each of `ins` number the columns."""
        ranks = [type_of(v).rank for v in self.lump.ins]
        match self.structure:
            case structures.Blocks(in_dims=dims):
                return [Axes(d, _without(d, rank)) for d, rank in zip(dims, ranks, strict=True)]
            case (
                structures.Triangular(permutation=permutation)
                | structures.Banded(permutation=permutation)
            ):
                return [Axes(self.out_axes[0].batch, self.out_axes[0].rest, permutation)]
            case _:
                return [Axes((), tuple(range(rank))) for rank in ranks]

    def row_sizes(self, k: int) -> list[Affine]:
        """The sizes of batch and rows of `outs[k]`."""
        shape, axes = type_of(self.lump.outs[k]).shape, self.out_axes[k]
        return [shape[d] for d in (*axes.batch, *axes.rest)]

    def column_sizes(self, j: int) -> list[Affine]:
        """The sizes of batch and columns of `ins[j]`, before columns are pushed together."""
        axes = self.in_axes[j]
        shape = type_of(self.lump.outs[0] if axes.permutation else self.lump.ins[j]).shape
        return [shape[d] for d in (*axes.batch, *axes.rest)]

    @cached_property
    def matrices(self) -> list[SSAValue]:
        """The blocks, row by row: `[batch..., row..., column...]`."""
        sweeps = [self._columns(j) for j in range(len(self.lump.ins))]
        return [self._block(k, sweep) for k in range(len(self.lump.outs)) for sweep in sweeps]

    def _columns(self, j: int) -> ForwardSweep:
        """Forward mode with the columns of `ins[j]` as seeds."""
        axes, form = self.in_axes[j], self.form
        sizes = self.column_sizes(j)[len(axes.batch) :]
        if form.kind == "banded":
            sizes = [Affine(constant=form.lower + form.upper + 1)]
        sweep = ForwardSweep(self.labels, self.tensors, columns=[("c", size) for size in sizes])
        sweep.tangents[self.lump.ins[j]] = _indicator(axes, form)
        return self.visit_inside(sweep)

    def _block(self, k: int, sweep: ForwardSweep) -> SSAValue:
        op, axes = self.definitions[k], self.out_axes[k]
        rows = self.row_sizes(k)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            forms = [Affine.of(v) for v in own]
            return sweep.element(e, op, axes.join(forms[: len(rows)]), forms[len(rows) :])

        names = [op.indices[d].name_hint for d in (*axes.batch, *axes.rest)]
        names += [name for name, _ in sweep.columns]
        sizes = [*rows, *(size for _, size in sweep.columns)]
        type = TensorType.of(sizes, tix.ELEMENT_TYPES[op.type.dtype])
        label = self.labels.fresh(f"{op.label.data}_matrix")
        return self.labels.builder.define(label, type, names, op.location, body)


def _number_of_element(tensors: Sequence[SSAValue]) -> Seed:
    """The number of an element of the last tensor, where they are numbered one after the other."""

    def seed(e: BodyBuilder, element: Sequence[Affine], columns: Sequence[Affine]) -> SSAValue:
        # Horner's rule within the last tensor, as in memory; then the elements of all before it
        *before, last = (type_of(tensor).shape for tensor in tensors)
        number = e.constant(0)
        for index, size in zip(element, last, strict=True):
            number = e.add(e.mul(number, e.index_to_real(size)), e.index_to_real(index))
        for shape in before:
            count = e.constant(1)
            for size in shape:
                count = e.mul(count, e.index_to_real(size))
            number = e.add(number, count)
        return number

    return seed


def _indicator(axes: Axes, form: MatrixForm) -> Seed:
    """1 at the elements that belong to a column."""

    def seed(e: BodyBuilder, element: Sequence[Affine], columns: Sequence[Affine]) -> SSAValue:
        rest = axes.split(element)[len(axes.batch) :]
        if form.kind == "banded":
            # columns a width apart share no row: they have one seed together, β mod width = c
            width = form.lower + form.upper + 1
            rest = [r - e.floordiv(r, width) * width for r in rest]
        here = [Constraint(r - c, equality=True) for r, c in zip(rest, columns, strict=True)]
        return e.guard(here, lambda e, _: e.constant(1))

    return seed

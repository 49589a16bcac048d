"""`merge-axes`: two neighbouring indices that run through memory as one would become one.

    %y = tix.define "y" (%n, %h, %w) : !tix.tensor<[N, H, W], f32> {
      %0 = tix.read %x[%n, %h, %w]
      %1 = tix.read %b[%n]
      ...

becomes

    %y = tix.define "y" (%n, %p) : !tix.tensor<[N, H, W], f32> as [N, H * W] {
      %0 = tix.read %x[%n, %p] as [N, H * W]
      %1 = tix.read %b[%n]
      ...

In row-major order the element h, w of a plane is its element p = W h + w, and where h runs below H
and w below W, p takes each value below H W once, in the same order. So h and w can become p
where the body reads elements of dimensions next to each other at exactly h and w, the second one of
size W, or at W h + w, and mentions h and w nowhere else; and so can indices of a reduction that run
over such a box. Loops become longer: a vector does not end with each row. What lies in
rows of W is one dimension, too, where it is read at `p // W` and `p % W`, and a condition
`p // W < H` is `p < W H`.

One size at most may be a difference, which counts as 0 where it is negative: the product of two
would be positive again. With `strided`, rows of what is read may lie apart in memory: then only
indices become one that nothing is read at, or that are neighbours in one dimension.

On exit a product of sizes may be a size, which only the interpreter and `schedule` know.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, between
from tadc.dialects.tix.affine import product
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_program
from tadc.passes.scheduling.rows.rfactored_sums import rows_of_pieces


@dataclass(frozen=True)
class MergeAxesPass(LocalPass):
    """`merge-axes{strided=true}`: for code that reads tensors whose rows may lie apart."""

    name = "merge-axes"
    requires = leaves = (sums_bounded,)
    strided: bool = False

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return merge_axes(program, self.strided)


def merge_axes(program: tix.ProgramOp, strided: bool = False) -> tix.ProgramOp:
    """The program with merged indices; itself where none can be merged."""
    rows = rows_of_pieces(program)
    nests = [nest for d in program.definitions for nest in _nests(d, rows.get(d, 0))]
    joined = {v: first for nest in nests for v, first in _joined(nest, strided)}
    if not joined and not any(_is_divided(op, strided) for op in program.walk()):
        return program

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        return _Merger(tensors, joined, strided).define(builder, op)

    return copy_program(program, define=define)


@dataclass(frozen=True)
class _Nest:
    """Indices of a definition or of a reduction, in order."""

    indices: Sequence[SSAValue]
    sizes: Mapping[SSAValue, Affine]
    """The sizes below which indices run from 0, where nothing else bounds them."""

    @property
    def pairs(self) -> Iterator[tuple[SSAValue, SSAValue]]:
        """Neighbours that both run below a size."""
        return ((a, b) for a, b in pairwise(self.indices) if {a, b} <= self.sizes.keys())


def _nests(definition: tix.DefineOp, kept: int) -> Iterator[_Nest]:
    """The indices of a definition, less the first ones if they are kept, and of its reductions."""
    sizes = dict(zip(definition.indices, definition.shape, strict=True))
    yield _Nest(definition.indices[kept:], sizes)
    for op in definition.walk():
        if isinstance(op, tix.ReductionOp):
            ranges = {v: size for v in op.indices if (size := _size(v, op)) is not None}
            yield _Nest(op.indices, ranges)


def _size(index: SSAValue, op: tix.ReductionOp) -> Affine | None:
    """The size n where `0 <= index < n` is all that bounds an index of a reduction."""
    around = [c for c in op.constraints if c.form[index]]
    ends = [c.form + Affine.of(index) + 1 for c in around if c.form[index] == -1]
    whole = len(ends) == 1 and not ends[0].indices
    return ends[0] if whole and set(around) == {*between(0, Affine.of(index), ends[0])} else None


def _joined(nest: _Nest, strided: bool) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The indices that become one with those before them, each with the first of these."""
    group: list[SSAValue] = []
    for a, b in nest.pairs:
        group = group if a in group else [a]
        differences = sum(not _is_natural(nest.sizes[v]) for v in (*group, b))
        if differences <= 1 and _can_merge(a, b, nest.sizes, strided):
            group.append(b)
            yield b, group[0]


def _can_merge(a: SSAValue, b: SSAValue, sizes: Mapping[SSAValue, Affine], strided: bool) -> bool:
    """True if two neighbouring indices only count as `size of b * a + b`."""
    users = {use.operation for v in (a, b) for use in v.uses}
    return all(
        isinstance(op, tix.ReadOp)
        and ((not strided and _reads_plane(op, a, b, sizes[b])) or _reads_row(op, a, b, sizes[b]))
        for op in users
    )


def _reads_row(op: tix.ReadOp, a: SSAValue, b: SSAValue, size: Affine) -> bool:
    """True if `a` and `b` only count as `size * a + b`, in one dimension."""
    around = [form for form in op.forms if form[a] or form[b]]
    number = size.constant if not size.terms else 0
    return number > 0 and len(around) == 1 and around[0][a] == number * around[0][b]


def _reads_plane(op: tix.ReadOp, a: SSAValue, b: SSAValue, size: Affine) -> bool:
    """True if `a` and `b` are the positions in neighbouring dimensions, the second of this size."""
    forms, shape = op.forms, op.shape
    places = [n for n, form in enumerate(forms) if form[a] or form[b]]
    if len(places) != 2:
        return False
    first, second = places
    positions = forms[first].single_index, forms[second].single_index
    one_difference = _is_natural(shape[first]) or _is_natural(size)
    near = second == first + 1 and shape[second] == size and one_difference
    return near and positions == (a, b)


def _is_divided(op: Operation, strided: bool) -> bool:
    """True for a read or a condition that needs no quotient."""
    match op:
        case tix.ReadOp():
            return _without_quotients(op, strided)[1] != [*op.shape]
        case tix.IfOp():
            return any(_of_dividend(c) is not c for disjunct in op.condition for c in disjunct)
        case _:
            return False


def _of_dividend(constraint: Constraint) -> Constraint:
    """The condition without its quotient `q = e // m`, where it says that q is below or above.

    For integers `r`, `q >= r` is `e >= m r`, and `q <= r` is `e <= m r + m - 1`.
    """
    quotients = [v for v in constraint.form.indices if isinstance(v.owner, tix.FloorDivOp)]
    if len(quotients) != 1 or constraint.equality or abs(constraint.form[quotients[0]]) != 1:
        return constraint
    (q,) = quotients
    assert isinstance(q.owner, tix.FloorDivOp)
    m, e, above = q.owner.divisor.data, q.owner.form, constraint.form[q] == 1
    rest = (constraint.form - Affine.of(q) * constraint.form[q]) * m
    return Constraint(rest + e if above else rest + (m - 1) - e)


def _without_quotients(op: tix.ReadOp, strided: bool) -> tuple[list[Affine], list[Affine]]:
    """The forms and the shape of a read, with one dimension for `p // m` beside `p % m`.

    With `strided` arguments keep theirs: their rows may lie apart.
    """
    forms, shape = list(op.forms), list(op.shape)
    for n in range(len(forms) - 2, -1, -1):
        index = forms[n].single_index
        quotient = index.owner if index is not None else None
        in_rows = not strided or isinstance(op.tensor.owner, tix.DefineOp)
        if isinstance(quotient, tix.FloorDivOp) and in_rows:
            divisor = Affine(constant=quotient.divisor.data)
            rest = quotient.form - forms[n] * divisor.constant
            if forms[n + 1] == rest and shape[n + 1] == divisor:
                forms[n : n + 2] = [quotient.form]
                shape[n : n + 2] = [product(shape[n], divisor)]
    return forms, shape


def _is_natural(size: Affine) -> bool:
    """True if a size is no difference: it is what it says, and not 0 instead."""
    return size.constant >= 0 and all(c > 0 for c in size.terms.values())


class _Merger(Cloner):
    """Copies; an index in `joined` becomes one with the index before it."""

    def __init__(self, tensors: Cloner, joined: Mapping[SSAValue, SSAValue], strided: bool):
        super().__init__(tensors.builder, tensors.values)
        self.joined = joined
        """For an index, the first of those that become one with it."""
        self.strided = strided

    def define(self, program: ProgramBuilder, op: tix.DefineOp) -> SSAValue:
        """Append the definition with merged indices."""
        groups = self._groups(op.indices)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self._inside(e, groups, own).copy_body(op.body)

        shape = self._merged(op.indices, op.shape)
        view = shape if shape != op.type.shape else None
        return program.define(op.label.data, op.type, _names(groups), op.location, body, view)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The reduction over merged indices."""
        groups = self._groups(op.indices)
        merged = {v for group in groups if len(group) > 1 for v in group}
        others = [c for c in op.constraints if merged.isdisjoint(c.form.indices)]

        def domain(own: list[SSAValue]) -> list[Constraint]:
            ranges = [
                c
                for group, v in zip(groups, own, strict=True)
                if len(group) > 1
                for c in between(0, Affine.of(v), reduce(product, (_length(k, op) for k in group)))
            ]
            return self._inside(self.builder, groups, own).constraints(others) + ranges

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            return self._inside(e, groups, own).copy_body(op.body)

        return self.builder.reduce(type(op), _names(groups), domain, body)

    def copy(self, op: Operation) -> None:
        """Copy an operation; reads are at merged indices."""
        if not isinstance(op, tix.ReadOp):
            return super().copy(op)
        self.builder.location = op.location
        old, dimensions = _without_quotients(op, self.strided)
        positions = [form.single_index for form in old]
        forms = [
            self.form(self._in_rows(f))
            for f, v in zip(old, positions, strict=True)
            if v not in self.joined
        ]
        shape = self._merged(positions, dimensions)
        view = shape if shape != op.tensor_type.shape else None
        self.values[op.result] = self.builder.read(self.value(op.tensor), forms, view)

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        """The choice by conditions without quotients, where these can do without."""
        return self.builder.choose(
            [list(map(_of_dividend, self.constraints(disjunct))) for disjunct in op.condition],
            lambda e, _: self.inner(e).copy_body(op.then),
            lambda e, _: self.inner(e).copy_body(op.otherwise),
        )

    def _in_rows(self, form: Affine) -> Affine:
        """The form with `a` for each `size * a + b` whose indices become one."""
        groups: dict[SSAValue, list[SSAValue]] = {}
        for v in form.indices:
            groups.setdefault(self.joined.get(v, v), []).append(v)
        for first, indices in groups.items():
            step = min((form[v] for v in indices), key=abs)
            rest = form - sum((Affine.of(v) * form[v] for v in indices), Affine())
            form = rest + Affine.of(first) * step
        return form

    def _groups(self, indices: Sequence[SSAValue]) -> list[list[SSAValue]]:
        """Indices that become one, those that stay alone as groups of one."""
        groups: list[list[SSAValue]] = []
        for v in indices:
            if v in self.joined:
                groups[-1].append(v)
            else:
                groups.append([v])
        return groups

    def _merged(
        self, positions: Sequence[SSAValue | None], shape: Sequence[Affine]
    ) -> tuple[Affine, ...]:
        """The shape in which dimensions at joined positions are one with those before them."""
        sizes: list[Affine] = []
        for v, size in zip(positions, shape, strict=True):
            if v in self.joined:
                sizes[-1] = product(sizes[-1], size)
            else:
                sizes.append(size)
        return tuple(sizes)

    def _inside(
        self, builder: BodyBuilder, groups: Sequence[Sequence[SSAValue]], own: Sequence[SSAValue]
    ) -> _Merger:
        return self.inner(builder, [group[0] for group in groups], own)


def _names(groups: Sequence[Sequence[SSAValue]]) -> list[str | None]:
    """A name for each group: `hw` for the indices h and w."""
    return ["".join(v.name_hint or "" for v in group) or None for group in groups]


def _length(index: SSAValue, op: tix.ReductionOp) -> Affine:
    """The size below which an index runs that is one with its neighbour."""
    size = _size(index, op)
    assert size is not None
    return size

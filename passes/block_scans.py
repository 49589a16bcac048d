"""`block-scans`: sums over all terms up to an element, or from it on, are computed in blocks.

    y[i] = sum[k in range(i + 1)](x[k])                     N (N + 1) / 2 terms

becomes, with blocks of m = 16 terms,

    y_block[q] = sum[r in range(16)](x[16*q + r])            N terms
    y_before[q] = sum[p in range(q)](y_block[p])             the same again, of N / 16
    y[i] = y_before[i // 16] + sum[k in range(16*(i // 16), i + 1)](x[k])      8 N terms

A sum over k of terms that do not depend on i, where `k <= i + c` is all that i says of k, is called
a *scan* (Blelloch, Prefix sums and their applications, 1990); cumulative sums are, their gradients,
with `k >= i + c`, and areas in images. With D for what else is known of k,

    {k in D: k <= i + c}  =  {k in D: k // m < i // m}  ∪  {k in D: m (i // m) <= k <= i + c},

as long as all of a block before that of i is there: `m (i // m) - 1 <= i + c` for `c >= -1`. In
blocks a scan takes about 16 additions for an element, in vectors that run along the block. The
second definition is a scan, too: it comes in blocks of 64 where it is long, so that of a million
elements 1,024 are left. The example of `sizes` tells how long; what it lacks is long, and so is
what has `ASSUMED_LENGTH` there: examples go no further.

Terms are added up in fewer steps than one after the other, so that rounding errors are smaller.
Sums that must round identically stay as they are. On exit sums are bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, TensorType, between
from passes.absorb_conditions import bounded_without_conditions
from passes.analysis.machine_facts import ASSUMED_LENGTH
from passes.analysis.rounding import must_round_identically
from passes.index_sets.space import implied_by
from passes.infer_ranges import infer_ranges
from passes.rewriting.builder import BodyBuilder
from passes.rewriting.cloner import Cloner
from passes.rewriting.part_sizes import PartSizes
from passes.rewriting.program_pass import ProgramPass
from passes.rewriting.programs import ProgramBuilder, arguments_of, copy_definition
from passes.rewriting.written_sizes import parse_sizes
from passes.simplify_sums import simplify_sums

TERMS_OF_BLOCKS = 16, 64
"""Terms of a block, and blocks of a block of blocks; the first are the lanes of a vector."""

FEWEST_BLOCKS = 4
"""Blocks from which on a scan is worth three definitions."""

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class BlockScansPass(ProgramPass):
    """`block-scans{sizes="N=512"}`: made best for these sizes, right for all."""

    name = "block-scans"
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return block_scans(program, parse_sizes(self.sizes))


def block_scans(program: tix.ProgramOp, sizes: Sizes) -> tix.ProgramOp:
    """The program with scans in blocks; itself where there are none."""
    if not any(isinstance(tix.yielded(d.body).owner, tix.SumOp) for d in program.definitions):
        return program
    made = bounded_without_conditions(program)
    for terms in TERMS_OF_BLOCKS:
        scans = _scans(made, terms, sizes)
        if not scans:
            return program if terms == TERMS_OF_BLOCKS[0] else made
        made = _in_blocks(made, scans, terms, sizes)
    return made


# --- the choice -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scan:
    """A sum, the whole of a definition, up to an index of the definition or from it on."""

    op: tix.SumOp
    index: SSAValue
    """The index i of the definition."""
    own: SSAValue
    """The index k of the sum."""
    limit: Constraint
    """The bound of k by i: `k <= i + c`, or `k >= i + c`."""
    count: Affine
    """A number that k is below."""

    @property
    def known(self) -> list[Constraint]:
        """The constraints on the indices of the sum that hold for all i."""
        end = Constraint(self.count - Affine.of(self.own) - 1)
        return [*(c for c in self.op.constraints if c != self.limit), end]


def _scans(program: tix.ProgramOp, terms: int, sizes: Sizes) -> dict[tix.DefineOp, Scan]:
    """The definitions that are scans of several blocks."""
    fixed = must_round_identically(program)
    values = {name: size for name, size in sizes.items() if size < ASSUMED_LENGTH}
    for derived in program.derived:
        if derived.needs <= values.keys():
            values[derived.data.name] = derived.evaluate(values)
    free = (op for op in program.definitions if fixed.isdisjoint(op.walk()))
    return {op: scan for op in free if (scan := _scan_of(op, terms, values))}


def _scan_of(op: tix.DefineOp, terms: int, sizes: Sizes) -> Scan | None:
    """The scan that a definition is, if it is one."""
    total = tix.yielded(op.body).owner
    if not isinstance(total, tix.SumOp) or op.view is not None:
        return None
    for index, size in zip(op.indices, op.shape, strict=True):
        known = all(n in sizes for n in size.sizes)
        short = known and size.evaluate({n: sizes[n] for n in size.sizes}) < terms * FEWEST_BLOCKS
        if not short and {use.operation for use in index.uses} == {total}:
            scan = _along(total, index, size, terms)
            if scan:
                return scan
    return None


def _along(op: tix.SumOp, index: SSAValue, size: Affine, terms: int) -> Scan | None:
    """The scan along an index that stands in one bound alone: `k <= i + c`, or `k >= i + c`."""
    limits = [c for c in op.constraints if c.form[index]]
    own = [v for c in limits for v in c.form.indices if v in op.indices]
    if len(limits) != 1 or len(own) != 1 or limits[0].equality:
        return None
    (k,), form = own, limits[0].form
    offset = form - Affine.of(index) * form[index] - Affine.of(k) * form[k]
    if abs(form[k]) != 1 or form[k] != -form[index] or offset.terms:
        return None
    ends = [
        c.form + Affine.of(k) + 1 for c in op.constraints if c.form[k] == -1 and c not in limits
    ]
    ends += [size + offset] if form[k] < 0 else []
    count = next((end for end in ends if not end.indices), None)
    known = [*op.constraints, Constraint(Affine.of(index))]
    if (
        count is None
        or not -1 <= offset.constant < terms
        or not implied_by(Constraint(Affine.of(k)), known)
    ):
        return None
    return Scan(op, index, k, limits[0], count)


# --- the change -----------------------------------------------------------------------------------


def _in_blocks(
    program: tix.ProgramOp, scans: Mapping[tix.DefineOp, Scan], terms: int, taken: Sizes
) -> tix.ProgramOp:
    """The program with these scans in blocks of so many terms."""
    sizes = PartSizes(program, taken)
    builder = ProgramBuilder(arguments_of(program))
    builder.labels |= {d.label.data for d in program.definitions}
    tensors = Cloner(BodyBuilder(builder.block, program.location))
    tensors.values.update(zip(program.body.block.args, builder.block.args, strict=True))
    for op in program.definitions:
        made = (
            _Blocks(builder, tensors, op, scans[op], terms, sizes).define()
            if op in scans
            else copy_definition(builder, tensors, op)
        )
        tensors.values[op.result] = made
    result = builder.finish(program, [tensors.value(v) for v in program.returned])
    result.derived = ArrayAttr([*program.derived, *sizes.derived])
    return simplify_sums(infer_ranges(result))


@dataclass(frozen=True)
class _Blocks:
    """Builds the definitions of a scan in blocks of `terms` terms."""

    builder: ProgramBuilder
    tensors: Cloner
    definition: tix.DefineOp
    scan: Scan
    terms: int
    sizes: PartSizes

    def define(self) -> SSAValue:
        """Append the definitions; the tensor of the last one, which has the label of the scan."""
        op, label = self.definition, self.definition.label.data
        size = dict(zip(op.indices, op.shape, strict=True))[self.scan.index]
        count = self.sizes.of(self.scan.count, self.terms, 0, "B")
        total = self._define(f"{label}_block", count, self._total)
        before = self._define(
            f"{label}_before",
            self.sizes.of(size, self.terms, 0, "B"),
            lambda e, own: self._others(e, own, total, count),
        )
        return self.builder.define_like(
            op.result, label, lambda e, own: self._element(e, own, before)
        )

    def _define(
        self, label: str, count: Affine, body: Callable[[BodyBuilder, list[SSAValue]], SSAValue]
    ) -> SSAValue:
        """Append a definition like that of the scan, with `count` blocks for elements."""
        op, place = self.definition, self._place
        shape = [*op.shape[:place], count, *op.shape[place + 1 :]]
        type = TensorType.of(shape, tix.ELEMENT_TYPES[op.type.dtype])
        names = [v.name_hint for v in op.indices]
        return self.builder.define(self.builder.fresh_label(label), type, names, op.location, body)

    @property
    def _place(self) -> int:
        """The number of the index among those of the definition."""
        return list(self.definition.indices).index(self.scan.index)

    def _total(self, e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        """The sum of the terms of one block: `k = m q + r` with `0 <= r < m`."""
        start = Affine.of(own[self._place]) * self.terms

        def bounds(k: Affine) -> list[Constraint]:
            return between(0, k - start, Affine(constant=self.terms))

        return self._sum(e, own, bounds, start)

    def _others(
        self, e: BodyBuilder, own: list[SSAValue], total: SSAValue, count: Affine
    ) -> SSAValue:
        """The sum of the blocks before one, or behind it."""
        block = Affine.of(own[self._place])

        def domain(inner: list[SSAValue]) -> list[Constraint]:
            other = Affine.of(inner[0])
            apart = block - other if self._is_forwards else other - block
            return [*between(0, other, count), Constraint(apart - 1)]

        def body(then: BodyBuilder, inner: list[SSAValue]) -> SSAValue:
            forms = [Affine.of(v) for v in own]
            forms[self._place] = Affine.of(inner[0])
            return then.read(total, forms)

        return e.sum([self.scan.own.name_hint], domain, body)

    def _element(self, e: BodyBuilder, own: list[SSAValue], before: SSAValue) -> SSAValue:
        """The sum of other blocks, and of the terms of the element's own."""
        index = Affine.of(own[self._place])
        block = e.floordiv(index, self.terms)
        forms = [Affine.of(v) for v in own]
        forms[self._place] = block
        form = self.scan.limit.form
        limit = form.substitute({self.scan.index: index})

        def bounds(k: Affine) -> list[Constraint]:
            start = block * self.terms
            end = Constraint(k - start if self._is_forwards else start + self.terms - 1 - k)
            return [Constraint(limit.substitute({self.scan.own: k})), end]

        return e.add(e.read(before, forms), self._sum(e, own, bounds, Affine()))

    def _sum(
        self,
        e: BodyBuilder,
        own: list[SSAValue],
        bounds: Callable[[Affine], Sequence[Constraint]],
        start: Affine,
    ) -> SSAValue:
        """The sum of the terms within these bounds of k; its index runs from `start`."""
        op, k = self.scan.op, self.scan.own
        cloner = Cloner(e, self.tensors.values, self.tensors.indices)
        around = cloner.inner(e, self.definition.indices, own)

        def inside(builder: BodyBuilder, new: list[SSAValue]) -> Cloner:
            inner = around.inner(builder, op.indices, new)
            inner.indices[k] = inner.indices[k] + start
            return inner

        def domain(new: list[SSAValue]) -> list[Constraint]:
            inner = inside(e, new)
            return [*inner.constraints(self.scan.known), *bounds(inner.indices[k])]

        return e.sum(
            [v.name_hint for v in op.indices],
            domain,
            lambda then, new: inside(then, new).copy_body(op.body),
        )

    @property
    def _is_forwards(self) -> bool:
        """True for the sum of the terms up to an element."""
        return self.scan.limit.form[self.scan.own] < 0

"""`outline-scans`: sums over all terms up to an element get names, and so do their terms.

    y[i, j] = sum[k in range(j + 1), d](x[i, k, d] * w[d]) / s[i]

becomes

    y_term[i, k] = sum[d](x[i, k, d] * w[d])
    y_sum[i, j] = sum[k in range(j + 1)](y_term[i, k])
    y[i, j] = y_sum[i, j] / s[i]

Such a reduction is a *scan* (`passes/scheduling/scans.py`): loops carry a total from one element to
the next, so that each term is added once instead of once for every element behind it. For that the
terms must be over one index and lie side by side; where they do not, or are reductions themselves,
they become a tensor. With D for what else is known of k,

    sum over {k in D: k <= j} of E(k)  =  sum over {0 <= k <= j} of t[k]
    t[k]  =  E(k) if k in D else 0

with what changes nothing for 0 in other reductions. A scan over two indices is one of terms that
may be scans, too: areas in images are `sum[k in range(i + 1), l in range(j + 1)](x[k, l])`, the sum
along j of sums along i. Where the terms are a tensor, but in another order, the scan takes theirs:

    y[i, j] = sum[k in range(j + 1)](x[k, i])      y_turned[j, i] = sum[k in range(j + 1)](x[k, i])
                                                   y[i, j] = y_turned[j, i]

and what reads y reads `y_turned`. Factors that depend on j alone leave the sum, under a condition
that it has terms: then all that they read is there. A scan that is a part of an element becomes a
definition of its own, unless loops can carry its total as it stands, and so does a sum weighed by
products on the way (`scheduling/recurrences.py`), of which a product of sums may consist
(`factoring/separate_sums.py`), or powers (`scheduling/powers_of_distances.py`). Reductions stay as
they are that must round identically, and those of few elements in the example of `sizes`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import operands_of
from tadc.dialects.tix import Affine, Constraint, TensorType, between
from tadc.passes.algebra.factoring.separate_sums import separate_sums
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.derive.absorb_conditions import bounded_without_conditions
from tadc.passes.derive.infer_ranges import infer_ranges
from tadc.passes.derive.outline_reductions import outline_reductions
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import conditions_of_a_point, implied_by
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.products import Product, multiply
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, copy_definition, copy_program, reads_of
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.powers_of_distances import with_products
from tadc.passes.scheduling.recurrences import recurrence_in
from tadc.passes.scheduling.rows.vectorized_rows import long_reductions
from tadc.passes.scheduling.scans import Scan, bounded_along, is_scanned, scan_along
from tadc.passes.simplify.simplify_sums import simplify_sums

FEWEST_ELEMENTS = 32
"""The number of elements along its index from which on a scan is worth definitions of its own."""


@dataclass(frozen=True)
class OutlineScansPass(ProgramPass):
    """`outline-scans{sizes="N=512"}`: made best for these sizes, right for all."""

    name = "outline-scans"
    requires = leaves = (sums_bounded,)
    sizes: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return outline_scans(program, parse_sizes(self.sizes))


def outline_scans(program: tix.ProgramOp, sizes: Mapping[str, int]) -> tix.ProgramOp:
    """The program with names for scans and their terms where that lets loops carry totals; the same
    one where nothing gets a name."""
    rewritten = [
        op
        for rewrite, candidates in ((separate_sums, _free), (with_products, _moving))
        for op in list(candidates(program))
        if rewrite(op) is not op
    ]
    made = bounded_without_conditions(program)
    lengths = {d.data.name: d.evaluate(sizes) for d in program.derived if d.needs <= sizes.keys()}
    lengths |= sizes
    factors = {op: f for d in _moving(made) for op in long_reductions(d) if (f := _factors(op, d))}
    if factors:
        made = copy_program(made, define=partial(_without_factors, factors))
    named = {scan.op for op in _moving(made) if not is_scanned(op) for scan in _inside(op, lengths)}
    changed = bool(rewritten or factors or named)
    if named:
        made = outline_reductions(made, lambda op, _: op in named)
    while scans := _without_loops(made, lengths):
        made, changed = _with_loops(made, scans), True
    return made if changed else program


# --- the choice -----------------------------------------------------------------------------------


def _free(program: tix.ProgramOp) -> Iterator[tix.DefineOp]:
    """The definitions whose values may round otherwise."""
    fixed = must_round_identically(program)
    for op in program.definitions:
        if op.view is None and is_free(op, fixed):
            yield op


def _moving(program: tix.ProgramOp) -> Iterator[tix.DefineOp]:
    """Definitions with reductions whose bounds move with an index, as those of all scans do."""
    for op in _free(program):
        if any(isinstance(o, tix.ReductionOp) and operands_of(o) for o in op.walk()):
            yield op


def _scan_of(op: tix.ReductionOp, around: tix.DefineOp, sizes: Mapping[str, int]) -> Scan | None:
    """The scan that a reduction is along the last index that it is one along."""
    uses = IndexUses()
    for index, size in reversed(list(zip(around.indices, around.shape, strict=True))):
        known = {name: sizes[name] for name in size.sizes if name in sizes}
        is_short = len(known) == len(size.sizes) and size.evaluate(known) < FEWEST_ELEMENTS
        scan = None if is_short else scan_along(op, index, uses)
        if scan:
            return scan
    return None


def _inside(op: tix.DefineOp, sizes: Mapping[str, int]) -> Iterator[Scan]:
    """The scans of a definition that are not just its elements."""
    weighed = [r for s in op.walk() if isinstance(s, tix.SumOp) and (r := recurrence_in(s, op))]
    yield from (r.scan for r in weighed if r.scan.result is not tix.yielded(op.body))
    products = [r.product for r in weighed]
    for reduction in (r for r in long_reductions(op) if r not in products):
        is_whole = reduction.result is tix.yielded(op.body)
        if not (is_whole and {*op.indices} <= IndexUses().of_operation(reduction)):
            scan = _scan_of(reduction, op, sizes)
            if scan:
                yield scan


def _without_loops(program: tix.ProgramOp, sizes: Mapping[str, int]) -> dict[tix.DefineOp, Scan]:
    """The definitions that are scans of which loops cannot carry totals as they stand.

    Those that read other ones wait for these.
    """
    found: dict[tix.DefineOp, Scan] = {}
    for op in _moving(program):
        total = tix.yielded(op.body).owner
        if isinstance(total, tix.ReductionOp) and not is_scanned(op):
            if (scan := _scan_of(total, op, sizes)) is None:
                continue
            order = _order_of_terms(scan, op)
            fits = _count(scan, op) is not None if order is None else order != [*op.indices]
            if fits and not any(read.tensor.owner in found for read in reads_of(op)):
                found[op] = scan
    return found


def _order_of_terms(scan: Scan, around: tix.DefineOp) -> Sequence[SSAValue] | None:
    """The indices of a definition in the order of the tensor that its terms are elements of.

    None where terms are something else. The index of the scan stands for k.
    """
    term = tix.yielded(scan.op.body).owner
    if len(scan.op.indices) > 1 or not isinstance(term, tix.ReadOp):
        return None
    at = [form.single_index for form in term.forms]
    order = [scan.index if v is scan.own else v for v in at if v is not None]
    is_whole = len(order) == len(at) == len(around.indices) and {*order} == {*around.indices}
    return order if is_whole else None


def _count(scan: Scan, around: tix.DefineOp) -> Affine | None:
    """A number that the index of a scan is always below, if it is never negative."""
    own = Affine.of(scan.own)
    size = dict(zip(around.indices, around.shape, strict=True))[scan.index]
    ends = [c.form + own + 1 for c in scan.known if c.form[scan.own] == -1]
    ends += [size + scan.offset] if scan.is_forwards else []
    known = [*scan.op.constraints, *index_set(around)]
    is_natural = implied_by(Constraint(own), known)
    return next((end for end in ends if is_natural and not end.indices), None)


class _Factors(NamedTuple):
    """The terms of a sum as products of what is the same for all of them and of the rest."""

    outside: Product
    inside: Product
    conditions: Sequence[Constraint]
    """Constraints under which the sum has terms, so that all that the factors read is there."""


def _factors(op: tix.ReductionOp, around: tix.DefineOp) -> _Factors | None:
    """The factors that keep a sum from being a scan; None if there are none, or nothing else."""
    uses = IndexUses()
    if not isinstance(op, tix.SumOp) or op.parent is not around.body.block:
        return None
    product = Product.of(tix.yielded(op.body), op.body.block)
    outside, inside = product.split(lambda v: uses.of(v).isdisjoint(op.indices))
    limits = [v for v in around.indices if bounded_along(op, v, uses)]
    weighed = recurrence_in(op, around, with_factors=True)
    moving = [v for v in inside.factors if not weighed or v is not weighed.product.result]
    kept = {used for v in (*moving, *inside.divisors) for used in uses.of(v)}
    gone = {used for v in (*outside.factors, *outside.divisors) for used in uses.of(v)}
    if not any(v in gone and v not in kept for v in limits):
        return None
    conditions = conditions_of_a_point(op.indices, op.constraints)
    if conditions is None:
        return None
    known = index_set(around)
    return _Factors(outside, inside, [c for c in conditions if not implied_by(c, known)])


# --- the change -----------------------------------------------------------------------------------


def _without_factors(
    factors: Mapping[tix.ReductionOp, _Factors],
    builder: ProgramBuilder,
    tensors: Cloner,
    op: tix.DefineOp,
) -> SSAValue:
    """Append a copy of a definition in which these factors have left their sums."""
    return copy_definition(builder, _Factoring(tensors, factors), op)


class _Factoring(Cloner):
    """Copies; factors leave sums, under a condition that there is a term."""

    def __init__(self, tensors: Cloner, factors: Mapping[tix.ReductionOp, _Factors]):
        super().__init__(tensors.builder, tensors.values, tensors.indices)
        self.factors = factors

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """The product of factors that leave a sum and the sum of the rest; others are copied."""
        if op not in self.factors:
            return super().copy_reduction(op)
        outside, inside, conditions = self.factors[op]

        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(op.constraints)

        total = self.builder.sum(
            [v.name_hint for v in op.indices],
            domain,
            lambda e, own: multiply(self.inner(e, op.indices, own), inside),
        )
        return self.builder.guard(
            self.constraints(conditions), lambda e, _: multiply(self.inner(e), outside, [total])
        )


def _with_loops(program: tix.ProgramOp, scans: Mapping[tix.DefineOp, Scan]) -> tix.ProgramOp:
    """The program with tensors of the terms of these scans, or with scans as their terms lie."""
    turned: dict[SSAValue, tuple[SSAValue, Sequence[int]]] = {}

    def define(builder: ProgramBuilder, tensors: Cloner, op: tix.DefineOp) -> SSAValue:
        cloner = _Turning(tensors, turned)
        if op not in scans:
            return copy_definition(builder, cloner, op)
        order = _order_of_terms(scans[op], op)
        if order is None:
            return _Outlined(builder, cloner, op, scans[op]).define()
        return _turned(builder, cloner, op, order)

    return simplify_sums(infer_ranges(copy_program(program, define=define)))


class _Turning(Cloner):
    """Copies; reads of tensors that are turned have their indices in another order."""

    def __init__(self, tensors: Cloner, turned: dict[SSAValue, tuple[SSAValue, Sequence[int]]]):
        super().__init__(tensors.builder, tensors.values, tensors.indices)
        self.turned = turned
        """New tensors for old ones, with the number of the old index for each new one."""

    def copy(self, op: Operation) -> None:
        if not isinstance(op, tix.ReadOp) or op.tensor not in self.turned:
            return super().copy(op)
        tensor, order = self.turned[op.tensor]
        self.values[op.result] = self.builder.read(tensor, [self.form(op.forms[n]) for n in order])


def _turned(
    builder: ProgramBuilder, cloner: _Turning, op: tix.DefineOp, order: Sequence[SSAValue]
) -> SSAValue:
    """A scan whose indices are in another order; behind it its copy in their own, where a result is
    that."""
    numbers = [op.indices.index(v) for v in order]
    type = TensorType.of([op.shape[n] for n in numbers], tix.ELEMENT_TYPES[op.type.dtype])
    label = builder.fresh_label(f"{op.label.data}_turned")
    tensor = builder.define(
        label,
        type,
        [v.name_hint for v in order],
        op.location,
        lambda e, own: cloner.inner(e, order, own).copy_body(op.body),
    )
    users = [use.operation for use in op.result.uses]
    reads = [user for user in users if isinstance(user, tix.ReadOp)]
    if all(read.view is None for read in reads):
        cloner.turned[op.result] = tensor, numbers
        if reads == users:
            return tensor  # nobody looks for the other order
    return builder.define_like(
        op.result,
        op.label.data,
        lambda e, own: e.read(tensor, [Affine.of(own[n]) for n in numbers]),
    )


@dataclass(frozen=True)
class _Outlined:
    """Builds the definitions of a scan and of its terms."""

    builder: ProgramBuilder
    tensors: Cloner
    definition: tix.DefineOp
    scan: Scan

    def define(self) -> SSAValue:
        """Append both; the tensor of the scan."""
        op, scan = self.definition, self.scan
        count = _count(scan, op)
        assert count is not None
        shape = self._shape | {scan.index: count}
        type = TensorType.of([shape[v] for v in self._axes], tix.ELEMENT_TYPES[op.type.dtype])
        names = [scan.own if v is scan.index else v for v in self._axes]
        label = self.builder.fresh_label(f"{op.label.data}_term")
        hints = [v.name_hint for v in names]
        terms = self.builder.define(label, type, hints, op.location, self._term)
        return self.builder.define_like(
            op.result, op.label.data, lambda e, own: self._total(e, own, terms, count)
        )

    @property
    def _shape(self) -> dict[SSAValue, Affine]:
        return dict(zip(self.definition.indices, self.definition.shape, strict=True))

    @property
    def _axes(self) -> list[SSAValue]:
        """The indices of the definition that terms depend on; that of the scan stands for k."""
        used = IndexUses().of_operation(self.scan.op)
        return [v for v in self.definition.indices if v in used]

    def _term(self, e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        """A term at k, over all further indices; what changes nothing where k is in no element."""
        op, scan = self.scan.op, self.scan
        cloner = self._cloner(e, self._axes, own)
        cloner.indices[scan.own] = cloner.indices.pop(scan.index)
        rest = [v for v in op.indices if v is not scan.own]
        inside = [c for c in scan.known if any(c.form[v] for v in rest)]
        last = Affine() if not scan.is_forwards else self._shape[scan.index] - 1
        tests = [c for c in scan.known if c not in inside]
        tests.append(scan.limit.substitute({scan.index: last}))

        def term(then: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            around = cloner.inner(then)
            if not rest:
                return around.copy_body(op.body)
            return then.reduce(
                type(op),
                [v.name_hint for v in rest],
                lambda new: around.inner(then, rest, new).constraints(inside),
                lambda at, new: around.inner(at, rest, new).copy_body(op.body),
            )

        return e.guard(cloner.constraints(tests), term, op.IDENTITY)

    def _total(
        self, e: BodyBuilder, own: list[SSAValue], terms: SSAValue, count: Affine
    ) -> SSAValue:
        """The terms up to an element, or from it on."""
        scan, cloner = self.scan, self._cloner(e, self.definition.indices, own)

        def domain(new: list[SSAValue]) -> list[Constraint]:
            inner = cloner.inner(e, [scan.own], new)
            return [*between(0, Affine.of(new[0]), count), *inner.constraints([scan.limit])]

        def element(then: BodyBuilder, new: list[SSAValue]) -> SSAValue:
            at = cloner.inner(then, [scan.index], new)
            return then.read(terms, [at.indices[v] for v in self._axes])

        return e.reduce(type(scan.op), [scan.own.name_hint], domain, element)

    def _cloner(self, e: BodyBuilder, old: Sequence[SSAValue], new: Sequence[SSAValue]) -> Cloner:
        """Copies what a body needs of those around the scan."""
        cloner = Cloner(e, self.tensors.values, self.tensors.indices).inner(e, old, new)
        cloner.require(self.scan.op)
        return cloner

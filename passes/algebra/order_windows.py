"""`order-windows`: of two filters, one after the other, the one along columns comes last.

    z[i, q] = sum[t in range(7)](v[t] * x[i, q - t])      windows of columns, and of rows of these
    y[p, q] = sum[s in range(7)](w[s] * z[p - s, q])

become

    z[p, j] = sum[s in range(7)](w[s] * x[p - s, j])
    y[p, q] = sum[t in range(7)](v[t] * z[p, q - t])

as gradients of such filters have them the other way round. In this order z rolls along with y
(`passes/scheduling/bands/rolls.py`): rows next to each other share what they load, and what y reads
of z stays in registers.

Both are products of one tensor with weights that depend on the terms alone, summed over a few of
these. Only the order changes in which terms are multiplied and added.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.products import Product, multiply
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import definition_around, rewrite_definition
from tadc.passes.scheduling.bands.band_windows import Window, windows_of

MOST_TERMS = 16
"""The terms of the longest windows: those that are written out."""


@dataclass(frozen=True)
class OrderWindowsPass(ProgramPass):
    """`order-windows`: no options."""

    name = "order-windows"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return order_windows(program)


def order_windows(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with windows of columns behind those of rows: the same one, changed in place."""
    fixed = {definition_around(op) for op in must_round_identically(program)}
    # each change moves a window of columns to a later definition
    while pair := next(filter(None, (_pair(op, fixed) for op in program.definitions)), None):
        _swap(*pair)
    return program


@dataclass(frozen=True)
class _Windows:
    """A definition whose elements hold a sum over a window of a tensor."""

    op: tix.DefineOp
    sum: tix.SumOp
    read: tix.ReadOp
    weights: Product
    """The other factors of a term, which depend on indices of the sum alone."""


Pair = tuple[_Windows, Product, Sequence[Constraint], _Windows]
"""Windows of columns, with the factors of their sum and what sizes must be for it to be there; and
the only windows of these."""


def _pair(op: tix.DefineOp, fixed: Collection[Operation]) -> Pair | None:
    """A definition of windows of columns, if its only reader has windows of its rows."""
    users = [use.operation for use in op.result.uses]
    if len(users) != 1 or not isinstance(read := users[0], tix.ReadOp):
        return None
    reader = definition_around(read)
    if {op, reader} & {*fixed} or reader.type.dtype != op.type.dtype:
        return None
    if min(len(op.indices), len(reader.indices)) < 2:
        return None  # no columns, or no rows
    later = _windows_around(read, reader)
    guards, value, block = _guarded(op)
    outside = Product.of(value, block)
    sums = [v for v in outside.factors if isinstance(v.owner, tix.SumOp)]
    if later is None or len(sums) != 1 or not _are_numbers(outside, sums):
        return None
    (total,) = sums
    assert isinstance(total.owner, tix.SumOp)
    reads = [o for o in total.owner.body.block.ops if isinstance(o, tix.ReadOp)]
    moved = [o for o in reads if op.indices[-1] in IndexUses().of_operation(o)]
    first = _windows_around(moved[0], op) if len(moved) == 1 else None
    if first is None or not (_is_of_columns(first) and _is_of_rows(later)):
        return None
    others = replace(outside, factors=[v for v in outside.factors if v is not total])
    return first, others, guards, later


def _guarded(op: tix.DefineOp) -> tuple[Sequence[Constraint], SSAValue, Block]:
    """The value of a definition, with its block, and the conditions on sizes under which it is
    that, and else 0."""
    value = tix.yielded(op.body)
    choice = value.owner
    if not isinstance(choice, tix.IfOp) or len(choice.condition) != 1:
        return (), value, op.body.block
    (tests,) = choice.condition
    if any(c.form.indices for c in tests) or tix.constant_value(tix.yielded(choice.otherwise)) != 0:
        return (), value, op.body.block
    return tests, tix.yielded(choice.then), choice.then.block


def _are_numbers(product: Product, but: Collection[SSAValue]) -> bool:
    """True if all factors but some are numbers."""
    factors = [v for v in product.factors if v not in but]
    return all(tix.constant_value(v) is not None for v in (*factors, *product.divisors))


def _windows_around(read: tix.ReadOp, op: tix.DefineOp) -> _Windows | None:
    """The sum around a read, if it is one of products with weights."""
    total = read.parent_op()
    if not isinstance(total, tix.SumOp) or len(total.results) != 1 or op.view or read.view:
        return None
    whole, uses = Product.of(tix.yielded(total.body), total.body.block), IndexUses()
    weights = replace(whole, factors=[v for v in whole.factors if v is not read.result])
    others = (*weights.factors, *weights.divisors)
    if len(weights.factors) != len(whole.factors) - 1:
        return None
    if not all({*uses.of(v)} <= {*total.indices} for v in others):
        return None
    return _Windows(op, total, read, weights)


def _is_of_columns(windows: _Windows) -> bool:
    """True if windows are along the columns alone, in the row of their element."""
    found = _short_windows(windows)
    if found is None:
        return False
    *others, last = found
    column = windows.op.indices[-1]
    rows = [Affine.of(v) for v in windows.op.indices[:-1]]
    return (
        [*windows.read.forms[:-1]] == rows
        and [*windows.read.shape[:-1]] == [*windows.op.shape[:-1]]
        and last.index is column
        and last.high > last.low
        and all(w.high == w.low for w in others)
        and _has_tests_of(windows, [column])
    )


def _is_of_rows(windows: _Windows) -> bool:
    """True if windows are along other indices than the columns."""
    found, (*rows, column) = _short_windows(windows), windows.op.indices
    return (
        found is not None
        and windows.read.forms[-1] == Affine.of(column)
        and not any(form[column] for form in windows.read.forms[:-1])
        and windows.sum.parent_op() is windows.op
        and _has_tests_of(windows, rows)
    )


def _short_windows(windows: _Windows) -> list[Window] | None:
    """The window of each dimension that is read, if all are short, of neighbours."""
    found = windows_of(windows.read, windows.op)
    known = [w for w in found if w and w.step == 1 and w.high - w.low < MOST_TERMS]
    return known if len(known) == len(found) == len(windows.op.indices) else None


def _has_tests_of(windows: _Windows, indices: Sequence[SSAValue]) -> bool:
    """True if which terms there are depends on these indices alone."""
    allowed = {*indices, *windows.sum.indices}
    return all({*c.form.indices} <= allowed for c in windows.sum.constraints)


# --- the other order ------------------------------------------------------------------------------


def _swap(first: _Windows, outside: Product, guards: Sequence[Constraint], later: _Windows) -> None:
    """Let the windows of rows come first."""
    stage, reader = first.op, later.op
    tensor = _rows_of(first, later)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = _Reader(e, first, outside, guards, later, tensor, own)
        return cloner.copy_definition(reader, e, own)

    rewrite_definition(reader, body)
    Rewriter.erase_op(stage)


def _rows_of(first: _Windows, later: _Windows) -> SSAValue:
    """The windows of rows, of what the windows of columns read, in front of the reader."""
    reader, total = later.op, later.sum

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner = Cloner(e).inner(e, reader.indices, own)

        def domain(terms: list[SSAValue]) -> list[Constraint]:
            return cloner.inner(e, total.indices, terms).constraints(total.constraints)

        def term(e: BodyBuilder, terms: list[SSAValue]) -> SSAValue:
            inner = cloner.inner(e, total.indices, terms)
            element = e.read(first.read.tensor, [inner.form(f) for f in later.read.forms])
            return multiply(inner, later.weights, [element])

        return e.sum([v.name_hint for v in total.indices], domain, term)

    assert reader.parent is not None
    names = [v.name_hint for v in reader.indices]
    region = BodyBuilder(reader.parent, first.op.location).region(names, body)
    shape = [*reader.shape[:-1], first.read.shape[-1]]
    kind = TensorType.of(shape, tix.ELEMENT_TYPES[first.op.type.dtype])
    made = tix.DefineOp(first.op.label.data, kind, region)
    made.location = first.op.location
    made.result.name_hint = first.op.result.name_hint
    reader.parent.insert_op_before(made, reader)
    return made.result


class _Reader(Cloner):
    """Copies a body with windows of columns in the place of those of rows."""

    def __init__(
        self,
        builder: BodyBuilder,
        first: _Windows,
        outside: Product,
        guards: Sequence[Constraint],
        later: _Windows,
        tensor: SSAValue,
        own: Sequence[SSAValue],
    ):
        super().__init__(builder)
        self.first, self.outside, self.guards = first, outside, guards
        self.later, self.tensor, self.own = later, tensor, own

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        if op is not self.later.sum:
            return super().copy_reduction(op)
        return self.builder.guard(self.guards, lambda e, _: self._windows(e))

    def _windows(self, e: BodyBuilder) -> SSAValue:
        """The sum over windows of columns."""
        total, read = self.first.sum, self.first.read
        cloner = Cloner(e).inner(e, self.first.op.indices[-1:], self.own[-1:])

        def domain(terms: list[SSAValue]) -> list[Constraint]:
            return cloner.inner(e, total.indices, terms).constraints(total.constraints)

        def term(e: BodyBuilder, terms: list[SSAValue]) -> SSAValue:
            inner = cloner.inner(e, total.indices, terms)
            rows = [Affine.of(v) for v in self.own[:-1]]
            element = e.read(self.tensor, [*rows, inner.form(read.forms[-1])])
            return multiply(inner, self.first.weights, [element])

        windows = e.sum([v.name_hint for v in total.indices], domain, term)
        return multiply(cloner.inner(e), self.outside, [windows])

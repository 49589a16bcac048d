"""The last step of reading a definition: what is known only at the end is put into its operations.

Sizes get their names, or what they are equal to; divisions of sizes that became numbers are
computed; and branches that are never taken, which have told all that they tell, are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects.tix import (
    Affine,
    AtOp,
    ConstantOp,
    Constraint,
    FloorDivOp,
    IfOp,
    IndexToRealOp,
    LocalIndexOp,
    ReadOp,
    ReductionOp,
    Variable,
    WhereOp,
    constant_value,
)
from tadc.dialects.tix.attributes import map_over, set_over
from tadc.dialects.tix.elementwise import compare
from tadc.language.conditions import decided
from tadc.passes.rewriting.guards import take_branch

Resolve = Callable[[Affine], Affine]


def settle(body: Region, resolve: Resolve) -> None:
    """Put what `resolve` knows of sizes into the body, and leave out what is never computed."""
    settler = _Settler(resolve)
    for op in list(body.walk()):
        settler.settle(op)
    for op in reversed(list(body.walk())):  # what is inside of others comes first
        if isinstance(op, IfOp) and op.condition in ([], [[]]):
            take_branch(op, op.then if op.condition else op.otherwise)
    while decided_choice := next(_decided(body), None):
        take_branch(*decided_choice)
    for op in reversed(list(body.walk())):
        if isinstance(op, LocalIndexOp) and not op.result.uses:
            Rewriter.erase_op(op)


class _Settler:
    def __init__(self, resolve: Resolve):
        self._resolve_sizes = resolve
        self._local: dict[Variable, Affine] = {}
        """Local indices that are numbers, or others."""
        self._divisions: dict[tuple[Affine, int], SSAValue] = {}

    def _resolve(self, form: Affine) -> Affine:
        return self._resolve_sizes(form.substitute(self._local))

    def _resolved(self, constraints: Sequence[Constraint]) -> list[Constraint]:
        return [Constraint(self._resolve(c.form), c.equality) for c in constraints]

    def settle(self, op: Operation) -> None:
        """Put what is known of sizes into the forms of one operation."""
        match op:
            case ReductionOp():
                self._settle_reduction(op)
            case IfOp():
                self._settle_if(op)
            case ReadOp() | AtOp():
                operands, op.map = map_over([self._resolve(form) for form in op.forms])
                op.operands = [op.tensor, *operands]
            case IndexToRealOp():
                self._settle_index(op)
            case FloorDivOp():
                self._settle_division(op)
            case _:
                pass

    def _settle_reduction(self, op: ReductionOp) -> None:
        constraints, own = self._resolved(op.constraints), op.indices
        outer = [v for c in constraints for v in c.form.indices if v not in own]
        op.operands = list(dict.fromkeys(outer))
        op.domain = set_over(constraints, [*op.free_indices, *own])

    def _settle_if(self, op: IfOp) -> None:
        disjuncts = decided([self._resolved(disjunct) for disjunct in op.condition])
        op.operands = list(dict.fromkeys(v for p in disjuncts for c in p for v in c.form.indices))
        op.disjuncts = ArrayAttr(set_over(disjunct, op.indices) for disjunct in disjuncts)

    def _settle_index(self, op: IndexToRealOp) -> None:
        form = self._resolve(op.form)
        if form.terms:
            op.operands, op.map = map_over([form])
            return
        number = ConstantOp(form.constant)
        number.location = op.location
        Rewriter.replace_op(op, number)

    def _settle_division(self, op: FloorDivOp) -> None:
        form, divisor = self._resolve(op.form), op.divisor.data
        first = self._divisions.setdefault((form, divisor), op.result)
        if form.terms and first is op.result:
            op.operands, op.map = map_over([form])
            return
        number = Affine({}, form.constant // divisor)
        self._local[op.result] = Affine.of(first) if form.terms else number


def _decided(body: Region) -> Iterator[tuple[WhereOp, Region]]:
    """Choices that compare two numbers, and what they choose."""
    for op in body.walk():
        if isinstance(op, WhereOp):
            x, y = constant_value(op.lhs), constant_value(op.rhs)
            if x is not None and y is not None:
                yield op, op.then if compare(op.comparison, x, y) else op.otherwise

"""The logarithm of the absolute determinant of a program's Jacobian, and its sign, from its lumps.

The Jacobian is the product of those of the lumps, and the determinant of a lump's `[A B; 0 I]` is
that of A: for a diagonal, and for one with a nilpotent rest, the product of the diagonal. So

    p[i] = p[i] * exp(s[i]) + t[i]      logdet = sum[i](log(abs(exp(s[i]))))
                                     signdet = prod[i](sign(exp(s[i])))

Where a lump has a matrix, the program returns it and a `tix.determinant` adds its part. A signed
permutation between `ins` and `outs`, and the order of the tensors in the state, count with their
signs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, TensorType, between
from tadc.dialects.tix import elementwise as ew
from tadc.dialects.tix.linear import DeterminantOp
from tadc.passes.derive.differentiation.extended_program import ExtendedProgram
from tadc.passes.derive.inversion import structures
from tadc.passes.derive.inversion.classify import classify_all
from tadc.passes.derive.inversion.inverse_program import InverseProgram
from tadc.passes.derive.inversion.lump_matrix import LumpMatrix
from tadc.passes.derive.inversion.lumps import Lump, lumps
from tadc.passes.derive.inversion.parity import Factor, permutation_factors, sign, swap_factors
from tadc.passes.derive.inversion.state import state_of
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.programs import fresh_name, label_of, location_of, type_of

NAMES = SIGN, LOGARITHM = "signdet", "logdet"
"""The results, unless arguments have these names; `sign` is a word of the language."""


def log_abs_det(program: tix.ProgramOp) -> InverseProgram:
    """The program of sign and logarithm of the determinant, without the parts of matrices."""
    return _Determinant(program).derived()


class _Determinant:
    def __init__(self, program: tix.ProgramOp):
        self.program = program
        self.state = list(state_of(program).values())
        taken = [*program.arguments, *tix.functions_of(program)]
        self.names = [fresh_name(name, taken) for name in NAMES]
        self.new = ExtendedProgram(program, (), self.names)
        self.parts: dict[str, list[SSAValue]] = {name: [] for name in NAMES}
        self.exchanges: list[list[Factor]] = []
        self.matrices: list[SSAValue] = []
        self.systems: list[Operation] = []

    def derived(self) -> InverseProgram:
        """The whole program."""
        order = list(self.state)
        found = lumps(self.program)
        for lump, kind in zip(found, classify_all(found), strict=True):
            order = self._step(lump, kind, order)
        self.exchanges += _reordered(order, list(self.program.returned))
        results = [self._total(*pair) for pair in zip(NAMES, self.names, strict=True)]
        names = [*self.names, *(label_of(v) for v in self.matrices)]
        made = self.new.builder.finish(self.program, [*results, *self.matrices], names)
        return InverseProgram(made, self.systems)

    def _step(
        self, lump: Lump, kind: structures.Structure, order: list[SSAValue]
    ) -> list[SSAValue]:
        """Add the parts of a lump; gives the order of the state after it."""
        step = LumpMatrix(lump, _in_order(lump, kind), self.new.labels, self.new.tensors)
        match step.structure:
            case (
                structures.Diagonal(permutation=permutation)
                | structures.DiagonalPlusNilpotent(permutation=permutation)
            ):
                self._add_diagonal(step)
            case (
                structures.Triangular(permutation=permutation)
                | structures.Banded(permutation=permutation)
            ):
                self._add_matrix(step)
            case structures.Monomial():
                permutation = None
                self._add_monomial(step)
            case _:
                permutation = None
                self._add_matrix(step)
        if permutation is not None:
            self.exchanges += permutation_factors(permutation, type_of(lump.outs[0]).shape)
        # `outs[k]` stands where `ins[k]` stood if that is as large; else `ins` move to the front
        # together, past the tensors before them, and `outs` stand there
        if _shapes(lump.ins) == _shapes(lump.outs):
            after = dict(zip(lump.ins, lump.outs, strict=True))
            return [after.get(v, v) for v in order]
        rest = [v for v in order if v not in lump.ins]
        self.exchanges += _reordered(order, [*lump.ins, *rest])
        return [*lump.outs, *rest]

    def _add_matrix(self, step: LumpMatrix) -> None:
        self.matrices += step.matrices
        system = DeterminantOp([label_of(v) for v in step.matrices], step.form)
        system.location = step.lump.location
        self.systems.append(system)

    def _add_monomial(self, step: LumpMatrix) -> None:
        """The product of the only elements of rows, and the sign of their permutation."""
        self._add_diagonal(step)
        self.matrices += step.columns
        ranks = tuple(op.type.rank for op in step.definitions)
        form = tix.MatrixForm("permutation", 0, ranks)
        system = DeterminantOp([label_of(v) for v in step.columns], form)
        system.location = step.lump.location
        self.systems.append(system)

    def _add_diagonal(self, step: LumpMatrix) -> None:
        for op, entry in zip(step.definitions, step.entries, strict=True):
            if entry != 1:
                self._add_product(op, entry)

    def _add_product(self, op: tix.DefineOp, entry: SSAValue | float) -> None:
        """Sign and logarithm of the product of elements that belong to those of `op`."""
        kinds = ew.SignOp, tix.ProdOp
        self.parts[SIGN].append(self._reduced(entry, op, SIGN, *kinds, lambda e, x: x))
        magnitude: Callable[[BodyBuilder, SSAValue], SSAValue] = lambda e, x: e.unary(ew.LogOp, x)
        self.parts[LOGARITHM].append(
            self._reduced(entry, op, LOGARITHM, ew.AbsOp, tix.SumOp, magnitude)
        )

    def _reduced(
        self,
        entry: SSAValue | float,
        op: tix.DefineOp,
        name: str,
        unary: type[tix.UnaryOp],
        reduction: type[tix.ReductionOp],
        then: Callable[[BodyBuilder, SSAValue], SSAValue],
    ) -> SSAValue:
        """A scalar: the reduction of a function of the elements."""

        def domain(own: list[SSAValue]) -> list[Constraint]:
            pairs = zip(own, op.type.shape, strict=True)
            return [c for v, size in pairs for c in between(0, Affine.of(v), size)]

        def term(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = [Affine.of(v) for v in own]
            x = e.read(entry, element) if isinstance(entry, SSAValue) else e.constant(entry)
            return then(e, e.unary(unary, x))

        def body(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            return e.reduce(reduction, [v.name_hint for v in op.indices], domain, term)

        return self._scalar(f"{op.label.data}_{name}", op.result, body)

    def _total(self, name: str, label: str) -> SSAValue:
        def body(e: BodyBuilder, _: list[SSAValue]) -> SSAValue:
            combine = e.mul if name == SIGN else e.add
            total = e.constant(1 if name == SIGN else 0)
            for part in self.parts[name]:
                total = combine(total, e.read(part, []))
            if name == SIGN:
                for factors in self.exchanges:
                    total = e.mul(total, sign(e, factors))
            return total

        return self._define(self.new.builder.fresh_label(label), self.program.returned[0], body)

    def _scalar(
        self, name: str, like: SSAValue, body: Callable[[BodyBuilder, list[SSAValue]], SSAValue]
    ) -> SSAValue:
        return self._define(self.new.labels.fresh(name), like, body)

    def _define(
        self, label: str, like: SSAValue, body: Callable[[BodyBuilder, list[SSAValue]], SSAValue]
    ) -> SSAValue:
        type = TensorType.of([], tix.ELEMENT_TYPES[type_of(like).dtype])
        return self.new.builder.define(label, type, [], location_of(like), body)


def _in_order(lump: Lump, found: structures.Structure) -> structures.Structure:
    """The structure of a lump, with batches only where rows and columns have one order.

    The determinant of one matrix per batch is that of the whole matrix, up to the order of rows and
    columns: where that is the same for both it makes no difference.
    """
    if isinstance(found, structures.Blocks):
        agree = _shapes(lump.ins) == _shapes(lump.outs) and found.in_dims == found.out_dims
        return found if agree else structures.Dense()
    return found


def _reordered(order: Sequence[SSAValue], wanted: Sequence[SSAValue]) -> list[list[Factor]]:
    """Exchanges that bring the tensors of the state into another order."""
    position = {v: n for n, v in enumerate(wanted)}
    return [
        swap_factors(type_of(a).shape, type_of(b).shape)
        for a, b in combinations(order, 2)
        if position[a] > position[b]
    ]


def _shapes(tensors: Sequence[SSAValue]) -> list[tuple[Affine, ...]]:
    return [tuple(type_of(v).shape) for v in tensors]

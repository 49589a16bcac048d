"""From `tix` bodies to `scf`, `arith`, `math` and `memref`: what `schedule` emits inside a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from copy import copy
from functools import lru_cache, reduce
from typing import Self, TypeVar

from xdsl.dialects import arith, math, memref, scf
from xdsl.dialects.builtin import (
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    LocationAttr,
    f32,
    f64,
    i64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Block, Operation, Region, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, TensorType, Variable
from dialects.tix import elementwise as ew
from passes.rewriting.failure import place

OpT = TypeVar("OpT", bound=Operation)
FLAGS = arith.FastMathFlagsAttr([FastMathFlag.REASSOC, FastMathFlag.ALLOW_CONTRACT])
"""Terms of a sum may be added in any order, which lets a loop use vectors."""
CONTRACT = arith.FastMathFlagsAttr([FastMathFlag.ALLOW_CONTRACT])
"""`a * b + c` may be one operation, which rounds once."""
APPROXIMATE = arith.FastMathFlagsAttr([FastMathFlag.APPROX_FUNC])
"""An elementary function may come from another library for vectors than for a number alone."""
AS_WRITTEN = arith.FastMathFlagsAttr("none")
"""For values that must round alike wherever they are computed (`passes/analysis/rounding.py`)."""


class IndexLowering:
    """Emits index arithmetic into a block; equal forms are computed once per block."""

    def __init__(self, block: Block, location: LocationAttr):
        self.block = block
        self.location = location
        self.values: dict[Variable, SSAValue] = {}
        self.known: dict[object, SSAValue] = {}

    def inside(self, block: Block) -> IndexLowering:
        """The lowering of a block inside, which can use what this one has computed so far."""
        inner = IndexLowering(block, self.location)
        inner.values = dict(self.values)
        inner.known = dict(self.known)
        return inner

    def insert(self, op: OpT) -> OpT:
        op.location = self.location
        self.block.add_op(op)
        return op

    def once(self, key: object, make: Callable[[], Operation]) -> SSAValue:
        if key not in self.known:
            self.known[key] = self.insert(make()).results[0]
        return self.known[key]

    def constant(self, value: int) -> SSAValue:
        return self.once(("constant", value), lambda: _index_constant(value))

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.once(("+", a, b), lambda: arith.AddiOp(a, b))

    def mul(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.once(("*", a, b), lambda: arith.MuliOp(a, b))

    def form(self, form: Affine) -> SSAValue:
        """The value of an affine form of lowered indices and sizes."""
        if form not in self.known:
            self.known[form] = self._sum(form)
        return self.known[form]

    def _sum(self, form: Affine) -> SSAValue:
        positive = [self._term(k, c) for k, c in form.terms.items() if c > 0]
        negative = [self._term(k, -c) for k, c in form.terms.items() if c < 0]
        if form.constant > 0 or not positive:
            positive.append(self.constant(form.constant))
        elif form.constant < 0:
            negative.append(self.constant(-form.constant))
        total = reduce(self.add, positive)
        for term in negative:
            total = self.insert(arith.SubiOp(total, term)).result
        return total

    def _term(self, key: Variable, coefficient: int) -> SSAValue:
        value = self.values[key]
        return value if coefficient == 1 else self.mul(value, self.constant(coefficient))

    def floordiv(self, form: Affine, divisor: int) -> SSAValue:
        value = self.form(form)
        if divisor == 1:
            return value
        return self.insert(arith.FloorDivSIOp(value, self.constant(divisor))).result

    def strides(self, type: TensorType) -> list[SSAValue | int]:
        """The row-major strides of a tensor, as numbers where they are."""
        strides: list[SSAValue | int] = [1]
        for size in reversed(type.shape[1:]):
            last = strides[-1]
            if isinstance(last, int) and not size.terms:
                strides.append(last * max(0, size.constant))
            else:
                last = self.constant(last) if isinstance(last, int) else last
                strides.append(self.mul(last, self.form(size)))
        return strides[::-1][: type.rank]

    def linear(self, forms: Sequence[Affine], strides: Sequence[SSAValue | int]) -> SSAValue:
        """The position of an element: numbers are multiplied out before anything is emitted."""
        fixed = Affine()
        total: SSAValue | None = None
        for form, stride in zip(forms, strides, strict=True):
            if isinstance(stride, int):
                fixed = fixed + form * stride
            else:
                part = self.mul(self.form(form), stride)
                total = part if total is None else self.add(total, part)
        if total is None:
            return self.form(fixed)
        return total if fixed == Affine() else self.add(total, self.form(fixed))

    def bounds(self, index: SSAValue, constraints: Sequence[Constraint]) -> tuple[SSAValue, ...]:
        """First value, and the value behind the last, of an index under its constraints.

        `c k + e >= 0` is `k >= ceil(-e / c)` for `c > 0`, where `ceil(x / c)` is
        `floor((x + c - 1) / c)`; and `k <= floor(e / -c)` for `c < 0`.
        """
        low: list[SSAValue] = []
        high: list[SSAValue] = []
        for constraint in constraints:
            c = constraint.form[index]
            rest = constraint.form - Affine.of(index) * c
            if c > 0:
                low.append(self.floordiv(-rest + (c - 1), c))
            else:
                # the end is floor(rest / -c) + 1 = floor((rest - c) / -c)
                high.append(self.floordiv(rest + (-c), -c))
        return reduce(self._max, low), reduce(self._min, high)

    def _max(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.once(("max", a, b), lambda: arith.MaxSIOp(a, b))

    def _min(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.once(("min", a, b), lambda: arith.MinSIOp(a, b))

    def holds(self, pieces: Sequence[Sequence[Constraint]]) -> SSAValue:
        """A condition in disjunctive form, as one bit."""
        return reduce(self._or, (reduce(self._and, map(self._test, p)) for p in pieces))

    def _test(self, constraint: Constraint) -> SSAValue:
        positive = Affine({k: c for k, c in constraint.form.terms.items() if c > 0})
        rest = positive - constraint.form
        predicate = "eq" if constraint.equality else "sge"
        return self.insert(arith.CmpiOp(self.form(positive), self.form(rest), predicate)).result

    def _and(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.AndIOp(a, b)).result

    def _or(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.insert(arith.OrIOp(a, b)).result


@lru_cache(maxsize=1024)
def _index(value: int) -> IntegerAttr[IndexType]:
    return IntegerAttr(value, IndexType())


def _index_constant(value: int) -> arith.ConstantOp:
    op = arith.ConstantOp(_index(value))
    op.result.name_hint = f"c{value}" if value >= 0 else f"cm{-value}"
    return op


class BodyLowering:
    """Emits the scalars of one block of a body."""

    def __init__(
        self,
        index: IndexLowering,
        type: TensorType,
        buffers: Mapping[SSAValue, SSAValue],
        strides: Mapping[SSAValue, Sequence[SSAValue | int]],
        scalars: Mapping[SSAValue, SSAValue] | None = None,
        alike: Set[Operation] = frozenset(),
    ):
        self.index = index
        self.type = type
        self.element = f64 if isinstance(type.element, Float64Type) else f32
        self.buffers = buffers
        self.strides = strides
        self.scalars = dict(scalars or {})
        self.alike = alike
        self.flags = CONTRACT

    def inside(self, block: Block) -> Self:
        """The lowering of a block inside, which can use what this one has computed so far."""
        inner = copy(self)
        inner.index = self.index.inside(block)
        inner.scalars = dict(self.scalars)
        return inner

    def insert(self, op: OpT) -> OpT:
        return self.index.insert(op)

    def constant(self, value: float) -> SSAValue:
        attribute = FloatAttr(value, self.element)
        return self.index.once(("real", repr(value)), lambda: arith.ConstantOp(attribute))

    def region(self, region: Region) -> SSAValue:
        """Emit a body and give its value."""
        for op in region.block.ops:
            if not isinstance(op, tix.YieldOp):
                self.operation(op)
        return self.scalars[tix.yielded(region)]

    def operation(self, op: Operation) -> None:
        """Emit one operation of a body."""
        self.index.location = op.location
        self.flags = AS_WRITTEN if op in self.alike else CONTRACT
        if isinstance(op, tix.FloorDivOp):
            self.index.values[op.result] = self.index.floordiv(op.form, op.divisor.data)
            return
        self.scalars[op.results[0]] = self._scalar(op)

    def _scalar(self, op: Operation) -> SSAValue:
        match op:
            case tix.ConstantOp():
                return self.constant(op.value.data)
            case tix.ReadOp():
                return self._read(op)
            case tix.IndexToRealOp():
                whole = self.insert(arith.IndexCastOp(self.index.form(op.form), i64)).result
                return self.insert(arith.SIToFPOp(whole, self.element)).result
            case tix.SumOp():
                return self._sum(op, op.indices, self.constant(0.0))
            case tix.ReductionOp():
                return self._reduce(op, op.indices, self.constant(op.IDENTITY))
            case tix.IfOp():
                return self._choose(self.index.holds(op.condition), op)
            case tix.WhereOp():
                return self._choose(self._compare(op), op)
            case tix.UnaryOp() | tix.BinaryOp():
                return self._elementwise(op)
            case _:
                raise ValueError(f"{place(op.location)}{op.name} cannot stand in a body")

    def _read(self, op: tix.ReadOp) -> SSAValue:
        at = self.index.linear(op.forms, self.strides[op.tensor])
        value = self.insert(memref.LoadOp.get(self.buffers[op.tensor], [at])).res
        if value.type == self.element:
            return value
        widen = isinstance(self.element, Float64Type)
        cast = (arith.ExtFOp if widen else arith.TruncFOp)(value, self.element)
        return self.insert(cast).result

    def _sum(self, op: tix.SumOp, own: Sequence[SSAValue], start: SSAValue) -> SSAValue:
        """The loops of the indices `own` of a sum, which add to `start`."""
        return self._reduce(op, own, start)

    def _reduce(self, op: tix.ReductionOp, own: Sequence[SSAValue], start: SSAValue) -> SSAValue:
        """The loops of the indices `own` of a reduction that has come to `start`."""
        if not own:
            inner = copy(self)
            inner.scalars = dict(self.scalars)
            return self._combined(op, start, inner.region(op.body))
        index, *rest = own
        around = [c for c in op.constraints if c.form[index] and not any(c.form[v] for v in rest)]
        low, high = self.index.bounds(index, around)
        body = Block(arg_types=[IndexType(), self.element])
        body.args[0].name_hint, body.args[1].name_hint = index.name_hint, "sum"
        inner = self.inside(body)
        inner.index.values[index] = body.args[0]
        total = inner._reduce(op, rest, body.args[1])
        body.add_op(scf.YieldOp(total))
        loop = scf.ForOp(low, high, self.index.constant(1), [start], Region(body))
        return self.insert(loop).results[0]

    def _combined(self, op: tix.ReductionOp, x: SSAValue, y: SSAValue) -> SSAValue:
        flags = AS_WRITTEN if op in self.alike else FLAGS
        match op:
            case tix.SumOp():
                return self.insert(arith.AddfOp(x, y, flags)).result
            case tix.ProdOp():
                return self.insert(arith.MulfOp(x, y, flags)).result
            case tix.MaxOp():
                return self.insert(arith.MaximumfOp(x, y)).result
            case _:
                return self.insert(arith.MinimumfOp(x, y)).result

    def _compare(self, op: tix.WhereOp) -> SSAValue:
        predicate = "une" if op.comparison == "ne" else f"o{op.comparison}"
        return self.insert(
            arith.CmpfOp(self.scalars[op.lhs], self.scalars[op.rhs], predicate)
        ).result

    def _choose(self, condition: SSAValue, op: tix.IfOp | tix.WhereOp) -> SSAValue:
        then, otherwise = self._branch(op.then), self._branch(op.otherwise)
        return self.insert(scf.IfOp(condition, [self.element], then, otherwise)).results[0]

    def _branch(self, region: Region) -> Region:
        block = Block()
        block.add_op(scf.YieldOp(self.inside(block).region(region)))
        return Region(block)

    # --- elementary functions ---

    def _elementwise(self, op: tix.UnaryOp | tix.BinaryOp) -> SSAValue:
        operands = [self.scalars[v] for v in op.operands]
        if isinstance(op, ew.PowOp):
            exponent = tix.constant_value(op.rhs)
            return self._power(operands[0], operands[1], exponent)
        return _LOWERINGS[type(op)](self, *operands)

    def arith(self, kind: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        return self.insert(kind(*operands, self.flags)).results[0]

    def math(self, kind: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        return self.insert(kind(*operands)).results[0]

    def library(self, kind: Callable[..., Operation], *operands: SSAValue) -> SSAValue:
        """A function that the platform's libraries have."""
        flags = AS_WRITTEN if self.flags is AS_WRITTEN else APPROXIMATE
        return self.insert(kind(*operands, flags)).results[0]

    def select(self, predicate: str, a: SSAValue, b: SSAValue, x: SSAValue, y: SSAValue):
        """`x` where `a predicate b`, else `y`."""
        test = self.insert(arith.CmpfOp(a, b, predicate)).result
        return self.insert(arith.SelectOp(test, x, y)).result

    def _power(self, x: SSAValue, y: SSAValue, exponent: float | None) -> SSAValue:
        """Small integers by multiplication, one half as a root, all else by `pow`."""
        if exponent is None or (exponent != 0.5 and not _small_integer(exponent)):
            return self.library(math.PowFOp, x, y)
        if exponent == 0.5:
            return self.math(math.SqrtOp, x)
        power = self._by_squaring(x, abs(int(exponent)))
        return power if exponent >= 0 else self.arith(arith.DivfOp, self.constant(1.0), power)

    def _by_squaring(self, x: SSAValue, n: int) -> SSAValue:
        if n == 0:
            return self.constant(1.0)
        half = x if n == 1 else self._by_squaring(x, n // 2)
        if n == 1:
            return half
        square = self.arith(arith.MulfOp, half, half)
        return self.arith(arith.MulfOp, square, x) if n % 2 else square


LARGEST_POWER = 16
"""Integer exponents up to this are multiplied out: `x**16` is four multiplications."""


def _small_integer(value: float) -> bool:
    return value == int(value) and abs(value) <= LARGEST_POWER if abs(value) < 2**31 else False


def _sign(b: BodyLowering, x: SSAValue) -> SSAValue:
    """x itself where it is 0 or not a number."""
    zero = b.constant(0.0)
    below = b.select("olt", x, zero, b.constant(-1.0), x)
    return b.select("ogt", x, zero, b.constant(1.0), below)


def _sigmoid(b: BodyLowering, x: SSAValue) -> SSAValue:
    power = b.math(math.ExpOp, b.arith(arith.NegfOp, x))
    one = b.constant(1.0)
    return b.arith(arith.DivfOp, one, b.arith(arith.AddfOp, one, power))


def _relu(b: BodyLowering, x: SSAValue) -> SSAValue:
    zero = b.constant(0.0)
    return b.select("ole", x, zero, zero, x)


def _arith(kind: Callable[..., Operation]) -> Callable[..., SSAValue]:
    def lower(b: BodyLowering, *operands: SSAValue) -> SSAValue:
        return b.arith(kind, *operands)

    return lower


def _math(kind: Callable[..., Operation]) -> Callable[..., SSAValue]:
    def lower(b: BodyLowering, *operands: SSAValue) -> SSAValue:
        return b.math(kind, *operands)

    return lower


def _library(kind: Callable[..., Operation]) -> Callable[..., SSAValue]:
    def lower(b: BodyLowering, *operands: SSAValue) -> SSAValue:
        return b.library(kind, *operands)

    return lower


_LOWERINGS: Mapping[type[Operation], Callable[..., SSAValue]] = {
    ew.AddOp: _arith(arith.AddfOp),
    ew.SubOp: _arith(arith.SubfOp),
    ew.MulOp: _arith(arith.MulfOp),
    ew.DivOp: _arith(arith.DivfOp),
    ew.NegOp: _arith(arith.NegfOp),
    ew.MaximumOp: _math(arith.MaximumfOp),
    ew.MinimumOp: _math(arith.MinimumfOp),
    ew.Atan2Op: _library(math.Atan2Op),
    ew.AbsOp: _math(math.AbsFOp),
    ew.SqrtOp: _math(math.SqrtOp),
    ew.ExpOp: _math(math.ExpOp),
    ew.LogOp: _math(math.LogOp),
    ew.Log10Op: _library(math.Log10Op),
    ew.Log1pOp: _math(math.Log1pOp),
    ew.Expm1Op: _math(math.ExpM1Op),
    ew.SinOp: _library(math.SinOp),
    ew.CosOp: _library(math.CosOp),
    ew.TanOp: _library(math.TanOp),
    ew.AsinOp: _library(math.AsinOp),
    ew.AcosOp: _library(math.AcosOp),
    ew.AtanOp: _library(math.AtanOp),
    ew.SinhOp: _math(math.SinhOp),
    ew.CoshOp: _math(math.CoshOp),
    ew.TanhOp: _math(math.TanhOp),
    ew.ErfOp: _library(math.ErfOp),
    ew.SignOp: _sign,
    ew.SigmoidOp: _sigmoid,
    ew.ReluOp: _relu,
}

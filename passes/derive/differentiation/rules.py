"""The derivative of every elementary function, as a formula over emitted values.

`RULES[kind](e, operands, result)` gives, for `result = kind(*operands)`, one *partial* per
operand: a function that multiplies an adjoint by the partial derivative (so that `x + y` need not
multiply by 1). Values that a partial needs are asked for lazily: `x()` is the forward value of an
operand, `y()` that of the result. Conventions where a function has no derivative are those of the
language: `abs'(0) = sign(0) = 0`, `relu'(0) = 0`, and ties of `max` and `min` share.

`rule_of(op)` is the rule of an operation. That of a call is made of the formulas that the function
brings along: they are ordinary values, so the derivative of a derivative is theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import elementwise as ew
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.formulas import emit_formula

Value = Callable[[], SSAValue]
Partial = Callable[[SSAValue], SSAValue]
Rule = Callable[[BodyBuilder, Sequence[Value], Value], Sequence[Partial]]
UnaryFormula = Callable[[BodyBuilder, SSAValue, Value, Value], SSAValue]
"""The adjoint of the operand from the builder, the result's adjoint, operand and result."""


def _c(e: BodyBuilder, value: float) -> SSAValue:
    return e.constant(value)


def _one_plus_square(e: BodyBuilder, x: SSAValue) -> SSAValue:
    return e.add(_c(e, 1), e.mul(x, x))


def _one_minus_square(e: BodyBuilder, x: SSAValue) -> SSAValue:
    return e.sub(_c(e, 1), e.mul(x, x))


def _log10(e: BodyBuilder, a: SSAValue, x: Value, y: Value) -> SSAValue:
    return e.div(a, e.mul(x(), _c(e, math.log(10))))


def _gaussian(factor: float) -> UnaryFormula:
    """`factor exp(-x**2)`"""

    def formula(e: BodyBuilder, a: SSAValue, x: Value, y: Value) -> SSAValue:
        v = x()
        bell = e.unary(ew.ExpOp, e.neg(e.mul(v, v)))
        return e.mul(e.mul(a, _c(e, factor)), bell)

    return formula


def _sigmoid(e: BodyBuilder, a: SSAValue, x: Value, y: Value) -> SSAValue:
    v = y()
    return e.mul(e.mul(a, v), e.sub(_c(e, 1), v))


_UNARY: Mapping[type[tix.UnaryOp], UnaryFormula] = {
    ew.NegOp: lambda e, a, x, y: e.neg(a),
    ew.AbsOp: lambda e, a, x, y: e.mul(a, e.unary(ew.SignOp, x())),
    **dict.fromkeys((ew.SignOp, ew.FloorOp, ew.CeilOp, ew.RoundOp), lambda e, a, x, y: _c(e, 0)),
    ew.SqrtOp: lambda e, a, x, y: e.div(e.mul(a, _c(e, 0.5)), y()),
    ew.ExpOp: lambda e, a, x, y: e.mul(a, y()),
    ew.LogOp: lambda e, a, x, y: e.div(a, x()),
    ew.Log10Op: _log10,
    ew.Log1pOp: lambda e, a, x, y: e.div(a, e.add(_c(e, 1), x())),
    ew.Expm1Op: lambda e, a, x, y: e.mul(a, e.add(y(), _c(e, 1))),
    ew.SinOp: lambda e, a, x, y: e.mul(a, e.unary(ew.CosOp, x())),
    ew.CosOp: lambda e, a, x, y: e.neg(e.mul(a, e.unary(ew.SinOp, x()))),
    ew.TanOp: lambda e, a, x, y: e.mul(a, _one_plus_square(e, y())),
    ew.AsinOp: lambda e, a, x, y: e.div(a, e.unary(ew.SqrtOp, _one_minus_square(e, x()))),
    ew.AcosOp: lambda e, a, x, y: e.neg(e.div(a, e.unary(ew.SqrtOp, _one_minus_square(e, x())))),
    ew.AtanOp: lambda e, a, x, y: e.div(a, _one_plus_square(e, x())),
    ew.SinhOp: lambda e, a, x, y: e.mul(a, e.unary(ew.CoshOp, x())),
    ew.CoshOp: lambda e, a, x, y: e.mul(a, e.unary(ew.SinhOp, x())),
    ew.TanhOp: lambda e, a, x, y: e.mul(a, _one_minus_square(e, y())),
    ew.ErfOp: _gaussian(2 / math.sqrt(math.pi)),
    ew.ErfcOp: _gaussian(-2 / math.sqrt(math.pi)),
    ew.SigmoidOp: _sigmoid,
    # sign(relu(x)) is 1 for x > 0 and 0 elsewhere, 0 included
    ew.ReluOp: lambda e, a, x, y: e.mul(a, e.unary(ew.SignOp, y())),
}


def _add(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
    return (lambda a: a, lambda a: a)


def _sub(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
    return (lambda a: a, e.neg)


def _mul(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
    return (lambda a: e.mul(a, xs[1]()), lambda a: e.mul(a, xs[0]()))


def _div(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
    # d(u/v)/dv = -(u/v)/v: the quotients are those of the value, and of the derivative by u
    return (
        lambda a: e.div(a, xs[1]()),
        lambda a: e.neg(e.mul(e.div(a, xs[1]()), y())),
    )


def _pow(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
    """`x**n` with a constant `n` builds no logarithm: its derivative `n * x**(n - 1)` is valid for
    every `x` where `n` is an integer, and 0 for `n = 0`. An exponent that varies may be 0, where
    `x**n` is 1 for every `x`; and a base may be 0, where `x**n` does not depend on `n`."""

    def by_base(a: SSAValue) -> SSAValue:
        exponent = xs[1]()

        def slope(e: BodyBuilder, _: object = None) -> SSAValue:
            lower = e.sub(exponent, _c(e, 1))
            return e.mul(e.mul(a, exponent), e.pow(xs[0](), lower))

        if tix.constant_value(exponent) is not None:
            return _c(e, 0) if tix.constant_value(exponent) == 0 else slope(e)
        return e.where("ne", exponent, _c(e, 0), slope, lambda e, _: _c(e, 0))

    def by_exponent(a: SSAValue) -> SSAValue:
        x, value = xs[0](), y()

        def slope(e: BodyBuilder, _: object = None) -> SSAValue:
            return e.mul(e.mul(a, value), e.unary(ew.LogOp, x))

        if tix.constant_value(x) is not None:
            return _c(e, 0) if tix.constant_value(x) == 0 else slope(e)
        return e.where("ne", x, _c(e, 0), slope, lambda e, _: _c(e, 0))

    return (by_base, by_exponent)


def _atan2(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
    def scaled(a: SSAValue, by: SSAValue) -> SSAValue:
        u, v = xs[0](), xs[1]()
        return e.div(e.mul(a, by), e.add(e.mul(u, u), e.mul(v, v)))

    return (lambda a: scaled(a, xs[1]()), lambda a: e.neg(scaled(a, xs[0]())))


def _extremum(winner: int) -> Rule:
    """`max` (`winner` 1), `min` (-1): the share of `x` is (1 + sign(x - y)) / 2, of `y` the rest.

    At a tie both get one half.
    """

    def rule(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
        def share(a: SSAValue, sign: int) -> SSAValue:
            lead = e.unary(ew.SignOp, e.sub(xs[0](), xs[1]()))
            return e.mul(e.mul(a, _c(e, 0.5)), e.add(_c(e, 1), e.mul(_c(e, sign), lead)))

        return (lambda a: share(a, winner), lambda a: share(a, -winner))

    return rule


def _unary_rule(formula: UnaryFormula) -> Rule:
    return lambda e, xs, y: (lambda a: formula(e, a, xs[0], y),)


RULES: Mapping[type[Operation], Rule] = {
    **{kind: _unary_rule(formula) for kind, formula in _UNARY.items()},
    ew.AddOp: _add,
    ew.SubOp: _sub,
    ew.MulOp: _mul,
    ew.DivOp: _div,
    ew.PowOp: _pow,
    ew.Atan2Op: _atan2,
    ew.MaximumOp: _extremum(1),
    ew.MinimumOp: _extremum(-1),
}


def rule_of(op: Operation) -> Rule:
    """The rule by which a scalar operation is derived."""
    return _call_rule(op.callee) if isinstance(op, tix.CallOp) else RULES[type(op)]


def _call_rule(function: tix.FunctionOp) -> Rule:
    def rule(e: BodyBuilder, xs: Sequence[Value], y: Value) -> Sequence[Partial]:
        def partial(formula: Region) -> Partial:
            def scaled(a: SSAValue) -> SSAValue:
                slope = emit_formula(e, formula, [*xs, y])
                return _c(e, 0) if tix.constant_value(slope) == 0 else e.mul(a, slope)

            return scaled

        return [partial(formula) for formula in function.partials]

    return rule

"""The LLVM instructions of `arith` and `math` ops: one table from op to printer.

On vectors they are the same instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import IndexType, VectorType
from xdsl.dialects.utils.fast_math import FastMathAttrBase, FastMathFlag
from xdsl.ir import Operation, SSAValue

from tadc.dialects.loops import FLOAT_PREDICATES, INTEGER_PREDICATES, LibmOp
from tadc.dialects.quick import constant_integer, operands_of
from tadc.targets.llvm_code import Body, failure, literal, number_literal
from tadc.targets.llvm_quotients import reciprocal_in
from tadc.targets.llvm_signs import is_never_negative
from tadc.targets.llvm_types import lanes_and_element, overload, splat, with_element

OpPrinter = Callable[[Body, Operation], None]

FLOAT_BINARY: dict[type[Operation], str] = {
    arith.AddfOp: "fadd",
    arith.SubfOp: "fsub",
    arith.MulfOp: "fmul",
    arith.DivfOp: "fdiv",
}

INTEGER_BINARY: dict[type[Operation], str] = {
    arith.AddiOp: "add",
    arith.SubiOp: "sub",
    arith.MuliOp: "mul",
    arith.ShLIOp: "shl",
    arith.ShRSIOp: "ashr",
    arith.ShRUIOp: "lshr",
    arith.DivSIOp: "sdiv",
    arith.DivUIOp: "udiv",
    arith.RemSIOp: "srem",
    arith.RemUIOp: "urem",
    arith.AndIOp: "and",
    arith.OrIOp: "or",
    arith.XOrIOp: "xor",
}

# A linear index never overflows: the runtime refuses sizes that could make it.
NO_OVERFLOW_ON_INDEX = {"add", "sub", "mul"}

INTRINSIC: dict[type[Operation], str] = {
    arith.MinSIOp: "smin",
    arith.MaxSIOp: "smax",
    arith.MinUIOp: "umin",
    arith.MaxUIOp: "umax",
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    arith.MaxnumfOp: "maxnum",
    arith.MinnumfOp: "minnum",
    math.AbsFOp: "fabs",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.RoundEvenOp: "roundeven",
    math.RoundOp: "round",
    math.SqrtOp: "sqrt",
    math.TruncOp: "trunc",
    vector.FMAOp: "fma",
}

# Printed beside the program by `llvm_math`, so that they vectorise wherever LLVM runs.
VECTOR_MATH: dict[type[Operation], str] = {
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.ExpM1Op: "expm1",
    math.LogOp: "log",
    math.Log1pOp: "log1p",
    math.PowFOp: "pow",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.TanhOp: "tanh",
}

# From the C library; `llvm_libmvec` finds vector forms of them where there are any.
LIBM: dict[type[Operation], str] = {
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.CbrtOp: "cbrt",
    math.Exp2Op: "exp2",
    math.Log10Op: "log10",
    math.Log2Op: "log2",
    math.TanOp: "tan",
}

CAST: dict[type[Operation], str] = {
    arith.SIToFPOp: "sitofp",
    arith.UIToFPOp: "uitofp",
    arith.FPToSIOp: "fptosi",
    arith.FPToUIOp: "fptoui",
    arith.ExtFOp: "fpext",
    arith.TruncFOp: "fptrunc",
    arith.ExtSIOp: "sext",
    arith.ExtUIOp: "zext",
    arith.TruncIOp: "trunc",
    arith.BitcastOp: "bitcast",
}

FLAG_ORDER = tuple(flag for flag in FastMathFlag)


def fast_math(op: Operation) -> str:
    """The op's fast-math flags as LLVM writes them, with a space after each."""
    flags = op.properties.get("fastmath")
    return _words(flags) if isinstance(flags, FastMathAttrBase) else ""


@cache
def _words(flags: FastMathAttrBase) -> str:
    return "".join(f"{flag.value} " for flag in FLAG_ORDER if flag in flags.data)


def call(
    body: Body, op: Operation, callee: str, operands: Sequence[SSAValue] | None = None
) -> None:
    """`%r = call float @callee(float %a, ...)`, by default on the operands of the operation."""
    arguments = ", ".join(map(body.typed, operands_of(op) if operands is None else operands))
    (result,) = op.results
    body.define(result, f"call {fast_math(op)}{body.type(result)} {callee}({arguments})")


def print_constant(body: Body, op: Operation) -> None:
    """Constants are written where they are used."""
    (result,) = op.results
    body.names[result] = literal(op.properties["value"])


def print_float_binary(body: Body, op: Operation) -> None:
    (a, b), (result,) = operands_of(op), op.results
    opcode = FLOAT_BINARY[type(op)]
    body.define(result, f"{opcode} {fast_math(op)}{body.typed(a)}, {body.value(b)}")


def print_quotient(body: Body, op: Operation) -> None:
    """A division; by a constant, two products that have its bits, if machines have such ones."""
    type_ = body.type(op.results[0])
    _, element = lanes_and_element(type_)
    parts = reciprocal_in(op, element) if body.needs.fused else None
    if parts is None:
        return print_float_binary(body, op)
    high, low = (splat(number_literal(part, element), type_) for part in parts)
    x = body.typed(op.operands[0])
    rest = body.temporary("rest", f"fmul {x}, {low}")
    fused = f"call {type_} @llvm.fma.{overload(type_)}({x}, {type_} {high}, {type_} {rest})"
    body.define(op.results[0], fused)


def print_negation(body: Body, op: Operation) -> None:
    body.define(op.results[0], f"fneg {fast_math(op)}{body.typed(op.operands[0])}")


def print_integer_binary(body: Body, op: Operation) -> None:
    (a, b), (result,) = operands_of(op), op.results
    opcode = INTEGER_BINARY[type(op)]
    no_wrap = opcode in NO_OVERFLOW_ON_INDEX and isinstance(a.type, IndexType)
    opcode += " nsw" if no_wrap else ""
    body.define(result, f"{opcode} {body.typed(a)}, {body.value(b)}")


def print_intrinsic(body: Body, op: Operation) -> None:
    name = INTRINSIC[type(op)]
    call(body, op, f"@llvm.{name}.{overload(body.type(op.results[0]))}")


def print_vector_math(body: Body, op: Operation) -> None:
    name, operands = VECTOR_MATH[type(op)], op.operands
    operand = operands[0].owner  # a negation becomes one of constants
    if isinstance(op, math.ExpOp) and isinstance(operand, arith.NegfOp):
        operands = operand.operands
        name = "decay" if is_never_negative(operands[0]) else "exp_of_negative"
    type_ = body.type(op.results[0])
    lanes, element = lanes_and_element(type_)
    body.needs.vector_math.setdefault((name, element), set()).add(lanes)
    call(body, op, f"@tadc.{name}.{overload(type_)}", operands)


def print_libm(body: Body, op: Operation) -> None:
    """A call of the C library, which knows numbers: for vectors, in each lane."""
    type_ = body.type(op.results[0])
    lanes, element = lanes_and_element(type_)
    name = op.function.data if isinstance(op, LibmOp) else LIBM[type(op)]
    name += "f" if element == "float" else ""
    parameters = ", ".join([element] * len(op.operands))
    body.needs.libm[name] = f"declare {element} @{name}({parameters}) #2"
    suffix = "" if _may_approximate(op) else " nobuiltin"
    if lanes > 1:
        name = _called_by_lanes(body, name, type_, len(op.operands), suffix)
        suffix = ""
    arguments = ", ".join(body.typed(operand) for operand in op.operands)
    body.define(op.results[0], f"call {type_} @{name}({arguments}){suffix}")


def _called_by_lanes(body: Body, name: str, type: str, arity: int, suffix: str) -> str:
    """The name of a function of vectors that calls a C library function for each lane."""
    lanes, element = lanes_and_element(type)
    by_lanes = f"tadc.{name}.{overload(type)}{'.' if suffix else ''}{suffix.strip()}"
    lines: list[str] = []
    for lane in range(lanes):
        numbers = [f"%x{lane}.{i}" for i in range(arity)]
        lines += [
            f"  {number} = extractelement {type} %x{i}, i64 {lane}"
            for i, number in enumerate(numbers)
        ]
        arguments = ", ".join(f"{element} {number}" for number in numbers)
        before = f"%r{lane - 1}" if lane else "poison"
        lines += [
            f"  %y{lane} = call {element} @{name}({arguments}){suffix}",
            f"  %r{lane} = insertelement {type} {before}, {element} %y{lane}, i64 {lane}",
        ]
    parameters = ", ".join(f"{type} %x{i}" for i in range(arity))
    header = f"define internal {type} @{by_lanes}({parameters}) #3 {{"
    body.needs.libm[by_lanes] = "\n".join([header, *lines, f"  ret {type} %r{lanes - 1}", "}"])
    return by_lanes


def _may_approximate(op: Operation) -> bool:
    """True if the vector form of a function, which rounds otherwise, may take its place."""
    flags = op.properties.get("fastmath")
    return isinstance(flags, FastMathAttrBase) and FastMathFlag.APPROX_FUNC in flags.data


def print_cast(body: Body, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    body.define(result, f"{CAST[type(op)]} {body.typed(source)} to {body.type(result)}")


def print_integer_cast(body: Body, op: Operation) -> None:
    """`index` is `i64`: casts between the two vanish."""
    source, result = op.operands[0], op.results[0]
    narrow, wide = (int(lanes_and_element(body.type(v))[1][1:]) for v in (source, result))
    if narrow == wide:
        body.names[result] = body.value(source)
        return
    opcode = "sext" if narrow < wide else "trunc"
    body.define(result, f"{opcode} {body.typed(source)} to {body.type(result)}")


def print_integer_comparison(body: Body, op: Operation) -> None:
    assert isinstance(op, arith.CmpiOp)
    predicate = INTEGER_PREDICATES[op.predicate.value.data]
    body.define(op.result, f"icmp {predicate} {body.typed(op.lhs)}, {body.value(op.rhs)}")


def print_float_comparison(body: Body, op: Operation) -> None:
    assert isinstance(op, arith.CmpfOp)
    predicate = f"{fast_math(op)}{FLOAT_PREDICATES[op.predicate.value.data]}"
    body.define(op.result, f"fcmp {predicate} {body.typed(op.lhs)}, {body.value(op.rhs)}")


def print_select(body: Body, op: Operation) -> None:
    body.define(op.results[0], "select " + ", ".join(body.typed(v) for v in op.operands))


def print_rounded_division(body: Body, op: Operation) -> None:
    """Division that rounds down or up, as in Python, whatever the signs.

    The quotient `sdiv` rounds towards zero; it is one too high (too low) where the remainder is
    not zero and its sign differs from (equals) the divisor's. A constant divisor, the common
    case, is positive: a power of two is then an arithmetic shift, and for the others the sign
    of the remainder decides alone.
    """
    down = isinstance(op, arith.FloorDivSIOp)
    divisor = constant_integer(op.operands[1])
    if divisor is not None and divisor > 0:
        _divide_by_constant(body, op, divisor, down)
    else:
        _divide(body, op, down)


def _divide_by_constant(body: Body, op: Operation, divisor: int, down: bool) -> None:
    a, result = op.operands[0], op.results[0]
    type_ = body.type(a)
    if divisor & (divisor - 1) == 0:
        top = body.value(a)
        if not down:
            top = body.temporary("up", f"add nsw {type_} {top}, {divisor - 1}")
        body.define(result, f"ashr {type_} {top}, {divisor.bit_length() - 1}")
        return
    quotient = body.temporary("quo", f"sdiv {body.typed(a)}, {divisor}")
    remainder = body.temporary("rem", f"srem {body.typed(a)}, {divisor}")
    sign = f"icmp {'slt' if down else 'sgt'} {type_} {remainder}, 0"
    _correct(body, result, quotient, body.temporary("off", sign), down)


def _divide(body: Body, op: Operation, down: bool) -> None:
    a, b = op.operands
    type_ = body.type(a)
    zero = splat("0", type_)
    quotient = body.temporary("quo", f"sdiv {body.typed(a)}, {body.value(b)}")
    remainder = body.temporary("rem", f"srem {body.typed(a)}, {body.value(b)}")
    signs = body.temporary("signs", f"xor {type_} {remainder}, {body.value(b)}")
    side = body.temporary("side", f"icmp {'slt' if down else 'sge'} {type_} {signs}, {zero}")
    inexact = body.temporary("inexact", f"icmp ne {type_} {remainder}, {zero}")
    off = body.temporary("off", f"and {with_element(type_, 'i1')} {side}, {inexact}")
    _correct(body, op.results[0], quotient, off, down)


def _correct(body: Body, result: SSAValue, quotient: str, off: str, down: bool) -> None:
    type_ = body.type(result)
    # `sext` of a true bit is -1, `zext` is 1.
    bits, extend = with_element(type_, "i1"), "sext" if down else "zext"
    step = body.temporary("step", f"{extend} {bits} {off} to {type_}")
    body.define(result, f"add nsw {type_} {quotient}, {step}")


def print_integer_power(body: Body, op: Operation) -> None:
    """A constant power by repeated squaring, else `pow`: what LLVM has needs a library of gcc."""
    base, power = op.operands
    result = op.results[0]
    exponent = constant_integer(power)
    if exponent is None:
        _power_by_libm(body, op)
        return
    product = _repeated_squaring(body, base, abs(exponent))
    one = f"{body.type(result)} {splat('1.0', body.type(result))}"
    body.define(result, f"fdiv {one}, {product}" if exponent < 0 else f"fmul {one}, {product}")


def _repeated_squaring(body: Body, base: SSAValue, exponent: int) -> str:
    type_, square = body.type(base), body.value(base)
    one = product = splat("1.0", type_)
    while exponent:
        if exponent & 1:
            product = (
                square
                if product == one
                else body.temporary("power", f"fmul {type_} {product}, {square}")
            )
        exponent >>= 1
        if exponent:
            square = body.temporary("square", f"fmul {type_} {square}, {square}")
    return product


def _power_by_libm(body: Body, op: Operation) -> None:
    base, power = op.operands
    type_ = body.type(base)
    if isinstance(base.type, VectorType):
        raise failure(op, "no form for a power of vectors that is not constant")
    exponent = body.temporary("exponent", f"sitofp {body.typed(power)} to {type_}")
    name = "powf" if type_ == "float" else "pow"
    body.needs.libm[name] = f"declare {type_} @{name}({type_}, {type_}) #2"
    body.define(op.results[0], f"call {type_} @{name}({body.typed(base)}, {type_} {exponent})")


def print_rsqrt(body: Body, op: Operation) -> None:
    type_ = body.type(op.operands[0])
    callee = f"@llvm.sqrt.{overload(type_)}"
    root = body.temporary("root", f"call {type_} {callee}({body.typed(op.operands[0])})")
    body.define(op.results[0], f"fdiv {fast_math(op)}{type_} {splat('1.0', type_)}, {root}")


def _table(ops: dict[type[Operation], str], printer: OpPrinter) -> dict[type[Operation], OpPrinter]:
    return dict.fromkeys(ops, printer)


OP_PRINTERS: dict[type[Operation], OpPrinter] = {
    **_table(FLOAT_BINARY, print_float_binary),
    arith.DivfOp: print_quotient,
    **_table(INTEGER_BINARY, print_integer_binary),
    **_table(INTRINSIC, print_intrinsic),
    **_table(VECTOR_MATH, print_vector_math),
    **_table(LIBM, print_libm),
    **_table(CAST, print_cast),
    arith.CeilDivSIOp: print_rounded_division,
    arith.CmpfOp: print_float_comparison,
    arith.CmpiOp: print_integer_comparison,
    arith.ConstantOp: print_constant,
    arith.FloorDivSIOp: print_rounded_division,
    arith.IndexCastOp: print_integer_cast,
    LibmOp: print_libm,
    arith.NegfOp: print_negation,
    arith.SelectOp: print_select,
    math.FPowIOp: print_integer_power,
    math.RsqrtOp: print_rsqrt,
}

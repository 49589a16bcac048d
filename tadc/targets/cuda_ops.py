"""The C expression of each operation without regions, for `tadc.targets.cuda`.

Operations whose texts differ in a symbol or a name are rows of a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, math, memref
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, f32, f64, i1, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from tadc.dialects.loops import LibmOp
from tadc.passes.analysis.index_ranges import Range, Ranges
from tadc.passes.rewriting.failure import PassFailure
from tadc.targets import c_text as c
from tadc.targets.c_text import Expr

INFIX: dict[type[Operation], tuple[str, int]] = {
    arith.AddiOp: ("+", c.SUM),
    arith.AddfOp: ("+", c.SUM),
    arith.SubiOp: ("-", c.SUM),
    arith.SubfOp: ("-", c.SUM),
    arith.MuliOp: ("*", c.PRODUCT),
    arith.MulfOp: ("*", c.PRODUCT),
    arith.DivSIOp: ("/", c.PRODUCT),
    arith.DivfOp: ("/", c.PRODUCT),
    arith.RemSIOp: ("%", c.PRODUCT),
    arith.AndIOp: ("&", c.BIT_AND),
    arith.OrIOp: ("|", c.BIT_OR),
    arith.XOrIOp: ("^", c.BIT_XOR),
}
LOGIC: dict[type[Operation], tuple[str, int]] = {
    arith.AndIOp: ("&&", c.AND),
    arith.OrIOp: ("||", c.OR),
    arith.XOrIOp: ("!=", c.EQUAL),
}
CALLS: dict[type[Operation], str] = {
    arith.MaxnumfOp: "fmax",
    arith.MinnumfOp: "fmin",
    math.AbsFOp: "fabs",
    math.AcosOp: "acos",
    math.AcoshOp: "acosh",
    math.AsinOp: "asin",
    math.AsinhOp: "asinh",
    math.AtanOp: "atan",
    math.AtanhOp: "atanh",
    math.Atan2Op: "atan2",
    math.CbrtOp: "cbrt",
    math.CeilOp: "ceil",
    math.CopySignOp: "copysign",
    math.CosOp: "cos",
    math.CoshOp: "cosh",
    math.ErfOp: "erf",
    math.ExpOp: "exp",
    math.Exp2Op: "exp2",
    math.ExpM1Op: "expm1",
    math.FloorOp: "floor",
    math.FmaOp: "fma",
    math.LogOp: "log",
    math.Log10Op: "log10",
    math.Log1pOp: "log1p",
    math.Log2Op: "log2",
    math.PowFOp: "pow",
    math.RoundEvenOp: "rint",
    math.SinOp: "sin",
    math.SinhOp: "sinh",
    math.SqrtOp: "sqrt",
    math.TanOp: "tan",
    math.TanhOp: "tanh",
    math.TruncOp: "trunc",
}
# Functions that C lacks, printed above the kernels that call them. The divisors are positive, and
# `power` multiplies in the order of `__powidf2`, which LLVM calls for `powi`.
HELPERS: dict[str, str] = {
    "floor_div": """{T} floor_div({T} a, {T} b) {{
  return a / b - (a % b < 0);
}}""",
    "ceil_div": """{T} ceil_div({T} a, {T} b) {{
  return a / b + (a % b > 0);
}}""",
    "maximum": """{T} maximum{f}({T} a, {T} b) {{
  return a != a ? a : b != b ? b : fmax{f}(a, b);
}}""",
    "minimum": """{T} minimum{f}({T} a, {T} b) {{
  return a != a ? a : b != b ? b : fmin{f}(a, b);
}}""",
    "power": """{T} power{f}({T} x, long long n) {{
  {T} y = n & 1 ? x : 1;
  for (long long m = n / 2; m != 0; m /= 2) {{
    x *= x;
    if (m & 1) y *= x;
  }}
  return n < 0 ? 1 / y : y;
}}""",
}
NEEDS_HELPER: dict[type[Operation], str] = {
    arith.FloorDivSIOp: "floor_div",
    arith.CeilDivSIOp: "ceil_div",
    arith.MaximumfOp: "maximum",
    arith.MinimumfOp: "minimum",
    math.FPowIOp: "power",
}
COMPOUND = frozenset("+-*/%&|^")
CMPI = ("==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">=")  # from 6 on without sign
# An unordered comparison is the negation of the opposite ordered one.
CMPF = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
ONE, ORD, UEQ, UNO = 6, 7, 8, 14
REPEATING = (ONE, ORD, UEQ, UNO)
CMPF_NOT = {9: "<=", 10: "<", 11: ">=", 12: ">"}


def failure(op: Operation, message: str) -> PassFailure:
    """The error for an operation that has no CUDA C."""
    return PassFailure(op.location, f"cuda: {message}")


class Expressions:
    """The C text of the values of one kernel, in which an index has the type `index`."""

    def __init__(
        self, function: Operation, index: str, known: Mapping[SSAValue, Range] | None = None
    ):
        self.function, self.index = function, index
        self.ranges = Ranges(known)
        self.texts: dict[SSAValue, Expr] = {}
        self.helpers: set[tuple[str, str]] = set()

    def ctype(self, type: Attribute) -> str:
        """The C type of a value."""
        known: dict[Attribute, str] = {
            f32: "float",
            f64: "double",
            i1: "bool",
            i32: "int",
            i64: "long long",
        }
        found = self.index if isinstance(type, IndexType) else known.get(type)
        if found is None:
            raise failure(self.function, f"no C type for {type}")
        return found

    def expression(self, op: Operation) -> Expr:
        """The value of an operation without regions."""
        kind = type(op)
        operands = [self.texts[o] for o in op.operands]
        if isinstance(op, arith.FloorDivSIOp) and self.ranges.of(op.lhs)[0] >= 0:
            kind = arith.DivSIOp
        if kind in LOGIC and op.results[0].type == i1:
            return self.logic(kind, *operands)
        if isinstance(op, arith.MulfOp) and not _may_contract(op):
            return c.call("__fmul_rn" if op.result.type == f32 else "__dmul_rn", *operands)
        if kind in INFIX:
            symbol, level = INFIX[kind]
            return c.infix(operands[0], symbol, level, operands[1], self.ctype(op.results[0].type))
        if kind in CALLS:
            return c.call(self.of_type(CALLS[kind], op.results[0]), *operands)
        if kind in NEEDS_HELPER:
            return self.helped(NEEDS_HELPER[kind], op.results[0], *operands)
        return self.other(op, operands)

    def of_type(self, name: str, result: SSAValue) -> str:
        """The name of a C function for the type of its result."""
        return f"{name}f" if result.type == f32 else name

    def logic(self, kind: type[Operation], a: Expr, b: Expr) -> Expr:
        """An operation on truth values; with `true`, exclusive or is negation."""
        if kind is arith.XOrIOp and b.text == "true":
            return c.prefix("!", a)
        return c.infix(a, *LOGIC[kind], b)

    def helped(self, name: str, result: SSAValue, *operands: Expr) -> Expr:
        """A call of a function that is printed with the kernel."""
        ctype = self.ctype(result.type)
        self.helpers.add((name, ctype))
        return c.call(self.of_type(name, result), *operands, ctype=ctype)

    def other(self, op: Operation, operands: Sequence[Expr]) -> Expr:
        """The operations that are no infix and no call of one name."""
        match op:
            case arith.ConstantOp():
                return self.constant(op)
            case memref.LoadOp():
                return self.element(op.memref, op.indices)
            case arith.NegfOp():
                return c.prefix("-", *operands)
            case arith.SelectOp():
                a, b = operands[1:]
                return c.choice(operands[0], a, b, self.ctype(op.result.type))
            case arith.MinSIOp() | arith.MaxSIOp():
                name = "min" if isinstance(op, arith.MinSIOp) else "max"
                return c.call(name, *operands, ctype=self.ctype(op.result.type))
            case LibmOp():
                return c.call(self.of_type(op.function.data, op.result), *operands)
            case arith.CmpiOp():
                return self.compare_integers(op, *operands)
            case arith.CmpfOp():
                return compare_floats(op.predicate.value.data, *operands)
            case arith.IndexCastOp() | arith.SIToFPOp() | arith.ExtFOp() | arith.TruncFOp():
                return self.cast(op)
            case _:
                raise failure(op, f"no CUDA C for {op.name}")

    def constant(self, op: arith.ConstantOp) -> Expr:
        """A literal."""
        match op.value:
            case IntegerAttr(value=number) if op.result.type == i1:
                return Expr("true" if number.data else "false")
            case IntegerAttr(value=number):
                return c.integer(number.data, self.ctype(op.result.type))
            case FloatAttr(value=number) if op.result.type in (f32, f64):
                return c.floating(number.data, self.ctype(op.result.type))
            case _:
                raise failure(op, f"no literal for {op.value}")

    def element(self, buffer: SSAValue, indices: Sequence[SSAValue]) -> Expr:
        """`buffer[index]`."""
        if len(indices) != 1:
            raise failure(self.function, f"a buffer with {len(indices)} indices is not flat")
        index, name = self.texts[indices[0]], self.texts[buffer].text
        return c.made(f"{name}[{index.text}]", c.ATOM, index)._replace(loads=True)

    def compare_integers(self, op: arith.CmpiOp, a: Expr, b: Expr) -> Expr:
        """A comparison; one without sign goes through the unsigned type."""
        predicate, ctype = op.predicate.value.data, self.ctype(op.lhs.type)
        if predicate > 5:
            a, b = (c.prefix(f"(unsigned {ctype})", x) for x in (a, b))
        return c.infix(a, CMPI[predicate], c.EQUAL if predicate < 2 else c.LESS, b, ctype)

    def cast(self, op: arith.IndexCastOp | arith.SIToFPOp | arith.ExtFOp | arith.TruncFOp) -> Expr:
        """A conversion, left out where both types are one type in C."""
        source = op.input
        if isinstance(op, arith.SIToFPOp) and isinstance(source.owner, arith.IndexCastOp):
            source = source.owner.input if source.type == i64 else source
        target = self.ctype(op.result.type)
        if self.ctype(source.type) == target:
            return self.texts[source]
        converted = c.prefix(f"({target})", self.texts[source])
        return c.prefix("-", converted) if source.type == i1 else converted


def _may_contract(op: arith.MulfOp) -> bool:
    """True if the product may become part of `a * b + c`: NVCC and NVRTC do that to every `*`."""
    return FastMathFlag.ALLOW_CONTRACT in op.fastmath.data


def compare_floats(predicate: int, a: Expr, b: Expr) -> Expr:
    """A comparison: an ordered one is false, an unordered one true, where an operand is a NaN."""
    less, more = c.infix(a, "<", c.LESS, b), c.infix(a, ">", c.LESS, b)
    different = c.infix(less, "||", c.OR, more)
    if predicate in CMPF:
        symbol = CMPF[predicate]
        return c.infix(a, symbol, c.EQUAL if symbol in ("==", "!=") else c.LESS, b)
    if predicate in CMPF_NOT:
        return c.prefix("!", c.infix(a, CMPF_NOT[predicate], c.LESS, b))
    if predicate in (ONE, UEQ):
        return different if predicate == ONE else c.prefix("!", different)
    if predicate in (ORD, UNO):
        symbol, both = ("==", ("&&", c.AND)) if predicate == ORD else ("!=", ("||", c.OR))
        a, b = (c.infix(x, symbol, c.EQUAL, x) for x in (a, b))
        return c.infix(a, *both, b)
    return Expr("true" if predicate else "false")


def helper(name: str, ctype: str) -> str:
    """The text of a helper for a type."""
    suffix = "f" if ctype == "float" else ""
    return f"static __device__ __forceinline__ {HELPERS[name].format(T=ctype, f=suffix)}"

"""The LLVM instructions of the ops that make vectors, permute, compare and sum them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType
from xdsl.dialects.vector import CombiningKindFlag as Kind
from xdsl.ir import Operation, SSAValue

from tadc.dialects.loops import CompareLanesOp, ConvertLanesOp, SelectLanesOp, sums_in_order
from tadc.dialects.quick import constant_integer, operands_of
from tadc.targets.llvm_code import Body, failure
from tadc.targets.llvm_ops import (
    OpPrinter,
    fast_math,
    print_integer_cast,
    print_select,
)
from tadc.targets.llvm_types import lanes_and_element, overload, splat, vector_of


def print_broadcast(body: Body, op: Operation) -> None:
    (number,), (lanes,) = operands_of(op), op.results
    if isinstance(number.type, VectorType):
        raise failure(op, "only a number can be in all lanes")
    if isinstance(number.owner, arith.ConstantOp):
        body.names[lanes] = splat(body.value(number), body.type(lanes))
    else:
        body.define(lanes, _broadcast(body, body.typed(number), body.type(lanes)))


def _broadcast(body: Body, typed: str, type: str) -> str:
    """The instruction that puts a number into all lanes."""
    lanes, _ = lanes_and_element(type)
    one = body.temporary("one", f"insertelement {type} poison, {typed}, i64 0")
    return f"shufflevector {type} {one}, {type} poison, <{lanes} x i32> zeroinitializer"


def _positions(positions: Iterable[int]) -> str:
    listed = [f"i32 {position}" for position in positions]
    return f"<{len(listed)} x i32> <{', '.join(listed)}>"


INTEGERS_LIKE = {"float": "i32", "double": "i64"}
"""The integers of the size of a number. LLVM shifts two vectors of these by a number of lanes in
one instruction; for numbers it takes a vector of positions, in a register."""


def _has_no_lanes(value: SSAValue) -> bool:
    """True for a mask of no lanes."""
    owner = value.owner
    ends = owner.mask_dim_sizes if isinstance(owner, vector.CreateMaskOp) else ()
    return any(constant_integer(end) == 0 for end in ends)


def _taken(body: Body, mask: SSAValue, positions: Sequence[int]) -> str:
    """The instruction for lanes of a mask in these places, and no lanes where positions are behind
    its last one.

    LLVM 22 loses the mask of a load for AVX2, or ends the process, where a constant mask is
    shuffled with another one: so lanes are taken away by a mask that is written out.
    """
    type_ = body.type(mask)
    lanes, _ = lanes_and_element(type_)
    near = [0]
    for position in positions:
        near.append(position if position < lanes else near[-1])
    shuffle = f"shufflevector {body.typed(mask)}, {type_} poison, {_positions(near[1:])}"
    kept = ", ".join(f"i1 {'true' if p < lanes else 'false'}" for p in positions)
    return f"and <{len(positions)} x i1> {body.temporary('near', shuffle)}, <{kept}>"


def print_shuffle(body: Body, op: Operation) -> None:
    """Lanes of two vectors; where they follow each other, as those of integers."""
    assert isinstance(op, vector.ShuffleOp)
    positions = op.mask.get_values()
    (a, b), (result,) = operands_of(op), op.results
    if a.type != b.type or -1 in positions:
        raise failure(op, "vector.shuffle takes two vectors of one type, and all lanes from these")
    if _has_no_lanes(b):
        return body.define(result, _taken(body, a, positions))
    operands, shuffle = [body.typed(a), body.typed(b)], _positions(positions)
    type_ = body.type(result)
    lanes, element = lanes_and_element(type_)
    first = positions[0]
    is_shift = a.type == result.type and [*positions] == [*range(first, first + lanes)]
    if not is_shift or element not in INTEGERS_LIKE:
        return body.define(result, f"shufflevector {', '.join(operands)}, {shuffle}")
    integers = vector_of(lanes, INTEGERS_LIKE[element])
    bits = [body.temporary("bits", f"bitcast {operand} to {integers}") for operand in operands]
    typed = ", ".join(f"{integers} {value}" for value in bits)
    shifted = body.temporary("shifted", f"shufflevector {typed}, {shuffle}")
    body.define(result, f"bitcast {integers} {shifted} to {type_}")


def _position(op: vector.ExtractOp | vector.InsertOp) -> int:
    match op.get_mixed_position():
        case [int(position)]:
            return position
        case _:
            raise failure(op, f"{op.name} takes one constant position")


def print_extract(body: Body, op: Operation) -> None:
    assert isinstance(op, vector.ExtractOp)
    body.define(op.result, f"extractelement {body.typed(op.vector)}, i64 {_position(op)}")


def print_insert(body: Body, op: Operation) -> None:
    assert isinstance(op, vector.InsertOp)
    operands = f"{body.typed(op.dest)}, {body.typed(op.source)}"
    body.define(op.result, f"insertelement {operands}, i64 {_position(op)}")


def print_create_mask(body: Body, op: Operation) -> None:
    """The lanes below a number, compared in 32 bits, in which it fits once it is in their range."""
    assert isinstance(op, vector.CreateMaskOp)
    (end,) = op.mask_dim_sizes
    lanes, _ = lanes_and_element(body.type(op.mask_vector))
    least = body.temporary("least", f"call i64 @llvm.smax.i64(i64 0, {body.typed(end)})")
    most = body.temporary("most", f"call i64 @llvm.smin.i64(i64 {lanes}, i64 {least})")
    short = body.temporary("short", f"trunc i64 {most} to i32")
    ends = body.temporary("ends", _broadcast(body, f"i32 {short}", f"<{lanes} x i32>"))
    body.define(op.mask_vector, f"icmp slt {_positions(range(lanes))}, {ends}")


# --- reductions -----------------------------------------------------------------------------------

TREES: dict[Kind, str] = {Kind.ADD: "fadd", Kind.MUL: "fmul"}
"""Operations on real numbers that round: in the order of the `loops` dialect, and no other."""

EXTREMES: dict[Kind, str] = {
    Kind.MAXIMUMF: "maximum",
    Kind.MINIMUMF: "minimum",
    Kind.MAXNUMF: "maxnum",
    Kind.MINNUMF: "minnum",
}

EXACT: dict[Kind, str] = {
    Kind.ADD: "add",
    Kind.MUL: "mul",
    Kind.AND: "and",
    Kind.OR: "or",
    Kind.XOR: "xor",
    Kind.MAXSI: "smax",
    Kind.MINSI: "smin",
}
"""Operations on integers, of which LLVM chooses the order."""


def print_reduction(body: Body, op: Operation) -> None:
    assert isinstance(op, vector.ReductionOp)
    _, element = lanes_and_element(body.type(op.vector))
    if element in ("float", "double"):
        _print_tree(body, op)
    else:
        _print_exact(body, op)


def _print_tree(body: Body, op: vector.ReductionOp) -> None:
    if sums_in_order(op):
        raise failure(op, "no form for a sum from lane to lane: it must say fastmath<reassoc>")
    lanes, element = lanes_and_element(body.type(op.vector))
    value = body.value(op.vector)
    while lanes > 2:
        halves = [_half(body, value, vector_of(lanes, element), first) for first in (0, lanes // 2)]
        lanes //= 2
        value = body.temporary("half", _combined(op, vector_of(lanes, element), *halves))
    ends = [
        body.temporary("lane", f"extractelement <2 x {element}> {value}, i64 {lane}")
        for lane in (0, 1)
    ]
    last = _combined(op, element, *ends)
    if op.acc is not None:
        last = _combined(op, element, body.value(op.acc), body.temporary("total", last))
    body.define(op.dest, last)


def _half(body: Body, value: str, type: str, first: int) -> str:
    lanes, _ = lanes_and_element(type)
    positions = _positions(range(first, first + lanes // 2))
    return body.temporary("part", f"shufflevector {type} {value}, {type} poison, {positions}")


def _combined(op: vector.ReductionOp, type: str, a: str, b: str) -> str:
    kind = op.kind.data
    if kind in TREES:
        return f"{TREES[kind]} {type} {a}, {b}"
    if kind in EXTREMES:
        name = f"@llvm.{EXTREMES[kind]}.{overload(type)}"
        return f"call {fast_math(op)}{type} {name}({type} {a}, {type} {b})"
    raise failure(op, f"no form for the {kind} of real numbers")


def _print_exact(body: Body, op: vector.ReductionOp) -> None:
    kind, type_ = op.kind.data, body.type(op.vector)
    if kind not in EXACT or op.acc is not None:
        raise failure(op, f"no form for this {kind} of integers")
    result = f"call {body.type(op.dest)} @llvm.vector.reduce.{EXACT[kind]}.{overload(type_)}"
    body.define(op.dest, f"{result}({body.typed(op.vector)})")


# --- lanes ----------------------------------------------------------------------------------------


def print_comparison(body: Body, op: Operation) -> None:
    assert isinstance(op, CompareLanesOp)
    compare = f"{'fcmp' if op.is_real else 'icmp'} {op.predicate.data}"
    body.define(op.result, f"{compare} {body.typed(op.lhs)}, {body.value(op.rhs)}")


def print_conversion(body: Body, op: Operation) -> None:
    assert isinstance(op, ConvertLanesOp)
    result = body.type(op.result)
    _, element = lanes_and_element(result)
    if element in ("float", "double"):
        body.define(op.result, f"sitofp {body.typed(op.input)} to {result}")
    else:
        print_integer_cast(body, op)


VECTOR_PRINTERS: dict[type[Operation], OpPrinter] = {
    CompareLanesOp: print_comparison,
    ConvertLanesOp: print_conversion,
    SelectLanesOp: print_select,
    vector.BroadcastOp: print_broadcast,
    vector.CreateMaskOp: print_create_mask,
    vector.ExtractOp: print_extract,
    vector.InsertOp: print_insert,
    vector.ReductionOp: print_reduction,
    vector.ShuffleOp: print_shuffle,
}

"""Loads of elements that lie apart, `loops.strided_load`, as LLVM instructions.

A stride of 2, for vectors of four: both loads stay between the first and the last element.

    x[i]  x[i+1] x[i+2] x[i+3]                                   lanes 0 and 1
                        x[i+3] x[i+4] x[i+5] x[i+6]              lanes 2 and 3
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation

from tadc.dialects.loops import StridedLoadOp
from tadc.dialects.quick import constant_integer
from tadc.targets.llvm_code import Body
from tadc.targets.llvm_memory import address_of, alignment
from tadc.targets.llvm_types import lanes_and_element

LONGEST_SHUFFLED_STRIDE = 8
"""Elements from lane to lane, up to which whole vectors are read and lanes taken from these.

With AVX-512, 16 elements one by one take 6 ns, by vectors 1.9 (stride 2), 3.0 (4), 4.4 (8).
"""


def print_strided_load(body: Body, op: Operation) -> None:
    assert isinstance(op, StridedLoadOp)
    stride = constant_integer(op.stride)
    lanes, _ = lanes_and_element(body.type(op.result))
    if stride and abs(stride) <= min(lanes, LONGEST_SHUFFLED_STRIDE):
        body.define(op.result, _whole_vectors(body, op, stride))
    else:
        body.define(op.result, _element_by_element(body, op, lanes))


def _whole_vectors(body: Body, op: StridedLoadOp, stride: int) -> str:
    """The instruction that takes the lanes from vectors, of which the last ends where these end."""
    type_ = body.type(op.result)
    lanes, element = lanes_and_element(type_)
    lowest = min(0, stride * (lanes - 1))
    positions = [lane * stride - lowest for lane in range(lanes)]
    last = max(positions) + 1 - lanes
    begins = [min(begin, last) for begin in range(0, last + lanes, lanes)]
    address = address_of(body, op, op.base, [op.index])
    vectors: list[str] = []
    for begin in begins:
        step = f"getelementptr inbounds {element}, ptr {address}, i64 {lowest + begin}"
        load = f"load {type_}, ptr {body.temporary('at', step)}, {alignment(body, op, op.base)}"
        vectors.append(body.temporary("whole", load))
    places = [(p // lanes, p - begins[p // lanes]) for p in positions]
    return _picked(body, type_, vectors, places)


def _picked(body: Body, type: str, vectors: list[str], places: Sequence[tuple[int, int]]) -> str:
    """The instruction whose lanes come from places: the number of a vector, and a lane of it.

    Vectors join one by one; lanes of those to come are undefined until then.
    """
    lanes = len(places)
    picked, second, *others = [*vectors, "poison"] if len(vectors) == 1 else vectors
    known = [vector * lanes + lane if vector < 2 else None for vector, lane in places]
    shuffle = _shuffle(type, picked, second, known)
    for number, other in enumerate(others, 2):
        picked = body.temporary("picked", shuffle)
        known = [
            i if vector < number else lanes + lane if vector == number else None
            for i, (vector, lane) in enumerate(places)
        ]
        shuffle = _shuffle(type, picked, other, known)
    return shuffle


def _shuffle(type: str, a: str, b: str, lanes: Sequence[int | None]) -> str:
    positions = ", ".join(f"i32 {'poison' if lane is None else lane}" for lane in lanes)
    return f"shufflevector {type} {a}, {type} {b}, <{len(lanes)} x i32> <{positions}>"


def _element_by_element(body: Body, op: StridedLoadOp, lanes: int) -> str:
    """The instruction that puts the last element into its lane, behind those before."""
    type_, element = body.type(op.result), body.element(op.base)
    index, stride, insert = body.value(op.index), body.value(op.stride), ""
    for lane in range(lanes):
        before = body.temporary("part", insert) if lane else "poison"
        if lane:
            index = body.temporary("index", f"add nsw i64 {index}, {stride}")
        step = f"getelementptr inbounds {element}, {body.typed(op.base)}, i64 {index}"
        load = f"load {element}, ptr {body.temporary('at', step)}, {alignment(body, op, op.base)}"
        number = body.temporary("number", load)
        insert = f"insertelement {type_} {before}, {element} {number}, i64 {lane}"
    return insert

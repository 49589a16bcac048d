"""Arithmetic of indices gives what Python gives, and is emitted for what is not known alone,
outside of loops where it can be."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import prod

import pytest
from xdsl.dialects import arith
from xdsl.dialects.builtin import Float32Type, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects.quick import INDEX, block_with, constant_integer
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.lowering.loop_builders import digits
from tadc.passes.lowering.scalars.body_lowering import BodyLowering
from tadc.passes.lowering.scalars.index_arithmetic import LARGEST_NUMBER, IndexArithmetic
from tadc.passes.lowering.scalars.index_lowering import IndexLowering
from tests.support.campaign import seeds

MEANINGS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
}


def value_of(result: SSAValue, arguments: dict[SSAValue, int]) -> int:
    """The value of an index, for these values of the arguments of its block."""
    if result in arguments:
        return arguments[result]
    if (number := constant_integer(result)) is not None:
        return number
    assert isinstance(result.owner, Operation)
    a, b = (value_of(v, arguments) for v in result.owner.operands)
    return MEANINGS[type(result.owner)](a, b)


def block_of(value: SSAValue) -> Block | None:
    """The block in which a value is given."""
    return value.owner.parent if isinstance(value.owner, Operation) else value.owner


def arithmetic() -> tuple[Block, IndexArithmetic]:
    """A block of one index, and what emits into it."""
    block = block_with([INDEX])
    return block, IndexArithmetic(block, UnknownLoc())


@pytest.mark.parametrize("seed", seeds(20, of=400, start=700))
def test_results_are_those_of_python(seed: int) -> None:
    rng = random.Random(seed)
    block, index = arithmetic()
    (k,) = block.args
    values = [(k, 13), *((index.constant(n), n) for n in (0, 1, 1, 2, 7))]
    for _ in range(12):
        (a, x), (b, y) = rng.choices(values, k=2)
        kinds = {
            index.add: x + y,
            index.sub: x - y,
            index.mul: x * y,
            index.max: max(x, y),
            index.min: min(x, y),
        }
        if y > 0:
            kinds[index.quotient] = x // y
        emit, expected = rng.choice([*kinds.items()])
        result = emit(a, b)
        assert value_of(result, {k: 13}) == expected
        values.append((result, expected))


def test_nothing_is_emitted_for_what_is_known() -> None:
    block, index = arithmetic()
    (k,) = block.args
    zero, one, six = map(index.constant, (0, 1, 6))
    before = len(block.ops)
    same = (index.add(k, zero), index.add(zero, k), index.sub(k, zero), index.mul(k, one))
    assert all(value is k for value in (*same, index.mul(one, k), index.quotient(k, one)))
    assert index.mul(six, one) is six
    assert len(block.ops) == before
    assert constant_integer(index.sub(k, k)) == 0
    assert constant_integer(index.quotient(index.add(six, one), six)) == 1
    assert all(isinstance(op, arith.ConstantOp) for op in block.ops)
    assert index.add(k, six) is index.add(k, six)


def test_large_numbers_are_left_to_the_machine() -> None:
    _, index = arithmetic()
    large = index.constant(LARGEST_NUMBER)
    assert constant_integer(index.mul(large, large)) is None
    assert constant_integer(index.min(large, large)) == LARGEST_NUMBER


def test_nothing_divides_by_zero_while_loops_are_made() -> None:
    block, index = arithmetic()
    assert constant_integer(index.quotient(block.args[0], index.constant(0))) == 0
    assert constant_integer(index.quotient(index.constant(5), index.constant(0))) == 0


@pytest.mark.parametrize("counts", [(3, 4, 2), (1, 5, 1), (1, 1), (6,), (), (2, 1, 3, 1)])
def test_digits(counts: tuple[int, ...]) -> None:
    block = block_with([INDEX])
    (number,) = block.args
    index = IndexLowering(block, UnknownLoc())
    at = BodyLowering(index, TensorType.of((), Float32Type()), {}, {})
    found = digits(at, number, [index.constant(count) for count in counts])
    for n in range(prod(counts)):
        left, expected = n, list[int]()
        for count in counts:
            left, digit = divmod(left, count)
            expected.append(digit)
        assert [value_of(v, {number: n}) for v in found] == expected
    divisions = [op for op in block.ops if isinstance(op, arith.FloorDivSIOp)]
    assert len(divisions) == max(0, sum(count > 1 for count in counts) - 1)


def nested(depth: int) -> list[IndexLowering]:
    """Blocks of one index each, one inside the other, and what emits into them."""
    found = [IndexLowering(block_with([INDEX]), UnknownLoc())]
    for _ in range(depth - 1):
        found.append(found[-1].inside(block_with([INDEX])))
    return found


def test_what_is_the_same_for_all_iterations_stands_outside() -> None:
    outer, middle, inner = nested(3)
    i, j, k = (level.block.args[0] for level in (outer, middle, inner))
    product = inner.mul(i, inner.constant(512))
    total = inner.add(product, j)
    largest = inner.max(total, k)
    found = [block_of(v) for v in (product, total, largest)]
    assert found == [outer.block, middle.block, inner.block]
    assert middle.mul(i, middle.constant(512)) is product
    assert middle.inside(block_with([INDEX])).add(product, j) is total


def test_a_division_by_what_may_be_zero_stays() -> None:
    outer, inner = nested(2)
    (i,) = outer.block.args
    quotient = inner.quotient(i, inner.add(i, inner.constant(1)))
    assert quotient.owner in inner.block.ops
    assert inner.quotient(i, inner.constant(3)).owner in outer.block.ops


@pytest.mark.parametrize("seed", seeds(40, of=2000, start=7300))
def test_positions(seed: int) -> None:
    """Positions of elements at fixed distances from each other are those of Python; strides may be
    sizes."""
    rng = random.Random(seed)
    levels = nested(4)
    inner, indices = levels[-1], [level.block.args[0] for level in levels]
    numbers = {v: rng.randint(0, 50) for v in indices}
    inner.values.update(zip(indices, indices, strict=True))
    for _ in range(3):
        factors = [-2, -1, 0, 1, 1, 3]
        bases = [Affine({v: rng.choice(factors) for v in indices}) for _ in range(3)]
        strides = [rng.choice([1, 7, 64, *indices[:2]]) for _ in bases]
        for _ in range(5):
            forms = [base + rng.choice([-1, 0, 0, 1, 2]) for base in bases]
            moved, steps = rng.choice(indices), rng.choice([0, 0, 1, 2])
            lowering = inner.placed({moved: Affine.of(moved) + steps}) if steps else inner
            at = {**numbers, moved: numbers[moved] + steps}
            expected = sum(
                form.evaluate(at) * (stride if isinstance(stride, int) else numbers[stride])
                for form, stride in zip(forms, strides, strict=True)
            )
            assert value_of(lowering.linear(forms, strides), numbers) == expected
    for level in levels[1:-1]:
        for op in level.block.ops:
            assert level.block in map(block_of, op.operands), "it is the same for all iterations"


def test_an_index_with_another_value_has_other_forms() -> None:
    """Forms of an index are forgotten where it gets another value, as a loop begins anew."""
    outer, inner = nested(2)
    (i,), (j,) = outer.block.args, inner.block.args
    inner.values.update({i: i, "N": i, "M": i})
    forms = [Affine.of(i) * 2 + 1, Affine.of("N") + 1, Affine.of("M") + 1]
    before = [inner.form(form) for form in forms]
    comparison = inner.once(("holds", forms[0]), lambda: arith.CmpiOp(i, j, "slt"))
    copy = inner.inside(inner.block)
    copy.values[i] = copy.values["N"] = j
    after = [copy.form(form) for form in forms]
    numbers: dict[SSAValue, int] = {i: 3, j: 5}
    assert [value_of(v, numbers) for v in (*before, *after)] == [7, 4, 4, 11, 6, 4]
    assert after[2] is before[2], "nothing has changed about M"
    assert copy.once(("holds", forms[0]), lambda: arith.CmpiOp(j, i, "slt")) is not comparison
    assert [inner.form(form) for form in forms] == before

"""Helpers that emit loops, branches, buffers on the stack and divisions without remainder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from xdsl.dialects import arith, memref
from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import INDEX, block_with, constant_integer
from tadc.dialects.tix import Affine
from tadc.passes.lowering import operations
from tadc.passes.lowering.scalars.body_lowering import BodyLowering

Fill = Callable[[BodyLowering, SSAValue], None]
"""Fills the block of a loop: gets its lowering and its index."""
FillCarrying = Callable[[BodyLowering, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""Fills the block of a loop that carries values: gets those, too, and gives the next ones."""


def loop(
    at: BodyLowering,
    low: SSAValue,
    high: SSAValue,
    hint: str | None,
    fill: Fill,
    step: int | SSAValue = 1,
) -> None:
    """`scf.for` over [low, high), its block filled by `fill`."""

    def fill_alone(inner: BodyLowering, k: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        fill(inner, k)
        return ()

    by = at.index.constant(step) if isinstance(step, int) else step
    carrying_loop(at, low, high, by, hint, (), fill_alone)


def carrying_loop(
    at: BodyLowering,
    low: SSAValue,
    high: SSAValue,
    step: SSAValue,
    hint: str | None,
    carried: Sequence[SSAValue],
    fill: FillCarrying,
) -> Sequence[SSAValue]:
    """`scf.for` over [low, high) with loop-carried values: gives their final values."""
    block = block_with([INDEX, *(v.type for v in carried)])
    block.args[0].name_hint = hint
    for argument, value in zip(block.args[1:], carried, strict=True):
        argument.name_hint = value.name_hint
    block.add_op(operations.end(*fill(at.inside(block), block.args[0], block.args[1:])))
    return at.insert(operations.loop(low, high, step, carried, block)).results


def repeat(at: BodyLowering, times: int, hint: str, fill: Fill) -> None:
    """A loop with a constant trip count; a single iteration is emitted without a loop."""
    zero = at.index.constant(0)
    if times == 1:
        fill(at, zero)
    else:
        loop(at, zero, at.index.constant(times), hint, fill)


def either(
    at: BodyLowering,
    test: SSAValue,
    then: Callable[[BodyLowering], None],
    otherwise: Callable[[BodyLowering], None],
) -> None:
    """`scf.if` without results."""
    blocks = Block(), Block()
    for block, fill in zip(blocks, (then, otherwise), strict=True):
        fill(at.inside(block))
        block.add_op(operations.end())
    at.insert(operations.branch(test, *blocks))


def one_of(
    at: BodyLowering,
    test: SSAValue,
    then: Callable[[BodyLowering], SSAValue],
    otherwise: Callable[[BodyLowering], SSAValue],
) -> SSAValue:
    """`scf.if` whose result is the number of the branch that is taken."""
    blocks = Block(), Block()
    for block, fill in zip(blocks, (then, otherwise), strict=True):
        block.add_op(operations.end(fill(at.inside(block))))
    return at.insert(operations.branch(test, *blocks, types=[at.element])).results[0]


def when(at: BodyLowering, test: SSAValue | None, then: Callable[[BodyLowering], None]) -> None:
    """`scf.if` without an else branch; without a test, the code runs always."""
    if test is None:
        return then(at)
    block = Block()
    then(at.inside(block))
    block.add_op(operations.end())
    at.insert(operations.branch(test, block))


def select(at: BodyLowering, test: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a` where the test holds, else `b`."""
    return a if a is b else at.insert(arith.SelectOp(test, a, b)).result


def all_of(at: BodyLowering, tests: list[SSAValue]) -> SSAValue:
    """The conjunction of one test or more."""

    def both(a: SSAValue, b: SSAValue) -> SSAValue:
        return at.index.once(("and", a, b), lambda: operations.binary(arith.AndIOp, a, b))

    return reduce(both, dict.fromkeys(tests))


def any_of(at: BodyLowering, tests: list[SSAValue]) -> SSAValue:
    """The disjunction of one test or more."""

    def either_test(a: SSAValue, b: SSAValue) -> SSAValue:
        return at.index.once(("or", a, b), lambda: operations.binary(arith.OrIOp, a, b))

    return reduce(either_test, dict.fromkeys(tests))


# --- numbers --------------------------------------------------------------------------------------


def divided(at: BodyLowering, a: SSAValue, b: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Quotient and remainder."""
    whole = at.index.quotient(a, b)
    return whole, at.index.sub(a, at.index.mul(whole, b))


def digits(at: BodyLowering, number: SSAValue, counts: Sequence[SSAValue]) -> list[SSAValue]:
    """The mixed-radix digits of a number, the lowest first: digit n is below `counts[n]`.

    With counts 4 and 3, the number 6 = 1 * 4 + 2 has the digits 2 and 1.
    """
    places = [n for n, count in enumerate(counts) if constant_integer(count) != 1]
    found = [at.index.constant(0) for _ in counts]
    for n in places[:-1]:
        number, found[n] = divided(at, number, counts[n])
    for n in places[-1:]:
        found[n] = number
    return found


def quotient_up(at: BodyLowering, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a / b`, rounded up."""
    return at.index.quotient(at.index.add(a, at.index.sub(b, at.index.constant(1))), b)


def rounded_up(at: BodyLowering, a: SSAValue, b: SSAValue) -> SSAValue:
    """The least multiple of b that is not below a."""
    return at.index.mul(quotient_up(at, a, b), b)


def mirrored(
    at: BodyLowering, low: SSAValue, high: SSAValue, step: SSAValue, k: SSAValue
) -> SSAValue:
    """The value that takes the place of k in a loop over [low, high) backwards.

    `step` divides the length of the range: the value of the first iteration is high - step.
    """
    return at.index.sub(at.index.add(low, at.index.sub(high, step)), k)


def at_least_one(at: BodyLowering, n: SSAValue) -> SSAValue:
    return at.index.max(n, at.index.constant(1))


# --- buffers --------------------------------------------------------------------------------------


def buffer(at: BodyLowering, elements: int, hint: str) -> SSAValue:
    """An uninitialized buffer on the stack."""
    op = at.insert(memref.AllocaOp.get(at.element, shape=[elements]))
    op.memref.name_hint = hint
    return op.memref


def zeros(at: BodyLowering, elements: int, hint: str) -> SSAValue:
    """A buffer of zeros on the stack."""
    target = buffer(at, elements, hint)
    repeat(at, elements, "z", lambda inner, z: store(inner, inner.constant(0.0), target, z))
    return target


def load(at: BodyLowering, source: SSAValue, position: SSAValue) -> SSAValue:
    return at.insert(operations.load(source, position)).res


def store(at: BodyLowering, value: SSAValue, target: SSAValue, position: SSAValue) -> None:
    at.insert(operations.store(value, target, position))


def store_element(at: BodyLowering, op: tix.DefineOp) -> None:
    """Compute the element of a definition at the values that its indices have, and store it."""
    store_value(at, op, at.region(op.body))


def store_value(at: BodyLowering, op: tix.DefineOp, value: SSAValue) -> None:
    """Store an element of a definition at the values that its indices have."""
    place = at.index.linear([Affine.of(v) for v in op.indices], at.strides[op.result, op.shape])
    store(at, value, at.buffers[op.result], place)

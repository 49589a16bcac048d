"""Operations of our dialects are to their users what the definitions of xDSL make of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.ir import Block, Operation, SSAValue, Use
from xdsl.irdl.operations import get_accessors_from_op_def
from xdsl.parser import Parser

from tadc.dialects.quick import QuickOperation, append, block_with, clone, make, walk
from tadc.dialects.tix import BINARY, ConstantOp, UnaryOp
from tadc.support.ir_text import context
from tests.support.paths import ROOT

FILES = ("tix", "tix-functions", "tix-linear", "loops", "loops-lanes")


@pytest.fixture(params=FILES, scope="module")
def module(request: pytest.FixtureRequest) -> ModuleOp:
    """Every operation of a dialect once."""
    ctx = context().clone()
    ctx.allow_unregistered = True
    ctx.load_dialect(vector.Vector)
    text = (ROOT / f"lit_tests/dialects/{request.param}.mlir").read_text()
    return Parser(ctx, text).parse_module()


def ours(module: ModuleOp) -> Iterator[QuickOperation]:
    return (op for op in module.walk() if isinstance(op, QuickOperation))


def test_parts_are_those_of_the_definition(module: ModuleOp):
    checked = 0
    for op in ours(module):
        accessors = get_accessors_from_op_def(op.get_irdl_definition(), None)
        for name, accessor in accessors.items():
            if hasattr(accessor, "__set__"):
                expected = accessor.__get__(op)
                found = getattr(op, name)
                assert found is expected or found == expected
                checked += 1
    assert checked > 20


def test_walks_have_the_order_of_xdsl(module: ModuleOp):
    for op in ours(module):
        assert list(op.walk()) == list(Operation.walk(op))
        assert [*op.walk(reverse=True)] == [*Operation.walk(op, reverse=True)]


def test_an_operation_may_go_while_a_walk_is_at_it():
    first = ConstantOp(1)
    second = BINARY["+"](first.result, first.result)
    module = ModuleOp([first, second])
    seen: list[Operation] = []
    for op in walk(module):
        seen.append(op)
        if op is not module:
            op.detach()
    assert seen == [module, first, second]


def test_classes_are_those_of_python(module: ModuleOp):
    for op in ours(module):
        for kind in (*type(op).__mro__, UnaryOp, ConstantOp):
            assert isinstance(op, kind) == issubclass(type(op), kind)


def test_copies_are_those_that_xdsl_makes(module: ModuleOp):
    def found(copy: ModuleOp) -> list[tuple[object, ...]]:
        ops = list(copy.walk())
        numbers = {v: n for n, v in enumerate(v for op in ops for v in values_at(op))}
        return [
            (
                *(type(op), op.properties, op.attributes, op.location),
                [numbers[v] for v in op.operands],
                [(v.type, v.name_hint) for v in values_at(op)],
                [[numbers_of(use, ops) for use in v.uses] for v in values_at(op)],
            )
            for op in ops
        ]

    def numbers_of(use: Use, ops: list[Operation]) -> tuple[int, int]:
        return ops.index(use.operation), use.index

    own, expected = clone(module), module.clone()
    own.verify()
    assert str(own) == str(module)
    assert found(own) == found(expected)


def values_at(op: Operation) -> list[SSAValue]:
    """The results of an operation, and the arguments of its blocks."""
    arguments = (v for region in op.regions for block in region.blocks for v in block.args)
    return [*op.results, *arguments]


def test_a_copy_reads_other_values():
    a, b = (ConstantOp(n).result for n in (1, 2))
    op = BINARY["*"](a, a)
    values: dict[SSAValue, SSAValue] = {a: b}
    copy = op.clone(values)
    assert list(copy.operands) == [b, b]
    assert values[op.result] is copy.result


def test_python_tells_values_and_operations_apart():
    a, b = (ConstantOp(n) for n in (1, 1))
    x, y = block_with([f64, f64]).args
    for one, other in ((a, b), (a.result, b.result), (x, y)):
        assert one == one and one != other
        assert {one: 1, other: 2}[one] == 1
        assert type(one).__hash__ is object.__hash__
    assert (a.result.owner, a.result.type) == (a, a.result_types[0])
    assert (x.owner, x.type, x.index, y.index) == (x.block, f64, 0, 1)


def parts(op: Operation) -> tuple[object, ...]:
    types = [r.type for r in op.results], [(r.op is op, r.index) for r in op.results]
    return type(op), list(op.operands), *types, op.properties, op.attributes, op.location


def uses(value: SSAValue) -> list[tuple[Operation, int]]:
    return [(use.operation, use.index) for use in value.uses]


def test_made_operations_are_those_that_xdsl_creates():
    a, b = (arith.ConstantOp.create(result_types=[f64]).results[0] for _ in range(2))
    created = arith.AddfOp.create(operands=[a, b], result_types=[f64])
    assert created.properties  # by default
    made = make(arith.AddfOp, (a, b), (f64,))
    assert parts(made) == parts(created)
    assert uses(a) == [(made, 0), (created, 0)]
    given = {"fastmath": arith.FastMathFlagsAttr("fast")}
    assert make(arith.AddfOp, (a, b), (f64,), given).properties == given
    assert made.properties == created.properties


def test_blocks_are_those_that_xdsl_fills():
    ops = [ConstantOp(n) for n in range(4)]
    block = Block()
    for op in ops[:3]:
        append(block, op)
    block.add_op(ops[3])
    assert list(block.ops) == ops
    assert list(reversed(block.ops)) == ops[::-1]
    assert all(op.parent is block for op in ops)
    ops[1].detach()
    assert list(block.ops) == [ops[0], *ops[2:]]
    with pytest.raises(AssertionError):
        append(block, ops[0])


def test_uses_follow_operands():
    a, b = (ConstantOp(n).result for n in (1, 2))
    op = BINARY["*"](a, a)
    assert uses(a) == [(op, 1), (op, 0)]
    a.replace_all_uses_with(b)
    assert list(op.operands) == [b, b]
    assert not list(a.uses)
    other = BINARY["*"](a, b)
    op.erase()
    assert uses(b) == [(other, 1)]
    other.operands[1] = a
    assert uses(a) == [(other, 1), (other, 0)]
    assert not list(b.uses)

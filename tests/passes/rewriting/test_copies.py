"""Copies of programs: of operations of their own, which mean the same."""

from __future__ import annotations

import pytest
from xdsl.ir import SSAValue

import tadc
from tadc.dialects import tix
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import copy_changed, copy_program, start_copy
from tests.support.workloads import WORKLOADS


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_copy_is_the_same_of_other_operations(name: str) -> None:
    program = tadc.compile(WORKLOADS[name][0]).derivative().program.op
    text, copy = str(program), copy_program(program)
    copy.verify()
    assert str(copy) == str(program) == text
    assert {*copy.walk()}.isdisjoint(program.walk())
    read = {v for op in copy.walk() for v in op.operands}
    assert read.isdisjoint(v for op in program.walk() for v in op.results)
    assert read.isdisjoint(program.body.block.args)


class Doubling(Cloner):
    """Copies; each read becomes the sum of two."""

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        return self.builder.add(super().copy_read(op), super().copy_read(op))


def test_what_does_not_change_is_copied_as_it_is() -> None:
    program = tadc.compile("y[i] = x[i] * 2\nz[i] = exp(x[i])").program.op
    first, second = program.definitions
    builder, cloner = start_copy(Doubling, program)
    for op in (first, second):
        cloner.values[op.result] = copy_changed(builder, cloner, op, {*second.walk()})
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    own, other = map(str, made.definitions)
    assert own == str(first)
    assert other.count("tix.read") == 2

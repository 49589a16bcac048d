"""Equal quotients in one definition are one value, in every block that sees the first one."""

from __future__ import annotations

import random

import pytest
from xdsl.ir import Block

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.passes.rewriting.builder import BodyBuilder
from tests.support.random_programs import random_program


def repeated(block: Block, seen: frozenset[tuple[Affine, int]] = frozenset()) -> list[Affine]:
    """Forms that are divided again where a quotient by the same number is visible."""
    found: list[Affine] = []
    for op in block.ops:
        if isinstance(op, tix.FloorDivOp):
            key = op.form, op.divisor.data
            found += [op.form] if key in seen else []
            seen |= {key}
        found += (f for region in op.regions for f in repeated(region.block, seen))
    return found


@pytest.mark.parametrize("seed", [*range(12), 553])
def test_no_quotient_is_computed_twice(seed: int) -> None:
    derivative = tadc.compile(random_program(random.Random(seed)).source).derivative()
    assert not [f for d in derivative.program.op.definitions for f in repeated(d.body.block)]


def test_equal_quotients_cancel() -> None:
    f = tadc.compile("x: f64[3]\nf[i in range(6)] = x[i // 2 - i // 2 + 1] * y[i // 2]")
    line = "dx[p in range(3)] = sum[i](df[i] * y[i // 2]) if p == 1 else 0"
    assert str(f.derivative("x")).splitlines()[-2] == line


@pytest.mark.parametrize("divisor", range(1, 8))
def test_quotients_keep_their_value(divisor: int) -> None:
    rng = random.Random(divisor)
    for _ in range(50):
        block = Block()
        form = Affine({n: rng.randint(-20, 20) for n in "NM"}, rng.randint(-20, 20))
        quotient = BodyBuilder(block, tix.ConstantOp(0).location).floordiv(form, divisor)
        values: dict[tix.Variable, int] = {"N": rng.randint(-30, 30), "M": rng.randint(-30, 30)}
        expected = form.evaluate(values) // divisor
        for op in block.ops:
            assert isinstance(op, tix.FloorDivOp)
            assert all(0 < c < divisor for c in op.form.terms.values())
            values[op.result] = op.form.evaluate(values) // divisor
        assert quotient.evaluate(values) == expected

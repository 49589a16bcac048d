"""Numbers are never below 0 where that follows, and only there."""

from __future__ import annotations

import pytest
from xdsl.dialects import vector

from tadc.targets.llvm_signs import is_never_negative
from tests.support.scheduled_programs import parse
from tests.targets.vector_kernels import of_vectors

NEVER = {
    "a square": "%r = arith.mulf %0, %0 : V",
    "a sum of squares": "%a = arith.mulf %0, %0 : V  %r = math.fma %1, %1, %a : V",
    "with a constant": "%c = arith.constant dense<0.5> : V  %a = math.absf %0 : V  "
    "%r = arith.addf %a, %c : V",
    "by a constant": "%c = arith.constant dense<3.0> : V  %a = math.exp %0 : V  "
    "%r = arith.divf %a, %c : V",
    "a product": "%a = math.absf %0 : V  %d = math.exp %1 : V  %r = arith.mulf %a, %d : V",
}
PERHAPS = {
    "an element": "%c = arith.constant dense<0.0> : V  %r = arith.addf %0, %c : V",
    "a product": "%r = arith.mulf %0, %1 : V",
    "a difference": "%a = arith.mulf %0, %0 : V  %d = arith.mulf %1, %1 : V  "
    "%r = arith.subf %a, %d : V",
    "with a constant": "%c = arith.constant dense<-0.5> : V  %a = math.absf %0 : V  "
    "%r = arith.addf %a, %c : V",
    "by a number": "%a = math.absf %0 : V  %d = math.absf %1 : V  %r = arith.divf %a, %d : V",
    "a square and more": "%r = math.fma %0, %0, %1 : V",
}


def stored(lines: str) -> bool:
    """The answer for `%r`, made of the vectors `%0` and `%1`."""
    module = parse(of_vectors(lines, {"y": "f32", "x0": "f32", "x1": "f32"}, 4))
    (store,) = (op for op in module.walk() if isinstance(op, vector.StoreOp))
    return is_never_negative(store.vector)


@pytest.mark.parametrize("name", NEVER)
def test_what_follows(name: str) -> None:
    assert stored(NEVER[name])


@pytest.mark.parametrize("name", PERHAPS)
def test_what_does_not_follow(name: str) -> None:
    assert not stored(PERHAPS[name])


def test_values_that_share_much_take_linear_time() -> None:
    lines = "%a0 = math.absf %0 : V  "
    lines += "  ".join(f"%a{n + 1} = arith.addf %a{n}, %a{n} : V" for n in range(200))
    assert stored(lines + "  %r = arith.addf %a200, %a200 : V")

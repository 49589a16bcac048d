"""Boxes around the index sets of reductions bound every index."""

from __future__ import annotations

from itertools import product

import pytest
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.analysis.stage_checks import require_bounded
from tadc.passes.scheduling.tiles.bounding_boxes import box_around
from tests.interpreter.tix_text import parse

SUM = """
tix.program @f (%x = "x" : !tix.tensor<[9, 9], f64>) {
  %y = tix.define "y" (%i, %j) : !tix.tensor<[40, 16], f64> {
    %0 = tix.sum (%k, %l) in (%k >= 0, %i >= %k + 7, %j + %k <= 1, %i + %l >= 8, %l >= %j,
                              %k + %l <= 1) {
      %1 = tix.read %x[%k, %l]
      tix.yield %1
    }
    tix.yield %0
  }
  tix.return %y
}"""


@pytest.mark.parametrize(("long", "bands"), [*product([False, True], repeat=2)])
def test_an_index_is_bounded_without_the_later_ones(long: bool, bands: bool) -> None:
    """That k + l is at most 1 bounds l, where k is known, and not k."""
    program = parse(SUM)
    (total,) = (op for op in program.walk() if isinstance(op, tix.SumOp))
    box = box_around(total, long, bands)
    if box is not None:
        wider = tix.SumOp(box, total.detach_region(total.body))
        Rewriter.replace_op(total, wider)
    require_bounded(program)


CORNER = """
tix.program @f (%x = "x" : !tix.tensor<[N], f64>) {
  %y = tix.define "y" (%a) : !tix.tensor<[3], f64> {
    %0 = tix.sum (%i, %j) in (%i >= 0, %i + 1 <= N, %i + %a <= 1, %j >= 0, %j + 1 <= N,
                              %j + %a >= N) {
      %1 = tix.read %x[%i]
      %2 = tix.read %x[%j]
      %3 = tix.mul %1, %2
      tix.yield %3
    }
    tix.yield %0
  }
  tix.return %y
}"""


@pytest.mark.parametrize("long", [False, True])
def test_the_box_of_a_corner_is_small(long: bool) -> None:
    """A few values of a long index, at either end, are no half of it."""
    (total,) = (op for op in parse(CORNER).walk() if isinstance(op, tix.SumOp))
    box = box_around(total, long, bands=True)
    assert box is not None
    i, j = total.indices
    assert Constraint(1 - Affine.of(i)) in box
    assert Constraint(Affine.of(j) - Affine.of("N") + 2) in box

"""The trees of definitions that share rows."""

from __future__ import annotations

import pytest

import tadc
from tadc.passes.analysis.equivalence import equivalent_definitions
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.passes.scheduling.choose_nests import nests_of
from tadc.passes.scheduling.loop_tree.text import tree_text
from tadc.passes.scheduling.nest import Rows
from tadc.passes.scheduling.recipes.rows import rows

SOFTMAX = """\
x: f32[I, J]
m[i] = max[j](x[i, j])
s[i] = sum[k](exp(x[i, k] - m[i]))
y[i, j] = exp(x[i, j] - m[i]) / s[i]
return y
"""

SOFTMAX_TREE = """\
m[i], s[i], y[i, j_1]:
  parallel i by 4
    jam i by 4
      for i by 4 if J <= 128 peel
        vector j by 64 in 16
          begin max m.1[j]
          for j by 64 mask
            add m.1
          combine lanes of m.1
        keep m
        vector k by 16 in 16
          begin sum s.1[k]
          for k by 16 mask
            add s.1
          combine lanes of s.1
        keep s
        by reciprocals y
          vector j_1 by 16 in 16
            for j_1 by 16 mask
              store y"""

CHOICE = """\
x: f32[I, J]
g: f32[I]
s[i] = sum[j](x[i, j]) if g[i] > 3 else x[i, 0]
y[i, j] = x[i, j] - s[i]
"""

CHOICE_TREE = """\
s[i], y[i, j_1]:
  parallel i
    where it is needed s.1
      vector j by 64 in 16
        begin sum s.1[j]
        for j by 64 mask
          add s.1
        combine lanes of s.1
    keep s
    vector j_1 by 32 in 16
      for j_1 by 32 mask
        store y"""

SCAN = "x: f32[I, J]\ny[i, j in range(J)] = sum[k in range(j, J)](x[i, k])"

SCAN_TREE = """\
y[i, j]:
  parallel i
    vector j by 16 in 16
      begin sum y.1[k]
      for j by 16 backwards mask
        carry y.1
        store y"""

PIECES = """\
x: f32[I, J]
m[i] = sum[j](x[i, j])
c[p in range((I + 31) // 32), j] = sum[i in range(32 * p, min(32 * p + 32, I))](x[i, j] * m[i])
"""

PIECES_TREE = """\
c[p, j], m[i_1]:
  parallel p
    buffer c.1[j] in the result
      vector j by 32 in 16
        for j by 32 mask
          begin sum c.1[i_1]
      jam i_1 by 4
        for i_1 by 4 if J <= 128 peel
          vector j_1 by 64 in 16
            begin sum m.1[j_1]
            for j_1 by 64 mask
              add m.1
            combine lanes of m.1
          keep m
          vector j by 16 in 16
            for j by 16 mask
              add c.1"""


@pytest.mark.parametrize(
    ("source", "sizes", "tree"),
    [
        (SOFTMAX, {"I": 1000, "J": 100}, SOFTMAX_TREE),
        (CHOICE, {"I": 1000, "J": 1000}, CHOICE_TREE),
        (SCAN, {"I": 1000, "J": 1000}, SCAN_TREE),
        (PIECES, {"I": 1000, "J": 100}, PIECES_TREE),
    ],
    ids=["jammed rows", "a reduction in a choice", "a scan along rows", "sums over rows"],
)
def test_rows_are_a_tree(source: str, sizes: dict[str, int], tree: str):
    op = set_precision(tadc.compile(source).program.op, "f32")
    choose = blocking_chooser(True, [f"{name}={size}" for name, size in sizes.items()])
    (nest,) = nests_of(equivalent_definitions(op, set()), choose, set())
    assert isinstance(nest.loops, Rows)
    assert tree_text(rows(nest.members, nest.loops, SizeBounds.in_calls(op))) == tree

"""The text of trees of loops, an example of each recipe."""

from __future__ import annotations

import tadc
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.loop_tree.text import tree_text
from tadc.passes.scheduling.nest import Strips
from tadc.passes.scheduling.recipes.column_scans import column_scan
from tadc.passes.scheduling.recipes.elementwise import elementwise
from tadc.passes.scheduling.recipes.recurrence import recurrence
from tadc.passes.scheduling.recipes.strips import strips
from tadc.passes.scheduling.recurrences import recurrence_of
from tadc.passes.scheduling.rows.storage_reuse import places_of
from tadc.passes.scheduling.scans import column_scans


def test_elementwise_loops_are_parallel() -> None:
    (y,) = tadc.compile("y[i, j] = x[j, i] * s").program.op.definitions
    assert tree_text(elementwise(y)) == "y[i, j]:\n  parallel i\n    parallel j\n      store y"


def test_an_element_without_indices_has_no_loops() -> None:
    (y,) = tadc.compile("y = sum[i](x[i])").program.op.definitions
    assert tree_text(elementwise(y)) == "y:\n  store y"


STRIPS = """\
m[n, p], y[n, c_1, p]:
  parallel n
    parallel p by 64
      vector p by 64 in 16
        for p by 64 mask
          begin sum m.1[c]
          for c
            add m.1
          keep m
          for c_1
            store y"""


def test_strips_are_parts_of_columns() -> None:
    source = "m[n, p] = sum[c](x[n, c, p])\ny[n, c, p] = x[n, c, p] / m[n, p]\nreturn y"
    program = set_precision(tadc.compile(f"x: f32[N, C, P]\n{source}").program.op, "f32")
    members = [*program.definitions]
    m, y = members
    shared = {m: m.indices, y: [y.indices[0], y.indices[2]]}
    found = Strips(shared, *places_of(members, 2))
    assert tree_text(strips(members, found)) == STRIPS


COLUMNS = """\
y[i, j]:
  parallel j by 512
    buffer y.1[j]
      begin sum y.1[k]
      for k
        vector j by 64 in 16
          for j by 64 mask
            add y.1
      for i by 4096 backwards
        for i backwards
          if i >= 3
            vector j by 64 in 16
              for j by 64 mask
                carry y.1
          vector j by 64 in 16
            for j by 64 mask
              store y
        join y.1"""


def test_column_scans_have_totals_in_memory() -> None:
    source = (
        "x: f32[I, J]\ny[i in range(I), j in range(J)] = sum[k in range(max(0, i - 3), I)](x[k, j])"
    )
    (y,) = set_precision(tadc.compile(source).program.op, "f32").definitions
    assert tree_text(column_scan(y, column_scans(y, IndexUses()))) == COLUMNS


RECURRENCE = """\
y[i, k]:
  parallel i
    begin sum y.1[j]
    for k backwards
      carry y.1
      store y"""


def test_recurrences_carry_totals() -> None:
    total = "sum[j in range(k, N)](t[i, j] * prod[l in range(k + 1, j + 1)](w[l]))"
    source = f"t: f64[I, N]\ny[i, k in range(N)] = {total}"
    (op,) = tadc.compile(source).program.op.definitions
    found = recurrence_of(op)
    assert found is not None
    assert tree_text(recurrence(op, found)) == RECURRENCE

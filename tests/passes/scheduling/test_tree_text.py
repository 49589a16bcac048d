"""The text of trees of loops, an example of each recipe."""

from __future__ import annotations

import tadc
from tadc.passes.scheduling.nest import Strips
from tadc.passes.scheduling.recipes.elementwise import elementwise
from tadc.passes.scheduling.recipes.recurrence import recurrence
from tadc.passes.scheduling.recipes.strips import strips
from tadc.passes.scheduling.recurrences import recurrence_of
from tadc.passes.scheduling.rows.row_places import places_of
from tadc.passes.scheduling.tree.text import tree_text
from tadc.passes.set_precision import set_precision


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

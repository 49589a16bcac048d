"""Forms and constraints that operations keep follow their operands and attributes."""

from __future__ import annotations

import pickle

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Affine, MapAttr
from tadc.dialects.tix.attributes import map_over

SOURCE = "x: f64[40, 40]\ny[i in range(9), j in range(9)] = sum[k in range(j, 9)](x[i + 2 * j, k])"


def definition() -> tuple[tix.DefineOp, tix.SumOp, tix.ReadOp]:
    (op,) = tadc.compile(SOURCE).program.op.clone().definitions
    (total,) = (o for o in op.walk() if isinstance(o, tix.SumOp))
    (read,) = (o for o in op.walk() if isinstance(o, tix.ReadOp))
    return op, total, read


def test_forms_follow_operands():
    op, total, read = definition()
    i, j = op.indices
    (k,) = total.indices
    assert read.forms == [Affine({i: 1, j: 2}), Affine.of(k)]
    j.replace_all_uses_with(i)
    assert read.forms == [3 * Affine.of(i), Affine.of(k)]
    assert {v for c in total.constraints for v in c.form.indices} == {i, k}


def test_forms_follow_attributes():
    _, _, read = definition()
    first, second = read.forms
    _, read.map = map_over([first + 1, second])
    assert isinstance(read.map, MapAttr)
    assert read.forms == [first + 1, second]


def test_lists_of_forms_belong_to_who_asks():
    _, total, read = definition()
    read.forms.clear()
    total.constraints.clear()
    assert len(read.forms) == 2
    assert len(total.constraints) == 2


def test_hashes_stay_in_a_process():
    form = Affine({"N": 2}, 1)
    assert hash(form) == hash(Affine({"N": 2}, 1))
    assert b"_hash" not in pickle.dumps(form)
    assert pickle.loads(pickle.dumps(form)) == form


def test_conditions_follow_operands():
    source = "x: f64[40]\ny[i in range(9), j in range(9)] = x[i] if i + j <= 7 else x[j]"
    (op,) = tadc.compile(source).program.op.clone().definitions
    (choice,) = (o for o in op.walk() if isinstance(o, tix.IfOp))
    i, j = op.indices
    assert [[c.form[v] for v in (i, j)] for (c,) in choice.condition] == [[-1, -1]]
    choice.condition[0].clear()
    j.replace_all_uses_with(i)
    assert [c.form for (c,) in choice.condition] == [Affine({i: -2}, 7)]

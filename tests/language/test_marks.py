"""Marks in printed programs: the characters of each operation, and the text without them."""

from __future__ import annotations

import random

from xdsl.ir import Operation

import tadc
from tadc.dialects.tix import ReadOp
from tadc.language.printing.marks import Mark, marked, unmarked
from tadc.language.printing.program import print_marked_program
from tests.support.random_programs import random_program


def test_marks_are_taken_out():
    inner = marked("b", "two")
    assert unmarked(f"a + ({marked(f'{inner} + c', 'one')})") == (
        "a + (b + c)",
        [Mark(5, 10, "one"), Mark(5, 6, "two")],
    )
    assert unmarked("a") == ("a", [])


def name(op: Operation) -> str | None:
    return None if op.name == "tix.constant" else op.name


def test_marks_leave_the_text_of_random_programs_as_it_is():
    found = 0
    for seed in range(30):
        program = tadc.compile(random_program(random.Random(seed)).source).derivative().program
        text, marks = print_marked_program(program.op, name)
        assert text == str(program)
        found += len(marks)
    assert found > 100


def test_a_read_is_marked_where_it_stands():
    program = tadc.compile("y[i] = (x[i + 1] - x[i])**2 + pad(x[i - 2])").program
    text, marks = print_marked_program(
        program.op, lambda op: "read" if isinstance(op, ReadOp) else None
    )
    assert [text[m.start : m.end] for m in marks] == ["x[i + 1]", "x[i]", "x[i - 2]"]

"""Damaged programs: whatever the text is, only a located `TadcError` comes out.

What is still a program is printed and read back.
"""

import random
from pathlib import Path

import pytest

from dialects.tix import ProgramOp
from tadc.errors import TadcError
from tadc.language import parse, print_program

PROGRAMS = Path(__file__).with_name("programs.tad").read_text().split("# ---\n")
CASES = 3000
CHARACTERS = "()[]{},:;=+-*/%<>!.\n\r\f\t 0129ijkxyNs\"'#\\@~&|^é\0\u2028\ud800\ufeff"
WORDS = [
    "if",
    "else",
    "and",
    "or",
    "not",
    "in",
    "range",
    "sum[k]",
    "pad(",
    "max(",
    "min(",
    "return",
    "f64",
    "f32[",
    "x[",
    "i",
    "j",
    "k",
    "N",
    "//",
    "%",
    "**",
    "==",
    "!=",
    "0",
    "-1",
    "99999999999999999999",
    "1e400",
    "1j",
    "True",
    "'s'",
    "lambda",
    "(",
    "((((",
    ")",
    ")",
    "[",
    "]",
    ":=",
    "...",
    "*",
    "exp",
    "prod",
]


def damaged(r: random.Random) -> str:
    text = r.choice(PROGRAMS)
    for _ in range(r.choice([1, 1, 1, 2, 3, 5])):
        start = r.randrange(len(text) + 1)
        end = start + r.choice([0, 0, 1, 1, 2, 5, 20])
        other = r.choice(PROGRAMS)
        cut = r.randrange(len(other))
        new = [r.choice(CHARACTERS), r.choice(WORDS), "", other[cut : cut + r.choice([1, 9, 30])]]
        text = text[:start] + r.choices(new, [6, 8, 3, 3])[0] + text[end:]
    return text


@pytest.mark.parametrize("part", range(10))
def test_damaged_programs(part):
    r = random.Random(part)
    for _ in range(CASES // 10):
        text = damaged(r)
        try:
            module = parse(text)
        except TadcError as error:
            assert error.line is not None and 1 <= error.line <= len(text.splitlines()) + 1
            assert error.column is not None and error.column >= 1
            assert str(error).startswith(f"<program>:{error.line}:{error.column}: ")
            continue
        module.verify()
        program = module.body.block.first_op
        assert isinstance(program, ProgramOp)
        printed = print_program(program)
        again = parse(printed).body.block.first_op
        assert isinstance(again, ProgramOp)
        assert print_program(again) == printed

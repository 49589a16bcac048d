"""Every kind of mistake: the error's kind, place, underlined text, and words."""

import pickle
import sys

import pytest

from tadc import errors
from tadc.dialects.tix import ProgramOp
from tadc.errors import Span, TadcError
from tadc.language import parse, print_program
from tadc.language.hints import SAID_DIFFERENTLY
from tests.language.mistakes import TABLE


@pytest.mark.parametrize("marked, kind, message, hint", TABLE)
def test_each_mistake_has_its_kind_place_and_words(marked, kind, message, hint):
    text = marked.replace("«", "").replace("»", "")
    before, inside = marked.split("«")[0], marked.split("«")[1].split("»")[0]
    with pytest.raises(TadcError) as caught:
        parse(text, "some/model.tad")
    error = caught.value
    assert type(error) is getattr(errors, kind)
    assert (error.file, error.line) == ("some/model.tad", before.count("\n") + 1)
    assert error.column == len(before.split("\n")[-1]) + 1
    assert message in error.message
    assert hint in (error.hint or "")
    if inside:
        assert error.span is not None
        assert error.span.excerpt == inside
    assert str(error).startswith(f"some/model.tad:{error.line}:{error.column}: {error.message}\n")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte-order-mark"])
@pytest.mark.parametrize("marked", [row[0] for row in TABLE])
def test_line_ends_and_byte_order_marks_move_no_error(marked, end, mark):
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(TadcError) as caught:
        parse(text)
    with pytest.raises(TadcError) as other:
        parse(mark + text.replace("\n", end))
    assert str(other.value) == str(caught.value)


def test_lines_end_by_a_lone_carriage_return_too():
    for text in ("y\ri] = x[i]", "y\ni] = x[i]", "y\r\ni] = x[i]"):
        with pytest.raises(TadcError) as caught:
            parse(text)
        span = caught.value.span
        assert span and (span.line, span.column, span.text) == (2, 2, "i] = x[i]")
        assert text.splitlines()[span.line - 1] == span.text


def test_the_text_of_an_error():
    with pytest.raises(TadcError) as caught:
        parse("x: f64[8]\n\nαβ[i] = 2 *\tx[i] + x[i + 1]*expp(1)\n", "m.tad")
    assert str(caught.value) == (
        "m.tad:3:29: there is no function expp\n"
        "    αβ[i] = 2 *\tx[i] + x[i + 1]*expp(1)\n"
        "               \t                ^^^^\n"
        "hint: did you mean exp?"
    )


def test_wide_characters_take_two_columns():
    span = Span("f", 1, 2, 3, "字z")
    assert str(TadcError("no", span)).splitlines()[1:] == ["    字z", "      ^"]


def test_an_error_without_a_place():
    assert str(TadcError("no such argument", hint="pass x")) == "no such argument\nhint: pass x"
    assert str(errors.FileError("cannot be read", file="f.tad")) == "f.tad: cannot be read"


def test_the_facts_of_an_error():
    with pytest.raises(errors.SizeError) as caught:
        parse("a: f64[3]\nb: f64[5, 4]\ny[i] = a[i] * b[0, i]")
    error = caught.value
    assert (error.index, error.size, error.argument, error.dimension) == ("i", 4, "b", 1)
    assert error.range is None
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.SizeError
    assert str(copy) == str(error)
    assert copy.index == "i"


def test_text_without_a_file():
    with pytest.raises(TadcError) as caught:
        parse("y")
    assert caught.value.file == "<program>"


@pytest.mark.parametrize("source", [None, b"y[i] = x[i]", 3])
def test_what_is_not_text(source):
    with pytest.raises(errors.TadcSyntaxError, match="a program is text"):
        parse(source)


@pytest.mark.parametrize(
    "text",
    [
        "y = " + "(" * 5000 + "1" + ")" * 5000,
        "y = " + "-" * 5000 + "x",
        "y = " + "exp(" * 150 + "x" + ")" * 150,
        "y[i] = x[" + "2*(" * 150 + "i" + ")" * 150 + "]",
        "y = " + " + ".join("x" * 5000),
        "y = " + "x if " * 3000 + "x" + " else x" * 3000,
        "y = " + "sum[k](" * 3000,
    ],
    ids=["parentheses", "signs", "calls", "indices", "terms", "conditions", "sums"],
)
def test_what_is_nested_too_deeply_is_underlined(text):
    try:
        parse("x: f64[]\n" * ("[i]" not in text) + text)
    except TadcError as error:
        assert error.line and error.column


@pytest.mark.parametrize("sign", "+-*")
def test_long_sums_are_no_deep_nesting(sign):
    terms = f" {sign} ".join(f"x[{n % 9}]" for n in range(1500))
    limit = sys.getrecursionlimit()
    program = parse(f"x: f64[9]\ny = {terms}").body.block.first_op
    assert isinstance(program, ProgramOp)
    assert sys.getrecursionlimit() == limit
    assert terms in print_program(program)


def test_long_indices_are_no_deep_nesting():
    zeros = " + 0" * 1500
    parse(f"x: f64[9]\ny[i in range(9)] = x[i{zeros}] if i{zeros} < 3 else 0")


def test_the_place_of_deep_nesting():
    text = "x: f64[]\ny[i in range(3)] = " + "1 if i == 3 else " * 3000 + "x"
    with pytest.raises(errors.TadcSyntaxError, match="nested too deeply here") as caught:
        parse(text)
    error = caught.value
    assert error.line == 2
    assert error.column is not None and error.column > len(text) - 80


@pytest.mark.parametrize("name", [n for n, h in SAID_DIFFERENTLY.items() if h.startswith("write ")])
def test_what_hints_say_to_write_is_a_program(name):
    lines = SAID_DIFFERENTLY[name].removeprefix("write ").replace(" c ", " x > 0 ")
    *above, last = lines.split(", and below it ")
    last = last if " = " in last else f"result{'[i]' * last.startswith('e[i]')} = {last}"
    scalar = " if " in last and "x[" not in last
    declared = ["x: f64[N]"] if "N" in last else ["x: f64[]"] * scalar
    parse("\n".join([*declared, *above, last]))

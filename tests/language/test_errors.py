"""Every kind of mistake: the error's kind, place, underlined text, and words."""

import pickle
import sys

import pytest

from tadc import errors
from tadc.dialects.tix import ProgramOp
from tadc.errors import Span, TadcError
from tadc.language import parse, print_program
from tadc.language.hints import SAID_DIFFERENTLY

# text with the offending part between « and », kind, part of the message, part of the hint
TABLE = [
    # syntax
    ("y[i] = x«[»i", "TadcSyntaxError", "'[' was never closed", ""),
    ("«»", "TadcSyntaxError", "the program defines nothing", "y[i] ="),
    ("«»x: f64[3]\n# nothing else", "TadcSyntaxError", "defines nothing", ""),
    ("y[i] = x[i]\n« »y = 1", "TadcSyntaxError", "unexpected indent", ""),
    ("y[i] = x[i] +«\0»", "TadcSyntaxError", "U+0000", "UTF-8"),
    ("y[i] = x[i] +«\ud800»", "TadcSyntaxError", "U+D800", "UTF-8"),
    ("«import numpy as np»", "TadcSyntaxError", "nothing is imported", "exp"),
    ("«for i in range(3): y[i] = x[i]»", "TadcSyntaxError", "loops", "an index"),
    ("«del x»", "TadcSyntaxError", "Delete statements", ""),
    ("y[i] = x[i]\n«y»", "TadcSyntaxError", "not used", ""),
    ("y[i] = x[i] + «'é'»", "TadcSyntaxError", "text is not a number", ""),
    ("y[i] = x[i] + «2j»", "TadcSyntaxError", "a complex number", ""),
    ("y[i] = x[i] + «True»", "TadcSyntaxError", "a truth value", ""),
    ("y[i] = x[i] + «1" + "0" * 400 + "»", "TadcSyntaxError", "larger than any float64", "1e999"),
    ("y[i] = x[i] - «1e400»", "TadcSyntaxError", "larger than any float64", "1.8e308"),
    ("y[i] = «x[i] ^ 2»", "TadcSyntaxError", "operator", "**"),
    ("y[i] = «~x[i]»", "TadcSyntaxError", "operator", ""),
    ("y[i] = «x[i] // 2»", "TadcSyntaxError", "for indices", "/"),
    ("y[i] = («lambda: 1»)(x[i])", "TadcSyntaxError", "only functions", ""),
    ("y[i] = «np.exp»(x[i])", "TadcSyntaxError", "no attributes", "write exp(...)"),
    ("y[i] = «math.log1p»(x[i])", "TadcSyntaxError", "no attributes", "write log1p(...)"),
    ("y[i] = «np.maximum»(x[i], 0)", "TadcSyntaxError", "no attributes", "write max(x, y)"),
    ("y[i] = «np.power»(x[i], 2)", "TadcSyntaxError", "no attributes", "write x**n"),
    ("y[i] = «np.linalg.norm»(x[i])", "TadcSyntaxError", "no attributes", "sqrt(sum[i]"),
    ("y = «x.sum»()", "TadcSyntaxError", "no attributes", "write sum[k](...)"),
    ("y = «x.mean»()", "TadcSyntaxError", "no attributes", "write sum[i](x[i]) / N"),
    ("y[i] = «np.foo»(x[i])", "TadcSyntaxError", "no attributes", "exp(x)"),
    ("y[i] = «where»(x[i] > 0, 1, 2)", "UnknownNameError", "no function where", "a if c else b"),
    ("y[i] = «maximum»(x[i], 0)", "UnknownNameError", "no function maximum", "write max(x, y)"),
    ("y[i] = «softmax»(x[i])", "UnknownNameError", "no function softmax", "max[k](x[k])"),
    ("y[i] = «lgamma»(x[i])", "UnknownNameError", "no function lgamma", "define_function"),
    ("y = «mean[i]»(x[i])", "TadcSyntaxError", "cannot be called", "write sum[i](x[i]) / N"),
    ("y = «smu[i]»(x[i])", "TadcSyntaxError", "cannot be called", "did you mean sum?"),
    ("x: f64[3]\ns: f64[]\ny[i] = s*x[i] + «expp»(1)", "UnknownNameError", "expp", "exp"),
    ("x: f64[3]\ns: f64[\n]; t: f64[]\ny = s*t + «expp»(1)", "UnknownNameError", "expp", "exp"),
    ("y = «pow»(x, 2)", "UnknownNameError", "no function pow", "x**n"),
    ("y[i] = «arctan»(x[i])", "UnknownNameError", "no function arctan", "did you mean atan?"),
    ("y[i] = x[i] * «np.pi»", "TadcSyntaxError", "no attributes", "3.14159"),
    ("y[i] = «[x[i]]»", "TadcSyntaxError", "lists", ""),
    ("y[i] = «x[i] < 2»", "TadcSyntaxError", "condition is not a value", "if"),
    ("y[i] = x[i] if «i» else 2", "TadcSyntaxError", "not a condition", "i < 3"),
    ("y[i] = x[i] if «i in range(3)» else 2", "TadcSyntaxError", "compare by", "0 <= i"),
    ("y[i] = x[«1:2»]", "TadcSyntaxError", "slices", "index"),
    ("y[«i + 1»] = x[i]", "TadcSyntaxError", "an index is a name", ""),
    ("y[i in «range(0, 9, 2)»] = x[i]", "TadcSyntaxError", "one or two ends", "x[2*i]"),
    ("y[i, «i»] = x[i]", "TadcSyntaxError", "index here already", ""),
    ("y[i] = sum[«i»](x[i])", "TadcSyntaxError", "index here already", ""),
    ("y[i] = «sum»(x[i])", "TadcSyntaxError", "lacks its indices", "sum[k]"),
    ("y[i] = «sum[k](x[k], 1)»", "TadcSyntaxError", "one expression", ""),
    ("y[i] = «pad(x)»", "TadcSyntaxError", "pad takes", "pad(x[i - 1])"),
    ("y[i] = «exp(x=x[i])»", "TadcSyntaxError", "plain arguments", ""),
    ("y[i] = x[i] + «exp»", "TadcSyntaxError", "is a function", ""),
    ("«exp»[i] = x[i]", "TadcSyntaxError", "word of the language", ""),
    ("i: f64[]\ny[«i»] = x[i]", "TadcSyntaxError", "both an index and a tensor", "rename"),
    ("x: f64[N]\ny[«N»] = x[N]", "TadcSyntaxError", "both an index and a size", "rename"),
    ("x: f64[3]\n«x»: f64[4]\ny[i] = x[i]", "TadcSyntaxError", "declared twice", ""),
    ("x: «f64»\ny[i] = x[i]", "TadcSyntaxError", "lacks a shape", "f64[]"),
    ("x: f64[3] = «1»", "TadcSyntaxError", "cannot give a value", ""),
    ("x: f64[«é»]\ny[i] = x[i]", "TadcSyntaxError", "letters", ""),
    ("«y = z = 1»", "TadcSyntaxError", "one line", ""),
    ("«return y»\ny[i] = x[i]", "TadcSyntaxError", "not the last line", "end"),
    ("y[i] = x[i]\n«return»", "TadcSyntaxError", "lacks the names", ""),
    ("y[i] = x[i]\nreturn «y[i]»", "TadcSyntaxError", "takes names", ""),
    ("y[i] = x[i]\nreturn y, «y»", "TadcSyntaxError", "y is returned twice", "leave one"),
    ("y[i] = x[i]\nreturn y, «x»", "TadcSyntaxError", "is an argument", "copy"),
    # names
    ("y[i] = «expp»(x[i])", "UnknownNameError", "no function expp", "did you mean exp?"),
    ("y[i] = x[i] * α[i] * «β»(x[i])", "UnknownNameError", "no function", "relu"),
    ("y[i] = x[i + «n»]", "UnknownNameError", "neither an index nor a size", "f64[n]"),
    ("x: f64[Num]\ny[i] = x[«Nun» - 1 - i]", "UnknownNameError", "Nun", "did you mean Num?"),
    ("y[i] = sum[k](x[i, k]) + «k»", "UnknownNameError", "index elsewhere", ""),
    ("y[i] = sum[k](x[i, k]) + z[«k»]", "UnknownNameError", "index elsewhere", ""),
    ("y[i] = x[i] * «z»[i]\nz[i] = x[i]", "UnknownNameError", "before it is defined", "declare"),
    ("y[i] = x[i] + «y»[i - 1]", "UnknownNameError", "cannot read itself yet", "no recurrences"),
    ("y[i] = «y»[i]\ny[i] += 1", "UnknownNameError", "cannot read itself yet", "old elements"),
    ("value[i] = x[i]\nreturn «valu»", "UnknownNameError", "not defined", "did you mean value?"),
    # ranks
    ("x: f64[3]\ny[i] = «x»[i, 0]", "RankError", "x has 1 index, but 2", "x[i]"),
    ("y[i] = x[i] * «x»[i, 0]", "RankError", "on line 1", ""),
    ("x: f64[3]\ny[i] = «x» * x[i]", "RankError", "no index here", ""),
    ("y: f64[3]\n«y»[i, j] = x[i, j]", "RankError", "declared with 1", ""),
    ("y[i] = «exp(x[i], 2)»", "RankError", "exp takes one argument", ""),
    ("y[i] = «max(x[i])»", "RankError", "two or more", "max[k]"),
    # affine forms
    ("y[i] = x[«i*i»]", "AffineError", "multiplies", ""),
    ("y[i] = x[«i/2»]", "AffineError", "integer index", "//"),
    ("y[i] = x[«z[i]»]", "AffineError", "computed from values", "gather"),
    ("y[i] = x[«2.0»*i]", "AffineError", "not an integer", "write 2"),
    ("y[i] = x[i // «0»]", "AffineError", "positive integer", ""),
    ("y[i] = x[i % «i»]", "AffineError", "a number or a size", "i % N"),
    ("x: f64[N]\nw: f64[9]\ny[i] = x[i] - w[(i + 2) % «N»]", "AffineError", "for sure", "number"),
    ("x: f64[N]\ny[i] = x[i] * (i // «N»)", "AffineError", "must be a number", "(i + 1) % N"),
    ("y[i] = i // «-2» + x[i]", "AffineError", "positive integer", ""),
    ("z: f64[]\ny[i] = x[i + «z»]", "AffineError", "is a tensor", ""),
    ("y[i] = x[«9007199254740993*i»]", "AffineError", "too large", ""),
    ("x: f64[«N*M»]\ny[i] = x[i]", "AffineError", "multiplies", "x: f64[N, M]"),
    ("x: f64[N, M]\ny[i, j] = x[i, j] * z[«i*M» + j]", "AffineError", "multiplies", "x[i, j]"),
    ("x: f64[«N // 2»]\ny[i] = x[i]", "AffineError", "quotient", ""),
    ("s = sum[k in range(«min(0, 1)», 4)](x[k])", "AffineError", "min in the lower end", "max"),
    ("s = sum[k in range(0, «max(0, 1)»)](x[k])", "AffineError", "max in the upper end", "min"),
    (
        "x: f64[9]\ny[i in range(3), j in range(«i»)] = x[j]",
        "UnknownNameError",
        "index elsewhere",
        "",
    ),
    # ranges
    ("y[«i»] = 1", "RangeError", "no element is read at i", "i in range"),
    ("y[«i»] = sum[k](x[i + k])", "RangeError", "x[i + k] has k too", "i in range"),
    ("x: f64[4]\ny[«i»] = pad(x[i + 1])", "RangeError", "inside for every i", "i in range"),
    ("y[i in range(«1», 3)] = x[i]", "RangeError", "counted from 0", "shift"),
    ("x: f64[8]\ny[i] = «x[i - 1]»", "RangeError", "x[i - 1] reaches -1 at i = 0", "pad"),
    ("y[i] = «x[i - 1]»", "RangeError", "which is outside of dimension 0 of x", "pad"),
    (
        "x: f64[8]\ny[i in range(8)] = «x[i + 1]»",
        "RangeError",
        "i = 7, but dimension 0 of x has size 8",
        "",
    ),
    ("x: f64[8]\ny[i] = x[i] * «x[-1]»", "RangeError", "reaches -1", "from the end: write 8 - 1"),
    ("x: f64[N]\ny[i] = x[i] * «x[-2]»", "RangeError", "reaches -2", "write N - 2"),
    ("y[i] = x[i] * «x[-2]»", "RangeError", "reaches -2", "from the end"),
    ("y[i] = «x[-1]»", "RangeError", "x[-1] reaches -1", "the size of x, as N, and write N - 1"),
    ("x: f64[N]\ny[i] = «x[i - 1]»", "RangeError", "reaches -1 at i = 0", ""),
    ("α: f64[3]\ny[i] = α[i] * «α[i + 3]»", "RangeError", "reaches 3 at i = 0", ""),
    ("x: f64[N]\ny = «x[N]»", "RangeError", "reaches N, but dimension 0 of x has size N", "N - 1"),
    ("x: f64[4]\ny = «x[4]»", "RangeError", "reaches 4, but", "the last one is 3"),
    ("x: f64[4]\ny[i] = x[i] +\\\n\t«x[i + 1]»", "RangeError", "reaches 4", ""),
    # sizes
    (
        "a: f64[3]\nb: f64[4]\ny[i] = a[i] * b[«i»]",
        "SizeError",
        "of a (size 3) and over dimension 0 of b (size 4)",
        "i in range",
    ),
    ("a: f64[2*N]\nb: f64[3*M]\ny = sum[k](a[k] * b[«k»])", "SizeError", "(size 2 * N)", ""),
    ("a: f64[2*N]\nb: f64[5]\ny = sum[k](a[k] * b[«k»])", "SizeError", "(size 5)", ""),
    ("a: f64[N + 5]\nb: f64[3]\ny = sum[k](a[k] * b[«k»])", "SizeError", "(size 3)", ""),
    ("a: f64[N]\ny[i] = a[2*i]\nz[i] = y[i] * a[«i»]", "SizeError", "(size (N + 1) // 2)", ""),
    ("x: f64[N]\ny: f64[«M»]\ny[i] = x[i]", "SizeError", "no argument has the size M", ""),
    ("x: f64[«-1»]\ny[i] = x[i]", "SizeError", "a size cannot be -1", ""),
    ("y: f64[3]\n«y»[i in range(4)] = x[i]", "SizeError", "not those of its declaration", ""),
    # element types
    ("x: «float32»[3]\ny[i] = x[i]", "DtypeError", "float32 is not an element type", "write f32"),
    ("x: «float16»[]\ny[i] = x", "DtypeError", "float16", ""),
    # not yet
    ("y[i] = x[i] if x[i] > 0 and «x[i]» else 0", "TadcSyntaxError", "not a condition", "x[i] > 0"),
    ("y[i] = x[i] if «x[i] in x» else 0", "TadcSyntaxError", "compare by", "0 <= i"),
    ("«y[i] **= x[i]»", "TadcSyntaxError", "update is not part", "+=, -=, *= and /="),
    ("y[«i in range(2)»] += x[i]", "TadcSyntaxError", "all elements", "y[i] += E"),
    ("y[i] = x[i]\n«y»[i, j] = x[i]", "RankError", "had 1 dimension", ""),
    ("y[i in range(3)] = x[i]\n«y»[i in range(4)] = x[i]", "SizeError", "version before", ""),
    ("x: f64[N]\n«N» += sum[i](x[i])", "TadcSyntaxError", "both a size and a tensor", "rename"),
    ("y[i] = «max[k](x[i, k], 2)»", "TadcSyntaxError", "takes one expression", ""),
    (
        "x: f64[9]\ns = sum[k in range(4), l in range(«k // 2 + k // 3»)](x[k + l])",
        "UnsupportedError",
        "same sum",
        "one sum inside",
    ),
]


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
    parse(
        "\n".join([*["x: f64[N]"] * ("N" in last), *["x: f64[]"] * (" if " in last), *above, last])
    )

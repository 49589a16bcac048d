"""Programs as IR: structure, names, types and places."""

import pytest
from xdsl.dialects.builtin import FileLineColLoc

from tadc.dialects.tix import DefineOp, ProgramOp, ReadOp
from tadc.language import parse

PAPER = """\
a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))
"""

PAPER_IR = """\
builtin.module {
  tix.program @paper (%a = "a" : !tix.tensor<[3, 5], f64>, %b = "b" : !tix.tensor<[4, 5], f64>, \
%c = "c" : !tix.tensor<[3, 3], f64>, %d = "d" : !tix.tensor<[8], f64>) {
    %f = tix.define "f" (%i, %j) : !tix.tensor<[3, 4], f64> {
      %0 = tix.sum (%k) in (%k >= 0, %k <= 4) {
        %1 = tix.read %a[%i, %k]
        %2 = tix.read %b[%j, %k]
        %3 = tix.add %1, %2
        %4 = tix.constant 2.0
        %5 = tix.pow %3, %4
        %6 = tix.read %c[%i, %i]
        %7 = tix.mul %5, %6
        %8 = tix.read %d[%i + %k]
        %9 = tix.constant 3.0
        %10 = tix.pow %8, %9
        %11 = tix.add %7, %10
        tix.yield %11
      }
      %12 = tix.neg %0
      %13 = tix.exp %12
      tix.yield %13
    }
    tix.return %f
  }
}"""


def program(text, file="<program>"):
    module = parse(text, file)
    module.verify()
    op = module.body.block.first_op
    assert isinstance(op, ProgramOp)
    return op


def body(text):
    """The lines of the last definition's body."""
    lines = str(program(text).definitions[-1]).splitlines()
    return [line.strip() for line in lines[1:-1]]


def test_the_program_of_the_paper_as_ir():
    assert str(parse(PAPER, "models/paper.tad")) == PAPER_IR


def test_everything_has_a_place():
    op = program(PAPER, "models/paper.tad")
    places = {}
    for inner in op.walk():
        location = inner.location
        assert isinstance(location, FileLineColLoc)
        assert location.filename.data == "models/paper.tad"
        places[inner.name] = location.line.data, location.column.data
        for region in inner.regions:
            for argument in region.block.args:
                assert isinstance(argument.location, FileLineColLoc)
    assert places["tix.define"] == (5, 1)
    assert places["tix.sum"] == (5, 16)
    assert places["tix.exp"] == (5, 11)
    reads = [r for r in op.walk() if isinstance(r, ReadOp)]
    columns = [r.location.column.data for r in reads]
    assert columns == [PAPER.splitlines()[4].index(t) + 1 for t in ("a[", "b[", "c[", "d[")]
    (define,) = op.definitions
    assert [i.location.column.data for i in define.indices] == [3, 6]
    assert [a.location.line.data for a in op.body.block.args] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "file, name",
    [
        ("<program>", "program"),
        ("dir/my-model.v2.tad", "my_model_v2"),
        ("3d.tad", "program_3d"),
        ("", "program"),
    ],
)
def test_the_symbol_comes_from_the_file(file, name):
    assert program("y[i] = x[i]", file).sym_name.data == name


def test_arguments_come_declared_first_and_then_by_use():
    op = program("y[i] = u[i] + s + x[i]\nz: f64[]\nx: f32[N]\nv[i] = t * u[i] + y[i]")
    assert list(op.arguments) == ["z", "x", "u", "s", "t"]
    types = [str(a.type)[len("!tix.tensor<") : -1] for a in op.arguments.values()]
    assert types == ["[], f64", "[N], f32", "[N], real", "[], real", "[], real"]


@pytest.mark.parametrize(
    "text, results",
    [
        ("y[i] = x[i]\nz[i] = y[i]\nw = 1", ["z", "w"]),
        ("y[i] = x[i]\nz[i] = y[i]\nreturn y, z", ["y", "z"]),
        ("y[i] = x[i]\nreturn (y)", ["y"]),
    ],
)
def test_results_are_what_return_or_no_line_reads(text, results):
    owners = [value.owner for value in program(text).returned]
    assert [o.label.data for o in owners if isinstance(o, DefineOp)] == results


@pytest.mark.parametrize(
    "text, element",
    [
        ("x: f32[]\ny = x", "f32"),
        ("x: f32[]\nz: f64[]\ny = x + z", "f64"),
        ("x: f32[]\ny = x + z", "real"),
        ("x: f64[]\ny = x + z", "f64"),
        ("y = 3", "f64"),
        ("x: f32[]\nw = x\ny = w", "f32"),
        ("x: f64[]\ny: f32[]\ny = x", "f32"),
    ],
)
def test_declared_elements_have_their_type(text, element):
    assert program(text).definitions[-1].type.dtype == element


BODIES = [
    # numbers and signs
    ("y = -2 - -x", ["%0 = tix.read %x[]", "%1 = tix.neg %0", "%2 = tix.constant -2.0"]),
    ("y = 1_000 / 0x10", ["%0 = tix.constant 1000.0", "%1 = tix.constant 16.0"]),
    # one operation for an affine form, and a quotient as a local index
    ("y[i in range(4)] = 2*(i + 1) - 3", ["%0 = tix.index_to_real (2 * %i - 1)"]),
    (
        "y[i in range(4)] = x[i % 2] + i // 2",
        [
            "%0 = tix.floordiv (%i) by 2",
            "%1 = tix.read %x[%i - 2 * %0]",
            "%2 = tix.index_to_real (%0)",
        ],
    ),
    # conditions
    (
        "y[i in range(4)] = 1 if 0 <= i - 1 < 2 or i == 3 else x",
        ["%0 = tix.if (%i >= 1, %i <= 2) or (%i == 3) {"],
    ),
    ("y[i in range(4)] = 1 if not (i < 1 or i > 2) else x", ["%0 = tix.if (%i >= 1, %i <= 2) {"]),
    ("y[i in range(4)] = 1 if i != 2 else x", ["%0 = tix.if (%i <= 1) or (%i >= 3) {"]),
    ("y[i in range(4)] = 1 if i >= 1 and False or True else x", ["%0 = tix.constant 1.0"]),
    (
        "x: f64[5]\ny[i in range(4)] = pad(x[i - 1], 2)",
        ["%0 = tix.if (%i >= 1, %i <= 5) {", "%1 = tix.read %x[%i - 1]"],
    ),
    # bounds of sums
    (
        "x: f64[9]\ny[i in range(4)] = sum[k in range(max(i - 2, 0), min(5, i + 1))](x[k])",
        ["%0 = tix.sum (%k) in (%k + 2 >= %i, %k >= 0, %k <= 4, %i >= %k) {"],
    ),
    (
        "x: f64[9]\ny[i in range(4)] = sum[k in range(i // 2, -(-i // 3) + 1)](x[k])",
        ["%0 = tix.sum (%k) in (2 * %k + 1 >= %i, %i + 2 >= 3 * %k) {"],
    ),
]


@pytest.mark.parametrize("text, lines", BODIES)
def test_bodies_are_written_in_order(text, lines):
    assert body(text)[: len(lines)] == lines


def test_quotients_stand_in_the_innermost_block_that_they_need():
    lines = body("y[i] = x[i] + sum[k](w[k] * pad(x[i // 2]) * pad(x[(i + k) // 3]))")
    assert lines[1] == "%1 = tix.floordiv (%i) by 2"
    assert lines[2] == "%2 = tix.sum (%k) in (%k >= 0, %k + 1 <= K) {"
    assert any(line.endswith("tix.floordiv (%i + %k) by 3") for line in lines[3:])

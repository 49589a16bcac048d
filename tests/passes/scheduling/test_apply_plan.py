"""Plans by hand: what a definition has no loops for is refused, at its place in the text."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects import tix
from tadc.passes.code_pipeline import code_passes
from tadc.passes.rewriting.programs import tensor_names
from tadc.passes.scheduling.blocking import PLAIN
from tadc.passes.scheduling.text import apply_plan
from tadc.passes.scheduling.text.apply_plan import blocking_of
from tadc.passes.scheduling.text.plan_parser import PlanFailure, parse_plan
from tadc.support.ir_text import context

PRODUCT = "x: f32[70, 300]\nw: f32[90, 300]\ny[i, j] = sum[k](x[i, k] * w[j, k])"
BOX = "x: f64[9, C, S]\nw: f64[70, C, S]\ny[n, o] = sum[c, s](w[o, c, s] * x[n, s, c])"
SLOPED = (
    "x: f64[60]\nw: f64[41]\n"
    "y[j in range(99)] = sum[k in range(max(0, j - 40), min(60, j + 1))](x[k] * w[j - k])"
)
CHOICE = "x: f64[70, 300]\ny[i] = sum[j](x[i, j]) if x[i, 0] > 0 else 0"
BATCH = "x: f32[3, 20, 9]\nw: f32[3, 30, 9]\ny[n, i, j] = sum[k](x[n, i, k] * w[n, j, k])"
COPY = "y[i] = x[5 * i] + 1"


def shaped(source: str, numbers: Mapping[str, int] | None = None) -> tix.ProgramOp:
    """A program as a plan finds it."""
    module = ModuleOp([tadc.compile(source).program.op.clone()])
    for step in code_passes("f64", tile=True, values=numbers).passes[:-1]:
        step.apply(context(), module)
    (program,) = (op for op in module.ops if isinstance(op, tix.ProgramOp))
    return program


REFUSED = [
    (PRODUCT, "y[i]: plain", "1:1: the definition is y[i, j] here"),
    (PRODUCT, "y[j, i]: plain", "1:1: the definition is y[i, j] here"),
    (PRODUCT, "y[i, j]: stream", "1:10: y cannot be written as a stream"),
    (PRODUCT, "y[i, j]: rows q by 4, columns j by 32", "1:15: q is no index of y"),
    (PRODUCT, "y[i, j]: columns k by 32", "1:18: k is no index of y"),
    (
        PRODUCT,
        "y[i, j]: rows j by 4, columns j by 32",
        "1:15: rows and columns run along different",
    ),
    (PRODUCT, "y[i, j]: columns j by 40", "1:23: 40 columns are no whole vectors of 16"),
    (PRODUCT, "y[i, j]: columns j by 12", "1:23: 12 columns are no vector"),
    (PRODUCT, "y[i, j]: columns j by 1", "1:23: 1 columns are no vector"),
    (PRODUCT, "y[i, j]: columns j by 64, rest by 24", "1:35: 24 columns are no narrower blocks"),
    (PRODUCT, "y[i, j]: columns j by 64, rest by 64", "1:35: 64 columns are no narrower blocks"),
    (PRODUCT, "y[i, j]: columns j by 8, rest by 8", "1:34: 8 columns are no narrower blocks"),
    (PRODUCT, "y[i, j]: rows i by 2, terms k by 32, rest by 16", "1:46: terms need no narrower"),
    (PRODUCT, "y[i, j]: columns j by 96", "1:23: j has 90 values: there is no room for 96"),
    (PRODUCT, "y[i, j]: rows i by 71, columns j by 16", "1:20: i has 70 values"),
    (PRODUCT, "y[i, j]: rows i by 70, columns j by 16", "1:20: a block of 70 x 16 elements is 70"),
    (PRODUCT, "y[i, j]: columns j by 16, 2 blocks a group", "1:27: blocks without rows"),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 16, 1 block a group for 2 i",
        "1:62: groups are for values of an index of their own",
    ),
    (
        BATCH,
        "y[n, i, j]: rows i by 4, columns j by 16, 1 block a group for 2 n and 1 n",
        "1:73: groups are for values of an index of their own",
    ),
    (
        BOX,
        "y[n, o]: rows n by 2, columns o by 8, 1 block a group for 2 s",
        "1:61: s is no index of y",
    ),
    (
        BATCH,
        "y[n, i, j]: rows i by 4, columns j by 16, 1 block a group for 2 n\n"
        "sum 1 over k: panel w[n, j, k]",
        "1:65: what blocks share differs along n",
    ),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 64\nsum 1 over k: panel x[i, k]",
        "2:21: x[i, k] is no panel of this sum",
    ),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 64\nsum 1 over j: panel w[j, k]",
        "2:12: this sum is over k",
    ),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 64\nsum 2 over k: panel w[j, k]",
        "2:5: y has 1 long sums",
    ),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 64\nsum 1 over k in chunks of 9 of i: panel w[j, k]",
        "2:32: i is no index of this sum",
    ),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 64\nsum 1 over k in chunks of 999 of k: panel w[j, k]",
        "2:27: a panel would have 63936 elements; 32768 are the most",
    ),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 64, 999 blocks a group\n"
        "sum 1 over k in chunks of 9 of k: panel w[j, k]",
        "1:40: 255744 sums would wait in memory",
    ),
    (
        PRODUCT,
        "y[i, j]: rows i by 4, columns j by 16\nsum 1 over k: panel w[j, k]\n"
        "sum 1 over k: panel w[j, k]",
        "3:5: this sum has a line already",
    ),
    (
        PRODUCT.replace("300", "K"),
        "y[i, j]: rows i by 4, columns j by 64\nsum 1 over k: panel w[j, k]",
        "2:5: a panel must be cut: a call tells how long k is",
    ),
    (COPY, "y[i]: columns i by 8", "1:7: y cannot be computed in blocks"),
    (
        BOX,
        "y[n, o]: rows n by 2, columns o by 8\n"
        "sum 1 over c, s in chunks of 4 of c: panel w[o, c, s]",
        "2:35: the sum cannot be cut along c",
    ),
    (PRODUCT, "y[i, j]: terms j by 16", "1:16: terms of this sum run along k"),
    (PRODUCT, "y[i, j]: terms k by 8", "1:21: 8 terms are no whole vectors of 16"),
    (PRODUCT, "y[i, j]: all i, columns j by 16", "1:14: blocks with columns have rows along one"),
    (PRODUCT, "y[i, j]: all i, terms k by 16", "1:28: a block of 70 x 16 elements is 70 vectors"),
    (
        PRODUCT.replace("70", "N"),
        "y[i, j]: all i, terms k by 16",
        "1:14: a call tells how many values i has",
    ),
    (PRODUCT, "y[i, j]: rows i by 2, all i, terms k by 16", "1:36: rows run along different"),
    (
        PRODUCT,
        "y[i, j]: rows i by 2, terms k by 16\nsum 1 over k: panel w[j, k]",
        "2:5: terms need no panels and chunks",
    ),
    (BOX, "y[n, o]: terms s by 8", "1:16: vectors cannot run along terms of y"),
    (CHOICE, "y[i]: columns i by 8", "1:7: y cannot be computed in blocks"),
    (
        SLOPED,
        "y[j]: columns j by 8\nsum 1 over k: panel w[j - k]",
        "2:5: there are no panels and chunks where the bounds",
    ),
    (COPY, "y[i]: stream", "1:7: y cannot be written as a stream"),
    (PRODUCT, "y[i, j]: " + "columns j by 16\nelse " * 4 + "columns j by 16", "1:10: at most 4"),
]


@pytest.mark.parametrize(("source", "plan", "message"), REFUSED)
def test_what_a_definition_has_no_loops_for_is_refused(source: str, plan: str, message: str):
    program = shaped(source)
    (entry,) = parse_plan(plan).entries
    with pytest.raises(PlanFailure) as caught:
        blocking_of(entry, program.definitions[-1], tensor_names(program))
    assert str(caught.value).removeprefix("<plan>:").startswith(message)


UNREADABLE = [
    ("y[i]: fast", "1:7: expected columns j by 64, and found 'fast'"),
    ("y[i] plain", "1:6: expected ':', and found 'plain'"),
    ("y[i]:", "1:6: the line ends, and should go on with plain"),
    ("y[i]: plain stream", "1:13: the line should end before 'stream'"),
    ("y[i]: columns i of 4", "1:17: expected 'by', and found 'of'"),
    ("y[i]: columns i by 0", "1:20: expected a number of rows or columns from 1"),
    ("y[i]: columns i by -4", "1:20: expected a number of rows or columns, and found '-'"),
    ("y[i]: columns i by 1e9", "1:20: expected a number of rows or columns, and found '1e9'"),
    ("y[i]: columns i by 9999999", "1:20: expected a number of rows or columns from 1"),
    ("y[i]: columns i by " + "9" * 5000, "1:20: expected a number of rows or columns from 1"),
    ("y[i]: columns i by 8, 4 rows a group", "1:25: expected 'blocks', and found 'rows'"),
    ("y[i]: plain\ny[i]: stream", "2:1: y has a plan already, on line 1"),
    ("y[i]: plain\nelse columns i by 8", "2:1: a line of 'else' goes on about blocks"),
    ("sum 1 over k: panel x", "1:1: a line of 'sum' goes on about blocks"),
    ("y[i]: columns i by 8\nsum 1 over k: panel x,", "2:23: the line ends, and should go on"),
    ("y[i]: columns i by 8\nsum 1 over k: panel , x", "2:21: expected a value, as w[j, k]"),
    ("y[i]: plain\nfor N=3", "2:1: the call that a plan is for stands on its first line"),
    ("for N", "1:6: the line ends, and should go on with '='"),
    ("for N=x", "1:7: expected a size, and found 'x'"),
    ("3: plain", "1:1: expected a definition, and found '3'"),
    ("y[i]: plain ?", "1:13: the character '?' has no place in a plan"),
]


@pytest.mark.parametrize(("plan", "message"), UNREADABLE)
def test_what_is_no_plan_is_refused_at_its_place(plan: str, message: str):
    with pytest.raises(PlanFailure) as caught:
        parse_plan(plan)
    assert str(caught.value).removeprefix("<plan>:").startswith(message)


def test_comments_empty_lines_and_spaces_mean_nothing():
    text = "# all\n\nfor N = 3,f32\r\n  y [ i ]:plain# behind\n\tz:stream\n"
    plan = parse_plan(text)
    assert plan.call and (plan.call.precision, [n for _, n in plan.call.sizes]) == ("f32", [3])
    assert [(e.name.text, e.kind.text) for e in plan.entries] == [("y", "plain"), ("z", "stream")]


def test_a_plan_that_says_nothing_of_a_definition_leaves_the_choice():
    program = shaped(PRODUCT)
    chosen: list[tix.DefineOp] = []

    def choose(op: tix.DefineOp) -> apply_plan.Blocking:
        chosen.append(op)
        return PLAIN

    (op,) = program.definitions
    for text, asks in (("z: plain", 1), ("y[i, j]: columns j by 16", 0), ("y: plain", 1)):
        chosen.clear()
        apply_plan.planned(parse_plan(text), program, choose)(op)
        assert len(chosen) == asks

"""Plans by hand: whatever nest a definition has, its elements are the same; others are refused."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import tadc
from dialects import tix
from passes.pipeline import code_passes
from passes.rewriting.programs import tensor_names
from passes.scheduling import planned, sum_lengths, tile_analysis
from passes.scheduling.blocking import PLAIN
from passes.scheduling.plan_parser import PlanFailure, parse_plan
from passes.scheduling.plan_text import entry_lines, header
from passes.scheduling.planned import blocking_of
from passes.scheduling.sum_lengths import blocked_sums
from passes.scheduling.tile_analysis import hoisted_values
from passes.scheduling.value_text import ValueText, index_names
from tadc.runtime import size_class
from tadc.runtime.runner import Runner
from tadc.support.ir_text import context
from tests.support.campaign import seeds
from tests.support.random_programs import random_program

PRODUCT = "x: f32[70, 300]\nw: f32[90, 300]\ny[i, j] = sum[k](x[i, k] * w[j, k])"
BOX = "x: f64[9, C, S]\nw: f64[70, C, S]\ny[n, o] = sum[c, s](w[o, c, s] * x[n, s, c])"
SLOPED = (
    "x: f64[60]\nw: f64[41]\n"
    "y[j in range(99)] = sum[k in range(max(0, j - 40), min(60, j + 1))](x[k] * w[j - k])"
)
LARGEST = "x: f64[70, 300]\ny[i] = max[j](x[i, j])"
COPY = "y[i] = x[3 * i] + 1"


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
    (PRODUCT, "y[i, j]: columns j by 96", "1:23: j has 90 values: there is no room for 96"),
    (PRODUCT, "y[i, j]: rows i by 71, columns j by 16", "1:20: i has 70 values"),
    (PRODUCT, "y[i, j]: rows i by 70, columns j by 16", "1:20: a block of 70 x 16 elements is 70"),
    (PRODUCT, "y[i, j]: columns j by 16, 2 blocks a group", "1:27: blocks without rows"),
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
    (LARGEST, "y[i]: columns i by 8", "1:7: y cannot be computed in blocks"),
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


# --- every nest gives the same elements -----------------------------------------------------------


def random_lines(
    rng: random.Random, op: tix.DefineOp, tensors: Mapping[SSAValue, str]
) -> list[str]:
    """The entry of a random nest that the definition has; of a plain one where tries fail."""
    for _ in range(20):
        lines = list(tried_lines(rng, op, tensors))
        (entry,) = parse_plan("\n".join(lines)).entries
        try:
            nest = blocking_of(entry, op, tensors)
        except PlanFailure:
            continue
        assert [line.strip() for line in entry_lines(op, nest, tensors)] == lines
        return lines
    return [f"{header(op)}: plain"]


def tried_lines(
    rng: random.Random, op: tix.DefineOp, tensors: Mapping[SSAValue, str]
) -> Iterator[str]:
    """The lines of an entry that may be possible."""
    text = ValueText(tensors, index_names(op))
    names = [text.indices[v] for v in op.indices]
    kind = rng.choice(["plain", "stream", *["blocks"] * 12])
    if kind != "blocks" or not names:
        yield f"{header(op)}: {kind if names else 'plain'}"
        return
    for n in range(rng.choice([1, 1, 2])):
        if rng.random() < 0.3 and len(blocked_sums(op.body)) == 1:
            yield f"{'else' if n else f'{header(op)}:'} {along_terms(rng, op, text)}"
            continue
        column = rng.choice(names)
        row = rng.choice([None, *([name for name in names if name != column] or [None]) * 2])
        parts = [f"columns {column} by {rng.choice([2, 2, 4, 6])}"]
        if row:
            parts.insert(0, f"rows {row} by {rng.choice([1, 2, 3])}")
            group = rng.choice([1, 2, 5])
            parts += [f"{group} blocks a group"] if group > 1 else []
        yield f"{'else' if n else f'{header(op)}:'} {', '.join(parts)}"
        for number, inner in enumerate(blocked_sums(op.body), 1):
            panels = [text.of(v) for v in candidates(op, inner, row, column, text)]
            own = [text.indices[v] for v in inner.indices]
            some = list(dict.fromkeys(p for p in panels if rng.random() < 0.8))
            cut = f" in chunks of {rng.choice([1, 2, 3])} of {rng.choice(own)}"
            cut = cut if rng.random() < 0.7 else ""
            if (some or cut) and rng.random() < 0.8:
                copied = f": panel {', '.join(some)}" if some else ""
                yield f"sum {number} over {', '.join(own)}{cut}{copied}"


def along_terms(rng: random.Random, op: tix.DefineOp, text: ValueText) -> str:
    """Blocks whose vectors run along the terms of the only sum."""
    (inner,) = blocked_sums(op.body)
    names = [text.indices[v] for v in op.indices]
    some = rng.sample(names, rng.randrange(len(names) + 1))
    parts = [f"rows {some.pop()} by {rng.choice([1, 2, 3])}"] if some and rng.random() < 0.7 else []
    group = ["2 blocks a group"] if parts and rng.random() < 0.5 else []
    parts += [f"all {name}" for name in some]
    terms = f"terms {text.indices[inner.indices[-1]]} by {rng.choice([2, 4, 6])}"
    return ", ".join([*parts, terms, *group])


def candidates(
    op: tix.DefineOp, inner: tix.SumOp, row: str | None, column: str, text: ValueText
) -> list[SSAValue]:
    """The values that the blocks of these rows and columns could copy."""
    found = {text.indices[v]: v for v in op.indices}
    tile = tile_analysis.Tile(found.get(row or ""), found[column], 1, 2)
    return [h.value for h in hoisted_values(inner, tile, tile_analysis.IndexUses()).panels]


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of two numbers, and blocks for all sums: random programs have small sizes."""
    monkeypatch.setattr(tile_analysis, "VECTOR_BYTES", 16)
    monkeypatch.setattr(sum_lengths, "MOST_TERMS_TO_UNROLL", 0)
    monkeypatch.setattr(sum_lengths, "MOST_TERMS_OF_WINDOW", 0)
    monkeypatch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)
    monkeypatch.setattr(size_class, "MOST_WORK_OF_FIXED_SIZES_WITHOUT_TILES", -1)


def plan_by_hand(rng: random.Random, f: tadc.Function, sizes: Mapping[str, int]) -> list[str]:
    """A random nest for each definition of a function."""
    module = Runner(f.program, "cpu").code(sizes).shaped
    (program,) = (op for op in module.ops if isinstance(op, tix.ProgramOp))
    tensors = tensor_names(program)
    return [line for op in program.definitions for line in random_lines(rng, op, tensors)]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", dict.fromkeys([*seeds(5, of=400), 50]))  # 50: of joined sums
def test_random_plans_of_random_programs_change_no_element(seed: int):
    rng = random.Random(seed)
    case = random_program(rng, index_values=seed % 2 == 0)
    check(rng, case.source, case.arguments)


SUMS: list[tuple[str, dict[str, tuple[int, ...]]]] = [
    ("y[i, j] = sum[k](x[i, k] * w[j, k])", {"x": (7, 9), "w": (11, 9)}),
    ("y[i, j] = sum[k](abs(x[i, k] - w[k, j]))", {"x": (6, 9), "w": (9, 5)}),
    (
        "y[i, j] = sum[k](x[i, k] * w[j, k]) / (1 + sum[k](abs(w[j, k])) + sum[k](x[i, k]**2))",
        {"x": (5, 8), "w": (9, 8)},
    ),
    (
        "y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])",
        {"x": (9, 3), "z": (13, 3), "b": (13,)},
    ),
    (
        "y[n, o, t in range(6)] = sum[c, s](w[o, c, s] * x[n, c, 2*t + 3*s])",
        {"w": (5, 4, 3), "x": (3, 4, 17)},
    ),
    ("y[n, c, p] = sum[o](x[n, o] * w[o, c, p])", {"x": (5, 7), "w": (7, 4, 5)}),
    ("y[i] = sum[k](d[i + k] * v[k])", {"d": (21,), "v": (9,)}),
    (
        "y[i, j] = sum[k in range(max(0, j - 5), min(9, j + 3))](x[i, k] * w[k, j] * c[j])",
        {"x": (6, 9), "w": (9, 8), "c": (8,)},
    ),
    # terms that some rows, or some lanes, do not have
    (
        "y[o, i in range(5), j in range(6)] = "
        "sum[c, u, v](pad(x[c, 2*i + u - 1, j - v + 1]) * w[o, c, u, v])",
        {"x": (3, 9, 6), "w": (5, 3, 3, 3)},
    ),
]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", seeds(2, of=50))
@pytest.mark.parametrize(("source", "shapes"), SUMS)
def test_random_plans_of_long_sums_change_no_element(
    source: str, shapes: dict[str, tuple[int, ...]], seed: int
):
    """Of values and of derivatives, for sizes that are numbers in the code and others."""
    rng = random.Random(seed)
    values = np.random.default_rng(seed)
    if seed % 2:
        lines = (f"{name}: f64[{', '.join(map(str, shape))}]" for name, shape in shapes.items())
        source = "\n".join([*lines, source])
    f = tadc.compile(source)
    derivative = f.derivative()
    arrays = {name: values.uniform(-1, 1, shape) for name, shape in shapes.items()}
    y = f.with_target("interpret")(**arrays)
    check(rng, source, arrays)
    check(rng, str(derivative), arrays | {"dy": values.uniform(-1, 1, y.shape)})


def check(rng: random.Random, source: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Run a program by a random plan, and compare with the interpreter."""
    f = tadc.compile(source)
    arguments = [arrays[t.name] for t in f.args]
    sizes = f.runner.sizes(arguments, {})
    plan = plan_by_hand(rng, f, sizes)
    call = ", ".join([*(f"{name}={size}" for name, size in sizes.items()), "f64"])
    g = planned_function(source, call, plan)
    assert g.program.key != f.program.key
    expected = f.with_target("interpret").call(arguments, {})
    for a, b in zip(g.call(arguments, {}), expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg="\n".join(plan))


def planned_function(source: str, call: str, plan: list[str]) -> tadc.Function:
    """A function by a plan without what equivalent definitions say twice."""
    while True:
        try:
            return tadc.compile(source, plan="\n".join([f"for {call}", *plan]))
        except tadc.TadcError as error:
            assert "runs the code of" in error.message and error.line is not None
            start = error.line - 2
            end = next(
                (
                    n
                    for n in range(start + 1, len(plan))
                    if not plan[n].startswith(("sum ", "else "))
                ),
                len(plan),
            )
            plan = plan[:start] + plan[end:]


@pytest.mark.usefixtures("small_blocks")
def test_random_plans_have_blocks_with_panels_and_chunks():
    """So the test above is about these, too."""
    lines: list[str] = []
    for source, shapes in SUMS:
        f = tadc.compile(source)
        sizes = f.runner.sizes([np.zeros(shapes[t.name]) for t in f.args], {})
        for seed in range(4):
            lines += plan_by_hand(random.Random(seed), f, sizes)
    for word in ("rows", "group", "else", "panel", "chunks", "terms", "all"):
        assert any(word in line for line in lines), word
    assert any("chunks" in line and "panel" not in line for line in lines)


def test_a_plan_that_says_nothing_of_a_definition_leaves_the_choice():
    program = shaped(PRODUCT)
    chosen: list[tix.DefineOp] = []

    def choose(op: tix.DefineOp) -> planned.Blocking:
        chosen.append(op)
        return PLAIN

    (op,) = program.definitions
    for text, asks in (("z: plain", 1), ("y[i, j]: columns j by 16", 0), ("y: plain", 1)):
        chosen.clear()
        planned.planned(parse_plan(text), program, choose)(op)
        assert len(chosen) == asks

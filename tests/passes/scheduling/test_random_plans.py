"""Random plans: whatever nest a definition has, of any vectors, its elements are the same."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from xdsl.ir import SSAValue

import tadc
from tadc.dialects import tix
from tadc.passes.rewriting.programs import tensor_names
from tadc.passes.scheduling.text.apply_plan import blocking_of
from tadc.passes.scheduling.text.plan_parser import PlanFailure, parse_plan
from tadc.passes.scheduling.text.plan_text import entry_lines, header
from tadc.passes.scheduling.text.value_text import ValueText, index_names
from tadc.passes.scheduling.tiles import sum_lengths, tile_analysis
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile_analysis import hoisted_values, lanes_of
from tadc.runtime import size_class
from tadc.runtime.runner import Runner
from tests.support.campaign import in_turn, seeds
from tests.support.random_programs import random_program
from tests.support.registers import choose_loops_for


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
    lanes = lanes_of(op)
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
        columns = rng.choice([2, 2, 4, lanes, 2 * lanes, 3 * lanes])
        parts = [f"columns {column} by {columns}"]
        if columns > lanes and rng.random() < 0.7:
            parts.append(f"rest by {rng.choice(range(lanes, columns, lanes))}")
        if row:
            parts.insert(0, f"rows {row} by {rng.choice([1, 2, 3])}")
            group = rng.choice([1, 2, 5])
            others = [name for name in names if name not in (row, column)]
            some = rng.sample(others, rng.randint(0, min(2, len(others))))
            along = f" for {' and '.join(f'{rng.choice([1, 2, 3])} {v}' for v in some)}"
            along = along if some else ""
            counted = "1 block" if group == 1 else f"{group} blocks"
            parts += [f"{counted} a group{along}"] if group > 1 or along else []
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
    terms = f"terms {text.indices[inner.indices[-1]]} by {rng.choice([1, 2, 3]) * lanes_of(op)}"
    return ", ".join([*parts, terms, *group])


def candidates(
    op: tix.DefineOp, inner: tix.ReductionOp, row: str | None, column: str, text: ValueText
) -> list[SSAValue]:
    """The values that the blocks of these rows and columns could copy."""
    found = {text.indices[v]: v for v in op.indices}
    tile = tile_analysis.Tile(found.get(row or ""), found[column], 1, 2)
    return [h.value for h in hoisted_values(inner, tile, tile_analysis.IndexUses()).panels]


LANES = {2: (16, 2), 4: (32, 1), 8: (16, 4)}
"""Numbers of a vector, each with the registers for which blocks are chosen."""


@pytest.fixture(params=LANES, ids="{} lanes".format)
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of few numbers, and blocks for all sums: random programs have small sizes."""
    choose_loops_for(tix.Registers(*LANES[request.param]), monkeypatch)
    monkeypatch.setattr(tile_analysis, "VECTOR_BYTES", 8 * request.param)
    monkeypatch.setattr(sum_lengths, "MOST_TERMS_TO_UNROLL", 0)
    monkeypatch.setattr(sum_lengths, "MOST_TERMS_OF_WINDOW", 0)
    monkeypatch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)


def plan_by_hand(rng: random.Random, f: tadc.Function, sizes: Mapping[str, int]) -> list[str]:
    """A random nest for each definition of a function."""
    module = Runner(f.program, "cpu").code(sizes).shaped
    (program,) = (op for op in module.ops if isinstance(op, tix.ProgramOp))
    tensors = tensor_names(program)
    return [line for op in program.definitions for line in random_lines(rng, op, tensors)]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", dict.fromkeys([*seeds(2, of=140), 50]))  # 50: of joined sums
def test_random_plans_of_random_programs_change_no_element(seed: int):
    rng = random.Random(seed)
    case = random_program(rng, index_values=seed % 2 == 0, reductions=seed % 3 > 0)
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
    # other reductions
    ("y[i, j] = max[k](x[i, k] + w[j, k])", {"x": (7, 9), "w": (11, 9)}),
    (
        "y[o, t in range(6)] = min[c, s](w[o, c, s] - x[c, 2*t + 3*s]) * sum[c, s](x[c, s + t])",
        {"w": (5, 4, 3), "x": (4, 17)},
    ),
    (
        "y[i, j] = prod[k in range(max(0, j - 5), min(9, j + 3))](x[i, k] + w[k, j])",
        {"x": (6, 9), "w": (9, 8)},
    ),
    ("y[i] = max[j](prod[k](1 + x[i, k] * z[j, k]))", {"x": (9, 3), "z": (13, 3)}),
    ("y[i in range(20)] = max[k](pad(x[i - k + 2]) - v[k])", {"x": (21,), "v": (9,)}),
    # terms that some rows, or some lanes, do not have
    (
        "y[o, i in range(5), j in range(6)] = "
        "sum[c, u, v](pad(x[c, 2*i + u - 1, j - v + 1]) * w[o, c, u, v])",
        {"x": (3, 9, 6), "w": (5, 3, 3, 3)},
    ),
]


@pytest.mark.parametrize("seed", seeds(1, of=17))
@pytest.mark.parametrize(
    ("case", "small_blocks"), in_turn(range(len(SUMS)), [*LANES]), indirect=["small_blocks"]
)
@pytest.mark.usefixtures("small_blocks")
def test_random_plans_of_long_sums_change_no_element(case: int, seed: int):
    """Of values and of derivatives, for sizes that are numbers in the code and others."""
    source, shapes = SUMS[case]
    rng = random.Random(f"{seed} {source}")
    values = np.random.default_rng(seed)
    if rng.random() < 0.5:
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
    for word in ("rows", "group", "else", "panel", "chunks", "terms", "all", "rest"):
        assert any(word in line for line in lines), word
    assert any("chunks" in line and "panel" not in line for line in lines)

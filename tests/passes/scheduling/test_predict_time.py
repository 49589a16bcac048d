"""Counted work of definitions, against counts by Python, and what times follow from it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects import tix
from tadc.passes.code_pipeline import code_passes
from tadc.passes.rewriting.programs import tensor_names
from tadc.passes.scheduling.blocking import PLAIN, Blocking
from tadc.passes.scheduling.costs.frequencies import bytes_of, frequencies
from tadc.passes.scheduling.costs.predict_time import MACHINE, Prediction, predict
from tadc.passes.scheduling.text.apply_plan import blocking_of
from tadc.passes.scheduling.text.plan_parser import parse_plan
from tadc.runtime.loop_plan import predictions
from tadc.support.ir_text import context

PRODUCT = "x: f32[N, K]\nw: f32[M, K]\ny[i, j] = sum[k](x[i, k] * w[j, k])"
TRANSPOSED = "x: f32[N, M]\ny[i in range(M), j in range(N)] = x[j, i]"
SIZES = {"N": 500, "M": 600, "K": 700}


def definition(source: str) -> tix.DefineOp:
    """The last definition of a program, as a plan finds it."""
    module = ModuleOp([tadc.compile(source).program.op.clone()])
    for step in code_passes("f64", tile=True).passes[:-1]:
        step.apply(context(), module)
    (program,) = (op for op in module.ops if isinstance(op, tix.ProgramOp))
    return program.definitions[-1]


def sums(op: tix.DefineOp) -> list[tix.SumOp]:
    return [o for o in op.walk() if isinstance(o, tix.SumOp)]


def planned(op: tix.DefineOp, plan: str) -> Blocking:
    program = op.parent_op()
    assert isinstance(program, tix.ProgramOp)
    (entry,) = parse_plan(plan).entries
    return blocking_of(entry, op, tensor_names(program))


def predicted(plan: str, sizes: dict[str, int] = SIZES, source: str = PRODUCT) -> Prediction:
    op = definition(source)
    return predict(op, planned(op, plan), sizes)


# --- counts ---------------------------------------------------------------------------------------


def test_sums_over_boxes_are_counted_exactly():
    op = definition("y[i] = sum[j](exp(-sum[k]((x[i, k] - z[j, k])**2)) * b[j])")
    found = frequencies(op, {"I": 50, "J": 70, "K": 30})
    assert [found.terms[s] for s in sums(op)] == [70, 70 * 30]
    by_name = {type(o).__name__: n for o, n in found.runs.items()}
    assert (by_name["ExpOp"], by_name["SubOp"]) == (70, 2100)
    assert [found.lengths[v] for s in sums(op) for v in s.indices] == [70, 30]


TRIANGLES = [
    ("y[i in range(N)] = sum[k in range(i)](exp(x[k] * x[i]))", lambda i, n: i),
    ("y[i in range(N)] = sum[k in range(i, N)](exp(x[k] * x[i]))", lambda i, n: n - i),
    (
        "y[i in range(N)] = sum[k in range(max(0, i - 20), min(N, i + 30))](x[k])",
        lambda i, n: min(n, i + 30) - max(0, i - 20),
    ),
]


@pytest.mark.parametrize(("source", "terms"), TRIANGLES)
def test_sums_over_other_sets_are_means(source: str, terms):
    n = 400
    op = definition(f"x: f64[N]\n{source}")
    exact = sum(terms(i, n) for i in range(n)) / n
    found = frequencies(op, {"N": n})
    assert found.terms[sums(op)[0]] == pytest.approx(exact, rel=0.05)


def test_elements_of_scans_add_one_term():
    op = definition("x: f64[N]\ny[i] = sum[k in range(i + 1)](x[k])")
    assert frequencies(op, {"N": 400}).terms[sums(op)[0]] == pytest.approx(1)


def test_branches_count_where_their_condition_holds():
    op = definition("x: f64[N]\ny[i] = exp(x[i]) if i < 30 else sin(x[i])")
    found = {type(o).__name__: n for o, n in frequencies(op, {"N": 120}).runs.items()}
    assert found["ExpOp"] == pytest.approx(0.25, abs=0.03)
    assert found["ExpOp"] + found["SinOp"] == pytest.approx(1)


def test_nothing_runs_in_an_empty_tensor_or_sum():
    op = definition(PRODUCT)
    assert predict(op, PLAIN, {"N": 0, "M": 600, "K": 700}).operations == 0
    assert predict(op, PLAIN, {"N": 500, "M": 600, "K": 0}).operations == 0


def test_operations_and_bytes_of_a_product():
    found = predicted("y[i, j]: plain")
    assert found.operations == 2 * 500 * 600 * 700
    assert found.bytes == 4 * (500 * 600 + 500 * 700 + 600 * 700)
    assert bytes_of(definition(PRODUCT.replace("f32", "f64")), SIZES) == 2 * found.bytes


# --- times ----------------------------------------------------------------------------------------


def test_time_grows_with_work():
    plan = "y[i, j]: rows i by 4, columns j by 64"
    short, long = predicted(plan), predicted(plan, {**SIZES, "K": 1400})
    assert 1.8 < long.seconds / short.seconds < 2.2


def test_panels_that_many_rows_share_make_a_product_faster():
    panel = "\nsum 1 over k in chunks of 256 of k: panel w[j, k]"
    whole = predicted(f"y[i, j]: rows i by 4, columns j by 64, 64 blocks a group{panel}")
    alone = predicted(f"y[i, j]: rows i by 4, columns j by 64{panel}")
    apart = predicted("y[i, j]: rows i by 4, columns j by 64")
    plain = predicted("y[i, j]: plain")
    assert whole.seconds < min(alone.seconds, apart.seconds, plain.seconds)


def test_a_machine_is_a_record():
    op = definition("x: f32[N]\ny[i] = 2 * x[i]")
    sizes = {"N": 1 << 26}
    found = predict(op, PLAIN, sizes)
    assert found.seconds == pytest.approx((12 << 26) / 1e9 / MACHINE.memory_speed, rel=0.01)
    stream = predict(op, planned(op, "y[i]: stream"), sizes)
    assert stream.seconds == pytest.approx(found.seconds * 2 / 3, rel=0.01)
    faster = replace(MACHINE, memory_speed=2 * MACHINE.memory_speed)
    assert predict(op, PLAIN, sizes, faster).seconds == pytest.approx(found.seconds / 2, rel=0.01)
    slower = replace(MACHINE, gigahertz=0.001)
    assert predict(op, PLAIN, sizes, slower).seconds > 10 * found.seconds


# --- nests of several definitions -----------------------------------------------------------------

ROWS = """\
m[i] = max[j](x[i, j])
e[i, j] = exp(x[i, j] - m[i])
s[i] = sum[j](e[i, j])
y[i, j] = e[i, j] / s[i]"""
PAIRS = """\
x: real[N]
z: real[M]
u[i] = sum[j](exp(x[i] * z[j]))
v[j] = sum[i](exp(x[i] * z[j]) * x[i])
return u, v"""


def test_bytes_of_rows_that_definitions_share_count_once():
    f, sizes = tadc.compile(ROWS), {"I": 20_000, "J": 500}
    found = predictions(f.runner, sizes, "f32")
    assert list(found) == ["y"]
    assert found["y"].bytes == 2 * 4 * 20_000 * 500


def test_a_walk_over_pairs_takes_the_time_of_what_a_pair_computes_once():
    sizes = {"N": 4096, "M": 4096}
    both = predictions(tadc.compile(PAIRS).runner, sizes, "f32")
    alone = [line for line in PAIRS.splitlines() if not line.startswith(("v", "return"))]
    one = predictions(tadc.compile("\n".join(alone)).runner, sizes, "f32")
    assert both["u"].operations == 5 * 4096**2
    assert one["u"].operations == 3 * 4096**2
    # twice the sums, and the same exponentials
    assert one["u"].busy < both["u"].busy < 1.2 * one["u"].busy


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("y[i] = sum[j](x[i, j] + z[j])", {"additions": 2}),
        ("y[i] = sum[j](x[i, j] * z[j])", {"arithmetic": 1}),
        # a multiply-addition and an addition, of which as many may run together
        ("y[i] = sum[j]((x[i, j] - z[j])**2)", {"additions": 1, "arithmetic": 1}),
    ],
)
def test_additions_and_multiplications_have_rates_of_their_own(
    source: str, kinds: dict[str, int]
) -> None:
    """A machine that does more of a kind in a cycle is faster where all operations are of it."""
    (op,) = tadc.compile(f"x: f32[512, 512]\nz: f32[512]\n{source}").program.op.definitions
    free = replace(MACHINE, loads=1e9, latency=0, shared_speed=1e9, cache_speed=1e9, step=0)

    def cycles(**rates: float) -> float:
        found = predict(op, PLAIN, {}, replace(free, **rates))
        return found.busy * free.gigahertz * 1e9

    count, slow = 512 * 512 / 16, 1e-3
    fast = {"arithmetic": 1e9, "additions": 1e9, "together": 1e9}
    for kind, slots in kinds.items():
        assert cycles(**{**fast, kind: slow}) == pytest.approx(count * slots / slow, rel=0.01)
    total = sum(kinds.values())
    assert cycles(**{**fast, "together": slow}) == pytest.approx(count * total / slow, rel=0.01)


@pytest.mark.parametrize(
    ("rows", "columns", "computed"),
    [
        (96, 128, 96 * 128),
        (96, 129, 96 * 160),
        (97, 128, 104 * 128),
    ],
)
def test_elements_in_two_blocks_take_their_time_twice(
    rows: int, columns: int, computed: int
) -> None:
    plan = "y[i, j]: rows i by 8, columns j by 64, rest by 32"
    whole = predicted("y[i, j]: rows i by 8, columns j by 64", {"N": 96, "M": 128, "K": 300}).busy
    found = predicted(plan, {"N": rows, "M": columns, "K": 300}).busy
    assert found == pytest.approx(whole * computed / (96 * 128))


def test_transposed_lines_that_share_a_place_of_the_cache_take_longer():
    """Rows of 1,024 numbers are 4 KB apart; those of 1,040 are not."""

    def nanoseconds(columns: int) -> float:
        sizes = {"N": 2048, "M": columns}
        found = predicted("y[i, j]: rows i by 16, columns j by 16", sizes, TRANSPOSED)
        return found.busy / (2048 * columns) * 1e9

    of_line = 7 / MACHINE.gigahertz / 16
    assert nanoseconds(1024) - nanoseconds(1040) == pytest.approx(of_line, rel=0.01)

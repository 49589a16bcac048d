"""Partial sums that definitions have in common: what programs mean, and what is computed once."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.algebra.factor_sums import factor_sums
from tadc.passes.algebra.factoring import shared_sums
from tadc.passes.algebra.factoring.partial_sums import TermsOfSums
from tadc.passes.pipeline import pullback_passes
from tests.support.campaign import seeds
from tests.support.derivations import Case
from tests.support.rewritten import check_meaning

FACTORS = ("a[{k}, {i}]", "b[{l}]", "exp(c[{k} + {i}])", "b[{k}]", "1 / c[{l} + 1]", "d[{i}, {l}]")
SHAPES = {"a": (4, 3), "b": (4,), "c": (7,), "d": (3, 4), "e": (3,)}


@pytest.fixture
def everything_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is the same is shared, whatever it costs: sums here are short."""

    def all_parts(group: shared_sums.Group) -> int:
        return len({part.definition for part in group.parts}) + group.exists - 1

    monkeypatch.setattr(shared_sums.Group, "gain", all_parts)
    monkeypatch.setattr(shared_sums, "FEWEST_TERMS", 2)


def random_sums(rng: random.Random) -> Case:
    """Sums of products of the same factors over some indices, which have other names each time."""
    common = rng.sample(FACTORS, rng.randint(1, 3))
    lines = [f"{name}: f64[{', '.join(map(str, shape))}]" for name, shape in SHAPES.items()]
    for n in range(rng.randint(2, 3)):
        names = dict(zip("ikl", rng.sample("ijkpq", 3), strict=True))
        ranges = {names[v]: size for v, size in zip("ikl", (3, 4, 4), strict=True)}
        ranges[names["k"]] = rng.choice([4, 4, 4, 3])
        own = [names[v] for v in rng.choice(["i", "i", "k", "ik", ""])]
        others = rng.sample([v for v in ranges if v not in own], 3 - len(own))
        factors = [*common, *rng.sample(FACTORS, rng.randint(0, 1))]
        rng.shuffle(factors)
        term = " * ".join(factor.format(**names) for factor in factors)
        total = f"sum[{', '.join(f'{v} in range({ranges[v]})' for v in others)}]({term})"
        forms = [total, f"exp(-{total} / 50)", f"-{total} / 2", f"sqrt({total}) * {total}"]
        body = rng.choice([*forms, f"{total} if {own[0]} > 0 else 0"] if own else forms)
        indices = ", ".join(f"{v} in range({ranges[v]})" for v in own)
        lines.append(f"y{n}[{indices}] = {body}" if own else f"y{n} = {body}")
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    values = {name: numbers.uniform(0.5, 1.5, shape) for name, shape in SHAPES.items()}
    return Case("\n".join(lines), values)


@pytest.mark.usefixtures("everything_shared")
@pytest.mark.parametrize("seed", seeds(15, of=600))
def test_sums_of_the_same_factors_keep_their_meaning(seed: int) -> None:
    check_meaning(factor_sums, random_sums(random.Random(seed)))


@pytest.mark.usefixtures("everything_shared")
def test_many_random_sums_are_shared() -> None:
    programs = [random_sums(random.Random(seed)).function.program.op for seed in range(40)]
    found = [shared_sums.shared_extractions(p, (), False, TermsOfSums({})) for p in programs]
    assert sum(map(bool, found)) > 20


# --- what is computed once ------------------------------------------------------------------------

BATCH_NORM = """x: real[N, C, I]
g: real[C]
m[c] = sum[n, i](x[n, c, i]) / 2048
v[c] = sum[n, i]((x[n, c, i] - m[c])**2) / 2048
y[n, c, i] = (x[n, c, i] - m[c]) / sqrt(v[c] + 0.1) * g[c]"""


def sums_over(program: tix.ProgramOp, *tensors: str) -> int:
    """The number of sums that read exactly these tensors."""
    names = {v: v.name_hint for v in program.body.block.args}
    found = 0
    for op in program.walk():
        if isinstance(op, tix.SumOp):
            read = {names.get(o.tensor) for o in op.walk() if isinstance(o, tix.ReadOp)}
            found += {*tensors} <= read
    return found


def test_gradients_of_a_batch_norm_read_their_arguments_once() -> None:
    value, gradients = tadc.compile(BATCH_NORM).program.derive(pullback_passes(("dy",)).passes)
    assert sums_over(value.op, "x") == 2  # the mean and the variance
    assert sums_over(gradients.op, "x") == sums_over(gradients.op, "x", "dy") == 1


def test_a_product_that_a_value_and_gradients_need_is_computed_once() -> None:
    f = tadc.compile("y[n, k] = sum[i, j](x[n, i] * w[i, j, k] * z[n, j])")
    value, gradients = f.program.derive(pullback_passes(("dy",), recompute=True).passes)
    assert sums_over(value.op, "x", "w") == 1
    assert sums_over(gradients.op, "x", "w") == 0


@pytest.mark.parametrize(
    "source",
    [
        "y[i] = sum[j](x[i, j])\nz[i] = sum[j](x[j, i])",  # rows, columns
        "y[i] = sum[j](x[i, j])\nz[i] = sum[j in range(i)](x[i, j])",
        "y[i] = sum[j](x[i, j])\nz[i] = sum[j](x[i, j] - y[i])",  # the difference is more exact
        "y[i] = sum[j](x[i, j])\nz[i] = sum[j](x[i, j] * b[j])",
        "y[i in range(999)] = sum[k in range(3)](x[i + k])\n"
        "z[i in range(999)] = 2 * sum[k in range(3)](x[i + k])",  # short
    ],
)
def test_other_sums_stay(source: str) -> None:
    program = tadc.compile(source).program.op
    assert factor_sums(program) is program


def test_what_has_a_name_is_read() -> None:
    f = tadc.compile("s[i] = sum[j](x[i, j])\nt[k] = exp(sum[l](x[k, l]) / 2)")
    program = factor_sums(f.program.op)
    assert [op.label.data for op in program.definitions] == ["s", "t"]
    assert sums_over(program, "x") == 1

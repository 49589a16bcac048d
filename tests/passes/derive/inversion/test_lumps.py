"""Lumps against brute force: all separators of small graphs, and products of numeric Jacobians."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from functools import partial
from itertools import chain, combinations, pairwise
from math import prod

import numpy as np
import pytest
from xdsl.ir import SSAValue

from tadc.dialects.tix import DefineOp, ProgramOp, Variable
from tadc.passes.derive.inversion.lumps import Lump, lumps
from tadc.passes.derive.inversion.state import active_reads, state_of
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.programs import type_of
from tests.support.campaign import seeds
from tests.support.lump_programs import (
    jacobian,
    lump_jacobian,
    program,
    random_state_program,
    values_of,
)


def name_of(tensor: SSAValue) -> str:
    label = tensor.owner.label.data if isinstance(tensor.owner, DefineOp) else tensor.name_hint
    return str(label)


def summary(lump: Lump) -> str:
    """`x2 -> x2_1 with s; s derived`: ins, outs, others, and what is derived."""

    def names(tensors: list[SSAValue]) -> str:
        return ", ".join(map(name_of, tensors))

    text = f"{names([*lump.ins])} -> {names([*lump.outs])}"
    text += f" with {names([*lump.others])}" if lump.others else ""
    derived = names([op.result for op in lump.derived])
    return text + (f"; {derived} derived" if derived else "")


CASES = {
    "leapfrog": (
        """
p: f64[N]
q: f64[N]
p[i] -= q[i]**3
q[i] += p[i]
p[i] -= q[i]**3
return p, q
""",
        ["p -> p_1 with q", "q -> q_1 with p_1", "p_1 -> p_2 with q_1"],
    ),
    "what is derived is in no cut": (
        """
x1: f64[N]
x2: f64[N]
x3: f64[N]
w: f64[N, N]
s[i] = sum[j](w[i, j] * tanh(x1[j]))
x2[i] = x2[i] * exp(s[i])
x3[i] += s[i]
x1[i] *= 2
return x1, x2, x3
""",
        ["x2 -> x2_1 with s; s derived", "x3 -> x3_1 with s; s derived", "x1 -> x1_1"],
    ),
    "what is read after its source is gone is in a cut": (
        """
x: f64[N]
y: f64[N]
t[i] = x[i] * y[i]
x[i] = sin(t[i])
y[i] += t[i]
return x, y
""",
        ["x -> t with y", "y -> y_1 with t", "t -> x_1"],
    ),
    "together": (
        """
x: f64[N]
y: f64[N]
a[i] = 0.6 * x[i] - 0.8 * y[i]
b[i] = 0.8 * x[i] + 0.6 * y[i]
x[i] = a[i]
y[i] = b[i]
return x, y
""",
        ["x, y -> a, b", "a -> x_1", "b -> y_1"],
    ),
    "one after the other, against the order of the text": (
        """
x: f64[N]
y: f64[N]
a[i] = 3 * x[i]
b[i] = x[i] + y[i]
x[i] = a[i]
y[i] = b[i]
return x, y
""",
        ["y -> b with x", "x -> a", "a -> x_1", "b -> y_1"],
    ),
    "a version that is derived for a while": (
        """
x: f64[N]
y: f64[N]
z: f64[N]
t[i] = tanh(x[i])
x[i] = 2 * x[i]
z[i] += x[i]
y[i] += t[i] * z[i]
return x, y, z
""",
        ["z -> z_1 with x_1; x_1 derived", "y -> y_1 with t, z_1; t derived", "x -> x_1"],
    ),
    "wide until its end": (
        """
x: f64[N]
w: f64[M, N]
h[i] = tanh(sum[j](w[i, j] * x[j]))
x[j] = sum[i](w[i, j] * h[i])
return x
""",
        ["x -> x_1"],
    ),
    "a tensor without elements": (
        """
x: f64[3]
y: f64[0]
x[i] *= 2
y[i] = 2 * y[i] + x[0]
return x, y
""",
        ["y -> y_1 with x_1; x_1 derived", "x -> x_1"],
    ),
    "sizes that agree in sum": (
        """
x: f64[N]
y: f64[M]
z: f64[N + M]
t[i in range(N + M)] = z[i] * 2
z[i] = (x[i] if i < N else y[i - N]) + t[i]
x[i] = t[N - 1 - i] + t[0]
y[i] = t[N + i]
return x, y, z
""",
        ["z -> t", "x, y -> z_1 with t", "t -> x_1, y_1"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), CASES.values(), ids=CASES)
def test_lumps_are_the_finest_steps(source: str, expected: list[str]):
    assert [summary(lump) for lump in lumps(program(source))] == expected


REFUSED = {
    "a result that is no argument": (
        "x: f64[3]\nf[i] = x[i]",
        "<program>:2:1: the program returns f, which is no argument that it updates: inverse modes "
        "need programs whose results are exactly the tensors that they update",
    ),
    "a value that is lost": (
        "x: f64[3]\ny: f64[3]\nx[i] = sign(x[i]) * y[i]\nx[i] *= 2\ny[i] += x[i]\nreturn x, y",
        "<program>:3:1: the Jacobian must be singular: the value that x has before is lost here, "
        "no result depends on it",
    ),
    "a new value that depends on none before": (
        "x: f64[3]\ny: f64[3]\nc: f64[3]\ny[i] += x[i]\nx[i] = c[i] * y[0]\ny[i] = c[i]\n"
        "return x, y",
        "<program>:6:1: the Jacobian must be singular: y gets a value here that does not depend on "
        "what is updated",
    ),
    "a value that is only compared": (
        "x: f64[N]\nc: f64[N]\nx[i] = c[i] if x[i] > 0 else -1\nreturn x",
        "<program>:3:1: the Jacobian must be singular: the value that x has before is lost here, "
        "no result depends on it",
    ),
    "a narrow place": (
        """
x: f64[3]
y: f64[3]
t[i in range(2)] = x[i] + y[i] + x[2] * y[2]
x[i] = t[0] * t[1]
y[i] = t[0] + i * t[1]
return x, y
""",
        "<program>:4:1: the Jacobian must be singular: the results depend on x and y, 6 elements, "
        "through 2 alone, those of t",
    ),
    "a narrow place for all sizes": (
        "x: f64[N, 3]\nt[i] = x[i, 0] + x[i, 1] + x[i, 2]\nx[i, j] = j * t[i]\nreturn x",
        "<program>:2:1: the Jacobian must be singular: the results depend on x, 3 * N elements, "
        "through N alone, those of t",
    ),
}


@pytest.mark.parametrize(("source", "message"), REFUSED.values(), ids=REFUSED)
def test_what_must_be_singular_is_refused(source: str, message: str):
    with pytest.raises(PassFailure) as failure:
        lumps(program(source))
    assert str(failure.value) == message


def test_lumps_of_many_statements_take_little_time():
    steps = "p[i] -= q[i]**3\nq[i] += p[i]\n" * 1000
    assert len(lumps(program(f"p: f64[N]\nq: f64[N]\n{steps}return p, q"))) == 2000


# --- random programs ------------------------------------------------------------------------------


def size(tensors: Iterable[SSAValue], sizes: Mapping[Variable, int] | None = None) -> int:
    return sum(prod(form.evaluate(sizes or {}) for form in type_of(t).shape) for t in tensors)


class Flow:
    """Which tensors reach which ones, by brute force."""

    def __init__(self, whole: ProgramOp):
        self.state = list(state_of(whole).values())
        self.results = list(whole.returned)
        self.reads: dict[SSAValue, list[SSAValue]] = {
            op.result: ts for op, ts in active_reads(whole, self.state).items()
        }
        self.tensors = [*self.state, *self.reads]

    def separates(self, cut: frozenset[SSAValue], ends: frozenset[SSAValue]) -> bool:
        """Does every way from the state to `ends` meet the cut?"""
        pending, seen = list(ends), set(ends)
        while pending:
            tensor = pending.pop()
            if tensor in cut:
                continue
            if tensor in self.state:
                return False
            new = [t for t in self.reads.get(tensor, []) if t not in seen]
            seen.update(new)
            pending += new
        return True

    def minimum_cuts(
        self, sizes: Mapping[Variable, int] | None = None
    ) -> tuple[int, list[frozenset[SSAValue]]]:
        """The least size of a cut before the results, and all cuts of it."""
        measure = partial(size, sizes=sizes)
        ends = frozenset(self.results)
        count = range(len(self.tensors) + 1)
        sets = chain.from_iterable(combinations(self.tensors, n) for n in count)
        cuts = [s for s in map(frozenset, sets) if self.separates(s, ends)]
        least = min(map(measure, cuts))
        return least, [s for s in cuts if measure(s) == least]


def states(whole: ProgramOp, found: list[Lump]) -> list[list[SSAValue]]:
    """The state before the first lump, and after each."""
    current = list(state_of(whole).values())
    found_states = [current]
    for lump in found:
        assert set(lump.ins) <= set(current)
        assert not set(lump.outs) & set(current)
        current = [*(t for t in current if t not in lump.ins), *lump.outs]
        found_states.append(current)
    return found_states


@pytest.mark.parametrize("seed", seeds(9, of=150))
def test_jacobians_of_lumps_multiply_to_that_of_the_program(seed: int):
    rng = random.Random(seed)
    source = random_state_program(rng)
    whole = program(source)
    values = np.random.default_rng(seed)
    arguments = {
        name: values.uniform(0.3, 1.2, [form.constant for form in type_of(t).shape])
        for name, t in whole.arguments.items()
    }
    expected = jacobian(whole, arguments, whole.result_names)
    flow = Flow(whole)
    least, cuts = flow.minimum_cuts()
    if least < size(flow.state):
        with pytest.raises(PassFailure, match="must be singular"):
            lumps(whole)
        assert np.linalg.matrix_rank(expected, 1e-6) <= least
        return
    found = lumps(whole)
    cuts_of_lumps = states(whole, found)
    require_smallest(flow, cuts, cuts_of_lumps)
    check_parts(found, cuts_of_lumps)
    known = values_of(whole, arguments)
    assert np.allclose(product_of_lumps(whole, found, cuts_of_lumps, known), expected, atol=1e-7)


SYMBOLIC: dict[Variable, int] = {"N": 101, "M": 1009}


@pytest.mark.parametrize("seed", seeds(9, of=100))
def test_lumps_of_symbolic_sizes_are_smallest(seed: int):
    source = random_state_program(random.Random(seed), same_sizes=True)
    for number, name in (("2", "N"), ("3", "M")):
        if f"f64[{number}]" in source:
            source = source.replace(f"f64[{number}]", f"f64[{name}]")
            source = source.replace(f"range({number})", f"range({name})")
    whole = program(source)
    flow = Flow(whole)
    least, cuts = flow.minimum_cuts(SYMBOLIC)
    try:
        found = lumps(whole)
    except PassFailure as failure:
        assert "must be singular" in failure.reason
        assert least < size(flow.state, SYMBOLIC)
        return
    cuts_of_lumps = states(whole, found)
    check_parts(found, cuts_of_lumps, SYMBOLIC)
    if least == size(flow.state, SYMBOLIC):  # else it is narrow for these sizes, but not for all
        require_smallest(flow, cuts, cuts_of_lumps)


def require_smallest(
    flow: Flow, cuts: list[frozenset[SSAValue]], steps: list[list[SSAValue]]
) -> None:
    """Do lumps lead from the state to the results, with no cut between two of theirs?"""
    assert set(steps[-1]) == set(flow.results)
    for before, after in pairwise(steps):
        between = [
            cut
            for cut in cuts
            if flow.separates(cut, frozenset(after)) and flow.separates(frozenset(before), cut)
        ]
        assert {frozenset(before), frozenset(after)} == set(between), "a lump could be smaller"


def check_parts(
    found: list[Lump], steps: list[list[SSAValue]], sizes: Mapping[Variable, int] | None = None
) -> None:
    """Do lumps say what they read and what stays?"""
    for lump, before, after in zip(found, steps, steps[1:], strict=False):
        assert size(lump.ins, sizes) == size(lump.outs, sizes)
        inside = {op.result for op in lump.definitions}
        derived = {op.result for op in lump.derived}
        stay = set(before) & set(after)
        assert set(lump.others) <= stay | derived
        assert not inside & (derived | set(before))
        assert set(lump.outs) <= inside


def product_of_lumps(
    whole: ProgramOp,
    found: list[Lump],
    steps: list[list[SSAValue]],
    known: dict[SSAValue, np.ndarray],
) -> np.ndarray:
    total = np.eye(size(steps[0]))
    for lump, before, after in zip(found, steps, steps[1:], strict=False):
        total = lump_jacobian(whole, lump, before, after, known) @ total
    order = [steps[-1].index(t) for t in whole.returned]
    lengths = np.cumsum([0, *(size([t]) for t in steps[-1])])
    return np.concatenate([total[lengths[n] : lengths[n + 1]] for n in order])

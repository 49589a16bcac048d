"""Every pass keeps the meaning of random programs, and what it states of them.

The interpreter says what a program means. Up to `differentiate` the results are compared, from
there on the gradients for random adjoints. A pass must also take its input as text from a file.
Passes behind a cut (`split-pullback`, `split-solves`) and on the way to code have tests of their
own, and so has `batch`, which changes what a program means (`tests/passes/derive/test_batch.py`),
and `locate-elements`, which adds arguments (`tests/passes/layout/test_locate_elements.py`); loops
have an interpreter of their own, too.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.function import Function
from tadc.passes.algebra.factoring import block_sums
from tadc.passes.analysis.properties import precisions_set
from tadc.passes.analysis.stage_checks import require_bounded
from tadc.passes.code_pipeline import code_passes, summing_passes
from tadc.passes.derive.sparse_jacobian import SparseJacobianPass
from tadc.passes.layout import outline_values
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.pipeline import jacobian_passes
from tadc.passes.scheduling.costs import line_reuse, tile_cost
from tadc.passes.scheduling.tiles import (
    block_sizes,
    packing,
    sum_lengths,
    tile_analysis,
    tile_choice,
)
from tadc.passes.simplify.specialise import specialise
from tadc.sizes import bind_sizes
from tadc.support.ir_text import module_text, parse_module
from tests.support.campaign import seeds
from tests.support.contracts import apply_checked
from tests.support.derivations import (
    Case,
    assert_close,
    check_seeds,
    interpret,
    program_of,
    random_case,
    stages,
)
from tests.support.random_programs import EVERYTHING
from tests.support.random_updates import random_update
from tests.support.scheduled_programs import run_scheduled

CHUNK = 5
MOST_SUBSETS = 4
"""Of the subsets of the sizes of a program, so many are tried."""


def again(module: ModuleOp) -> ModuleOp:
    """The module after a way through its text."""
    result = parse_module(module_text(module))
    result.verify()
    return result


def check_passes(case: Case, through_text: bool) -> None:
    gradients: list[np.ndarray] = []
    for name, module in stages(
        case.function.program.module, between=again if through_text else None
    ):
        program = program_of(module)
        if len(program.arguments) == len(case.values):
            assert_close(interpret(program, case.values), case.results, 1e-11, name)
        else:
            found = interpret(program, case.inputs)
            gradients = gradients or found
            assert_close(found, gradients, 1e-11, name)
    assert [r.shape for r in gradients] == [v.shape for v in case.values]


# --- random programs ------------------------------------------------------------------------------


def check(seed: int) -> None:
    check_passes(random_case(seed), through_text=False)


def check_through_text(seed: int) -> None:
    check_passes(random_case(seed), through_text=True)


def check_everything(seed: int) -> None:
    check_passes(random_case(seed, **EVERYTHING), through_text=seed % 2 == 0)


def check_precision(seed: int) -> None:
    case = random_case(seed, declarations=("none", "symbolic"))
    narrow = [v.astype(np.float32) for v in case.values]
    for real, values, tolerance in (("f64", case.values, 1e-14), ("f32", narrow, 1e-3)):
        program = set_precision(case.function.program.op, real)
        program.verify()
        assert not any(precisions_set(program))
        if real == "f32" and any(t.dtype != "real" for t in case.function.args):
            continue  # declared arguments are f64
        assert_close(interpret(program, values), case.results, tolerance, real, 10)


def chunks(some: int, of: int, start: int = 0) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("first", seeds(some, of, start)[::CHUNK])


@chunks(15, of=150)
def test_every_pass_keeps_the_meaning(first: int) -> None:
    check_seeds(check, range(first, first + CHUNK))


@chunks(5, of=50, start=1000)
def test_every_pass_runs_alone_on_a_file(first: int) -> None:
    check_seeds(check_through_text, range(first, first + CHUNK))


@chunks(5, of=50, start=2000)
def test_every_pass_with_everything(first: int) -> None:
    check_seeds(check_everything, range(first, first + CHUNK))


@chunks(10, of=50)
def test_set_precision_keeps_the_meaning(first: int) -> None:
    check_seeds(check_precision, range(first, first + CHUNK))


# --- programs that are cut ------------------------------------------------------------------------


def check_split_pullback(seed: int) -> None:
    """Value and gradients, given what the value saved, are those of the derivative program."""
    case = random_case(seed, **EVERYTHING)
    both = case.interpreted.with_pullback()
    computed = both.value.call(case.values, {})
    assert_close(computed[: len(case.results)], case.results, 1e-11, "split-pullback, value")
    given = [*case.values, *both.saved_of(computed), *case.adjoints]
    gradients = interpret(case.function.derivative().program.op, case.inputs)
    assert_close(both.gradients.call(given, {}), gradients, 1e-11, "split-pullback, gradients")


@chunks(5, of=50, start=3000)
def test_split_pullback_keeps_the_meaning(first: int) -> None:
    check_seeds(check_split_pullback, range(first, first + CHUNK))


def check_zero_arguments(seed: int) -> None:
    """Gradients without some adjoints, after a cut and in one, are those for zeros."""
    case = random_case(seed, **EVERYTHING)
    both = case.interpreted.with_pullback()
    computed = both.value.call(case.values, {})
    names = [t.name for t in both.adjoints]
    gone = set(random.Random(seed).sample(names, random.Random(seed).randint(1, len(names))))
    pairs = list(zip(names, case.adjoints, strict=True))
    zeros = [np.zeros_like(a) if name in gone else a for name, a in pairs]
    left = [a for name, a in pairs if name not in gone]
    derivative = case.function.derivative()
    expected = interpret(derivative.program.op, [*case.values, *zeros])
    alone = interpret(derivative.without(*gone).program.op, [*case.values, *left])
    assert_close(alone, expected, 1e-11, "zero-arguments")
    pullback = Function(both.gradients.program, "interpret").without(*gone)
    require_bounded(pullback.program.op)
    found = pullback.call([*case.values, *both.saved_of(computed), *left], {})
    assert_close(found, expected, 1e-11, "zero-arguments, pullback")


@chunks(5, of=100, start=4000)
def test_zero_arguments_keeps_the_meaning(first: int) -> None:
    check_seeds(check_zero_arguments, range(first, first + CHUNK))


def check_sparse_jacobian(seed: int) -> None:
    """What is behind `sparse-jacobian` keeps the entries; `tests/jacobian` says what they are."""
    case = random_case(seed, **EVERYTHING)
    module = case.function.program.module.clone()
    wrt = random.Random(seed).choice([t.name for t in case.function.args])
    expected: list[np.ndarray] = []
    for step in jacobian_passes(SparseJacobianPass(wrt)).passes:
        apply_checked(step, module)
        module.verify()
        if expected or step.name == "sparse-jacobian":
            found = interpret(program_of(module), case.values)
            expected = expected or found
            assert_close(found, expected, 1e-11, step.name)


@chunks(5, of=100, start=4500)
def test_sparse_jacobian_keeps_the_meaning(first: int) -> None:
    check_seeds(check_sparse_jacobian, range(first, first + CHUNK))


def check_split_solves(seed: int) -> None:
    """The parts of J⁻¹ v with the solutions between them invert J v."""
    update = random_update(random.Random(seed))
    f = tadc.compile(update.source, "interpret")
    arguments = [update.arguments[t.name] for t in f.args]
    state = {t.name for t in f.results}
    rng = np.random.default_rng(seed)
    v = {t.name: rng.uniform(-1, 1, a.shape) for t, a in zip(f.args, arguments, strict=True)}
    _, pushed = tadc.jvp(f, arguments, {name: v[name] for name in state})
    pushed = pushed if isinstance(pushed, tuple) else (pushed,)
    found = tadc.inverse_jvp(f, arguments, pushed)
    for t, back in zip(f.results, found, strict=True):
        np.testing.assert_allclose(back, v[t.name], rtol=1e-6, atol=1e-6)


@chunks(15, of=50, start=100)
def test_split_solves_keeps_the_meaning(first: int) -> None:
    check_seeds(check_split_solves, range(first, first + CHUNK))


# --- sizes as numbers -----------------------------------------------------------------------------


def sizes_of(program: tix.ProgramOp, values: Sequence[np.ndarray]) -> dict[str, int]:
    shapes = {n: a.shape for n, a in zip(program.arguments, values, strict=True)}
    return bind_sizes(program, shapes)


def subsets(sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    """Every subset but the empty one."""
    for count in range(1, len(sizes) + 1):
        yield from map(dict, combinations(sizes.items(), count))


def has_no(sizes: Iterable[str], program: tix.ProgramOp) -> None:
    """No type, form, constraint or derived size has one of these sizes."""
    printed = set(re.findall(r"\w+", re.sub(r'[%@"]\w+', "", str(program))))
    assert not printed & set(sizes), f"{sizes} in {program}"


def forms_of(some: Mapping[str, int], every: Mapping[str, int]) -> dict[str, int | Affine]:
    """Some sizes as one of the others and a number, where that is no larger than they are."""
    found: dict[str, int | Affine] = {}
    for name, size in some.items():
        below = (other for other in every.keys() - some.keys() if every[other] <= size)
        base = min(below, default=None)
        found[name] = size if base is None else Affine.of(base) + (size - every[base])
    return found


def check_specialise(seed: int) -> None:
    """A program and its derivative, with numbers for each subset of their sizes, or with others and
    a number where these are no larger."""
    case = random_case(seed, **EVERYTHING, declarations=("symbolic", "none"))
    program, derivative = case.function.program.op, case.function.derivative().program.op
    gradients = interpret(derivative, case.inputs)
    found = list(subsets(sizes_of(program, case.values)))
    for sizes in random.Random(seed).sample(found, min(len(found), MOST_SUBSETS)):
        for whole, inputs, results in (
            (program, case.values, case.results),
            (derivative, case.inputs, gradients),
        ):
            for given in (sizes, forms_of(sizes, sizes_of(program, case.values))):
                made = specialise(whole, given)
                made.verify()
                has_no(sizes, made)
                assert_close(interpret(made, inputs), results, 1e-11, f"{given}")
    require_bounded(specialise(derivative, sizes_of(derivative, case.inputs)))


@chunks(10, of=75, start=6000)
def test_specialise_keeps_the_meaning_for_subsets_of_sizes(first: int) -> None:
    check_seeds(check_specialise, range(first, first + CHUNK))


# --- code -----------------------------------------------------------------------------------------


HOMES = (
    *(sum_lengths, tile_analysis, tile_choice, block_sizes, tile_cost, line_reuse, packing),
    block_sums,
    outline_values,
)


@pytest.fixture
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of few elements, taken wherever there is one: programs here are small."""
    limits = {"VECTOR_BYTES": 16, "MOST_COLUMNS": 2, "MOST_TERMS_TO_UNROLL": 0}
    limits |= {"MOST_TERMS_OF_WINDOW": 0, "FEWEST_TERMS_OF_CHUNK": 1}
    limits |= {"PANEL_ELEMENTS": 6, "MOST_ROWS_PER_PANEL": 4, "LINES_APART": 0, "BYTES_IN_ORDER": 0}
    limits |= {"FEWEST_IN_BLOCK": 1, "SAVED_FOR_TERM": 1000000}
    limits |= {"SHARED_IN_BLOCKS": 1, "LONG_ROW": 1 << 30, "FEWEST_OPERATIONS_SAVED": -(1 << 20)}
    for name, value in (limits | {"MOST_OF_PLAIN_COST": 1e9, "COST_OF_FAR_ELEMENT": 0}).items():
        home = next(m for m in HOMES if hasattr(m, name))
        monkeypatch.setattr(home, name, value)


def check_code(seed: int, tile: bool, threads: bool = False) -> None:
    """`specialise`, `unwrap-indices`, `unroll-rounds`, `solve-conditions`, `peel-sums`,
    `recompute-elements`, `outline-scans`, `split-axes`, `multiply-out`, `order-windows`,
    `move-windows`, `factor-sums`, `split-ranges`, `split-elements`, `hoist-reductions`,
    `split-residues`, `outline-values`, `pack-reads`, `cut-sums`, `cut-reductions`,
    `spread-reductions`, `transpose-reads`, `simplify-sums`, `expand-calls`, `expand-powers`,
    `set-precision`, `set-registers`, `split-sums`, `join-sums`, `collect-factors`, `shift-sums`,
    `interchange-sums`, `share-values`, `shape-loops`, `merge-axes`, `elide-copies`,
    `order-factors`, `schedule` and `coarsen-threads`, one by one; any of the sizes are numbers."""
    tadc.define_function("grown", "x", value="exp(x)", derivative="grown")
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    source = re.sub(r"\bexp\(", "grown(", case.source)
    module = tadc.compile(source).program.module.clone()
    program = program_of(module)
    sizes = sizes_of(program, case.values)
    numbers = random.Random(seed).choice([{}, *subsets(sizes)])
    others = {name: n for name, n in sizes.items() if name not in numbers} if threads else None
    registers = tix.Registers(16, 2) if seed % 3 else tix.AVX_512
    known = {"tile": tile, "sizes": others, "threads": threads, "registers": registers}
    steps = summing_passes(numbers, most=others, **known), code_passes(values=numbers, **known)
    for step in chain.from_iterable(pipeline.passes for pipeline in steps):
        apply_checked(step, module)
        if step.name in ("schedule", "coarsen-threads"):
            found = run_scheduled(module, program, case.values)
        else:
            program = program_of(module).clone()
            found = interpret(program, case.values)
        assert_close(found, case.results, 1e-9, step.name)


@chunks(10, of=50, start=4000)
def test_every_pass_to_plain_code_keeps_the_meaning(first: int) -> None:
    check_seeds(lambda seed: check_code(seed, tile=False), range(first, first + CHUNK))


@pytest.mark.usefixtures("few_threads")
@chunks(10, of=100, start=7000)
def test_every_pass_to_code_for_threads_keeps_the_meaning(first: int) -> None:
    seeds = range(first, first + CHUNK)
    check_seeds(lambda seed: check_code(seed, tile=False, threads=True), seeds)


@pytest.mark.usefixtures("small_tiles")
@chunks(15, of=50, start=5000)
def test_every_pass_to_code_in_tiles_keeps_the_meaning(first: int) -> None:
    check_seeds(lambda seed: check_code(seed, tile=True), range(first, first + CHUNK))

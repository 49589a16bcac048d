"""Threads that compute several elements: how many, with which bits, and what they read."""

from __future__ import annotations

import re

import numpy as np
import pytest
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.dialects import tix
from tadc.passes.code_pipeline import code_passes
from tadc.passes.lowering.coarsen_threads import CoarsenThreadsPass
from tadc.passes.lowering.gpu_threads import thread_costs
from tadc.passes.rewriting.written_sizes import write_sizes
from tadc.sizes import bind_sizes
from tadc.support.ir_text import context
from tests.support.campaign import seeds
from tests.support.derivations import random_case
from tests.support.random_programs import EVERYTHING
from tests.support.scheduled_programs import run_scheduled

PRODUCT = "w: real[64, J]\ny[i, j] = sum[k](x[i, k] * w[k, j])"
LARGE = {"I": 4096, "J": 4096}


def scheduled(source: str, precision: str = "f32") -> tuple[ModuleOp, tix.ProgramOp]:
    """Functions with one element for a thread, and the program that they were."""
    module = ModuleOp([tadc.compile(source).program.op.clone()])
    *before, schedule = code_passes(precision).passes
    for step in before:
        step.apply(context(), module)
    (program,) = module.clone().ops
    assert isinstance(program, tix.ProgramOp)
    schedule.apply(context(), module)
    return module, program


def coarsened(module: ModuleOp, **sizes: int) -> ModuleOp:
    made = module.clone()
    CoarsenThreadsPass(write_sizes(sizes)).apply(context(), made)
    made.verify()
    return made


def inner_loads(module: ModuleOp) -> int:
    """The reads in the innermost loops."""
    loops = [op for op in module.walk() if isinstance(op, scf.ForOp)]
    inner = [op for op in loops if not any(isinstance(o, scf.ForOp) for o in op.body.walk())]
    return sum(isinstance(op, memref.LoadOp) for loop in inner for op in loop.body.walk())


def stores(module: ModuleOp) -> int:
    return sum(isinstance(op, memref.StoreOp) for op in module.walk())


@pytest.mark.usefixtures("few_threads")
@pytest.mark.parametrize("seed", seeds(20, of=400))
def test_elements_of_random_programs_keep_their_bits(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    module, program = scheduled(case.source, "f64")
    shapes = {name: a.shape for name, a in zip(program.arguments, case.values, strict=True)}
    made = coarsened(module, **bind_sizes(program, shapes))
    before, after = (run_scheduled(m, program, case.values) for m in (module, made))
    for one, other in zip(before, after, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.usefixtures("few_threads")
@pytest.mark.parametrize("shape", [(1, 1), (2, 4), (8, 16), (9, 17), (23, 35)])
def test_products_of_any_size_keep_their_bits(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(s).astype(np.float32) for s in ((64, shape[1]), (shape[0], 64))]
    module, program = scheduled(PRODUCT)
    made = coarsened(module, I=16, J=16)
    assert stores(made) > 1
    before, after = (run_scheduled(m, program, values)[0] for m in (module, made))
    assert before.tobytes() == after.tobytes() and not np.isnan(after).any()


def test_elements_share_what_they_read() -> None:
    module, _ = scheduled(PRODUCT)
    made = coarsened(module, **LARGE)
    assert inner_loads(module) == 2 and stores(module) == 1
    assert stores(made) == 32 and inner_loads(made) == 8 + 4


FEW = {
    "few elements": (PRODUCT, {"I": 300, "J": 300}),
    "unknown sizes": (PRODUCT, {}),
    "nothing in common": ("y[i, j] = x[i, j] * w[i, j]", LARGE),
    "no index": ("y = sum[i](x[i])", {"I": 1 << 22}),
}


@pytest.mark.parametrize("what", FEW)
def test_a_thread_computes_one_element(what: str) -> None:
    source, sizes = FEW[what]
    module, _ = scheduled(source)
    assert str(coarsened(module, **sizes)) == str(module)


def test_a_loop_whose_bounds_depend_on_an_index_is_copied_with_it() -> None:
    source = "w: real[64, J]\ny[i, j] = sum[k in range(i % 64)](x[i, k] * w[k, j])"
    made = coarsened(scheduled(source)[0], **LARGE)
    loops = sum(isinstance(op, scf.ForOp) for op in made.walk())
    assert loops > 1 and stores(made) > loops


def test_numbers_that_tiles_divide_need_no_tests() -> None:
    source = f"x: real[4096, 64]\n{PRODUCT.replace('J', '4096')}"
    made = coarsened(scheduled(source)[0])
    assert stores(made) == 32 and not any(isinstance(op, scf.IfOp) for op in made.walk())


def test_long_bodies_have_few_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    module, _ = scheduled(PRODUCT)
    found: list[int] = []
    for most in (1, 60, 1500):
        monkeypatch.setattr(thread_costs, "MOST_OPERATIONS", most)
        found.append(stores(coarsened(module, **LARGE)))
    assert found[0] == 1 < found[1] < found[2]


def test_kernels_of_calls_have_copies_and_texts_without_sizes_have_none() -> None:
    f = tadc.compile(PRODUCT)
    stored = re.compile(r"^ *y\[.*\] = ", re.MULTILINE)
    assert len(stored.findall(f.emit("cuda", {"I": 1024, "J": 1024}, "f32"))) == 4
    assert len(stored.findall(f.emit("cuda", None, "f32"))) == 1

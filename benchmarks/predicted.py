"""Predicted times of single steps beside measured ones, on one core.

    python -m benchmarks.predicted [--only W1 W2]

Each definition of the thirteen workloads in f32, of the value and of the gradients as `tadc.vjp`
runs them: the time of the processor, least of some runs, beside what `passes/scheduling/predict.py`
says (`tadc derive --explain-plan` prints that). Steps of less than 100 µs do not count in the end.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp, log

import numpy as np

import tadc
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.workload import Array, Workload, aligned
from tadc.runtime.cpu import Kernel
from tadc.runtime.loop_plan import predictions
from tadc.runtime.native_plan import NativePlan
from tadc.runtime.on_cpu import CpuExecutable
from tadc.runtime.runner import Runner

LEAST_SECONDS = 1e-4
"""Shorter steps are not compared: they depend on what the step before left in the caches."""

CLOSE = 1.5
"""The factor within which a prediction is close."""

SECONDS_OF_STEP = 0.2
FEWEST_RUNS, MOST_RUNS = 3, 200

ENTRY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


@dataclass(frozen=True)
class Step:
    """A definition, with seconds."""

    workload: str
    part: str
    label: str
    predicted: float
    measured: float

    @property
    def ratio(self) -> float:
        return self.predicted / self.measured

    @property
    def is_close(self) -> bool:
        return 1 / CLOSE <= self.ratio <= CLOSE


def main() -> None:
    """Print one line for each step, and how many are close."""
    parser = argparse.ArgumentParser(description="Predicted times of steps beside measured ones.")
    parser.add_argument("--only", nargs="+", default=[], help="workloads: W1 W2 ...")
    only: list[str] = parser.parse_args().only
    print("|  | step | predicted ms | measured ms | ratio |\n| --- | --- | ---: | ---: | ---: |")
    steps: list[Step] = []
    for workload in WORKLOADS:
        if only and workload.name not in only:
            continue
        for step in steps_of(workload):
            print(
                f"| {step.workload} | {step.part}: {step.label} | {1e3 * step.predicted:.3g} "
                f"| {1e3 * step.measured:.3g} | {step.ratio:.2f} |",
                flush=True,
            )
            steps += [step] if step.measured >= LEAST_SECONDS else []
    if steps:
        close = sum(step.is_close for step in steps)
        error = exp(sum(abs(log(step.ratio)) for step in steps) / len(steps))
        print(
            f"\n{close} of {len(steps)} within a factor {CLOSE}; geometric mean error {error:.2f}"
        )


def steps_of(workload: Workload) -> Iterator[Step]:
    """The steps of the value, and of the gradients."""
    f = tadc.compile(workload.free())
    arrays = workload.inputs(np.random.default_rng(0))
    arguments = [arrays[t.name] for t in f.args]
    both = f.pullback_of(arguments, {})
    computed = both.value.call(arguments, {})
    adjoints = [np.ones_like(y) for y in computed[: len(f.results)]]
    given = [*arguments, *both.saved_of(computed), *adjoints]
    for part, runner, inputs in (
        ("value", both.value, arguments),
        ("gradients", both.gradients, given),
    ):
        plan, readable = runner.prepare(inputs, {})
        assert isinstance(plan, NativePlan)
        names = runner.program.summary.size_names()
        sizes = {name: plan.sizes[name] for name in names}
        predicted = predictions(runner, sizes or None, "f32")
        for label, seconds in measured(runner, plan, readable).items():
            yield Step(workload.name, part, label, predicted[label].seconds, seconds)


def measured(runner: Runner, plan: NativePlan, inputs: Sequence[Array]) -> Mapping[str, float]:
    """The seconds of each definition, alone, by its label."""
    names = [t.name for t in runner.program.args]
    buffers = dict(zip(names, map(np.ascontiguousarray, inputs), strict=True))
    for name, tensor in plan.tensors.items():
        buffers[name] = aligned(np.ones(tensor.shape, tensor.dtype))
    executable = plan.executable
    assert isinstance(executable, CpuExecutable)
    found: dict[str, float] = {}
    for step in executable.steps:
        addresses = [buffers[name].ctypes.data for name in step.buffers]
        words = np.array([*addresses, *(plan.sizes[name] for name in step.sizes)], np.int64)
        found[step.buffers[0]] = least(partial(run, executable.code.kernels[step.kernel], words))
    return found


def run(kernel: Kernel, words: Array) -> None:
    """Run a kernel whole, on this thread."""
    stop = ctypes.c_int64(0)
    place = words.ctypes.data
    ENTRY(kernel.entry)(place, 0, kernel.extent(place), ctypes.addressof(stop))


def least(run: Callable[[], None]) -> float:
    """The least time of the processor of some runs."""
    run()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < FEWEST_RUNS or (
        len(times) < MOST_RUNS and time.perf_counter() - start < SECONDS_OF_STEP
    ):
        before = time.process_time()
        run()
        times.append(time.process_time() - before)
    return min(times)


if __name__ == "__main__":
    main()

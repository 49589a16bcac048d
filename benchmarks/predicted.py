"""Predicted times of single steps beside measured ones, on one core.

    python -m benchmarks.predicted [--only W1 W2] [--assumed] [--save]

Each definition of the thirteen workloads in f32, of the value and of the gradients as `tadc.vjp`
runs them: the time of the processor, least of some runs, beside what
`passes/scheduling/costs/predict_time.py` says for a machine with the facts of this one
(`machine_facts`), or with those that it assumes and `tadc derive --explain-plan` prints. Steps of
less than 100 µs do not count in the end.
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
from benchmarks import machine, tables
from benchmarks.machine_facts import facts
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.workload import Array, Workload, aligned
from tadc.dialects.tix import elementwise as ew
from tadc.passes.scheduling.costs.predict_time import MACHINE, Machine
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

HEAD = ("|  | step | predicted ms | measured ms | ratio |", "| --- | --- | ---: | ---: | ---: |")

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
    def line(self) -> str:
        """The row of a table."""
        times = f"{1e3 * self.predicted:.3g} | {1e3 * self.measured:.3g} | {self.ratio:.2f}"
        return f"| {self.workload} | {self.part}: {self.label} | {times} |"

    @property
    def is_close(self) -> bool:
        return 1 / CLOSE <= self.ratio <= CLOSE


def main() -> None:
    """Print one line for each step, and how many are close; save them if asked."""
    parser = argparse.ArgumentParser(description="Predicted times of steps beside measured ones.")
    parser.add_argument("--only", nargs="+", default=[], help="workloads: W1 W2 ...")
    parser.add_argument("--assumed", action="store_true", help="predict for the assumed machine")
    parser.add_argument("--save", action="store_true", help="write the results to a file")
    options = parser.parse_args()
    assumed = MACHINE if options.assumed else facts()
    lines = [described(assumed), "", *HEAD]
    print("\n".join(lines))
    steps: list[Step] = []
    for workload in WORKLOADS:
        if options.only and workload.name not in options.only:
            continue
        for step in steps_of(workload, assumed):
            lines.append(step.line)
            print(step.line, flush=True)
            steps += [step] if step.measured >= LEAST_SECONDS else []
    if steps:
        lines += ["", summary(steps)]
        print("\n".join(lines[-2:]))
    if options.save:
        head = f"# Predicted and measured times\n\n{tables.listed(machine.about())}"
        tables.save("predicted", "\n".join([head, "", *lines]))


def described(of: Machine) -> str:
    return (
        f"Predicted for {of.gigahertz:.2g} GHz, {of.arithmetic:.2g} multiply-additions, "
        f"{of.additions:.2g} additions, {of.together:.2g} of both, {of.loads:.2g} loads a cycle, "
        f"{of.functions[ew.ExpOp]:.2g} slots for exp, and "
        f"{of.cache_speed:.3g}, {of.shared_speed:.3g} and {of.memory_speed:.3g} gigabytes a second "
        "from the caches of a core, the shared cache, and memory."
    )


def summary(steps: Sequence[Step]) -> str:
    close = sum(step.is_close for step in steps)
    error = exp(sum(abs(log(step.ratio)) for step in steps) / len(steps))
    return f"{close} of {len(steps)} within a factor {CLOSE}; geometric mean error {error:.2f}"


def steps_of(workload: Workload, assumed: Machine) -> Iterator[Step]:
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
        predicted = predictions(runner, sizes or None, "f32", assumed)
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

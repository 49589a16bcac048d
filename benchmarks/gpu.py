"""Times tadc's kernels on a GPU beside torch's, on the workloads of `benchmarks.cpu`.

    python -m benchmarks.gpu [--only W1 W2] [--contenders tadc torch] [--calls] [--save]

The value, and the value with the gradients of all arguments, in f32, as `cpu` has them. Each is
recorded as a CUDA graph, of which replays are timed, so that the kernels count and Python does not;
with `--calls` it is Python's calls that are timed. `triton.testing.do_bench` times with events and
clears the caches before each run. Torch computes in f32 throughout, without TF32. All results are
checked against NumPy in f64 first. Needs torch with CUDA, Triton and PyCUDA.

The limit of a row is what the operations of the hand-written C take at the speed of a product of
matrices without tensor cores, or its bytes at that of a copy, whichever is longer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
import torch
from triton.testing import do_bench

import tadc
from benchmarks import machine, tables
from benchmarks.cpu import KINDS, LIMIT, inputs, largest_error
from benchmarks.operations import OPERATIONS, moved
from benchmarks.workloads import ALL
from benchmarks.workloads.workload import Array, Workload
from tadc.program import Program
from tadc.runtime import cuda, nvrtc
from tadc.runtime.on_gpu import CudaExecutable
from tadc.runtime.runner import Runner
from tadc.runtime.value_and_gradients import Pullbacks

Arrays = Mapping[str, torch.Tensor]
Run = Callable[[], Sequence[torch.Tensor]]
BASE = "torch"
READING = 50
"""Milliseconds of runs for a median."""


@dataclass(frozen=True)
class Contender:
    """Runs on the device: the value alone, and the value and all gradients."""

    value: Run
    both: Run


class Streams:
    """One stream, as PyCUDA and as torch know it."""

    def __init__(self) -> None:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        with cuda.current(0):
            self.own = cuda.driver().Stream(1)
        self.torch = torch.cuda.ExternalStream(self.own.handle)


# --- contenders -----------------------------------------------------------------------------------


class Launches:
    """The kernels of a program, with their buffers, which are allocated once."""

    def __init__(self, program: Program, arrays: Arrays, streams: Streams):
        shapes = [tuple(arrays[t.name].shape) for t in program.args]
        plan = Runner(program, "cuda").plan(shapes, "f32")
        executable = plan.executable
        assert isinstance(executable, CudaExecutable)
        made = {
            name: torch.empty(t.shape, dtype=torch.float32, device="cuda")
            for name, t in plan.tensors.items()
        }
        buffers = dict(arrays) | made
        launch = executable.launches(plan.sizes)
        self.steps = [
            (launch[step.kernel], [buffers[b] for b in step.buffers]) for step in executable.steps
        ]
        self.results = [buffers[name] for name in executable.results]
        self.stream = streams.own

    def __call__(self) -> list[torch.Tensor]:
        for launch, buffers in self.steps:
            launch(*buffers, stream=self.stream)
        return self.results


def by_tadc(source: str, arrays: Arrays, dy: torch.Tensor, streams: Streams) -> Contender:
    """The kernels of a text, on arrays that are on the device; the gradients read what is saved."""
    program = tadc.compile(source, "cuda").program
    own = {t.name: arrays[t.name] for t in program.args}
    parts = Pullbacks(Runner(program, "cuda")).of(list(own))
    value = Launches(program, own, streams)
    first = Launches(parts.value.program, own, streams)
    computed = dict(zip(parts.value.program.result_labels, first.results, strict=True))
    given = own | {name: computed[name] for name in parts.saved}
    given |= {t.name: dy for t in parts.adjoints}
    second = Launches(parts.gradients.program, given, streams)
    return Contender(value, lambda: [first()[0], *second()])


def by_torch(workload: Workload, arrays: Arrays, dy: torch.Tensor, compiled: bool) -> Contender:
    """The workload in PyTorch, eagerly or under `torch.compile`; gradients by its autograd."""

    def f(*tensors: torch.Tensor) -> torch.Tensor:
        return workload.torch(torch, *tensors)

    if compiled:
        torch.compiler.reset()
    run: Any = torch.compile(f, fullgraph=True, dynamic=False) if compiled else f
    leaves = [a.clone().requires_grad_() for a in arrays.values()]

    def value() -> Sequence[torch.Tensor]:
        with torch.no_grad():
            return [run(*arrays.values())]

    def both() -> Sequence[torch.Tensor]:
        y = run(*leaves)
        return [y.detach(), *torch.autograd.grad(y, leaves, dy)]

    return Contender(value, both)


def contender(
    name: str, workload: Workload, arrays: dict[str, Array], dy: Array, streams: Streams
) -> Contender:
    """The contender of that name."""
    on_device = {n: torch.from_numpy(a.copy()).cuda() for n, a in arrays.items()}
    adjoint = torch.from_numpy(dy.copy()).cuda()
    match name:
        case "tadc":
            return by_tadc(workload.free(), on_device, adjoint, streams)
        case "tadc declared":
            return by_tadc(workload.declared(arrays), on_device, adjoint, streams)
        case _:
            return by_torch(workload, on_device, adjoint, name == "torch.compile")


CONTENDERS = ("tadc", "tadc declared", "torch", "torch.compile")

# --- measuring ------------------------------------------------------------------------------------


def recorded(run: Run, streams: Streams) -> Callable[[], Any]:
    """Replays of a run as a CUDA graph."""
    with torch.cuda.stream(streams.torch):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=streams.torch):
        run()
    return graph.replay


def on_stream(run: Run, streams: Streams) -> Callable[[], Any]:
    """Calls of a run, after what the current stream did, and before what it will do."""

    def call() -> None:
        streams.torch.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(streams.torch):
            run()
        torch.cuda.current_stream().wait_stream(streams.torch)

    return call


def milliseconds(run: Run, streams: Streams, calls: bool) -> float:
    """The median of some runs."""
    timed = on_stream(run, streams) if calls else recorded(run, streams)
    return do_bench(timed, warmup=READING // 2, rep=READING, return_mode="median")


def results(run: Run, streams: Streams) -> list[Array]:
    with torch.cuda.stream(streams.torch):
        found = run()
    torch.cuda.synchronize()
    return [t.detach().cpu().numpy().copy() for t in found]


def checked(
    workload: Workload, arrays: dict[str, Array], dy: Array, names: Sequence[str], streams: Streams
) -> dict[str, Contender]:
    """The contenders that run; one whose results are wrong ends the process."""
    precise = [a.astype(np.float64) for a in arrays.values()]
    y = workload.value(*precise)
    expected = [y, y, *workload.gradients(y, dy.astype(np.float64), *precise)]
    found: dict[str, Contender] = {}
    for name in names:
        try:
            made = contender(name, workload, arrays, dy, streams)
            every = results(made.value, streams) + results(made.both, streams)
        except (RuntimeError, torch.cuda.OutOfMemoryError) as error:
            print(f"{workload.name}: without {name}: {error}", file=sys.stderr)
            continue
        error = largest_error(every, expected)
        assert error < LIMIT, f"{workload.name}: {name} is off by {error:.1e}"
        found[name] = made
    return found


@dataclass(frozen=True)
class Peaks:
    """Operations, and bytes read or written, per second: of a product, and of a copy."""

    operations: float
    bytes: float

    def milliseconds(self, operations: float, moved: float) -> float:
        return max(operations / self.operations, moved / self.bytes) * 1e3


def peaks() -> Peaks:
    """Measures the device; a product with its sum is one operation, as in `operations`."""
    n = 8192
    a = torch.randn(n, n, device="cuda")
    product = do_bench(lambda: torch.mm(a, a), return_mode="median")
    x = torch.randn(2**28, device="cuda")
    y = torch.empty_like(x)
    copy = do_bench(lambda: y.copy_(x), return_mode="median")
    return Peaks(n**3 / product * 1e3, 2 * x.nbytes / copy * 1e3)


def least(found: Peaks, workload: Workload) -> dict[str, float]:
    """The limits of a workload in milliseconds, by kind."""
    (value, gradients), (own, others) = OPERATIONS[workload.name], moved(workload)
    both = found.milliseconds(value + gradients, own + others)
    return dict(zip(KINDS, (found.milliseconds(value, own), both), strict=True))


# --- the report -----------------------------------------------------------------------------------

Rows = dict[str, dict[str, float]]
"""Milliseconds, by workload and contender."""


def table(rows: Rows, limits: Mapping[str, float], names: Sequence[str]) -> str:
    """Milliseconds, and multiples of torch; the last row has their geometric means."""
    lines = [
        [w, f"{limits[w]:.3g}", *(_cell(times, n) for n in names)] for w, times in rows.items()
    ]
    lines.append(["geometric mean", "", *(_mean(rows, n) for n in names)])
    return tables.markdown(["ms (x torch)", "limit", *names], lines)


def _cell(times: Mapping[str, float], name: str) -> str:
    if name not in times:
        return ""
    ratio = f" ({times[name] / times[BASE]:.2f}x)" if BASE in times else ""
    return f"{times[name]:.3g}{ratio}"


def _mean(rows: Rows, name: str) -> str:
    ratios = [t[name] / t[BASE] for t in rows.values() if name in t and BASE in t]
    return f"{exp(sum(map(log, ratios)) / len(ratios)):.2f}x of {len(ratios)}" if ratios else ""


def about(found: Peaks) -> dict[str, Any]:
    """The machine, the device, and what the limits are made of."""
    device = torch.cuda.get_device_properties(0)
    return {
        **machine.about(),
        "device": f"{device.name}, {device.multi_processor_count} multiprocessors",
        "driver": machine.printed(
            "nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"
        ),
        "NVRTC": ".".join(map(str, nvrtc.version())),
        "multiplications with a sum per second": f"{found.operations:.3g}",
        "bytes read or written per second": f"{found.bytes:.3g}",
    }


def measured(options: argparse.Namespace, found: Peaks) -> tuple[dict[str, Rows], Rows]:
    """Times and limits by kind and workload; each row is printed when it is there."""
    streams = Streams()
    times: dict[str, Rows] = {kind: {} for kind in KINDS}
    limits: Rows = {kind: {} for kind in KINDS}
    for workload in ALL:
        if options.only and workload.name not in options.only:
            continue
        arrays, dy = inputs(workload)
        made = checked(workload, arrays, dy, options.contenders, streams)
        for kind, limit in least(found, workload).items():
            limits[kind][workload.name] = limit
            times[kind][workload.name] = row = {}
            for name, each in made.items():
                run = each.value if kind == KINDS[0] else each.both
                row[name] = milliseconds(run, streams, options.calls)
            shown = ", ".join(f"{n} {_cell(row, n)}" for n in row)
            print(f"{workload.name} {kind}: limit {limit:.3g}, {shown}", flush=True)
    return times, limits


def main() -> None:
    """Measure what the command line asks for, and print the tables; save them if asked."""
    parser = argparse.ArgumentParser(description="Times of tadc on a GPU beside torch.")
    parser.add_argument("--only", nargs="+", default=[], help="of all workloads: W1 W2 ...")
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS[:3])
    parser.add_argument("--calls", action="store_true", help="time calls from Python, not graphs")
    parser.add_argument("--save", action="store_true", help="write benchmarks/results/gpu-<date>")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    found = peaks()
    times, limits = measured(options, found)
    what = "calls from Python" if options.calls else "replays of CUDA graphs"
    parts = [
        f"## {kind}: {what}\n\n{table(times[kind], limits[kind], options.contenders)}"
        for kind in KINDS
    ]
    text = "\n\n".join(["# GPU: tadc beside torch", tables.listed(about(found)), *parts])
    print(text)
    if options.save:
        tables.save("gpu-calls" if options.calls else "gpu", text)


if __name__ == "__main__":
    main()

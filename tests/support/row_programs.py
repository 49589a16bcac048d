"""Programs whose definitions share rows, and which function writes what."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tadc.function import Function
from tadc.passes.lowering.schedule import schedule
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.blocking import blocking_chooser
from tadc.runtime.executable import kernel_calls

SOFTMAX = """\
m[i] = max[j](x[i, j])
e[i, j] = exp(x[i, j] - m[i])
s[i] = sum[j](e[i, j])
y[i, j] = e[i, j] / s[i]"""
LAYER_NORM = """\
m[i] = sum[k](x[i, k]) / 5
v[i] = sum[k]((x[i, k] - m[i])**2) / 5
y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + 1e-3) * g[j] + b[j]"""


def written(f: Function) -> list[tuple[str, ...]]:
    """The tensors that each function writes."""
    program = set_precision(f.program.op, "f64")
    return [
        step.written
        for step in kernel_calls(ModuleOp(schedule(program, blocking_chooser(True, ()))))
    ]

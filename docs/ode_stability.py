"""How the errors of the four modes of a flow grow with its length: the figure and table of ode.md.

    python docs/ode_stability.py     prints the table, and draws docs/ode-stability.svg (matplotlib)

Both systems have a direction that they keep and others that they contract: the diffusion of heat on
a ring keeps the mean, the van der Pol oscillator moves along its cycle.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tadc

RTOL = 1e-10
HEAT = """
u: f64[N]
left[i in range(N)] = u[i - 1] if i > 0 else u[N - 1]
right[i in range(N)] = u[i + 1] if i < N - 1 else u[0]
y[i] = left[i] - 2*u[i] + right[i]
"""
VAN_DER_POL = """
x: f64[2]
y[i in range(2)] = x[1] if i == 0 else (1 - x[0]**2) * x[1] - x[0]
"""


@dataclass(frozen=True)
class System:
    """A differential equation, where it starts, and the lengths of time to look at."""

    name: str
    program: str
    start: np.ndarray
    times: tuple[float, ...]


SYSTEMS = (
    System("heat on a ring", HEAT, np.linspace(-1, 1, 6) ** 3, (1, 2, 3, 4, 5)),
    # a point on the cycle
    System("van der Pol", VAN_DER_POL, np.array([2.0, 0.0]), (3, 6, 9, 12, 15)),
)


@dataclass(frozen=True)
class Errors:
    """The relative errors of the modes of a flow of one length."""

    time: float
    forward: float
    """J v against a solution of finer tolerance."""
    reverse: float
    inverse: float
    """J^-1 (J v) against v, where J v has an error as large as the tolerance."""
    inverse_transposed: float
    contraction: float
    """How much J shrinks what it shrinks most: its least singular value."""


def measure(system: System) -> list[Errors]:
    """The errors for every length of time."""
    rng = np.random.default_rng(0)
    v, w = rng.normal(size=(2, *system.start.shape))
    g = tadc.compile(system.program)
    noise = RTOL * rng.normal(size=(2, *system.start.shape))
    return [errors(g, (system.start,), time, (v, w), noise) for time in system.times]


def errors(g: tadc.Function, x: tuple, time: float, vectors, noise) -> Errors:
    """The relative errors of the four modes over a length of time.

    The inverse modes get what forward and reverse mode give, with `noise` relative to its norm.
    """
    v, w = vectors
    flow = tadc.ode.flow(g, 0, time, rtol=RTOL, atol=1e-2 * RTOL)
    fine = tadc.ode.flow(g, 0, time, rtol=1e-13, atol=1e-16)
    jacobian = np.array([fine.jvp(x, (unit,))[1] for unit in np.eye(len(v))]).T
    forward, reverse = flow.jvp(x, (v,))[1], flow.vjp(*x)[1](w)[0]
    noisy = (
        forward + noise[0] * np.linalg.norm(forward),
        reverse + noise[1] * np.linalg.norm(reverse),
    )
    return Errors(
        time,
        distance(forward, jacobian @ v),
        distance(reverse, jacobian.T @ w),
        distance(flow.inverse_jvp(x, noisy[0])[0], v),
        distance(flow.inverse_vjp(x, noisy[1])[0], w),
        float(np.linalg.svd(jacobian)[1].min()),
    )


def distance(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def table(system: System, measured: list[Errors]) -> str:
    """The errors as a table in Markdown."""
    lines = [
        f"| {system.name}: T1 - T0 | `jvp` | `vjp` | `inverse_jvp` | `inverse_vjp` | contraction |",
        "|---|---|---|---|---|---|",
    ]
    for e in measured:
        values = (e.forward, e.reverse, e.inverse, e.inverse_transposed, e.contraction)
        lines.append(f"| {e.time:g} | " + " | ".join(f"{v:.0e}" for v in values) + " |")
    return "\n".join(lines)


def draw(results: list[tuple[System, list[Errors]]], path: Path) -> None:
    """The errors over the lengths of time, and what contraction makes of an error of 1e-10."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "tadc", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    for panel, (system, measured) in zip(panels, results, strict=True):
        times = [e.time for e in measured]
        for label, style, pick in (
            ("jvp (5.11a)", "o-", lambda e: e.forward),
            ("vjp (5.11b)", "s-", lambda e: e.reverse),
            ("inverse_jvp (5.11c)", "o-", lambda e: e.inverse),
            ("inverse_vjp (5.11d)", "s-", lambda e: e.inverse_transposed),
        ):
            panel.semilogy(times, [pick(e) for e in measured], style, label=label, markersize=4)
        bound = [RTOL / e.contraction for e in measured]
        panel.semilogy(times, bound, "k--", label="1e-10 / contraction", linewidth=1)
        panel.set(title=system.name, xlabel="T1 - T0", xticks=times)
        panel.grid(True, alpha=0.3)
    panels[0].set_ylabel("relative error")
    panels[0].legend(fontsize=8)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    found = [(system, measure(system)) for system in SYSTEMS]
    for result in found:
        print(table(*result), end="\n\n")
    draw(found, Path(__file__).parent / "ode-stability.svg")

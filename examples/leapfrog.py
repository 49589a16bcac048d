"""Bodies that attract each other, followed by the leapfrog method: each step is lines of a program.

A drift changes the positions by the momenta, a kick the momenta by the forces. Each is an update
that shears the phase space and keeps its volume: det J = 1 however many steps there are, and J^-1
undoes J without solving anything.
"""

from __future__ import annotations

import numpy as np

import tadc

HEADER = """
q: f64[N, 2]
p: f64[N, 2]
dt: f64[]
"""
DRIFT = """
q[i, c] += {part} * dt * p[i, c]
"""
# the force between two bodies of mass 1 / N, softened where they are close
DISTANCE = """
r{k}[i, j] = 0.05 + sum[c]((q[j, c] - q[i, c])**2)
"""
KICK = """
p[i, c] += dt / N * sum[j]((q[j, c] - q[i, c]) / r{k}[i, j]**1.5)
"""
ENERGY = f"""
q: f64[N, 2]
p: f64[N, 2]
{DISTANCE.format(k="")}
energy = sum[i, c](p[i, c]**2) / 2 - sum[i, j in range(i)](1 / sqrt(r[i, j])) / N
"""


def integrator(steps):
    """The positions and momenta after some steps; drifts between two kicks are done at once."""
    drifts = ["0.5", *["1"] * (steps - 1), "0.5"]
    text = DRIFT.format(part=drifts[0])
    for k, part in enumerate(drifts[1:]):
        text += (DISTANCE + KICK).format(k=k) + DRIFT.format(part=part)
    return tadc.compile(HEADER + text)


def main(bodies=20, steps=40, dt=0.04):
    """Follow the bodies; gives the drift of the energy, and what J^-1 and det J are wrong by."""
    rng = np.random.default_rng(0)
    leapfrog, energy = integrator(steps), tadc.compile(ENERGY)
    q, p = rng.normal(size=(2, bodies, 2))
    start = energy(q, p)
    long = leapfrog(q, p, dt)
    short = leapfrog(*leapfrog(q, p, dt / 2), dt / 2)
    lost = [abs(energy(*end) / start - 1) for end in (long, short)]
    print(f"{bodies} bodies, {steps} steps: {len(str(leapfrog).splitlines())} lines")
    print(f"energy changes by {lost[0]:.1e} of itself, by {lost[1]:.1e} in steps half as long")
    return lost


if __name__ == "__main__":
    main()

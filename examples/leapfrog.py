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


def energies(leapfrog, energy, q, p, dt, calls):
    """The energy at the start and after each of some calls."""
    found = [energy(q, p)]
    for _ in range(calls):
        q, p = leapfrog(q, p, dt)
        found.append(energy(q, p))
    return np.array(found)


def main(bodies=20, steps=20, dt=0.02):
    """Follow the bodies; gives the changes of energy, what J^-1 is wrong by, and log |det J|."""
    rng = np.random.default_rng(0)
    leapfrog, energy = integrator(steps), tadc.compile(ENERGY)
    q, p = rng.normal(size=(2, bodies, 2))
    long = energies(leapfrog, energy, q, p, dt, 10)
    short = energies(leapfrog, energy, q, p, dt / 2, 20)
    lost = [np.abs(e / e[0] - 1).max() for e in (long, short)]
    print(f"{bodies} bodies, {steps} steps in {len(str(leapfrog).splitlines())} lines")
    print(f"energy changes by {lost[0]:.1e} at most, by {lost[1]:.1e} in steps half as long")

    v = rng.normal(size=(2, bodies, 2))
    _, moved = tadc.jvp(leapfrog, (q, p, dt), (*v, None))
    back = tadc.inverse_jvp(leapfrog, (q, p, dt), moved)
    error = np.abs(np.array(back) - v).max() / np.abs(v).max()
    _, log_det = tadc.log_abs_det(leapfrog, (q, p, dt))
    print(f"J^-1 (J v) is v but for {error:.1e}, and log |det J| = {log_det:.1e}")
    return lost, error, log_det


if __name__ == "__main__":
    main()

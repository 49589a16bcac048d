"""Random integer systems against brute force: equations solved, loops bounded."""

from __future__ import annotations

import random

from tadc.passes.polyhedral.loop_nests import loop_nest
from tests.fuzz.failures import Failure, report, signature
from tests.passes.polyhedral.boxed_systems import (
    brute_force,
    irredundant_as_promised,
    parameter_points,
    random_system,
    run,
)
from tests.passes.polyhedral.test_diophantine import check as check_solution

ENTRIES = (0, 0, 0, 1, 1, -1, 2, -2, 3, 4, 6)


class Systems:
    """Even seeds are equations, odd ones inequalities."""

    kind = "systems"

    def check(self, seed: int) -> list[Failure]:
        try:
            (check_equations if seed % 2 == 0 else check_loops)(random.Random(seed))
        except Exception as error:
            return [Failure("systems", seed, signature(error), "", {}, report(error))]
        return []

    def flush(self) -> list[Failure]:
        return []


def check_equations(rng: random.Random) -> None:
    """`solve` gives every solution once, no other, and guards that are exact."""
    equations, unknowns, parameters = rng.randint(0, 4), rng.randint(0, 4), rng.randint(0, 2)
    m = [tuple(rng.choice(ENTRIES) for _ in range(unknowns)) for _ in range(equations)]
    h = [tuple(rng.choice(ENTRIES) for _ in range(parameters + 1)) for _ in range(equations)]
    if equations > 2 and rng.random() < 0.5:  # a lower rank
        m[-1] = tuple(x - 2 * y for x, y in zip(m[0], m[1], strict=True))
    preference = tuple(rng.sample(range(unknowns), unknowns))
    check_solution(tuple(m), tuple(h), unknowns, parameters, preference)


def check_loops(rng: random.Random) -> None:
    """`loop_nest` gives a nest with exactly the points of the system."""
    rows, context, loops, parameters = random_system(rng, 3)
    nest = loop_nest(rows, loops, context)
    assert irredundant_as_promised(nest, context)
    points = parameter_points(context, loops, parameters)
    for p in rng.sample(points, min(len(points), 6)):
        assert list(run(nest, p)) == brute_force(rows, loops, p)


def again(failure: Failure) -> Failure | None:
    """The failure of the same seed; None where it is none."""
    return next(iter(Systems().check(failure.seed)), None)

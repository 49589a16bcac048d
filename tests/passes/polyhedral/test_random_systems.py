"""The loops of random index systems meet every point exactly once; `random_systems` says how."""

import random
from collections.abc import Sequence

import pytest
from xdsl.passes import ModulePass

from tests.passes.polyhedral.random_systems import (
    PASSES,
    check,
    definition_of,
    derived,
    implied_bounds,
    random_system,
)
from tests.support.campaign import seeds


@pytest.mark.parametrize("first", seeds(75, of=150)[::15])
def test_every_point_exactly_once(first: int) -> None:
    seen = 0
    for seed in range(first, first + 15):
        seen += check(random_system(random.Random(seed))).points
    assert seen > 100


def test_a_system_that_only_integers_show_to_be_empty() -> None:
    """Everything is implied there; indices keep bounds nevertheless."""
    assert not check(random_system(random.Random(21486))).points


@pytest.mark.parametrize("passes", [PASSES[:2], PASSES], ids=["bounded", "simplified"])
@pytest.mark.parametrize("first", seeds(75, of=150)[::15])
def test_no_bound_is_implied(first: int, passes: Sequence[ModulePass]) -> None:
    for seed in range(first, first + 15):
        system = random_system(random.Random(seed))
        definition = definition_of(derived(system.text(), passes))
        assert not implied_bounds(definition, [*system.sizes]), seed

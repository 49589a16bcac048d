"""Seeds of random programs, and variants of a case, that tests check: all of them in a campaign.

    @pytest.mark.parametrize("first", seeds(100, of=1000)[::CHUNK])
    @pytest.mark.parametrize(("name", "dtype"), in_turn(CASES, ["f4", "f8"]))

With `TADC_CAMPAIGN=1` in the environment, as `make campaign` sets it, every test takes all of its
seeds. Those that are always checked are the first ones, so that a failure has the same number.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Variant = TypeVar("Variant")

CAMPAIGN = os.environ.get("TADC_CAMPAIGN", "0") != "0"


def seeds(some: int, of: int, start: int = 0) -> range:
    """The seeds of a test from `start` on: `some`, or all `of` them in a campaign."""
    return range(start, start + (of if CAMPAIGN else some))


def in_turn(cases: Iterable[Case], variants: Sequence[Variant]) -> list[tuple[Case, Variant]]:
    """Each case in one variant, the next case in the next one; in all of them in a campaign."""
    count = len(variants)
    return [
        (case, variants[(n + k) % count])
        for n, case in enumerate(cases)
        for k in range(count if CAMPAIGN else 1)
    ]

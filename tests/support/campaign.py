"""Seeds of the random programs that a test checks: some of them always, all in a campaign.

    @pytest.mark.parametrize("first", seeds(100, of=1000)[::CHUNK])

With `TADC_CAMPAIGN=1` in the environment, as `make campaign` sets it, every test takes all of its
seeds. Those that are always checked are the first ones, so that a failure has the same number.
"""

from __future__ import annotations

import os

CAMPAIGN = os.environ.get("TADC_CAMPAIGN", "0") != "0"


def seeds(some: int, of: int, start: int = 0) -> range:
    """The seeds of a test from `start` on: `some`, or all `of` them in a campaign."""
    return range(start, start + (of if CAMPAIGN else some))

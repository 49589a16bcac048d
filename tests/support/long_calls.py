"""Small calls that are compiled and run as large ones are."""

from __future__ import annotations

import pytest

from tadc.passes.scheduling.bands import band_layout, bands, slides
from tadc.runtime import plan_record, size_class


def count_all_calls_as_long(patch: pytest.MonkeyPatch) -> None:
    """All calls count as long, and sizes from 3 on lie in buckets."""
    patch.setattr(size_class, "MOST_WORK_WITHOUT_TILES", -1)
    patch.setattr(size_class, "LARGEST_NUMBER", 2)
    patch.setattr(size_class, "WIDTHS", (4, 8))
    patch.setattr(size_class, "STEP", 2)


def cut_all_steps(patch: pytest.MonkeyPatch) -> None:
    """Steps are cut into as many parts as they can be, which the team shares."""
    patch.setattr(plan_record, "MOST_WORK_ON_ONE_THREAD", -1)


def make_bands_small(patch: pytest.MonkeyPatch, room: int) -> None:
    """Calls of any size have bands, and many, of so many bytes, which slide by a few planes."""
    count_all_calls_as_long(patch)
    cut_all_steps(patch)
    patch.setattr(bands, "FEWEST_BYTES_OF_STAGE", 0)
    patch.setattr(band_layout, "BYTES_OF_BANDS", room)
    patch.setattr(band_layout, "FEWEST_COLUMNS", 4)
    patch.setattr(bands, "FEWEST_COLUMNS", 4)
    patch.setattr(slides, "LENGTH", 5)
    patch.setattr(slides, "TIMES_OF_REACH", 1)

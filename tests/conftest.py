"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tadc.language import functions


@pytest.fixture(autouse=True)
def _no_functions_are_left() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    """What a test defines is unknown to the next one."""
    before = functions.known_functions()
    yield
    functions.restore(before)

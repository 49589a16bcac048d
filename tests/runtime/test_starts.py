"""First calls that come together, and forks while others compile, in processes that have called
nothing: see `stress_starts`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.own_process import output_of

START_WHILE_IMPORTING = "from tests.runtime import stress_starts; stress_starts.start(8)"


@pytest.fixture(autouse=True)
def _later_ones_find_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TADC_CACHE", str(tmp_path / "cache"))


def test_first_calls_of_eight_threads_come_together():
    output_of("-c", START_WHILE_IMPORTING)
    output_of("-m", "tests.runtime.stress_starts", "--starts", "25", "--forks", "0")


def test_children_are_forked_while_threads_compile_and_call():
    output_of("-m", "tests.runtime.stress_starts", "--starts", "0", "--forks", "10")

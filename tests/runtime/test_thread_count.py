"""The number of threads: as asked for, as the environment says, or as many as processors."""

from __future__ import annotations

import os

import pytest

from tadc.errors import ArgumentError
from tadc.runtime.thread_count import MOST_THREADS, checked_thread_count, default_thread_count


@pytest.mark.parametrize("count", [0, -1, MOST_THREADS + 1, 2.0, "2", True, None])
def test_what_is_no_number_of_threads(count: object):
    with pytest.raises(ArgumentError, match="the number of threads is"):
        checked_thread_count(count, "the number of threads")


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TADC_NUM_THREADS", " 5 ")
    assert default_thread_count() == 5


@pytest.mark.parametrize("text", ["many", "0", "-2", "1.5", "99999"])
def test_the_environment_is_wrong(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv("TADC_NUM_THREADS", text)
    with pytest.raises(ArgumentError, match="TADC_NUM_THREADS is"):
        default_thread_count()


@pytest.mark.parametrize("text", [None, ""])
def test_one_for_each_processor(monkeypatch: pytest.MonkeyPatch, text: str | None):
    monkeypatch.delenv("TADC_NUM_THREADS", raising=False)
    if text is not None:
        monkeypatch.setenv("TADC_NUM_THREADS", text)
    assert default_thread_count() == len(os.sched_getaffinity(0))

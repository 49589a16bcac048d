"""A short run of each kind, and that failures are found, made small, saved and found again."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tadc.language.printing import values
from tests.fuzz import malformed, programs, systems
from tests.fuzz.__main__ import fuzz, replay
from tests.fuzz.failures import Failure, load
from tests.fuzz.shrink import Candidate, shrink_program, shrink_text
from tests.fuzz.workers import Fleet, shrunk
from tests.support.campaign import seeds


def clean(failures: list[Failure]) -> None:
    assert not failures, failures[0].report + failures[0].text


@pytest.mark.parametrize("first", seeds(500, of=2000)[::250])
def test_malformed_input_ends_in_located_errors(first: int):
    for seed in range(first, first + 250):
        clean(malformed.Malformed().check(seed))


def test_loops_meet_every_point_of_random_systems():
    for seed in seeds(100, of=200):
        clean(systems.Systems().check(seed))


def test_random_programs_agree_in_all_stages():
    checker = programs.Programs()
    for seed in seeds(20, of=40):
        clean(checker.check(seed))
    assert {name for seed in range(200) for name in programs.checks_of(seed)} == {
        *programs.CHECKS
    } - {"cuda"}


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch):
    """A printer that swaps the operands of powers."""
    original = values.ValuePrinter._binary

    def swapped(self, op, names):
        text = original(self, op, names)
        left, power, right = text.text.partition("**")
        return type(text)(f"{right}{power}{left}" if power else left, text.binds)

    monkeypatch.setattr(values.ValuePrinter, "_binary", swapped)


SOURCE = """x: f64[3, 4]
y: f64[4]
f[i, j] = sin(x[i, j] * 2) + y[j]**3 if i < j else sum[k](y[k])
g[i] = x[i, 1] + f[i, 2]
"""


def test_a_failure_is_shrunk_saved_and_found_again(
    broken: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    case = programs.case_of(SOURCE, {"x": [3, 4], "y": [4]}, 7, single=False)
    failure = programs.first_failure(case, ["value", "first", "text"])
    assert failure is not None and failure.facts["check"] == "text"
    small = shrunk(failure)
    assert small.how == failure.how
    assert "**" in small.text and len(small.text) < 30
    path = small.save(tmp_path)
    assert load(path).text == small.text
    assert replay(path) == 1
    assert small.how in capsys.readouterr().out


def test_a_repaired_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    facts = {"check": "text", "shapes": {"y": []}, "single": False}
    failure = Failure("programs", 7, "text: AssertionError", "f = y**3\n", facts)
    assert replay(failure.save(tmp_path)) == 0
    assert "passes now" in capsys.readouterr().out


def test_text_survives_the_file(tmp_path: Path):
    text = "y = 1\r\n\ud800\f\ufeff\0"
    assert load(Failure("malformed", 1, "", text).save(tmp_path)).text == text


def test_failures_are_made_small():
    def fails(c: Candidate) -> bool:
        return "x[" in c.source and "k" in c.source

    small = shrink_program(SOURCE, {"x": [3, 4], "y": [4]}, fails)
    assert len(small.source) < 40
    assert shrink_text("a long text with an é in it", lambda t: "é" in t) == "é"


def test_workers_share_the_seeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    counts = {"programs": 3, "malformed": 20, "systems": 3}
    assert fuzz(2, counts, 0, 60, tmp_path) == 0
    out = capsys.readouterr().out
    assert all(f"{n} {kind}" in out for kind, n in counts.items())


def test_a_worker_that_dies_names_its_seed_and_is_replaced(tmp_path: Path):
    fleet = Fleet(1, {"malformed": 1 << 40}, 100, 60, tmp_path)
    try:
        while not any(report.done for report in fleet.read()):
            time.sleep(0.05)
        os.kill(fleet.workers[0].pid, signal.SIGKILL)
        fleet.workers[0].join()
        (failure,) = fleet.replace_the_dead()
        assert (failure.kind, failure.how) == ("malformed", "died: -9")
        assert failure.seed >= 100
        assert fleet.tasks[0][0].next == failure.seed + 1
        while not any(report.done for report in fleet.read()):
            time.sleep(0.05)
        assert fleet.running
    finally:
        fleet.stop()

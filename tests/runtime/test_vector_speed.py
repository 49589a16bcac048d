"""The measured ratio of two widths of vectors, and where it is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tadc.runtime import vector_speed
from tadc.runtime.machine import machine
from tadc.runtime.vector_speed import speed_of_512_bits
from tests.support.paths import ROOT


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[float]:
    """The results of measurements, the last one first; the cache is empty."""
    speeds = [1.0, 2.0]
    monkeypatch.setattr(vector_speed, "_measure", lambda cpu, flags: speeds.pop())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return speeds


def kept(folder: Path) -> list[Path]:
    return list((folder / "tadc").iterdir())


def test_the_first_measurement_is_kept(measured: list[float], tmp_path: Path):
    assert speed_of_512_bits("a", "+b") == 2.0
    assert speed_of_512_bits("a", "+b") == 2.0
    assert speed_of_512_bits("another", "+b") == 1.0
    assert len(kept(tmp_path)) == 2


@pytest.mark.parametrize("content", ["", "two", "nan", "-1", "1e9", "2.0 2.0"])
def test_a_file_that_makes_no_sense_is_measured_again(
    content: str, measured: list[float], tmp_path: Path
):
    assert speed_of_512_bits("a", "+b") == 2.0
    (path,) = kept(tmp_path)
    path.write_text(content)
    assert speed_of_512_bits("a", "+b") == 1.0
    assert float(path.read_text()) == 1.0


def test_of_processes_that_measure_at_once_one_is_right(
    measured: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def meanwhile(cpu: str, flags: str) -> float:
        monkeypatch.setattr(vector_speed, "_measure", lambda cpu, flags: 1.75)
        assert speed_of_512_bits(cpu, flags) == 1.75  # another process, from first to last
        return 1.25

    monkeypatch.setattr(vector_speed, "_measure", meanwhile)
    assert speed_of_512_bits("a", "+b") == 1.75
    assert speed_of_512_bits("a", "+b") == 1.75


def test_without_a_place_to_keep_it_it_is_measured_each_time(
    measured: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "tadc").write_text("no folder")
    assert speed_of_512_bits("a", "+b") == 2.0
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    assert speed_of_512_bits("a", "+b") == 1.0


def no_home() -> Path:
    raise RuntimeError("no home")


@pytest.mark.skipif(not machine().has("avx512f"), reason="a processor with AVX-512")
def test_processes_agree(tmp_path: Path):
    script = "from tadc.runtime.machine import machine; print(machine().description)"
    environment = {"XDG_CACHE_HOME": str(tmp_path), "PATH": ""}
    command = [sys.executable, "-c", script]
    runs = [
        subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in runs}) == 1
    assert [process.returncode for process in runs] == [0] * 4
    assert len(kept(tmp_path)) == 1

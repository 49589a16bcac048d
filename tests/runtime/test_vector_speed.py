"""The measured ratio of two widths of vectors, and where it is kept."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tadc.runtime import vector_speed
from tadc.runtime.machine import machine
from tadc.runtime.vector_speed import speed_of_512_bits
from tadc.support.disk_store import DiskStore
from tests.support.paths import ROOT


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch, store: DiskStore) -> list[float]:
    """The results of measurements, the last one first; the cache is empty."""
    speeds = [1.0, 2.0]
    monkeypatch.setattr(vector_speed, "_measure", lambda cpu, flags: speeds.pop())
    return speeds


def test_the_first_measurement_is_kept(measured: list[float], store: DiskStore):
    assert speed_of_512_bits("a", "+b") == 2.0
    assert speed_of_512_bits("a", "+b") == 2.0
    assert speed_of_512_bits("another", "+b") == 1.0
    assert store.usage().entries == 2


def test_a_damaged_file_is_measured_again(measured: list[float], store: DiskStore):
    assert speed_of_512_bits("a", "+b") == 2.0
    assert store.folder
    (path,) = store.folder.iterdir()
    path.write_text("2.0")
    assert speed_of_512_bits("a", "+b") == 1.0
    assert speed_of_512_bits("a", "+b") == 1.0


def test_of_processes_that_measure_at_once_one_is_right(
    measured: list[float], monkeypatch: pytest.MonkeyPatch
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
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(vector_speed, "disk_store", lambda: DiskStore(tmp_path / "file"))
    assert speed_of_512_bits("a", "+b") == 2.0
    monkeypatch.setattr(vector_speed, "disk_store", lambda: DiskStore(None))
    assert speed_of_512_bits("a", "+b") == 1.0


@pytest.mark.skipif(not machine().has("avx512f"), reason="a processor with AVX-512")
def test_processes_agree(tmp_path: Path):
    script = "from tadc.runtime.machine import machine; print(machine().description)"
    environment = {"TADC_CACHE": str(tmp_path), "PATH": ""}
    command = [sys.executable, "-c", script]
    runs = [
        subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in runs}) == 1
    assert [process.returncode for process in runs] == [0] * 4
    assert DiskStore(tmp_path).usage().entries == 1

"""What all tests share."""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from tadc.commands import cli
from tadc.dialects.tix import AVX_512, Registers
from tadc.language import custom_functions
from tadc.passes.scheduling.costs import price_cache
from tadc.runtime import compilation
from tadc.support.disk_store import DiskStore, disk_store
from tests.support.few_threads import pretend_few_threads
from tests.support.registers import choose_loops_for

os.environ["TADC_CACHE"] = "off"  # tests see what is compiled now
os.environ[compilation.VARIABLE] = "0"  # and the memo below knows all that is compiled

SQUARES = "x: f64[N]\ny[i] = s * x[i]**2\n"


def pytest_collection_finish() -> None:
    """What there is before the first test lasts: the collector need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _code_of_a_text_is_made_once() -> Iterator[None]:
    """LLVM makes the same of a text each time: later tests take what it made for an earlier one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compilation, "object_of", lru_cache(500)(compilation.object_of))
        yield


@pytest.fixture(scope="session", autouse=True)
def _plans_are_those_for_avx_512() -> Iterator[None]:
    """Loops are chosen for the registers of AVX-512, so that tests see the same ones everywhere."""
    with pytest.MonkeyPatch.context() as patch:
        choose_loops_for(AVX_512, patch)
        yield


@pytest.fixture(params=[(32, 1), (16, 2), (16, 4)], ids=["AVX-512", "AVX2", "SSE"])
def registers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Registers:
    """The registers of each kind of processor, for which loops are chosen."""
    found = Registers(*request.param)
    choose_loops_for(found, monkeypatch)
    return found


@pytest.fixture
def few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let passes for GPUs work for one with a few threads, in warps of two."""
    pretend_few_threads(monkeypatch)


@pytest.fixture(autouse=True)
def _no_functions_are_left(monkeypatch: pytest.MonkeyPatch):
    """What a test defines is unknown to the next one."""
    monkeypatch.setattr(custom_functions, "_FUNCTIONS", dict(custom_functions.known_functions()))


@pytest.fixture(autouse=True)
def _no_prices_are_known(monkeypatch: pytest.MonkeyPatch):
    """Tests set limits that prices depend on."""
    monkeypatch.setattr(price_cache, "_known", {})


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DiskStore]:
    """The cache on disk, switched on: empty, in a folder of its own."""
    monkeypatch.setenv("TADC_CACHE", str(tmp_path / "cache"))
    disk_store.cache_clear()
    yield disk_store()
    disk_store.cache_clear()


class Outcome:
    def __init__(self, code: int, out: str, err: str):
        self.code, self.out, self.err = code, out, err
        assert "Traceback" not in err


@pytest.fixture
def tadc_(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a command line in an empty folder that has `f.tad`."""
    monkeypatch.chdir(tmp_path)
    Path("f.tad").write_text(SQUARES)

    def run(*words: str, stdin: str | bytes = "") -> Outcome:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
        try:
            code = cli.main(words)
        except SystemExit as exit:
            code = exit.code if isinstance(exit.code, int) else 1
        return Outcome(code, *capsys.readouterr())

    return run

"""Modules that this process compiles, and other processes beside it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tadc.errors import ArgumentError
from tadc.runtime import compilation, compiler_pool
from tadc.runtime.compilation import (
    VARIABLE,
    Compilation,
    compile_objects,
    most_processes,
)
from tadc.runtime.compiler_pool import pool
from tadc.runtime.compiler_process import CompilerProcess, wait
from tadc.runtime.cpu import CpuModule
from tests.support.cached_calls import cached_call
from tests.support.compiled_texts import compiled_texts
from tests.support.paths import ROOT

TEXTS = [f"define i64 @f{n}() {{\n  ret i64 {n}\n}}\n" for n in range(8)]
WRONG = "define i64 @f() {\n  ret i32 1\n}\n"

Begin = Callable[[int], list[CompilerProcess]]


@pytest.fixture
def begin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Begin]:
    """Begins so many processes, and waits until they are ready."""

    # however much the tests before have compiled here
    monkeypatch.setattr(Compilation, "compiled_here", 0)

    def begin_all(count: int) -> list[CompilerProcess]:
        monkeypatch.setenv(VARIABLE, str(count))
        made = [CompilerProcess() for _ in range(count)]
        pool._users.update(dict.fromkeys(made))
        assert all(wait([process], 60) and process.is_ready() for process in made)
        return made

    yield begin_all
    pool.at_exit()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that this process compiles."""
    return compiled_texts(monkeypatch)


def slowly(made: list[CompilerProcess], texts: list[str] = TEXTS) -> Iterator[str]:
    """Texts that are made so slowly that a process answers in between."""
    for text in texts:
        yield text
        assert wait(made, 60)


def assert_right(objects: list[bytes]) -> None:
    """The code of all texts, in order."""
    for n, data in enumerate(objects):
        assert CpuModule.of_objects([data]).address(f"f{n}")
    assert len(objects) == len(TEXTS)


def signal_to(process: CompilerProcess, number: int) -> None:
    os.kill(process._process.pid, number)


# --- which process compiles what ------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 3])
def test_objects_are_the_same(count: int, begin: Begin, here: list[str]):
    expected = compile_objects(TEXTS)
    assert here == TEXTS
    here.clear()
    made = begin(count)
    assert compile_objects(TEXTS) == expected
    assert len(here) < len(TEXTS) or not count
    here.clear()
    if count:
        assert compile_objects(slowly(made)) == expected
    assert here == []


def test_this_process_takes_what_waits_when_all_texts_are_there(
    begin: Begin, here: list[str], monkeypatch: pytest.MonkeyPatch
):
    (process,) = begin(1)
    signal_to(process, signal.SIGSTOP)
    object_of = compilation.object_of

    def last_one_wakes(*request: Any) -> bytes:
        if len(here) == len(TEXTS) - 2:
            signal_to(process, signal.SIGCONT)
        return object_of(*request)

    monkeypatch.setattr(compilation, "object_of", last_one_wakes)
    assert_right(compile_objects(TEXTS))
    assert sorted(here) == TEXTS[1:]  # also what was in the queue of the process


def test_a_process_has_enough_to_do_while_this_one_compiles(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
):
    begin(1)
    large = TEXTS[2] + "; large\n" * 100
    asked: list[str] = []
    ask, object_of = CompilerProcess.ask, compilation.object_of

    def asking(process: CompilerProcess, text: str, quick: bool) -> None:
        asked.append(text)
        ask(process, text, quick)

    def compiling(text: str, *others: Any) -> bytes:
        assert text != large or len(asked) == len(TEXTS) - 1
        return object_of(text, *others)

    monkeypatch.setattr(CompilerProcess, "ask", asking)
    monkeypatch.setattr(compilation, "object_of", compiling)
    assert_right(compile_objects([*TEXTS[:2], large, *TEXTS[3:]]))
    assert large not in asked


def test_no_texts(begin: Begin, here: list[str]):
    begin(1)
    assert compile_objects([]) == here == []


def test_bits_of_results_are_the_same():
    with_none = cached_call("workloads", cache="off")
    beside = cached_call("workloads", cache="off", **{VARIABLE: "2"})
    assert beside.results == with_none.results
    assert beside.compiled < with_none.compiled


# --- how many processes there are -----------------------------------------------------------------


def test_a_process_begins_where_it_is_worth_it(monkeypatch: pytest.MonkeyPatch, begin: Begin):
    begin(0)
    monkeypatch.setenv(VARIABLE, "2")
    compile_objects(TEXTS[: compilation.MODULES_WORTH_A_PROCESS])
    assert not pool.idle()
    compile_objects(TEXTS)
    assert len(pool.idle()) == 1
    compile_objects(TEXTS[:1], soon=True)
    assert len(pool.idle()) == 1
    pool.at_exit()
    compile_objects(TEXTS[:1], soon=True)
    assert len(pool.idle()) == 1


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(VARIABLE, "5")
    assert most_processes() == most_processes(least=1) == 5
    monkeypatch.setenv(VARIABLE, "0")
    assert most_processes() == most_processes(least=1) == 0
    monkeypatch.setenv(VARIABLE, "")
    for processors, most in ((1, 0), (2, 1), (4, 3), (64, 3)):
        monkeypatch.setattr(compilation, "processors", lambda n=processors: n)
        assert (most_processes(), most_processes(least=1)) == (most, max(most, 1))
    monkeypatch.setenv(VARIABLE, "many")
    with pytest.raises(ArgumentError, match="TADC_COMPILER_PROCESSES is 'many'"):
        most_processes()


def test_other_processes_compile_where_this_one_has_compiled_much(
    monkeypatch: pytest.MonkeyPatch, begin: Begin, here: list[str]
):
    begin(0)
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(compilation, "MOST_MODULES_HERE", 0)
    monkeypatch.setattr(compiler_pool, "MOST_MODULES", 3)
    assert_right(compile_objects(TEXTS))
    assert not pool.idle()  # it has compiled enough
    compile_objects(TEXTS[:2])
    assert [process.requests for process in pool.idle()] == [2]
    assert here == []
    monkeypatch.setenv(VARIABLE, "0")
    pool.at_exit()
    assert_right(compile_objects(TEXTS))
    assert here == TEXTS


@pytest.mark.parametrize("executable", ["", "/bin/false", "/nowhere"])
def test_where_no_process_can_begin(
    executable: str, monkeypatch: pytest.MonkeyPatch, begin: Begin, here: list[str]
):
    begin(0)
    monkeypatch.setenv(VARIABLE, "1")
    monkeypatch.setattr(compilation, "MOST_MODULES_HERE", 0)
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(pool, "_works", True)
    assert_right(compile_objects(TEXTS, soon=True))
    assert here == TEXTS and not pool.idle() and not pool._works


# --- errors, signals, forks and threads -----------------------------------------------------------


@pytest.mark.parametrize("when", ["idle", "at work"])
def test_this_process_compiles_for_one_that_ended(
    when: str, begin: Begin, here: list[str], monkeypatch: pytest.MonkeyPatch
):
    (process,) = begin(1)
    monkeypatch.setenv(VARIABLE, "0")  # so that no other one begins
    signal_to(process, signal.SIGSTOP)

    def texts() -> Iterator[str]:
        if when == "idle":
            signal_to(process, signal.SIGKILL)
            wait([process], 60)
        yield TEXTS[0]
        if when == "at work":
            signal_to(process, signal.SIGKILL)
        yield from TEXTS[1:]

    assert_right(compile_objects(texts()))
    assert sorted(here) == TEXTS and process not in pool.idle()


def test_an_error_there_is_raised_here(begin: Begin, here: list[str]):
    made = begin(1)
    with pytest.raises(RuntimeError, match="i32"):
        compile_objects(slowly(made, [TEXTS[0], WRONG, *TEXTS[1:]]))
    assert here == [WRONG]
    assert_right(compile_objects(slowly(begin(1))))


def test_an_interruption_leaves_an_answer_to_nobody(begin: Begin):
    (process,) = begin(1)
    signal_to(process, signal.SIGSTOP)

    def texts() -> Iterator[str]:
        yield TEXTS[1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_objects(texts())
    assert process._process.returncode == -signal.SIGKILL and not pool.idle()
    assert_right(compile_objects(TEXTS))


def test_threads_share_processes(begin: Begin):
    begin(2)
    with ThreadPoolExecutor(4) as threads:
        for objects in threads.map(compile_objects, [TEXTS] * 4):
            assert_right(objects)
    assert len(pool.idle()) == 2


def _forked() -> None:
    assert not pool.idle()
    assert_right(compile_objects(TEXTS, soon=True))
    assert len(pool.idle()) == 1  # of its own
    pool.at_exit()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_has_processes_of_its_own(begin: Begin, here: list[str]):
    made = begin(1)
    child = multiprocessing.get_context("fork").Process(target=_forked)
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert_right(compile_objects(slowly(made)))
    assert here == []


END = """
import os, signal, sys, time
from tadc.runtime.compiler_pool import pool
from tadc.runtime.compiler_process import wait
pool.begin(1)
(process,) = pool.idle()
wait([process])
print(process._process.pid, flush=True)
if sys.argv[1] == "forked" and not os.fork():
    time.sleep(60)
if sys.argv[1] != "returns":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("end", ["returns", "is killed", "forked"])
def test_processes_end_with_the_one_that_began_them(end: str):
    command = [sys.executable, "-W", "error", "-X", "dev", "-c", END, end]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as script:
        assert script.stdout and script.stderr
        process = Path(f"/proc/{int(script.stdout.readline())}/cmdline")
        script.wait(60)
        for _ in range(600):
            if not process.exists() or not process.read_bytes():  # a zombie has no command line
                break
            time.sleep(0.1)
        else:
            pytest.fail("the process is still there")
        if end == "forked":
            os.killpg(script.pid, signal.SIGKILL)
        assert script.stderr.read() == b""


SCRIPT = """
import numpy as np
import tadc
f = tadc.compile("y[i] = sum[j](exp(-(x[i] - z[j])**2) * b[j])")
print([round(float(g.sum()), 3) for g in tadc.vjp(f, *np.ones((3, 2000)))[1](np.ones(2000))])
"""


def test_a_script_runs_once(tmp_path: Path):
    """A script that compiles in several processes needs no `if __name__ == "__main__"`."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    others = {**os.environ, VARIABLE: "2", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-X", "dev", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, env=others)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1


BESIDE_LLVM = {"xdsl.ir", "numpy", "hashlib", "dataclasses", "pickle", "subprocess"}


def test_a_process_imports_little():
    code = "import sys, tadc.runtime.compiler_server as s; s.llvm(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    names = done.stdout.split()
    assert "llvmlite.binding" in names and not BESIDE_LLVM & {*names}

"""Modules in the order in which they are compiled, also before there is a process for them."""

from __future__ import annotations

import os
import signal

import pytest

from tadc.runtime.compilation import VARIABLE, Compilation, begin, compile_objects
from tadc.runtime.compiler_pool import pool
from tadc.runtime.compiler_process import wait
from tadc.targets.llvm_sections import COMMON, EXPLICIT
from tests.support.compiled_texts import compiled_texts

TEXTS = [f"define i64 @f{n}() {{\n  ret i64 {n}\n}}\n" for n in range(8)]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that this process compiles."""
    monkeypatch.setattr(Compilation, "compiled_here", 0)
    return compiled_texts(monkeypatch)


def test_what_takes_longest_begins_first(here: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "0")
    vectors = f"{EXPLICIT}\n{TEXTS[1]}{'; text' * 20}\n{COMMON}\n"
    loops = TEXTS[2] + "; text\n" * 10
    assert len(vectors) > len(loops)
    compile_objects([TEXTS[0], vectors, loops, *TEXTS[3:]])
    assert here == [loops, TEXTS[0], *TEXTS[3:], vectors]


@pytest.mark.parametrize(("more", "asked"), [("", 2), ("; text\n" * 20_000, 0)])
def test_nobody_waits_for_a_process_that_has_yet_to_begin(
    more: str, asked: int, here: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process gets as many modules as a pipe has room for; this one compiles them, too."""
    pool.at_exit()
    monkeypatch.setenv(VARIABLE, "1")
    assert begin()
    (process,) = pool.idle()
    os.kill(process._process.pid, signal.SIGSTOP)
    texts = [text + more for text in TEXTS]
    assert all(compile_objects(texts))
    assert sorted(here) == texts
    assert process.requests == asked
    os.kill(process._process.pid, signal.SIGCONT)
    assert wait([process], 60)
    assert process in pool.idle()
    pool.at_exit()

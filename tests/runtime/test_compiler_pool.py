"""Processes that compile for several programs, one after the other."""

from __future__ import annotations

import os
import signal

import pytest

from tadc.runtime.compilation import VARIABLE, compile_objects
from tadc.runtime.compiler_pool import pool
from tadc.runtime.compiler_process import CompilerProcess
from tadc.runtime.cpu import CpuModule

TEXTS = [f"define i64 @f{n}() {{\n  ret i64 {n}\n}}\n" for n in range(8)]


def test_who_has_yet_to_answer_others_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was given a module before it has begun, for which nobody waits any more."""
    monkeypatch.setenv(VARIABLE, "0")
    process, first, second = CompilerProcess(), object(), object()
    os.kill(process._process.pid, signal.SIGSTOP)
    pool._users[process] = None
    try:
        with pool.user(first):
            assert pool.take(first) is process
            process.ask(TEXTS[-1], False)
        assert process in pool.idle() and pool.take(second) is None
        os.kill(process._process.pid, signal.SIGCONT)
        for n, data in enumerate(compile_objects(TEXTS)):
            assert CpuModule.of_objects([data]).address(f"f{n}")
    finally:
        pool.at_exit()

"""Forks while another thread imports, or holds a lock of LLVM."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder

import pytest

from tadc.runtime.llvm_library import llvm
from tests.runtime.stress_starts import exit_code_of_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")

WHILE = 0.2


def test_a_fork_waits_for_an_import(monkeypatch: pytest.MonkeyPatch):
    """A fork waits from the search for a module on, whose end a child would not see."""
    searched, over = threading.Event(), list[bool]()

    class SlowFinder(MetaPathFinder):
        def find_spec(self, fullname: str, path: object, target: object = None) -> None:
            if fullname == "tadc.slow":
                searched.set()
                time.sleep(WHILE)
                over.append(True)

    def run() -> None:
        with suppress(ModuleNotFoundError):
            import_module("tadc.slow")

    monkeypatch.setattr(sys, "meta_path", [SlowFinder(), *sys.meta_path])
    thread = threading.Thread(target=run)
    thread.start()
    assert searched.wait(60)
    child = exit_code_of_child(lambda: over[0])
    thread.join()
    assert child == 0


def test_a_fork_waits_for_llvm():
    lock, taken = llvm().ffi.lib._lock, threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            time.sleep(WHILE)

    thread = threading.Thread(target=hold)
    thread.start()
    assert taken.wait(60)
    assert exit_code_of_child(lambda: llvm().get_default_triple()) == 0
    thread.join()

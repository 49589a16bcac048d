"""Forks while another thread imports, or holds a lock of LLVM."""

from __future__ import annotations

import os
import sys
import threading
import time
from types import ModuleType, SimpleNamespace

import pytest

from tadc.runtime.llvm_library import llvm
from tests.runtime.stress_starts import exit_code_of_child

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")

WHILE = 0.2


def test_a_fork_waits_for_an_import(monkeypatch: pytest.MonkeyPatch):
    module = ModuleType("tadc.slow")
    spec = SimpleNamespace(_initializing=True)
    vars(module)["__spec__"] = spec
    monkeypatch.setitem(sys.modules, "tadc.slow", module)
    threading.Timer(WHILE, lambda: setattr(spec, "_initializing", False)).start()
    begin = time.monotonic()
    assert exit_code_of_child(lambda: None) == 0
    assert time.monotonic() - begin >= WHILE


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

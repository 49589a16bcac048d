"""Texts that run in a process of their own, which a touched page ends instead of this one."""

from __future__ import annotations

import subprocess
import sys

from tests.support.paths import ROOT

END_OF_ERRORS = 3000
"""The characters of a stack that a failed test shows: the last ones say what went wrong."""


def run_python(*words: str) -> subprocess.CompletedProcess[str]:
    """A process of Python with these arguments, which says where it was if a signal ends it."""
    command = [sys.executable, "-X", "faulthandler", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def output_of(*words: str) -> str:
    """The output of a process of Python with these arguments; where it fails, so does the test."""
    done = run_python(*words)
    assert done.returncode == 0, done.stderr[-END_OF_ERRORS:]
    return done.stdout

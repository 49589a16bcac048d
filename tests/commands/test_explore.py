"""`tadc explore`: the address, the file that it opens with, and its end."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import urllib.request
import webbrowser
from functools import partial
from pathlib import Path

import pytest

from tests.support.paths import ROOT


def test_it_serves_a_file_until_it_is_stopped(tmp_path: Path):
    (tmp_path / "f.tad").write_text("y[i] = x[3*i]\n")
    command = [sys.executable, "-m", "tadc", "explore", str(tmp_path / "f.tad"), "--no-browser"]
    listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # the background ignores it
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=listening,
    ) as process:
        assert process.stdout and process.stderr
        address = process.stdout.readline().split()[4]
        with urllib.request.urlopen(f"{address}examples.json") as reply:
            assert b"x[3*i]" in reply.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr.read() == "\ntadc: stopped\n"


def test_the_browser_opens_the_address(tadc_, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []

    def stop(address: str) -> None:
        opened.append(address)
        raise KeyboardInterrupt

    monkeypatch.setattr(webbrowser, "open", stop)
    outcome = tadc_("explore", "f.tad")
    assert opened[0] in outcome.out


def test_a_missing_file_is_an_error(tadc_):
    outcome = tadc_("explore", "missing.tad")
    assert outcome.code == 1
    assert "missing.tad: cannot read it" in outcome.err


@pytest.mark.parametrize("port", ["99999", "taken"])
def test_a_port_that_cannot_be_is_an_error(tadc_, port: str):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        number = other.getsockname()[1] if port == "taken" else port
        outcome = tadc_("explore", "--port", str(number))
    assert outcome.code == 1
    assert f"cannot listen on port {number}" in outcome.err

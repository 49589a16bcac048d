"""A browser for tests of pages: Chromium of this machine, steered by Playwright.

Both are optional. `pip install playwright` brings the driver, without `playwright install`; any
Chromium or Chrome on the path serves as browser. Without them, tests that need one are skipped.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


@contextmanager
def browser() -> Iterator[Any]:
    """A browser without a window; skips the test where there is none."""
    driver = pytest.importorskip(
        "playwright.sync_api", reason="no driver of browsers: pip install playwright"
    )
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no browser: install Chromium, as by apt-get install chromium")
    with driver.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


class _Files(SimpleHTTPRequestHandler):
    """Files of a folder, under the types that browsers take modules and WebAssembly by."""

    extensions_map: ClassVar = {
        **SimpleHTTPRequestHandler.extensions_map,
        **{".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"},
    }

    def log_message(self, format: str, *args: Any) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A page that is closed leaves files unread: nothing to tell."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a web server for a folder."""
    server = _Server(("127.0.0.1", 0), partial(_Files, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()

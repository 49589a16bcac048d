"""The page from this machine: the same files, with answers of the compiler that runs here.

The server listens on the loopback alone, and all its paths begin with a random word: who does not
know the address that `tadc explore` prints gets nothing, and neither does a site of the web that
has this machine's browser ask for it, since requests must name this host, too.

Formulas are derived in a process of their own. One that takes too long, or that ends, is replaced.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from threading import Lock
from typing import Any, cast

from tadc.view.site import PAGE, Example

SECONDS = 30.0
"""The time that a request may take, in seconds."""
LONGEST_REQUEST = 1_000_000
"""The most bytes of a request."""
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}

Reply = tuple[HTTPStatus, str, bytes]
"""A status, the type of the content, and the content."""


class Answers:
    """A process that answers requests one after another, replaced where it does not."""

    def __init__(self, seconds: float = SECONDS):
        self.seconds = seconds
        self._lock = Lock()
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def ask(self, request: dict[str, Any]) -> tuple[bool, Any]:
        """An answer as JSON after True, or after False the reason why there is none."""
        with self._lock:
            pipe = self._pipe or self.start()
            try:
                pipe.send(request)
                if pipe.poll(self.seconds):
                    return pipe.recv()
            except (EOFError, OSError):
                self._stop()
                return False, "the process that derives has ended; the next request starts another"
            self._stop()
            says = f"this formula takes more than {self.seconds:g} seconds"
            error = {"kind": "TimeLimit", "says": says, "message": says, "line": None}
            return True, json.dumps({"error": error})

    def start(self) -> Connection:
        """Start the process, so that it is loaded when the first request comes."""
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_answer, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        return self._pipe

    def _stop(self) -> None:
        if self._process and self._pipe:
            self._process.kill()
            self._process.join()
            self._pipe.close()
        self._process = self._pipe = None

    def close(self) -> None:
        """End the process; the next request would start another."""
        self._stop()


def _answer(pipe: Connection) -> None:
    """The work of the process: requests in, answers or failures out."""
    from tadc.view.machine import answer

    while True:
        try:
            request = pipe.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            pipe.send((True, json.dumps(answer(request))))
        except Exception as error:  # a bug of tadc: the page shows it, and goes on
            pipe.send((False, f"{type(error).__name__}: {error}"))


class Server(ThreadingHTTPServer):
    """A server of the page, at `address`, that opens with the first of some examples."""

    daemon_threads = True

    def __init__(self, examples: Sequence[Example], port: int = 0, seconds: float = SECONDS):
        self.examples = examples
        self.answers = Answers(seconds)
        self.token = secrets.token_urlsafe(16)
        super().__init__(("127.0.0.1", port), _Handler)
        self.answers.start()

    @property
    def address(self) -> str:
        """The address of the page, which nobody else knows."""
        return f"http://127.0.0.1:{self.server_port}/{self.token}/"

    def server_close(self) -> None:
        super().server_close()
        self.answers.close()

    def page(self, name: str) -> Reply:
        """A file of the page."""
        if name == "examples.json":
            listed = [example._asdict() for example in self.examples]
            return HTTPStatus.OK, "application/json", json.dumps(listed).encode()
        file = PAGE / (name or "index.html")
        if "/" in name or "\\" in name or file.suffix not in TYPES or not file.is_file():
            return _refused(HTTPStatus.NOT_FOUND)
        content = file.read_bytes()
        if not name:
            content = content.replace(b'content="worker"', b'content="server"')
        return HTTPStatus.OK, TYPES[file.suffix], content

    def view(self, body: bytes) -> Reply:
        """The answer to a request of the page."""
        request = _request(body)
        if request is None:
            return _refused(HTTPStatus.BAD_REQUEST)
        found, text = self.answers.ask(request)
        if found:
            return HTTPStatus.OK, "application/json", text.encode()
        return HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", text.encode()


def _request(body: bytes) -> dict[str, Any] | None:
    """The arguments of `view` that a request holds; None where it is none."""
    try:
        request: Any = json.loads(body)
    except ValueError:
        return None
    if isinstance(request, dict) and isinstance(cast(Any, request).get("source"), str):
        return cast(dict[str, Any], request)
    return None


def _refused(status: HTTPStatus) -> Reply:
    return status, "text/plain; charset=utf-8", status.phrase.encode()


class _Handler(BaseHTTPRequestHandler):
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride]
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        name = self._name()
        self._reply(_refused(HTTPStatus.FORBIDDEN) if name is None else self.server.page(name))

    def do_POST(self) -> None:
        """Answer a formula: JSON of at most `LONGEST_REQUEST` bytes, under the secret word."""
        length = self.headers.get("Content-Length", "")
        body = b""
        if length.isdecimal() and int(length) <= LONGEST_REQUEST:
            body = self.rfile.read(int(length))
        else:
            self.close_connection = True
        if self._name() is None:
            self._reply(_refused(HTTPStatus.FORBIDDEN))
        elif self._name() != "view":
            self._reply(_refused(HTTPStatus.NOT_FOUND))
        elif not body:
            self._reply(_refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE))
        else:
            self._reply(self.server.view(body))

    def _name(self) -> str | None:
        """The path behind the word that only the reader knows; None for who may not ask."""
        port = self.server.server_port
        origins = [f"{host}:{port}" for host in ("127.0.0.1", "localhost")]
        origin = self.headers.get("Origin")
        host_is_right = self.headers.get("Host") in origins
        origin_is_right = origin is None or origin.removeprefix("http://") in origins
        _, token, *rest = self.path.partition("?")[0].split("/", 2)
        token_is_right = secrets.compare_digest(token.encode(), self.server.token.encode())
        if not (host_is_right and origin_is_right and token_is_right and rest):
            return None
        return rest[0]

    def _reply(self, reply: Reply) -> None:
        status, kind, content = reply
        self.send_response(status)
        for name, value in {**HEADERS, "Content-Type": kind}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are no news."""

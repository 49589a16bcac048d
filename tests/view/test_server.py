"""The page from this machine: only who knows the address gets answers, and all of them come."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from threading import Thread
from typing import Any

import pytest

import tadc
from tadc.view import view
from tadc.view.server import LONGEST_REQUEST, Answers, Server
from tadc.view.site import PAGE, Example
from tests.support.browser import browser

SOURCE = "# <img src=x onerror=alert(1)>\nx: f64[N]\ny[i] = x[2*i]**2\n"
SLOW = "y[i] = " + " * ".join(["x[i]"] * 800)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server([Example("squares", "squares: of every second element", SOURCE)]) as found:
        Thread(target=found.serve_forever, daemon=True).start()
        yield found
        found.shutdown()


def ask(
    server: Server, path: str, body: Any = None, token: str | None = None, **headers: str
) -> tuple[int, str, dict[str, str]]:
    """The status, the text and the headers of a reply."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    method = "GET" if content is None else "POST"
    connection.putrequest(method, f"/{token or server.token}/{path}", skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    if content is not None and "Content-Length" not in headers:
        connection.putheader("Content-Length", str(len(content)))
    connection.endheaders(content)
    reply = connection.getresponse()
    found = reply.status, reply.read().decode(), dict(reply.getheaders())
    connection.close()
    return found


def test_it_listens_on_this_machine_alone(server: Server):
    assert server.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize("path", ["", "main.mjs", "examples.json"])
def test_the_page_is_there(server: Server, path: str):
    status, text, headers = ask(server, path)
    assert status == 200 and text
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_knows_that_a_server_answers(server: Server):
    assert '<meta name="answers" content="server">' in ask(server, "")[1]
    assert '<meta name="answers" content="worker">' in (PAGE / "index.html").read_text()


@pytest.mark.parametrize(
    "path", ["server.py", "../server.py", "..%2Fserver.py", "a/b.mjs", "x.mjs"]
)
def test_other_files_are_not(server: Server, path: str):
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize("body", [None, {"source": SOURCE}])
@pytest.mark.parametrize(
    "wrong",
    [
        {"token": "x" * 22},
        {"Host": "example.org"},
        {"Host": "example.org:80"},
        {"Origin": "https://example.org"},
        {"Origin": "null"},
    ],
)
def test_others_get_nothing(server: Server, wrong: dict[str, str], body: Any):
    status, text, _ = ask(server, "view" if body else "", body, **wrong)
    assert (status, text) == (403, "Forbidden")


def test_the_own_page_may_ask(server: Server):
    host = f"localhost:{server.server_port}"
    assert ask(server, "", Host=host)[0] == 200
    body = {"source": SOURCE, "parts": ["derivative"]}
    assert ask(server, "view", body, Host=host, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b"1", b'{"source": 1}', b"\xff"])
def test_what_is_no_request_is_refused(server: Server, body: bytes):
    assert ask(server, "view", body)[0] == 400


@pytest.mark.parametrize("length", [str(LONGEST_REQUEST + 1), "-1", "much", ""])
def test_requests_have_a_length(server: Server, length: str):
    headers = {"Content-Length": length}
    assert ask(server, "view", b"", **headers)[0] == 413


@pytest.mark.parametrize("source", [SOURCE, "y[i] = expp(x[i])"])
def test_answers_are_those_of_python(server: Server, source: str):
    parts = ["derivative", "explanation", "stages"]
    status, text, _ = ask(server, "view", {"source": source, "parts": parts})
    assert status == 200
    assert json.loads(text) == json.loads(json.dumps(view(source, parts=parts)))


def test_a_bug_is_said_and_survived(server: Server):
    status, text, _ = ask(server, "view", {"source": SOURCE, "nonsense": 1})
    assert status == 500 and "nonsense" in text
    assert ask(server, "view", {"source": SOURCE, "parts": []})[0] == 200


def test_this_machine_gives_assembly_and_times(server: Server):
    found = json.loads(ask(server, "view", {"source": SOURCE, "parts": ["assembly", "run"]})[1])
    assert "ret" in found["assembly"]["text"]
    run = found["run"]
    assert [row[0] for row in run["rows"]] == ["y", "dx"]
    assert all(len(row) == len(run["head"]) for row in run["rows"])
    assert "N = " in run["says"]


def test_what_cannot_run_is_an_error(server: Server):
    request = {"source": "x: f64[0]\ny[i] = x[i]\n", "parts": ["derivative", "run"]}
    found = json.loads(ask(server, "view", request)[1])
    assert found["derivative"]["text"]
    assert found["error"] is None or found["error"]["line"] is None


def test_what_takes_too_long_is_replaced():
    answers = Answers(seconds=3)
    found, text = answers.ask({"source": SLOW, "parts": ["derivative"]})
    assert found and "takes more than 3 seconds" in json.loads(text)["error"]["message"]
    answers.seconds = 60
    found, text = answers.ask({"source": SOURCE, "parts": ["derivative"]})
    assert json.loads(text)["derivative"]["text"] == str(tadc.compile(SOURCE).derivative())
    answers.close()


def test_a_process_that_ends_is_replaced():
    answers = Answers()
    answers.start()
    assert answers._process
    answers._process.kill()
    found, text = answers.ask({"source": SOURCE, "parts": []})
    assert not found and "has ended" in text
    assert answers.ask({"source": SOURCE, "parts": []})[0]
    answers.close()


def test_a_browser_shows_it(server: Server):
    with browser() as opened:
        tab = opened.new_page()
        said: list[str] = []
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.goto(server.address)
        tab.wait_for_selector("#derivative[aria-busy=false]", timeout=60_000)
        assert tab.locator(".program").text_content() == str(tadc.compile(SOURCE).derivative())
        for name in ("assembly", "run"):
            tab.click(f"#tab-{name}")
            tab.wait_for_selector("#panel[aria-busy=false]", timeout=60_000)
        assert tab.locator("#panel td").first.text_content() == "y"
        assert tab.locator("img").count() == 0
        assert said == []

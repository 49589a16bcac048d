"""`tadc explore`: the page where formulas become derivatives, served from this machine."""

from __future__ import annotations

import webbrowser
from argparse import Namespace

from tadc.api import read_program
from tadc.commands.streams import say
from tadc.errors import TargetError
from tadc.view.server import Server
from tadc.view.site import Example, examples


def run(options: Namespace) -> int:
    """The command, until it is stopped; its exit code."""
    shown = examples()
    if options.file:
        shown.insert(0, Example(options.file, options.file, read_program(options.file)))
    with _server(shown, options.port) as server:
        print(f"the page is at {server.address} until Ctrl-C", flush=True)
        if not options.no_browser:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("\ntadc: stopped")
    return 0


def _server(shown: list[Example], port: int) -> Server:
    try:
        return Server(shown, port)
    except (OSError, OverflowError) as error:
        raise TargetError(
            f"cannot listen on port {port}: {error}", hint="without --port, a free one is taken"
        ) from None

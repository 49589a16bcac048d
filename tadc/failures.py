"""What the compiler cannot do with a program, as an error about its text."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.dialects.builtin import LocationAttr
from xdsl.utils.exceptions import PassFailedException

from passes.rewriting.failure import PassFailure
from tadc.errors import Span, TargetError, UnsupportedError

SHOW_IR = "tadc derive --emit shows the program at each stage, and tadc-opt runs single passes"


@contextmanager
def located_errors(source: str, file: str) -> Generator[None]:
    """Turn failures of passes, and of the machine to hold what a call needs, into errors."""
    try:
        yield
    except PassFailure as failure:
        span = _span(source, file, failure.location)
        hint = failure.hint or SHOW_IR
        raise UnsupportedError(failure.reason, span, hint, file=file) from failure
    except PassFailedException as failure:
        raise UnsupportedError(str(failure), None, SHOW_IR, file=file) from failure
    except MemoryError as error:
        reason = f"there is not enough memory: {error}".removesuffix(": ")
        raise TargetError(reason, None, "arguments of smaller sizes need less", file=file) from None


def _span(source: str, file: str, location: LocationAttr) -> Span | None:
    from tadc.language.source import Source

    return Source(source, file).span_at(location)

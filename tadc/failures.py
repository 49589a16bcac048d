"""What the compiler cannot do with a program, as an error about its text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from xdsl.dialects.builtin import LocationAttr
from xdsl.utils.exceptions import PassFailedException

from passes.failure import PassFailure
from tadc.errors import Span, TadcError, TadcSyntaxError, UnsupportedError

SHOW_IR = "tadc derive --emit shows the program at each stage, and tadc-opt runs single passes"


@contextmanager
def about(source: str, file: str) -> Iterator[None]:
    """Turn failures of passes, and nesting without end, into errors about this text."""
    try:
        yield
    except PassFailure as failure:
        span = _span(source, file, failure.location)
        raise UnsupportedError(failure.reason, span, SHOW_IR, file=file) from failure
    except PassFailedException as failure:
        raise UnsupportedError(str(failure), None, SHOW_IR, file=file) from failure
    except RecursionError:
        raise _too_deep(source, file) from None


def _span(source: str, file: str, location: LocationAttr) -> Span | None:
    from tadc.language.source import Source

    return Source(source, file).span_at(location)


def _too_deep(source: str, file: str) -> TadcError:
    from tadc.language.deep import innermost
    from tadc.language.source import Source

    text = Source(source, file)
    try:
        return text.too_deep(text.span(innermost(text.tree)))
    except TadcSyntaxError as error:
        return error

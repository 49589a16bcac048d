"""`PassFailure`: the error of a pass that cannot go on, with its place in the program."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr
from xdsl.utils.exceptions import PassFailedException


class PassFailure(PassFailedException):
    """A failure that concerns a place of the program; the text names it where it is known.

    The hint says what to do about it, where that is more than to look at the IR.
    """

    def __init__(self, location: LocationAttr, reason: str, hint: str | None = None):
        super().__init__(place(location) + reason)
        self.location = location
        self.reason = reason
        self.hint = hint


def place(location: LocationAttr) -> str:
    """`file:line:column: `, or nothing where the location is not known."""
    if not isinstance(location, FileLineColLoc):
        return ""
    return f"{location.filename.data}:{location.line.data}:{location.column.data}: "

"""The differences of two texts of the IR, line by line, in the form of `diff -u`.

Values of the IR are numbered from the first to the last: one operation more changes the numbers of
all that follow. So numbers do not count: lines that are the same but for them are shown as they
stand in the second text, but as no difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

LINES_AROUND = 3
"""Lines that are the same and stand next to others."""

_NUMBER = re.compile(r"%\d+(_\d+)?|(?<=%)(\w+?)_\d+\b")


def differences(before: str, after: str, names: tuple[str, str]) -> str:
    """The lines of `after` in which it differs from `before`, empty where there are none."""
    old, new = before.splitlines(), after.splitlines()
    keys = [[_key(line) for line in text] for text in (old, new)]
    matcher = SequenceMatcher(None, keys[0], keys[1], autojunk=False)
    lines = [f"--- {names[0]}", f"+++ {names[1]}"]
    for group in matcher.get_grouped_opcodes(LINES_AROUND):
        lines += _hunk(group, old, new)
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def _key(line: str) -> str:
    """The line without the numbers of values."""
    return _NUMBER.sub(r"\2", line)


def _hunk(
    group: Sequence[tuple[str, int, int, int, int]], old: Sequence[str], new: Sequence[str]
) -> Iterator[str]:
    """Neighbouring differences with the lines around them."""
    (_, a, _, c, _), (_, _, b, _, d) = group[0], group[-1]
    yield f"@@ -{a + 1},{b - a} +{c + 1},{d - c} @@"
    for kind, first, last, start, end in group:
        if kind == "equal":
            yield from (f" {line}" for line in new[start:end])
        else:
            yield from (f"-{line}" for line in old[first:last])
            yield from (f"+{line}" for line in new[start:end])

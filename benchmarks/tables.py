"""Results as Markdown, and the files that they are kept in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose first column is words and whose others are numbers."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *rows))


def multiple(found: float, limit: float) -> str:
    """A ratio of times, bold above a limit."""
    return f"**{found:.2f}x**" if found > limit else f"{found:.2f}x"


def listed(about: Mapping[str, Any]) -> str:
    return "\n".join(f"- {key}: {value}" for key, value in about.items())


def save(name: str, text: str, data: Mapping[str, Any] | None = None) -> Path:
    """Write the text to `results`, under the name and the date; data, if any, beside it.

    Returns the path of the text.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}-{date.today()}.md"
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    if data is not None:
        lines = json.dumps(data, indent=1)
        path.with_suffix(".json").write_text(lines + "\n", encoding="utf-8")
    print(f"written to {path}")
    return path

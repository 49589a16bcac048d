"""Failures as files: a line of facts, then the text, byte for byte as it failed.

# tests.fuzz {"kind": "programs", "seed": 7, "check": "first", "shapes": {"x": [3]}}
y[i] = x[i]**2
"""

from __future__ import annotations

import json
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT

FOLDER = ROOT / "build" / "fuzz"
HEAD = "# tests.fuzz "


@dataclass
class Failure:
    """What failed, and all that is needed to see it fail again."""

    kind: str
    """`programs`, `malformed` or `systems`."""
    seed: int
    how: str
    """The check and what it raised: a smaller input has to fail in the same way."""
    text: str
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    report: str = ""

    def save(self, folder: Path = FOLDER) -> Path:
        """Write the file; its path."""
        folder.mkdir(parents=True, exist_ok=True)
        head = {"kind": self.kind, "seed": self.seed, "how": self.how, **self.facts}
        text = f"{HEAD}{json.dumps(head)}\n{self.text}"
        path = folder / f"{self.kind}-{self.seed}.tad"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return path


def load(path: Path) -> Failure:
    """The failure in a file."""
    text = path.read_bytes().decode("utf-8", "surrogatepass")
    head, _, rest = text.partition("\n")
    if not head.startswith(HEAD):
        raise ValueError(f"{path}: not a file of a failure")
    facts = json.loads(head[len(HEAD) :])
    return Failure(facts.pop("kind"), facts.pop("seed"), facts.pop("how"), rest, facts)


def signature(error: BaseException) -> str:
    """Type and innermost function of this project: the same for the same mistake, mostly."""
    frames = traceback.extract_tb(error.__traceback__)
    folders = tuple(str(ROOT / name) for name in ("tadc", "passes", "dialects"))
    own = [f for f in frames if f.filename.startswith(folders)]
    where = f" in {Path(own[-1].filename).name}:{own[-1].name}" if own else ""
    return f"{type(error).__name__}{where}"


def report(error: BaseException) -> str:
    """The error with the last frames that led to it."""
    tail = "".join(traceback.format_tb(error.__traceback__)[-4:])
    return f"{type(error).__name__}: {error}\n{tail}"

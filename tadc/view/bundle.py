"""The modules that `tadc.view.view` needs, found by letting it answer: what was loaded then.

`looked_at` starts a fresh Python for that, in which nothing else has been loaded and packages of
machine code cannot be. `write` packs the
modules for a Python that has the standard library alone, such as that of the static page.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tadc.errors import TargetError

SAME_TIME = (2020, 1, 1, 0, 0, 0)
"""The time of all files in an archive, so that the same modules give the same bytes."""

NATIVE = ("numpy", "scipy", "llvmlite")
"""Packages of machine code, which a browser does not have: `view` answers without them."""

LOOK = """
import sys
before = set(sys.modules)
sys.modules.update(dict.fromkeys({native}))
from tadc.view.bundle import answer_all
answer_all(before)
"""


@dataclass(frozen=True)
class Look:
    """The answers to programs, in order, and the files of all modules that these took, by name."""

    answers: Sequence[Mapping[str, Any]]
    modules: Mapping[str, Path]


def looked_at(requests: Sequence[tuple[str, Sequence[str]]]) -> Look:
    """The answers of `view` to programs, and the modules beside the standard library it took.

    A request is a program, and the parts of the answer that it wants.
    """
    command = [sys.executable, "-c", LOOK.format(native=NATIVE)]
    done = subprocess.run(
        command, input=json.dumps(requests), stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(done.stdout)
    return Look(found["answers"], {name: Path(p) for name, p in found["modules"].items()})


def answer_all(before: set[str]) -> None:
    """Answer the requests on standard input; `before` are the modules that Python itself loads."""
    from tadc.view import view

    answers = [view(source, parts=parts) for source, parts in json.load(sys.stdin)]
    loaded = {
        name: module.__file__
        for name, module in sys.modules.items()
        if name not in before
        and name != __name__
        and name.partition(".")[0] not in sys.stdlib_module_names
        and getattr(module, "__file__", None)
    }
    json.dump({"answers": answers, "modules": loaded}, sys.stdout)


def write(modules: Mapping[str, Path], archive: Path) -> None:
    """Write modules into a zip file, each at the place where Python looks for it.

    Raises `TargetError` for a module that is no text of Python.
    """
    with zipfile.ZipFile(archive, "w") as packed:
        for name, file in sorted(modules.items()):
            if file.suffix != ".py":
                raise TargetError(f"{name} is not Python: a browser cannot run {file.name}")
            stem = name.replace(".", "/")
            place = f"{stem}/__init__.py" if file.stem == "__init__" else f"{stem}.py"
            entry = zipfile.ZipInfo(place, SAME_TIME)
            packed.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED, 9)

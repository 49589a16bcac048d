"""The folder for what processes of a user share: `$XDG_CACHE_HOME/tadc`, else `~/.cache/tadc`.

Nothing depends on it: where it cannot be read or written, every process finds out for itself.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def cache_folder() -> Path | None:
    """The folder, which need not exist; None for a user without a home."""
    chosen = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(chosen):  # others are to be ignored, as the XDG specification says
        return Path(chosen) / "tadc"
    with contextlib.suppress(RuntimeError):
        return Path.home() / ".cache" / "tadc"
    return None


def keep(path: Path, content: str, replace: bool = False) -> bool:
    """Write a file whole or not at all; True unless it could not be written, or is there already.

    Of several processes that write it at once, one does; with `replace`, the last one.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(content)
            if replace:
                os.replace(temporary, path)
            else:
                os.link(temporary, path)  # which fails where the name is taken
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
    except OSError:
        return False
    return True

"""The cache on disk: programs and machine code that earlier processes made.

    ~/.cache/tadc/                  or $XDG_CACHE_HOME/tadc, or $TADC_CACHE
      3f/3fa0...e1.code             one file for each entry, named by its key

A key is a hash of everything that decides the content: the program (its IR, as its text may mean
another program once a function of the user is defined again), what was asked for, the machine, and
the version of the compiler itself, down to its files. So entries are never wrong, only unused.

A file is written aside and then moved to its place, so that readers see all of it or nothing, and
begins with a hash of the rest, so that a damaged one is not used. Only files of this user are read,
as they hold code that will run. Whatever goes wrong with the disk (full, read-only, not there) is
as if nothing had been stored. When the files exceed `MOST_BYTES`, those that were not used for the
longest time go.

`TADC_CACHE=off` switches all this off.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

MOST_BYTES = 1 << 29
"""The bytes of all files together beyond which old ones go."""

WRITES_BETWEEN_LOOKS = 64
"""The number of entries that are written until their sizes are added up again."""

DIGEST_BYTES = 32
SUFFIX = ".code"
PACKAGES = ("dialects", "passes", "tadc")


def digest(*parts: str | bytes) -> str:
    """A hash of these parts, which nobody finds twice (SHA-256)."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()


@cache
def compiler_version() -> str:
    """A hash of the files of the compiler and of the versions of what it is built on.

    Size and time of change stand for the content of a file: reading all takes longer than a call.
    """
    import xdsl

    root = Path(__file__).parents[2]
    files = sorted(p for package in PACKAGES for p in (root / package).rglob("*.py"))
    seen = [(str(p.relative_to(root)), (s := p.stat()).st_size, s.st_mtime_ns) for p in files]
    library = Path(str(xdsl.__file__)).stat()
    libraries = (str(xdsl.__file__), library.st_size, library.st_mtime_ns, sys.version)
    return digest(repr(seen), repr(libraries))


class Usage(NamedTuple):
    """The files in the folder."""

    folder: Path
    files: int
    nbytes: int


class DiskStore:
    """Entries by key; safe to use from several threads and processes."""

    def __init__(self, folder: Path | None, limit: int = MOST_BYTES):
        """Without a folder, nothing is kept."""
        self.folder = folder
        self.limit = limit
        self._writes = 0

    def load(self, key: str) -> bytes | None:
        """The content under this key, or None."""
        if self.folder is None:
            return None
        try:
            with self._path(key).open("rb") as file:
                if not _is_own(os.fstat(file.fileno())):
                    return None
                content = file.read()
                with suppress(OSError):
                    os.utime(file.fileno())  # used now
        except OSError:
            return None
        data = content[DIGEST_BYTES:]
        return data if hashlib.sha256(data).digest() == content[:DIGEST_BYTES] else None

    def save(self, key: str, data: bytes) -> None:
        """Keep the content, if that is possible."""
        if self.folder is None or len(data) > self.limit:
            return
        with suppress(OSError):
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, aside = tempfile.mkstemp(dir=path.parent)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(hashlib.sha256(data).digest())
                    file.write(data)
                os.replace(aside, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(aside)
                raise
            if self._writes % WRITES_BETWEEN_LOOKS == 0:
                self._drop_oldest()
            self._writes += 1

    def usage(self) -> Usage | None:
        """The files that are kept; None without a folder."""
        if self.folder is None:
            return None
        sizes = [status.st_size for _, status in self._files()]
        return Usage(self.folder, len(sizes), sum(sizes))

    def clear(self) -> int:
        """Remove all entries; returns their number."""
        removed = 0
        for path, _ in self._files():
            with suppress(OSError):
                path.unlink()
                removed += 1
        return removed

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}{SUFFIX}"

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        if self.folder is not None:
            for path in self.folder.glob(f"??/*{SUFFIX}"):
                with suppress(OSError):
                    yield path, path.stat()

    def _drop_oldest(self) -> None:
        files = sorted(self._files(), key=lambda pair: pair[1].st_mtime)
        excess = sum(status.st_size for _, status in files) - self.limit
        for path, status in files:
            if excess <= 0:
                break
            with suppress(OSError):
                path.unlink()
            excess -= status.st_size


def _is_own(status: os.stat_result) -> bool:
    """True if the file is this user's, and nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


def folder_of(environment: str | None) -> Path | None:
    """The folder that the variable TADC_CACHE means, or the usual one."""
    if environment == "off":
        return None
    if environment:
        return Path(environment).expanduser()
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(base) if base else Path.home() / ".cache") / "tadc"
    except RuntimeError:  # there is no home
        return None


@cache
def disk_store() -> DiskStore:
    """The store of this process."""
    return DiskStore(folder_of(os.environ.get("TADC_CACHE")))

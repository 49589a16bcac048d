"""The cache on disk: programs and machine code that earlier processes made.

    ~/.cache/tadc/                  or $XDG_CACHE_HOME/tadc, or $TADC_CACHE
      3fa0...e1.entry               one file for each entry, named by its key

A key is a hash of everything that decides the content: the program (its IR, as its text may mean
another program once a function of the user is defined again), what was asked for, the machine, and
the version of the compiler itself, down to its files. So entries are never wrong, only unused: see
`docs/decisions/0029-what-cached-code-depends-on.md`.

A file is written aside and then moved to its place, so that readers see all of it or nothing, and
begins with a hash of its key and the rest, so that a damaged one is not used. Only files of this
user are read, as they hold code that will run. Whatever goes wrong with the disk (full, read-only,
not there) is as if nothing had been stored. When the files exceed `MOST_BYTES`, those that were not
used for the longest time go.

`TADC_CACHE=off` switches all this off: then nothing is read or written.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import xdsl

from tadc.once import once

MOST_BYTES = 500_000_000
"""The bytes of all files together beyond which old ones go."""

WRITES_BETWEEN_LOOKS = 64
"""The number of entries that are written until their sizes are added up again."""

SECONDS_BETWEEN_MARKS = 3600
"""An entry is marked as used where its last mark is older: most loads write nothing."""

DIGEST_BYTES = 32
SUFFIX = ".entry"


# --- keys -----------------------------------------------------------------------------------------


def digest(*parts: str | bytes) -> str:
    """A hash of these parts, which nobody finds twice (SHA-256)."""
    found = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little"))
        found.update(data)
    return found.hexdigest()


@once
def compiler_version() -> str:
    """A hash of the files of the compiler, of what was installed as xDSL, and of Python's version.

    Size and time of change stand for the content of a file, as they do for Python's own bytecode:
    to read all of them takes longer than many a call.
    """
    files = _sources(str(Path(__file__).parents[1]))
    return digest(repr(sorted(files)), repr(sorted(_installed(xdsl.__path__[0]))), sys.version)


File = tuple[str, int, int]
"""Path, size and time of change in nanoseconds."""


def _sources(folder: str) -> Iterator[File]:
    """Each Python file in a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield _file(entry.path, entry.stat())
            elif entry.is_dir() and entry.name != "__pycache__":
                yield from _sources(entry.path)


def _installed(folder: str) -> Iterable[File]:
    """The list of all files of a package that was installed; without one, the files themselves."""
    parent, package = os.path.split(folder)
    for name in os.listdir(parent):
        if name.startswith(f"{package}-") and name.endswith(".dist-info"):
            path = os.path.join(parent, name, "RECORD")
            if os.path.exists(path):
                return [_file(path, os.stat(path))]
    return _sources(folder)


def _file(path: str, status: os.stat_result) -> File:
    return path, status.st_size, status.st_mtime_ns


# --- entries --------------------------------------------------------------------------------------


class Usage(NamedTuple):
    """The number of entries in a folder, and their bytes."""

    entries: int
    nbytes: int


class DiskStore:
    """Entries by key, any values that can be pickled; several threads and processes may use it."""

    def __init__(self, folder: Path | None, limit: int = MOST_BYTES):
        """Without a folder, nothing is kept."""
        self.folder = folder
        self.limit = limit
        self._writes = 0

    @property
    def keeps(self) -> bool:
        """True if what is saved may be found again."""
        return self.folder is not None

    def load(self, key: str) -> Any:
        """The value under this key, or None."""
        data = self._read(key)
        if data is None:
            return None
        try:
            return pickle.loads(data)
        except Exception:  # any, says the documentation of pickle
            return None

    def save(self, key: str, value: Any) -> None:
        """Keep the value, if that is possible."""
        self._write(key, value, os.replace)

    def save_first(self, key: str, value: Any) -> Any:
        """The value that all processes find: this one, unless another process was first."""
        self._write(key, value, os.link)  # which fails where the name is taken
        found = self.load(key)
        if found is None:  # what has the name is damaged, or there are no links here
            self.save(key, value)
        return value if found is None else found

    def usage(self) -> Usage:
        """The number of entries and their bytes; raises `OSError` where the folder is none."""
        sizes = [status.st_size for _, status in self._files()]
        return Usage(len(sizes), sum(sizes))

    def works(self) -> bool:
        """True if what is saved now is found again."""
        key = digest("works", str(os.getpid()))
        self.save(key, key)
        found = self.load(key)
        with suppress(OSError):
            os.unlink(self._path(key))
        return found == key

    def clear(self) -> int:
        """Remove all entries; returns their number. Raises `OSError` for what cannot be removed."""
        removed = 0
        for path, _ in self._files():
            with suppress(FileNotFoundError):  # another process was first
                os.unlink(path)
                removed += 1
        return removed

    def _path(self, key: str) -> str:
        return os.path.join(self.folder or "", key + SUFFIX)

    def _read(self, key: str) -> bytes | None:
        if self.folder is None:
            return None
        path = self._path(key)
        try:
            with open(path, "rb") as file:
                status = os.fstat(file.fileno())
                content = file.read() if _is_own(status) else b""
        except OSError:
            return None
        data = content[DIGEST_BYTES:]
        if _seal(key, data) != content[:DIGEST_BYTES]:
            return None
        if time.time() - status.st_mtime > SECONDS_BETWEEN_MARKS:
            with suppress(OSError):
                os.utime(path)
        return data

    def _write(self, key: str, value: Any, move: Callable[[str, str], None]) -> None:
        if self.folder is None:
            return
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # an entry itself by its name: if this process is killed, it goes when it is old
            handle, aside = tempfile.mkstemp(SUFFIX, "new-", self.folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_seal(key, data))
                    file.write(data)
                move(aside, self._path(key))
            finally:
                with suppress(FileNotFoundError):
                    os.unlink(aside)
            if self._writes % WRITES_BETWEEN_LOOKS == 0:
                self._drop_oldest()
            self._writes += 1

    def _files(self) -> Iterator[tuple[str, os.stat_result]]:
        """Path and status of each entry."""
        if self.folder is None or not self.folder.exists():
            return
        with os.scandir(self.folder) as entries:
            for entry in entries:
                if entry.name.endswith(SUFFIX):
                    with suppress(FileNotFoundError):
                        yield entry.path, entry.stat(follow_symlinks=False)

    def _drop_oldest(self) -> None:
        files = sorted(self._files(), key=lambda pair: pair[1].st_mtime)
        excess = sum(status.st_size for _, status in files) - self.limit
        for path, status in files:
            if excess <= 0:
                break
            with suppress(OSError):
                os.unlink(path)
            excess -= status.st_size


def _seal(key: str, data: bytes) -> bytes:
    return hashlib.sha256(key.encode() + data).digest()


def _is_own(status: os.stat_result) -> bool:
    """True if the file is this user's, and nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & 0o022


# --- the folder -----------------------------------------------------------------------------------


def cache_folder() -> Path | None:
    """The folder that the environment asks for; None for `off`, and for a user without a home."""
    chosen = os.environ.get("TADC_CACHE")
    if chosen == "off":
        return None
    if not chosen:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # to be ignored, as the XDG specification says
            base = os.path.join("~", ".cache")
        chosen = os.path.join(base, "tadc")
    path = os.path.expanduser(chosen)
    return None if path.startswith("~") else Path(os.path.abspath(path))


@once
def disk_store() -> DiskStore:
    """The store of this process, in the folder that the environment asked for at first."""
    return DiskStore(cache_folder())

"""The cache on disk alone: what it keeps, gives back, refuses and forgets."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tadc.support import disk_store as module
from tadc.support.disk_store import DiskStore, cache_folder, digest
from tests.support.paths import ROOT

KEY = digest("a key")


@pytest.fixture
def entry(store: DiskStore) -> Path:
    """The file of an entry whose value is a tuple."""
    store.save(KEY, ("a value", b"\0" * 1000))
    assert store.folder
    (path,) = store.folder.iterdir()
    assert store.load(KEY) == ("a value", b"\0" * 1000)
    return path


def seal(key: str, data: bytes) -> bytes:
    return module._seal(key, data) + data


# --- values and files -----------------------------------------------------------------------------


def test_values_come_back(store: DiskStore):
    values = [None, 0.1, b"", "ü", ("code", [1, 2], {"a": b"\0"})]
    for n, value in enumerate(values):
        assert store.load(str(n)) is None
        store.save(str(n), value)
    assert [store.load(str(n)) for n in range(len(values))] == values
    store.save("0", "another")
    assert store.load("0") == "another"
    assert store.usage().entries == len(values)


def test_parts_of_keys_are_kept_apart():
    assert digest("ab", "c") != digest("a", "bc") != digest("abc")
    assert digest("a") == digest(b"a")


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 100, -1])
def test_truncated_files_are_not_used(store: DiskStore, entry: Path, length: int):
    entry.write_bytes(entry.read_bytes()[:length])
    assert store.load(KEY) is None
    store.save(KEY, "again")
    assert store.load(KEY) == "again"


@pytest.mark.parametrize("place", [0, 31, 32, 40, -1])
def test_damaged_files_are_not_used(store: DiskStore, entry: Path, place: int):
    content = bytearray(entry.read_bytes())
    content[place] ^= 1
    entry.write_bytes(content)
    assert store.load(KEY) is None


def test_a_file_under_the_name_of_another_is_not_used(store: DiskStore, entry: Path):
    entry.rename(entry.with_name(f"{digest('another')}{entry.suffix}"))
    assert store.load(digest("another")) is None


@pytest.mark.parametrize("data", [b"", b"no pickle", pickle.dumps(3)[:-1], b"cnowhere\nmissing\n."])
def test_what_cannot_be_unpickled_is_not_used(store: DiskStore, entry: Path, data: bytes):
    entry.write_bytes(seal(KEY, data))
    assert store.load(KEY) is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_files_that_others_may_write_to_are_not_used(store: DiskStore, entry: Path, mode: int):
    assert not entry.stat().st_mode & 0o077
    entry.chmod(mode)
    assert store.load(KEY) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_files_of_other_users_are_not_used(store: DiskStore, entry: Path):
    os.chown(entry, 12345, -1)
    assert store.load(KEY) is None


# --- disks that do not take part ------------------------------------------------------------------


@contextmanager
def files_of_at_most(nbytes: int) -> Iterator[None]:
    """As on a full disk, writes beyond this fail."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_keeps_nothing(store: DiskStore):
    with files_of_at_most(4096):
        store.save(KEY, b"x" * 10_000)
        store.save("small", b"x")
    assert store.load(KEY) is None
    assert store.load("small") == b"x"
    assert store.usage().entries == 1  # and no half of one


def test_a_folder_that_cannot_be_made_keeps_nothing(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "cache", Path("/proc/nowhere/tadc")):
        store = DiskStore(folder)
        store.save(KEY, 1)
        assert store.load(KEY) is None
        assert store.save_first(KEY, 2) == 2
    assert (tmp_path / "file").read_text() == ""


def test_a_folder_that_is_read_only_gives_and_keeps_nothing_new(
    store: DiskStore, entry: Path, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    os.utime(entry, (0, 0))  # an entry that would be marked as used
    for name in ("replace", "link", "unlink", "utime"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr(module.tempfile, "mkstemp", refuse)
    assert store.load(KEY) == ("a value", b"\0" * 1000)
    store.save("new", 1)
    assert store.load("new") is None


def test_without_a_folder_there_is_nothing():
    store = DiskStore(None)
    store.save(KEY, 1)
    assert store.load(KEY) is None
    assert store.save_first(KEY, 2) == 2
    assert (store.usage().entries, store.clear()) == (0, 0)


# --- several at once ------------------------------------------------------------------------------


def write_and_read(folder: Path, seed: int) -> int:
    """Write the same entries as others do, and read them; the number that was read."""
    store, read = DiskStore(folder), 0
    for n in range(200):
        key = str((n + seed) % 10)
        store.save(key, key * 5000)
        found = store.load(key)
        assert found in (None, key * 5000)
        read += found is not None
        if n % 50 == 49:
            store.clear()
    return read


def test_processes_write_the_same_entries_at_once(tmp_path: Path):
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        read = pool.starmap(write_and_read, [(tmp_path, seed) for seed in range(3)])
    assert min(read) > 100
    assert all(path.suffix == ".entry" for path in tmp_path.iterdir())


def test_threads_write_the_same_entries_at_once(store: DiskStore):
    def work(n: int) -> object:
        store.save(str(n % 3), n % 3)
        return store.load(str(n % 3))

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(work, range(300))) == [n % 3 for n in range(300)]
    assert store.usage().entries == 3


def test_the_first_value_stays(store: DiskStore, entry: Path):
    assert store.save_first("k", 1) == 1
    assert store.save_first("k", 2) == 1
    assert store.load("k") == 1
    entry.write_bytes(b"damaged")
    assert store.save_first(KEY, 3) == 3
    assert store.load(KEY) == 3


def test_the_first_value_stays_where_there_are_no_links(
    store: DiskStore, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    assert store.save_first("k", 1) == 1
    assert store.load("k") == 1


# --- the limit ------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path):
    written = DiskStore(tmp_path)
    for n in range(6):
        written.save(str(n), bytes(1000))
        hours = 10 - n
        os.utime(written._path(str(n)), (time.time() - 3600 * hours,) * 2)
    assert written.load("1")  # which marks it as used
    limited = DiskStore(tmp_path, limit=4 * 1100)
    limited.save("new", bytes(1000))
    assert [k for k in "012345" if limited.load(k) is None] == ["0", "2", "3"]
    assert limited.load("new")
    assert limited.usage().nbytes <= limited.limit


def test_what_a_killed_process_left_goes_too(tmp_path: Path):
    left = tmp_path / "new-abc.entry"
    left.write_bytes(bytes(5000))
    os.utime(left, (0, 0))
    DiskStore(tmp_path, limit=4000).save("k", bytes(1000))
    assert not left.exists()


def test_the_folder_stays_below_the_limit(tmp_path: Path):
    store = DiskStore(tmp_path, limit=20_000)
    for n in range(3 * module.WRITES_BETWEEN_LOOKS + 1):
        store.save(str(n), bytes(1000))
    assert store.usage().nbytes <= store.limit
    assert store.load(str(3 * module.WRITES_BETWEEN_LOOKS))


# --- the folder -----------------------------------------------------------------------------------


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment with a home, and nothing that says where the cache is."""
    monkeypatch.delenv("TADC_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return monkeypatch


def test_the_folder_is_in_the_home(environment: pytest.MonkeyPatch, tmp_path: Path):
    assert cache_folder() == tmp_path / ".cache" / "tadc"
    environment.setenv("TADC_CACHE", "")
    assert cache_folder() == tmp_path / ".cache" / "tadc"
    environment.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    assert cache_folder() == tmp_path / ".cache" / "tadc"
    environment.setenv("XDG_CACHE_HOME", "/var/cache")
    assert cache_folder() == Path("/var/cache/tadc")


def test_the_variable_says_where(environment: pytest.MonkeyPatch, tmp_path: Path):
    environment.setenv("TADC_CACHE", "/scratch")
    assert cache_folder() == Path("/scratch")
    environment.setenv("TADC_CACHE", "~/mine")
    assert cache_folder() == tmp_path / "mine"
    environment.chdir(tmp_path)
    environment.setenv("TADC_CACHE", "relative")
    assert cache_folder() == tmp_path / "relative"  # wherever the process goes later
    environment.setenv("TADC_CACHE", "off")
    assert cache_folder() is None


def test_there_may_be_no_home(environment: pytest.MonkeyPatch):
    environment.setattr(os.path, "expanduser", lambda path: path)
    assert cache_folder() is None
    environment.setenv("TADC_CACHE", "/scratch")
    assert cache_folder() == Path("/scratch")


def test_the_environment_may_be_empty():
    """Without HOME, Python asks the system for the home; a process with neither runs, too."""
    script = "from tadc.support.disk_store import disk_store; print(disk_store().folder)"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, env={}, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith("tadc\n") or done.stdout == "None\n"


# --- the version of the compiler ------------------------------------------------------------------


def test_a_changed_source_file_is_another_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for package in ("dialects", "passes", "tadc"):
        (tmp_path / package / "inner").mkdir(parents=True)
        (tmp_path / package / "inner" / "code.py").write_text("x = 1\n")
    for package in ("dialects", "passes"):
        (tmp_path / "tadc" / package).symlink_to(f"../{package}")
    here = tmp_path / "tadc" / "support" / "disk_store.py"
    here.parent.mkdir()
    here.write_text("")
    monkeypatch.setattr(module, "__file__", str(here))
    version = module.compiler_version.__wrapped__
    first = version()
    assert version() == first
    (tmp_path / "tadc" / "notes.txt").write_text("no code")
    assert version() == first
    changed = tmp_path / "passes" / "inner" / "code.py"
    before = changed.stat()
    changed.write_text("x = 2\n")  # of the same size
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    second = version()
    changed.write_text("x = 22\n")
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    third = version()
    (tmp_path / "dialects" / "new.py").write_text("")
    assert len({first, second, third, version()}) == 4


def test_an_installed_package_is_known_by_its_list(tmp_path: Path):
    package = tmp_path / "xdsl"
    package.mkdir()
    (package / "__init__.py").write_text("")
    assert [path for path, *_ in module._installed(str(package))] == [str(package / "__init__.py")]
    record = tmp_path / "xdsl-0.74.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("xdsl/__init__.py,sha256=...\n")
    assert [path for path, *_ in module._installed(str(package))] == [str(record)]

"""`tadc cache`: the folder with what was compiled before, and how much is in it."""

from __future__ import annotations

import os
from argparse import Namespace

from tadc.support.disk_store import DiskStore, disk_store

MOVE = "TADC_CACHE=FOLDER moves it, TADC_CACHE=off switches it off; tadc cache clear empties it"


def run(options: Namespace) -> int:
    """The command; its exit code. Raises `OSError` for a folder that is none, or that one keeps."""
    store = disk_store()
    if store.folder is None:
        print(f"nothing is kept: {why_nothing_is_kept()}")
    elif options.action == "clear":
        print(f"{entries(store.clear())} removed from {store.folder}")
    else:
        _show(store)
    return 0


def _show(store: DiskStore) -> None:
    used = store.usage()
    print(f"folder   {store.folder}")
    print(f"holds    {entries(used.entries)}, {megabytes(used.nbytes)}")
    print(f"limit    {megabytes(store.limit)}: beyond it, what was not used for longest goes")
    print(MOVE)


def why_nothing_is_kept() -> str:
    if os.environ.get("TADC_CACHE") == "off":
        return "TADC_CACHE=off"
    return "there is no home folder; TADC_CACHE=FOLDER in the environment chooses one"


def entries(count: int) -> str:
    return "1 entry" if count == 1 else f"{count} entries"


def megabytes(nbytes: int) -> str:
    return f"{nbytes / 1e6:.3g} MB"

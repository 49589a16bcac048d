"""`tadc cache`: what it shows, and what it removes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tadc.support.disk_store import MOST_BYTES, DiskStore, disk_store


def test_what_is_kept_is_shown(tadc_, store: DiskStore):
    store.save("a", b"x" * 1_500_000)
    store.save("b", b"y" * 500_000)
    outcome = tadc_("cache")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"folder   {store.folder}\nholds    2 entries, 2 MB\n" in outcome.out
    assert f"limit    {MOST_BYTES // 1_000_000} MB" in outcome.out
    assert "TADC_CACHE=off" in outcome.out


def test_clearing_says_how_many_entries_there_were(tadc_, store: DiskStore):
    for key in "abc":
        store.save(key, key)
    assert store.folder
    (store.folder / "notes.txt").write_text("not an entry")
    assert tadc_("cache", "clear").out == f"3 entries removed from {store.folder}\n"
    assert tadc_("cache", "clear").out == f"0 entries removed from {store.folder}\n"
    assert [path.name for path in store.folder.iterdir()] == ["notes.txt"]


def test_runs_fill_it(tadc_, store: DiskStore):
    assert "holds    0 entries, 0 MB\n" in tadc_("cache").out
    assert store.folder and not store.folder.exists()  # a look makes none
    tadc_("run", "f.tad", "--arg", "x=[1, 2]", "s=3", "--vjp")
    assert "holds    0 entries" not in tadc_("cache").out
    assert tadc_("cache", "clear").out.endswith(f" entries removed from {store.folder}\n")
    assert "holds    0 entries" in tadc_("cache").out


@pytest.mark.parametrize("words", [["cache"], ["cache", "clear"]])
def test_nothing_is_kept_where_it_is_off(tadc_, store: DiskStore, monkeypatch, words: list[str]):
    monkeypatch.setenv("TADC_CACHE", "off")
    disk_store.cache_clear()
    outcome = tadc_(*words)
    assert (outcome.code, outcome.out) == (0, "nothing is kept: TADC_CACHE=off\n")


@pytest.mark.parametrize("words", [["cache"], ["cache", "clear"]])
def test_a_file_is_no_folder(tadc_, store: DiskStore, words: list[str]):
    assert store.folder
    Path(store.folder).write_text("a file")
    outcome = tadc_(*words)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err == f"tadc: {store.folder}: Not a directory\n"


def test_help_and_wrong_words(tadc_):
    outcome = tadc_("cache", "--help")
    assert outcome.code == 0
    assert "\n  tadc cache clear\n" in outcome.out and "TADC_CACHE" in outcome.out
    assert tadc_("cache", "empty").code == 2

"""The loops of all workloads are those that were kept: a change that means others says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import fingerprint
from benchmarks.workloads import ALL
from benchmarks.workloads.workload import Workload

RENEW = """
loops of these programs have changed: where that is meant, python -m benchmarks.fingerprint --keep
keeps their new hashes, and the commit shows them; --texts writes texts to compare
"""


@pytest.mark.parametrize("workload", ALL, ids=lambda w: w.name)
def test_the_loops_are_those_that_were_kept(workload: Workload) -> None:
    changed = fingerprint.changed(fingerprint.hashes_of(workload))
    assert not changed, RENEW


def test_every_kept_hash_is_of_a_program() -> None:
    """Of each workload two parts, with sizes declared and free, at three levels."""
    names = [name.split()[0] for name in fingerprint.kept()]
    assert {name: names.count(name) for name in names} == dict.fromkeys(fingerprint.BY_NAME, 12)


def test_a_change_is_noticed_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "KEPT", tmp_path / "fingerprints.txt")
    fingerprint.KEPT.write_text("0123456789abcdef W5 value free avx2\n0000 W1 value free avx2\n")
    made = {"W5 value free avx2": "1123456789abcdef", "W1 value free avx2": "0000"}
    assert fingerprint.changed(made) == ["W5 value free avx2"]
    fingerprint.keep(made)
    assert fingerprint.changed(made) == []
    assert [*fingerprint.kept()] == ["W1 value free avx2", "W5 value free avx2"]


def test_levels_have_texts_of_their_own() -> None:
    source = "y[i, j] = sum[k](x[i, k] * w[j, k])"
    arrays = {name: np.ones((64, 64), np.float32) for name in ("x", "w")}
    for _, program, sizes in fingerprint.parts(source, arrays):
        texts = fingerprint.texts_for_levels(program, sizes)
        assert len({*texts.values()}) == len(texts) == 3

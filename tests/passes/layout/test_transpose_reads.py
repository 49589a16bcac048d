"""Reads of transposes: what programs mean, and what is copied."""

from __future__ import annotations

from functools import partial

import pytest

import tadc
from tadc.passes.layout.transpose_reads import transpose_reads
from tests.support.campaign import seeds
from tests.support.derivations import random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning


@pytest.mark.usefixtures("few_threads")
@pytest.mark.parametrize("seed", seeds(20, of=400))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    case = random_case(seed, **(EVERYTHING if seed % 2 else {}))
    names = case.function.program.summary.size_names()
    least, most = dict.fromkeys(names, 6), dict.fromkeys(names, 9)
    check_meaning(partial(transpose_reads, least=least, most=most), case)


COPIED = {
    "rows of both": ("y[i, j] = sum[k](a[i, k] * b[j, k])", ["b_turned[k, j]"]),
    "columns": ("y[i, j] = sum[k](a[i, k] * b[k, j])", []),
    "of a batch": (
        "y[h, i, j] = sum[k](a[h, i, k] * b[h, j, k])",
        ["b_turned[h, k, j]"],
    ),
    "one copy of two reads": (
        "y[i, j] = sum[k](b[j, k] * exp(b[j, k]) * a[i])",
        ["b_turned[k, j]"],
    ),
    "a shifted index": ("y[i, j] = sum[k](a[i, k] * b[i + j, k])", ["b_turned[k, j]"]),
    "both axes": ("y[i, j] = sum[k](a[i, k] * b[j, j + k])", []),
    "no reduction": ("y[i, j] = a[j, i]", []),
}


@pytest.mark.parametrize("what", COPIED)
def test_what_a_warp_would_read_row_by_row_is_copied(what: str) -> None:
    source, copies = COPIED[what]
    program = tadc.compile(source).program.op
    names = tadc.compile(source).program.summary.size_names()
    sizes = {name: 1000 if name.startswith("B") else 500 for name in names}  # for i + j, too
    made = transpose_reads(program, sizes, sizes)
    found = [d for d in made.definitions if "_turned" in d.label.data]
    assert [d.label.data for d in found] == [c.partition("[")[0] for c in copies]
    if not copies:
        assert made is program


@pytest.mark.parametrize(("least", "most"), [({}, {}), ({"I": 4}, {"I": 4, "J": 40, "K": 40})])
def test_little_and_unknown_use_is_no_reason(least: dict[str, int], most: dict[str, int]) -> None:
    program = tadc.compile("y[i, j] = sum[k](a[i, k] * b[j, k])").program.op
    assert transpose_reads(program, least, most) is program

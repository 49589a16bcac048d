"""Comments of plans: what they say of chosen, rejected and refused nests."""

from __future__ import annotations

import re

import pytest

import tadc

PRODUCT = "x: f32[N, K]\nw: f32[M, K]\ny[i, j] = sum[k](x[i, k] * w[j, k])"
SIZES = {"N": 1024, "M": 1024, "K": 1024}


def comments(plan: str, sizes: dict[str, int] | None = SIZES) -> list[str]:
    text = tadc.compile(PRODUCT, plan=plan).emit("plan", sizes, "f32")
    return [line.partition("#")[2].strip() for line in text.splitlines() if "#" in line]


def test_work_and_time_stand_behind_an_entry_and_rejected_nests_below():
    work, rejected = comments("")
    assert re.fullmatch(r"2\.1 Gop, 13 MB, \d\d ms predicted", work)
    assert rejected.startswith("rejected: rows j, columns i: ")
    assert "; plain: " in rejected and rejected.endswith(" times")


def test_without_sizes_there_are_no_numbers_of_work():
    assert all("predicted" not in comment for comment in comments("", None))


def test_a_nest_by_hand_has_the_compilers_own_beside_it():
    _, own = comments("y[i, j]: plain")
    assert own == (
        "by hand; the compiler would choose: rows i by 6, columns j by 64, 42 blocks a group"
    )


def test_an_entry_that_is_passed_over_says_why():
    found = comments("# told\ny[i, j]: columns j by 32", {**SIZES, "M": 16, "K": 9999})
    refused = "line 2 of the plan is not possible here: j has 16 values: there is no room for 32"
    assert refused in found


@pytest.mark.parametrize("loops", ["row by row", "in bands"])
def test_loops_that_no_neighbour_shares_are_told(loops: str):
    f = tadc.compile("x: f32[J, I]\ny[i, j] = exp(x[j, i])", plan=f"# told\ny[i, j]: {loops}")
    refused = f"line 2 of the plan is not possible here: no neighbour is computed {loops} with y"
    assert refused in f.emit("plan", {"I": 2048, "J": 1024}, "f32")


def test_definitions_that_share_blocks_name_each_other():
    text = "y[j] = sum[i](d[i, j] / e[i])\nz[j] = sum[i](d[i, j])\nreturn y, z"
    found = tadc.compile(text).emit("plan", {"I": 512, "J": 512}, "f64").splitlines()
    first, second = (line for line in found if line.startswith("  # with"))
    assert re.fullmatch(r"  # with z, in columns j by \d+", first)
    assert second == first.replace("z", "y")

"""Differences of texts: all that differs but the numbers of values, and nothing else."""

from __future__ import annotations

from tadc.support.differences import differences

NAMES = "solved", "bounded"


def test_equal_texts_have_none():
    assert differences("a\nb\n", "a\nb\n", NAMES) == ""


def test_changed_lines_stand_below_each_other():
    assert differences("a\nb\nc\n", "a\nB\nc\nd\n", NAMES) == (
        "--- solved\n+++ bounded\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n"
    )


def test_numbers_of_values_do_not_count():
    before = "%0 = tix.read %x[%i]\n%1 = tix.sin %0\n%2 = tix.neg %1"
    after = "%0 = tix.read %x[%i_1]\n%1 = tix.neg %0"
    assert differences(before, after, NAMES) == (
        "--- solved\n+++ bounded\n@@ -1,3 +1,2 @@\n"
        " %0 = tix.read %x[%i_1]\n-%1 = tix.sin %0\n %1 = tix.neg %0\n"
    )


def test_numbers_that_are_no_values_count():
    assert differences("%0 = tix.constant 2.0", "%0 = tix.constant 3.0", NAMES)
    assert differences("%0 = tix.read %x[%i + 1]", "%0 = tix.read %x[%i + 2]", NAMES)
    assert differences("%x = f", "%y = f", NAMES)


def test_lines_far_from_differences_are_left_out():
    same = "\n".join(f"line {n}" for n in range(20))
    found = differences(f"{same}\na", f"{same}\nb", NAMES)
    assert found.splitlines()[2:] == [
        "@@ -18,4 +18,4 @@", " line 17", " line 18", " line 19", "-a", "+b"
    ]  # fmt: skip

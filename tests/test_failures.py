"""What the compiler cannot do with a program ends in an error about its text."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr, UnknownLoc
from xdsl.utils.exceptions import PassFailedException

import tadc
from tadc.commands.opt import main
from tadc.errors import TargetError, UnsupportedError
from tadc.passes.derive import infer_ranges
from tadc.passes.derive.infer_ranges import InferRangesPass
from tadc.passes.rewriting.failure import PassFailure

SOURCE = "x: f64[9]\ny[i] = x[i] * 2"


def fail(location, reason="this is too hard"):
    def apply(self, ctx, op):
        raise PassFailure(location, reason)

    return apply


def test_a_failure_names_its_place_where_that_is_known():
    known = FileLineColLoc(StringAttr("f.tad"), IntAttr(3), IntAttr(7))
    assert str(PassFailure(known, "no")) == "f.tad:3:7: no"
    assert str(PassFailure(UnknownLoc(), "no")) == "no"


def test_a_failure_of_a_pass_is_an_error_about_the_text(monkeypatch: pytest.MonkeyPatch):
    place = FileLineColLoc(StringAttr("f.tad"), IntAttr(2), IntAttr(8))
    monkeypatch.setattr(InferRangesPass, "apply", fail(place))
    with pytest.raises(UnsupportedError) as caught:
        tadc.compile(SOURCE, file="f.tad").derivative()
    error = caught.value
    assert (error.file, error.line, error.column) == ("f.tad", 2, 8)
    assert str(error).startswith(
        "f.tad:2:8: this is too hard\n    y[i] = x[i] * 2\n           ^^^^\nhint: "
    )


def test_a_failure_without_a_place_names_the_file(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(InferRangesPass, "apply", fail(UnknownLoc()))
    with pytest.raises(UnsupportedError, match=r"^f.tad: this is too hard"):
        tadc.compile(SOURCE, file="f.tad").derivative()

    def plain(self, ctx, op):
        raise PassFailedException("a budget is spent")

    monkeypatch.setattr(InferRangesPass, "apply", plain)
    with pytest.raises(UnsupportedError, match=r"^f.tad: a budget is spent"):
        tadc.compile(SOURCE, file="f.tad").derivative()


def test_bounds_that_are_too_many_are_those_of_named_indices(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(infer_ranges, "MOST_INEQUALITIES", 5)
    f = tadc.compile(
        "x: f64[9]\ny[i in range(8)] = sum[k in range(3)](x[i // 3 + k] if k < i else 0)"
    )
    with pytest.raises(UnsupportedError, match="the bounds of the sum over k, i take more than 5"):
        f.derivative()


def test_the_driver_names_no_place_that_it_does_not_know(tmp_path, capsys):
    path = tmp_path / "f.mlir"
    path.write_text(
        """tix.program @f (%x = "x" : !tix.tensor<[N], real>) {
  %y = tix.define "y" (%i) : !tix.tensor<[N], real> {
    %0 = tix.read %x[%i]
    tix.yield %0
  }
  tix.return %y
}"""
    )
    assert main([str(path), "-p", "schedule"]) == 1
    assert capsys.readouterr().err == (
        "tadc-opt: a tensor has elements of type real; run set-precision first\n"
    )


@pytest.mark.parametrize("size", [10**7, 10**13])
def test_arrays_that_no_memory_holds(size):
    function = tadc.compile("y[i, j] = x[i] * x[j]", file="f.tad")
    with pytest.raises(TargetError, match=r"^f.tad: there is not enough memory"):
        function(np.broadcast_to(1.0, (size,)))

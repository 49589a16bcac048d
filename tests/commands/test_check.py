"""`tadc check`: its tables, and that it notices wrong derivatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tadc
from tadc.commands import check
from tadc.dialects.tix import elementwise as ew
from tadc.passes.derive.differentiation import rules
from tadc.verify.gradients import verify
from tests.support.paths import ROOT

EXAMPLES = sorted((ROOT / "examples").rglob("*.tad"))
PAPER = str(ROOT / "examples" / "paper.tad")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_are_right(tadc_, path: Path):
    outcome = tadc_("check", str(path))
    assert (outcome.code, outcome.err) == (0, "")
    assert "seed 0" in outcome.out
    assert "WRONG" not in outcome.out
    for t in (t for t in tadc.compile_file(path).args if t.is_real):
        assert f"\n  {t.name} " in outcome.out


def test_check_says_how(tadc_):
    outcome = tadc_("check", "f.tad", "--seed", "7", "--size", "N=6")
    assert outcome.out.splitlines()[:3] == [
        "f.tad: derivatives against central differences in float64",
        "  random arguments between -1 and 1, seed 7",
        "  sizes N = 6",
    ]
    assert tadc_("check", "f.tad", "--seed", "7", "--size", "N=6").out == outcome.out
    outcome = tadc_("check", "-", stdin="x: f32[300]\ny[i] = log(x[i])")
    assert "between 0.5 and 1.5" in outcome.out
    assert "  f32 is computed in float64 here\n" in outcome.out
    assert "200 of x" in outcome.out


def test_wrt_leaves_other_arguments_alone(tadc_):
    """`--wrt` computes, keeps and compares no other gradients."""
    line = ["run", "f.tad", "--arg", "x=[1, 2]", "s=1"]
    outcome = tadc_(*line, "--vjp", "--wrt", "s")
    assert outcome.code == 0 and "ds: " in outcome.out and "dx: " not in outcome.out
    outcome = tadc_(*line, "--wrt", "s")
    assert (outcome.code, outcome.err) == (
        1,
        "tadc: --wrt chooses gradients\nhint: --vjp computes them\n",
    )
    rows = tadc_("check", "f.tad", "--wrt", "s").out.splitlines()[3:]
    assert [row.split()[0] for row in rows] == ["argument", "s", "mode", "forward"]
    for command in (["check", "f.tad"], [*line, "--vjp"]):
        outcome = tadc_(*command, "--wrt", "q")
        assert outcome.code == 1 and "there is no argument 'q'" in outcome.err


def test_a_small_tolerance_makes_check_fail(tadc_):
    outcome = tadc_("check", PAPER, "--tolerance", "1e-18")
    assert outcome.code == 1
    assert "WRONG by more than 1e-18: a, b, c, d, forward\n" in outcome.out


def test_progress_is_shown_on_terminals(tadc_, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    outcome = tadc_("check", "f.tad")
    assert "1 of 6 elements" in outcome.err
    assert outcome.err.endswith("\r\x1b[K")


def wrong_exp(e, a, x, y):
    return e.mul(a, e.mul(y(), e.constant(1.001)))


def test_a_wrong_rule_is_noticed(tadc_, monkeypatch: pytest.MonkeyPatch):
    wrong = {**rules.RULES, ew.ExpOp: rules._unary_rule(wrong_exp)}
    monkeypatch.setattr(rules, "RULES", wrong)
    outcome = tadc_("check", PAPER)
    assert outcome.code == 1
    assert "WRONG by more than 1e-06: a, b, c, d, forward" in outcome.out
    function = tadc.compile("y[i] = exp(x[i]) * w[i] + log(v[i])")
    assert {v.argument: v.ok for v in verify(function)} == {"x": False, "w": True, "v": True}


def test_derivatives_that_are_no_numbers_are_wrong(monkeypatch: pytest.MonkeyPatch):
    def nothing(e, a, x, y):
        return e.mul(a, e.div(e.sub(x(), x()), e.sub(x(), x())))

    wrong = {**rules.RULES, ew.ExpOp: rules._unary_rule(nothing)}
    monkeypatch.setattr(rules, "RULES", wrong)
    (verdict,) = verify(tadc.compile("y[i] = exp(x[i])"))
    assert verdict.error == np.inf
    assert not verdict.ok


def test_columns_of_the_table_align():
    verdicts = verify(tadc.compile("y[i] = x[i] * some_name"))
    lines = check.table(verdicts)
    assert lines[2].startswith("  some_name  scalar")
    assert len({line.rfind("ok") for line in lines[1:]}) == 1

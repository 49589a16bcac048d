"""What `tadc check` says of forward mode and of the inverse modes."""

from __future__ import annotations

import numpy as np
import pytest

import tadc
from tadc.inverse.inverse import Inverse
from tadc.modes import INVERSE_MODES
from tadc.verify.modes import verify_modes, why_no_inverse

LEAP = "x: f64[N]\nv: f64[N]\nx[i] += 0.1 * v[i]\nv[i] -= 0.1 * sin(x[i])\n"


def errors(program: str, **options):
    return {v.mode: v.error for v in verify_modes(tadc.compile(program), **options)}


@pytest.mark.parametrize(
    "program",
    [
        LEAP,
        "w: f32[N, N]\np: f32[N]\np[i] = tanh(sum[j](w[i, j] * p[j]))\n",
        "p: f64[N]\np[i] = sqrt(p[i]) + log(p[i])\n",
        "p: f64[N]\nq: f64[M]\na[i] = q[i]\nq[i] = exp(q[i])\np[i] = 3 * p[i] + pad(p[i - 1])**2",
        "p: f64[]\nq: f64[2, N]\np *= -exp(p)\nq[i, j] = p * q[1 - i, j]\n",
    ],
)
def test_modes_are_right(program: str):
    found = errors(program)
    assert list(found) == ["forward", *(() if "a[i]" in program else INVERSE_MODES)]
    assert all(error is not None and error < 1e-8 for error in found.values())


def test_a_wrong_inverse_is_noticed(tadc_, monkeypatch: pytest.MonkeyPatch):
    right = Inverse.__call__

    def wrong(self, arguments, seeds):
        return [1.001 * np.asarray(v) for v in right(self, arguments, seeds)]

    program = "p: f64[3]\np[i] = 2 * exp(p[i])\n"
    assert tadc_("check", "-", stdin=program).code == 0
    monkeypatch.setattr(Inverse, "__call__", wrong)
    outcome = tadc_("check", "-", stdin=program)
    assert outcome.code == 1
    assert "\nWRONG by more than 1e-06: inverse-jvp, inverse-vjp, log-abs-det\n" in outcome.out


def test_forward_mode_is_compared_by_chosen_arguments(monkeypatch: pytest.MonkeyPatch):
    f = tadc.compile("y[i] = a[i] * exp(b[i])")
    asked: list[tuple[str, ...]] = []
    forward = tadc.Function.forward
    monkeypatch.setattr(
        tadc.Function, "forward", lambda self, *wrt: asked.append(wrt) or forward(self, *wrt)
    )
    (verdict,) = verify_modes(f, wrt=("b",))
    assert (verdict.mode, verdict.ok, asked) == ("forward", True, [("b",)])


def test_singular_programs_have_no_inverse_modes(tadc_):
    outcome = tadc_("check", "-", stdin="p: f64[3]\np[i] = 2 * p[0]\n")
    assert outcome.code == 0
    assert "  no inverse modes: the Jacobian must be singular: the value that p[1]" in outcome.out
    assert "inverse" not in tadc_("check", "f.tad").out
    assert why_no_inverse(tadc.compile(LEAP)) is None


def test_what_is_not_compared(tadc_):
    """J is singular everywhere, or too large to be formed."""
    outcome = tadc_("check", "-", stdin="p: f64[2]\np[i] = (p[0] + p[1]) * (i + 1)\n")
    assert outcome.out.count("not compared") == 3
    assert outcome.code == 0
    found = errors("p: f64[300]\np[i] = exp(p[i])\n")
    assert found["log-abs-det"] is None
    assert found["inverse-jvp"] < 1e-12

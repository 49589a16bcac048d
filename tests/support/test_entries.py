"""Errors of tadc in Python: the line of the user stands right above the message."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tadc
import tadc.ode

F = tadc.compile("y[i] = sum[k](w[k] * x[2*i + k])", target="interpret")
LOSS = tadc.compile("x: f64[N]\ns = sum[i](x[i])", target="interpret")
STATE = tadc.compile("p: f64[N]\np[i] = 2 * p[i]", target="interpret")
W, X = np.ones(3), np.arange(9.0)

CALLS: dict[str, Callable[[], Any]] = {
    "a program": lambda: tadc.compile("y[i] = "),
    "a deep program": lambda: tadc.compile("y[i] = " + "(" * 3000 + "q[i]" + ")" * 3000),
    "a range": lambda: tadc.compile("x: f64[8]\ny[i in range(9)] = x[i]"),
    "a file": lambda: tadc.compile_file("nowhere.tad"),
    "a plan": lambda: tadc.compile("y[i] = x[i]", plan="nonsense"),
    "a definition": lambda: tadc.define_function("sin", "x", value="x", derivative="1"),
    "a call": lambda: F(W),
    "a dtype": lambda: F(W.astype(int), X),
    "a rank": lambda: F(W, np.ones((3, 3))),
    "an out": lambda: F(W, X, out=np.ones(2)),
    "a value": lambda: tadc.vjp(F, W),
    "an adjoint": lambda: tadc.vjp(LOSS, X)[1](np.ones(7)),
    "a tangent": lambda: tadc.jvp(F, (W, X), (W, W)),
    "a gradient": lambda: tadc.grad(F),
    "a derivative": lambda: F.derivative("z"),
    "a batch": lambda: F.batched("z"),
    "a stage": lambda: F.ir("nothing"),
    "a text": lambda: F.emit("nothing"),
    "a plan of addresses": lambda: F.plan([(3,), (9,)]),
    "memory": lambda: F.memory(W),
    "an inverse": lambda: tadc.inverse_jvp(F, (W, X), W),
    "an inverse of another shape": lambda: tadc.inverse_vjp(STATE, (W,), X),
    "a determinant": lambda: tadc.log_abs_det(STATE, (W, X)),
    "a flow": lambda: tadc.ode.flow(F, 0, 1),
}


def lines_of(call: Callable[[], Any]) -> list[str]:
    """The files of the lines that Python shows, those from this one on."""
    with pytest.raises(tadc.TadcError) as caught:
        call()
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    return files[len(files) - files[::-1].index(__file__) :]


@pytest.mark.parametrize("name", CALLS)
def test_one_line_stands_below_that_of_the_user(name: str) -> None:
    assert len(lines_of(CALLS[name])) == 1


def test_in_pytorch() -> None:
    torch: Any = pytest.importorskip("torch")
    op = pytest.importorskip("tadc.torch").op
    conv, w = op(F.with_target("cpu")), torch.ones(3)
    for call in (lambda: op("y[i] ="), lambda: conv(w), lambda: conv(w, w.half())):
        assert len(lines_of(call)) == 1
    layer = op(STATE.with_target("cpu"))
    assert len(lines_of(lambda: layer.inverse_jvp((w.double(),), w))) == 1


def test_in_jax() -> None:
    pytest.importorskip("jax")
    op = pytest.importorskip("tadc.jax").op
    conv = op(F.with_target("cpu"))
    assert len(lines_of(lambda: op("y[i] ="))) == 1
    assert len(lines_of(lambda: conv(W))) == 1

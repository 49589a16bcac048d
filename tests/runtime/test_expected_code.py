"""Code that a derivative will need, which processes are begun for before it is derived."""

from __future__ import annotations

import pytest

import tadc
from tadc.runtime import compilation


@pytest.mark.parametrize(
    ("source", "begun"),
    [
        ("x: f64[400, 400]\ny: f64[400, 400]\nf = sum[i, j](x[i, j] * y[j, i])", True),
        ("x: f64[400, 400]\nf = sum[i, j](x[i, j] ** 2)", False),  # one gradient
        ("x: f64[4]\ny: f64[4]\nf = sum[i](x[i] * y[i])", False),  # short
        ("f = sum[i, j](x[i, j] * y[j, i])", False),  # calls tell
    ],
)
def test_a_process_begins_before_what_will_be_long_is_derived(
    source: str, begun: bool, monkeypatch: pytest.MonkeyPatch
):
    count: list[bool] = []
    monkeypatch.setattr(compilation, "begin", lambda: count.append(True))
    monkeypatch.setenv("TADC_CACHE", "off")
    tadc.compile(source).derivative()
    assert bool(count) == begun

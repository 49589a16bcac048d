"""The scripts of the gallery run, and compare what they compute with a second way to it.

They are run as they are, but for the lines of `SMALLER`, whose numbers only take time.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from tests.support.frameworks import missing, settings_kept
from tests.support.paths import EXAMPLES

SCRIPTS = sorted((EXAMPLES / "gallery").glob("*.py"))
SMALLER = {
    "normalising_flow": {"STEPS = 2000": "STEPS = 50", "LAYERS = 6": "LAYERS = 2"},
    "torch_layer": {"STEPS = 300": "STEPS = 40", "for _ in range(10)])": "for _ in range(2)])"},
}
"""For each script, lines and what stands in their place."""
COMPARISON = re.compile(r"assert_allclose\(|assert_close\(|^assert ", re.MULTILINE)


def smaller(script: Path) -> str:
    text = script.read_text(encoding="utf-8")
    for line, other in SMALLER.get(script.stem, {}).items():
        assert text.count(line) == 1, line
        text = text.replace(line, other)
    return text


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_a_script_runs(script: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("matplotlib")
    text = smaller(script)
    if missing(text):
        pytest.skip(f"{' and '.join(missing(text))} is not installed")
    monkeypatch.setenv("MPLBACKEND", "agg")
    with warnings.catch_warnings(), settings_kept():
        # what matplotlib says where no window can be shown
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        exec(compile(text, script, "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_a_script_compares_and_draws(script: Path):
    text = script.read_text(encoding="utf-8")
    assert COMPARISON.search(text)
    assert "plt.show()" in text

"""IR with the lines of the program beside it: the same IR, and the right lines."""

from __future__ import annotations

import re

import tadc
from tadc.support.ir_text import parse_module
from tadc.view.source_lines import with_source_lines
from tests.support.paths import ROOT

SOURCE = "x: f64[9]\n# a comment\ny[i in range(8)] = x[i] + x[i + 1]\nz[i] = exp(y[i])"


def shown(source: str, stage: str) -> str:
    function = tadc.compile(source)
    return with_source_lines(function.program, function.module_at(stage))


def test_each_operation_has_its_place():
    lines = [line.split("  // ") for line in shown(SOURCE, "tensor-index").splitlines()]
    beside = {line[0].split("=")[-1].strip(): line[1] for line in lines if len(line) > 1}
    assert beside["tix.read %x[%i]"] == "3: x[i]"
    assert beside["tix.read %x[%i + 1]"] == "3: x[i + 1]"
    assert beside["tix.exp %3"] == "4: exp"


def test_comments_stand_below_each_other():
    text = shown(SOURCE, "simplified")
    found = [line.index("//") for line in text.splitlines() if "//" in line]
    assert len(found) > 4
    assert sum(column == min(found) for column in found) > len(found) // 2


def test_without_comments_it_is_the_stage():
    for path in sorted(ROOT.glob("examples/*.tad")):
        function = tadc.compile(path.read_text(encoding="utf-8"))
        module = function.module_at("bounded")
        text = with_source_lines(function.program, module)
        assert re.sub(r" +// .*", "", text) == str(module)
        assert str(parse_module(text)) == str(module)

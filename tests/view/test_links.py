"""Links say the truth: without the terms linked to other reads, a gradient is that of one read."""

from __future__ import annotations

import math
import random
import re

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

import tadc
from tadc.view.links import Link, Reads
from tests.support.campaign import seeds
from tests.support.paths import ROOT
from tests.support.random_programs import Program, random_program

STAGES = ("tensor-index", "derivative", "solved", "bounded", "simplified")


def linked(source: str) -> tuple[Reads, str, list[Link]]:
    function = tadc.compile(source)
    reads = Reads(function.program)
    return reads, *reads.in_program(function.derivative().program)


def replaced(text: str, links: list[Link], new: str) -> str:
    """The text with `new`, in which `{}` is the old one, for each of these parts."""
    for start, end, _ in sorted(links, reverse=True):
        text = text[:start] + new.format(text[start:end]) + text[end:]
    return text


# --- where links are ------------------------------------------------------------------------------


def test_reads_of_the_formula():
    source = "# ü x[0]\r\nx: f64[9]\r\ny[i in range(8)] = pad(x[i]) * x[ i+1 ]  # x\r\nz[i] = y[i]"
    reads = Reads(tadc.compile(source).program)
    assert [(source[a:b], name) for a, b, name in reads.in_formula()] == [
        ("x[i]", "r0"),
        ("x[ i+1 ]", "r1"),
        ("y[i]", "r2"),
    ]


def test_a_mark_of_byte_order_counts():
    source = "\ufeffy[i] = x[i]"
    assert [source[a:b] for a, b, _ in Reads(tadc.compile(source).program).in_formula()] == ["x[i]"]


def test_terms_of_the_derivative():
    _, text, links = linked("x: f64[9]\ny[i] = 3 * x[i] * pad(x[i - 1])")
    assert {(text[a:b], name) for a, b, name in links} == {
        ("3 * (dy[i] * (x[i - 1] if i >= 1 else 0))", "r0"),
        ("dy[i + 1] * (3 * x[i + 1]) if i < 8 else 0", "r1"),
    }


def test_an_update_reads_the_version_before():
    _, text, links = linked("q: f64[N]\np: f64[N]\nq[i] += 2 * p[i]\np[i] -= sin(q[i])")
    terms = {text[a:b]: name for a, b, name in links}
    assert terms["dq_1[i]"] == "r0"
    assert terms["dp[i] * cos(q[i] + 2 * p[i])"] == "r3"
    assert terms["2 * dq_1[i]"] == "r1"


WITHOUT_TERMS = {"softmax": {"r0", "r2", "r3", "r4"}, "gat": {"r7", "r8", "r9"}}
"""The maximum cancels, and the adjoint of `p` is computed where that of `x` is; likewise those of
`w` and `z`."""


@pytest.mark.parametrize("path", sorted(ROOT.glob("examples/*.tad")), ids=lambda path: path.stem)
def test_every_read_of_an_example_has_its_terms(path):
    source = path.read_text()
    function = tadc.compile(source)
    reads, text, links = linked(source)
    assert text == str(function.derivative())
    names = {name for *_, name in reads.in_formula()}
    terms = {name for *_, name in links if name[0] == "r"}
    assert terms == names - WITHOUT_TERMS.get(path.stem, set())
    for stage in STAGES:
        module = function.module_at(stage)
        text, links = reads.in_module(module)
        assert text == str(module) == function.ir(stage)
        assert {name for *_, name in links if name[0] == "r"} == names


def test_a_sum_that_got_a_name_is_linked_by_it():
    source = (ROOT / "examples" / "gaussian.tad").read_text()
    reads, text, links = linked(source)
    (term,) = [text[a:b] for a, b, name in links if name[0] == "s"]
    assert term == "-(dy[i] * b[j] * exp(-y_sum[i, j]))"
    assert all(name[0] == "r" for *_, name in reads.in_formula())


def test_links_of_a_stage_are_whole_operations():
    function = tadc.compile("y[i] = x[2*i] * x[i]")
    reads, module = Reads(function.program), function.module_at("simplified")
    assert isinstance(module, ModuleOp)
    text, links = reads.in_module(module)
    for start, end, _ in links:
        assert text[start] in "%t" and text[:start].endswith((" ", "\n"))
        assert text[end] == "\n"


# --- what links mean ------------------------------------------------------------------------------


def gradient(source: str, argument: str, values: dict[str, np.ndarray]) -> np.ndarray:
    """The result of a derivative program by one argument, whose adjoints are numbers from 1 on."""
    derivative = tadc.compile(source, "interpret")
    given = dict(values)
    for t in derivative.args:
        given.setdefault(t.name, 1 + np.arange(math.prod(t.shape), dtype=float).reshape(t.shape))
    results = derivative.call([], {t.name: given[t.name] for t in derivative.args})
    return results[[t.name for t in derivative.results].index(f"d{argument}")]


def declaration_of(source: str, argument: str) -> str:
    return next(line for line in source.split("\n") if line.startswith(f"{argument}:"))


def adjoints_outside(text: str, argument: str, links: list[Link]) -> bool:
    """True if the line of the gradient reads an adjoint that no link covers."""
    rest = replaced(text, links, "").replace(" in ", " ")
    line = re.search(rf"^d{argument}\b.*? = (.*)$", rest, re.MULTILINE)
    assert line, rest
    return re.search(r"\bd[a-z_0-9]+", line[1]) is not None


def check(program: Program) -> int:
    """The number of reads that contribute what links say: the gradient by another argument, of the
    same values, which this read alone has."""
    source, function = program.source, tadc.compile(program.source)
    reads = Reads(function.program)
    places = reads.in_formula()
    checked = 0
    for argument in [t.name for t in function.args]:
        own = [p for p in places if source[p[0] : p[1]].startswith(f"{argument}[")]
        text, links = reads.in_program(function.derivative(argument).program)
        if adjoints_outside(text, argument, links):
            continue  # an adjoint was computed in place: its term has no link
        for name in {name for *_, name in own}:
            those = [p for p in own if p[2] != name]
            others = [link for link in links if link[2] in {p[2] for p in those}]
            alone = replaced(text, others, "(0 * ({}))")
            there = [(a, a + len(argument), n) for a, _, n in own if n == name]
            declared = declaration_of(source, argument).replace(argument, "other", 1)
            changed = tadc.compile(f"{declared}\n{replaced(source, there, 'other')}")
            values = {**program.arguments, "other": program.arguments[argument]}
            expected = gradient(str(changed.derivative("other")), "other", values)
            np.testing.assert_allclose(
                gradient(alone, argument, values), expected, 1e-9, 1e-9, err_msg=source
            )
            checked += len(others) > 0
    return checked


@pytest.mark.parametrize("seed", seeds(6, of=100))
def test_without_linked_terms_others_do_not_contribute(seed: int):
    options = {"declarations": ("concrete",), "empty": False, "reductions": True, "pads": True}
    assert check(random_program(random.Random(seed), **options)) >= 0


def test_random_programs_have_several_terms():
    options = {"declarations": ("concrete",), "empty": False}
    assert sum(check(random_program(random.Random(s), **options)) for s in range(100, 106)) > 5

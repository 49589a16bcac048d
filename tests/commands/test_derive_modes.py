"""`tadc derive --mode`: the texts of every mode, and what `--explain` says of the inverse ones."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tadc
from tadc import emit
from tadc.choices import DERIVATIVE_STAGES, EMITS
from tadc.errors import UnknownNameError
from tadc.modes import INVERSE_MODES
from tadc.passes.pipeline import STAGES
from tests.support.paths import ROOT

PAPER = str(ROOT / "examples" / "paper.tad")
LEAP = "x: f64[N]\nv: f64[N]\nx[i] += 0.1 * v[i]\nv[i] -= 0.1 * sin(x[i])\n"
MIXED = "w: f64[N, N]\np: f64[N]\np[i] = tanh(sum[j](w[i, j] * p[j]))\n"


@pytest.mark.parametrize("mode", ["forward", "jvp", "reverse", "vjp"])
def test_words_of_a_mode_derive_by_chosen_arguments(tadc_, mode: str):
    function = tadc.compile_file(PAPER)
    by = function.forward if mode in ("forward", "jvp") else function.derivative
    assert tadc_("derive", PAPER, "--mode", mode).out == str(by())
    assert tadc_("derive", PAPER, "--mode", mode, "--wrt", "d,a").out == str(by("d", "a"))
    assert tadc_("derive", PAPER, "--mode", mode, "--wrt", "aa").code == 1


def by_python(mode: str, function: tadc.Function, arguments, vectors):
    called = getattr(tadc, mode.replace("-", "_"))
    return called(function, arguments, *([vectors] if vectors else []))


@pytest.mark.parametrize("mode", INVERSE_MODES)
def test_inverse_modes_without_systems_are_programs(tadc_, mode: str):
    """The program that is printed gives, when it is run, what the function of Python gives."""
    printed = tadc.compile(tadc_("derive", "-", "--mode", mode, stdin=LEAP).out)
    x, v, a, b = np.random.default_rng(0).normal(size=(4, 5))
    vectors = () if mode == "log-abs-det" else (a, b)
    pairs = zip(
        printed(x, v, *vectors),
        by_python(mode, tadc.compile(LEAP), (x, v), vectors),
        strict=True,
    )
    for shown, expected in pairs:
        np.testing.assert_allclose(shown, expected, rtol=1e-12)


@pytest.mark.parametrize("mode", INVERSE_MODES)
def test_inverse_modes_with_systems_say_what_to_solve(tadc_, mode: str):
    """What is printed is run as its comments say."""
    text = tadc_("derive", "-", "--mode", mode, stdin=MIXED).out
    assert "#   line 3: p[i] = tanh(sum[j](w[i, j] * p[j]))\n#   dense: " in text
    rng = np.random.default_rng(1)
    known = {"w": rng.normal(size=(4, 4)), "p": rng.normal(size=4)}
    seed = rng.normal(size=4)
    known |= {"p_dot": seed, "dp": seed}
    expected = by_python(
        *(mode, tadc.compile(MIXED), (known["w"], known["p"])),
        () if mode == "log-abs-det" else (seed,),
    )
    for part in text.split("\n\n"):
        if not part.startswith("# program"):
            run_comment(part, known)
            continue
        program = tadc.compile(part)
        results = program.call([known[t.name] for t in program.args], {})
        known.update(zip([t.name for t in program.results], results, strict=True))
    names = {"inverse-jvp": ["p_dot"], "inverse-vjp": ["dp"]}.get(mode, ["signdet", "logdet"])
    for name, wanted in zip(names, expected, strict=True):
        np.testing.assert_allclose(known[name], wanted, rtol=1e-10)


def run_comment(text: str, known: dict[str, np.ndarray]) -> None:
    solve = r"# solve (transpose\()?(\w+)\)? (\w+) = (\w+) for \3: N equations\n"
    determinant = r"# det (\w+): its sign multiplies signdet, its log\|\.\| adds to logdet\n"
    if found := re.match(solve, text):
        matrix = known[found[2]].T if found[1] else known[found[2]]
        known[found[3]] = np.linalg.solve(matrix, known[found[4]])
    elif found := re.match(determinant, text):
        sign, logarithm = np.linalg.slogdet(known[found[1]])
        known["signdet"], known["logdet"] = known["signdet"] * sign, known["logdet"] + logarithm
    else:
        assert re.match(r"# [\w-]+: \d programs? and 1 [\w ]+, in this order", text)


def test_the_words_of_emit_are_all_stages_and_texts():
    assert set(EMITS) == {*STAGES, *emit.TEXTS}


@pytest.mark.parametrize("emit", [e for e in EMITS if e not in ("source", "ptx")])
@pytest.mark.parametrize("mode", ["forward", *INVERSE_MODES])
def test_emit_in_modes(tadc_, mode: str, emit: str):
    outcome = tadc_("derive", "-", "--mode", mode, "--emit", emit, stdin=MIXED)
    assert (outcome.code, outcome.err) == (0, "")
    if emit in DERIVATIVE_STAGES:
        function = tadc.compile(MIXED, file="<stdin>")
        assert outcome.out == f"{function.ir(emit, mode)}\n"
        return
    mark = {"cuda": "//", "scheduled": "//", "assembly": "#"}.get(emit, ";")
    assert (f"{mark}   line 3: p[i] = tanh" in outcome.out) == (mode != "forward")


@pytest.mark.parametrize(
    "words, message",
    [
        ("--mode forward --explain", "--explain has nothing to say about the mode forward"),
        ("--mode inverse-jvp --wrt p", "--wrt says nothing to the mode inverse-jvp"),
        ("--read w", "--read chooses what --explain says of gradients"),
        ("--read w --explain --mode log-abs-det", "--read chooses what --explain says"),
        ("--explain --emit llvm", "--explain and --emit print different things"),
    ],
)
def test_options_that_do_not_go_together(tadc_, words: str, message: str):
    outcome = tadc_("derive", "-", *words.split(), stdin=MIXED)
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(f"tadc: {message}")


def test_programs_without_inverse_modes(tadc_):
    outcome = tadc_("derive", "f.tad", "--mode", "inverse-vjp")
    assert outcome.code == 1
    assert "f.tad:2:1: the program returns y, which is no argument that it updates" in outcome.err
    assert "\nhint: let each result be the new value of a declared argument" in outcome.err
    with pytest.raises(UnknownNameError, match="there is no mode 'inverse'"):
        tadc.compile(MIXED).ir("derivative", "inverse")


EXPLAINED = {
    "p: f64[N]\ns: f64[N]\np[i] *= exp(s[i])": (
        "diagonal: the new p[i] depends on the old p[i] alone"
    ),
    "p: f64[N, M]\np[i, j] = 2 * p[N - 1 - i, j]": (
        "diagonal: the new p[i, j] depends on the old p[N - 1 - i, j] alone"
    ),
    "p: f64[N]\np[i] = 3 * p[i + 1] if i < N - 1 else p[0]": (
        "permutation: each new element depends on one old one, no two on the same"
    ),
    """p: f64[4]
    s[i in range(4)] = (i + 1) * sum[j in range(2)](p[j])
    p[i] = p[i] if i < 2 else p[i] * exp(s[i])""": (
        "substitution: the new p[i] depends on the old p[i] and on others, in chains of at most 2 "
        "elements"
    ),
    "p: f64[N]\np[i] = 3 * p[i] + pad(p[i - 1]) + pad(p[i + 2])": (
        "banded: the new p[i] depends on the old p[i] and on its neighbours along i, at most 1 "
        "before and 2 behind it"
    ),
    "p: f64[N]\np[i] = 3 * p[i] + sum[j in range(i)](p[j])": (
        "triangular: the new p[i] depends on the old p[i] and on elements before it alone"
    ),
    "p: f64[B, N]\nw: f64[N, N]\np[b, i] = sum[j](w[i, j] * p[b, j])": (
        "blocks: elements depend on those with the same b alone, one A for each"
    ),
    "p: f64[N]\nw: f64[N, N]\np[i] = sum[j](w[i, j] * p[j])": (
        "dense: each new element may depend on every old one"
    ),
}


@pytest.mark.parametrize("program", EXPLAINED)
def test_lumps_are_explained(tadc_, program: str):
    text = "\n".join(map(str.strip, program.split("\n")))
    outcome = tadc_("derive", "-", "--mode", "inverse-jvp", "--explain", stdin=text)
    *_, ins, outs, structure = outcome.out.splitlines()
    assert (ins, outs) == ("  ins        p", "  outs       the new p")
    assert structure == f"  structure  {EXPLAINED[program]}"


def test_what_lumps_read_is_explained(tadc_):
    program = "a: f64[N]\nb: f64[N]\ns[i] = tanh(a[i])\nb[i] = b[i] * exp(s[i]) + a[i]\n"
    program += "a[i] += b[i]\n"
    outcome = tadc_("derive", "-", "--mode", "log-abs-det", "--explain", stdin=program)
    assert "\n  others     s (computed from what stays), a\n" in outcome.out
    assert "\n  line 4     b[i] = b[i] * exp(s[i]) + a[i]\n" in outcome.out
    outcome = tadc_("derive", "-", "--mode", "inverse-vjp", "--explain", stdin=MIXED)
    assert "\n  outs       p_1_sum (the sum in line 3)\n" in outcome.out


def test_time_lists_the_passes_of_the_mode(tadc_):
    for mode in ("forward", "inverse-jvp"):
        timed = tadc_("derive", "-", "--mode", mode, "--time", stdin=MIXED)
        assert timed.out == tadc_("derive", "-", "--mode", mode, stdin=MIXED).out
        assert ("split-solves" in timed.err) == (mode == "inverse-jvp")
        assert timed.err.splitlines()[-1].startswith("total ")

"""`tadc run`: arguments, results, files and errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tadc
from tests.support.paths import ROOT

PAPER = str(ROOT / "examples" / "paper.tad")


def test_run_prints_names_types_and_shapes(tadc_):
    outcome = tadc_("run", "f.tad", "--arg", "x=[1, 2, 3]", "s=-0.5")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == "y: float64 (3,)\n[-0.5 -2.  -4.5]\n"
    outcome = tadc_("run", "-", "--arg", "x=[[1, 2]]", stdin="x: f32[1, N]\nt = sum[i](x[0, i])")
    assert outcome.out == "t: float32 () = 3.0\n"


@pytest.mark.parametrize("target", ["cpu", "interpret"])
def test_run_reads_files_and_writes_archives(tadc_, target: str):
    rng = np.random.default_rng(0)
    f = tadc.compile_file(PAPER)
    a, b, c, d = (rng.uniform(-1, 1, t.shape) for t in f.args)
    np.save("a.npy", a)
    np.savez("bc.npz", b=b, other=c)
    np.savez("d.npz", d=d)
    line = ["run", PAPER, "--arg", "a=a.npy", "b=bc.npz", "c=bc.npz:other", "--arg", "d=d.npz:d"]
    outcome = tadc_(*line, "--target", target, "--vjp", "--out", "out.npz")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err == "tadc: df: ones, since no --arg gives other values\n"
    y, pullback = tadc.vjp(f, a, b, c, d)
    with np.load("out.npz") as results:
        assert results.files == ["f", "da", "db", "dc", "dd"]
        for name, value in zip(results.files, (y, *pullback(np.ones_like(y))), strict=True):
            np.testing.assert_allclose(results[name], value, rtol=1e-12)


def test_adjoints_are_arguments_of_vjp_alone(tadc_):
    np.save("dy.npy", np.array([1.0, 10.0]))
    line = ["run", "f.tad", "--arg", "x=[1, 2]", "s=1", "--vjp"]
    outcome = tadc_(*line, "--arg", "dy=dy.npy")
    assert outcome.err == ""
    assert "dx: float64 (2,)\n[ 2. 40.]\nds: float64 () = 41.0\n" in outcome.out
    outcome = tadc_(*line[:-1], "--arg", "dy=dy.npy")
    assert outcome.code == 1
    assert "--vjp computes gradients with it" in outcome.err


def test_arrays_may_have_any_name(tadc_):
    program = "file[i] = arr_0[i]\nself[i] = 2*arr_0[i]"
    outcome = tadc_("run", "-", "--arg", "arr_0=[1.5]", "--out", "o", stdin=program)
    assert outcome.code == 0
    with np.load("o") as results:
        assert {name: results[name].tolist() for name in results} == {"file": [1.5], "self": [3.0]}


def test_stats_say_time_and_memory(tadc_):
    outcome = tadc_("run", "f.tad", "--arg", "x=[1]", "s=1", "--stats")
    assert "second run" in outcome.err
    assert "peak memory: 8 B in 1 buffer (arguments: 16 B)" in outcome.err
    outcome = tadc_("run", "f.tad", "--arg", "x=[1]", "s=1", "--stats", "--vjp")
    assert "kept for the pullback: " in outcome.err


@pytest.mark.parametrize(
    "words, message",
    [
        ("s=1", "the argument x is missing"),
        ("x=[1] s=1 t=2", "there is no argument t"),
        ("x=[1] x=[2] s=1", "--arg gives x twice"),
        ("x=1 s=1", "the argument x has rank 0, not 1"),
        ("x=many s=1", "--arg x=many is neither a number nor a file"),
        ("x=[[1],[2,3]] s=1", "neither a number nor a file"),
        ("x=['a'] s=1", "neither a number nor a file"),
        ("x=int.npy s=1", "the argument x has dtype int64, not float64"),
        ("x=none.npy s=1", "none.npy: cannot read it: No such file"),
        ("x=text.npy s=1", "text.npy: no array of numbers"),
        ("x=empty.npy s=1", "empty.npy: no array of numbers"),
        ("x=objects.npy s=1", "objects.npy: no array of numbers"),
        ("x=text.npz:x s=1", "text.npz: no array of numbers"),
        ("x=int.npz:x s=1", "int.npz: not an archive of NumPy"),
        ("x=some.npz s=1", "some.npz: there is no array x in it\nhint: it holds y, o"),
        ("x=some.npz:o s=1", "some.npz: o is no array of numbers"),
        ("x=[1] s=1 --out nowhere/o.npz", "nowhere/o.npz: cannot write it: No such file"),
    ],
)
def test_bad_arguments_end_in_one_message(tadc_, words: str, message: str):
    np.save("int.npy", np.arange(3, dtype=np.int64))
    Path("int.npz").write_bytes(Path("int.npy").read_bytes())
    np.save("objects.npy", np.array([None]), allow_pickle=True)
    np.savez("some.npz", y=np.ones(2), o=np.array([None]))
    for name in ("text.npy", "text.npz"):
        Path(name).write_text("text")
    Path("empty.npy").touch()
    outcome = tadc_("run", "f.tad", "--arg", *words.split())
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith("tadc: ")
    assert message in outcome.err

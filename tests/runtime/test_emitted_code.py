"""Code that is printed is, byte for byte, the code that the next call compiles and runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError, SizeError, UnknownNameError
from tadc.program import Tensor
from tadc.runtime import size_class as classes
from tadc.runtime.size_class import size_class
from tadc.targets import llvm
from tests.support.compiled_texts import compiled_texts
from tests.support.paths import EXAMPLES
from tests.targets.llvm_kernels import functions_in

MATMUL = "y[i, j] = sum[k](x[i, k] * w[k, j])"


def shape_of(tensor: Tensor, sizes: dict[str, int]) -> list[int]:
    return [n if isinstance(n, int) else eval(n, {}, sizes) for n in tensor.shape]


def arguments_of(f: tadc.Function, sizes: dict[str, int], dtype: str) -> list[np.ndarray]:
    dtypes = {"f32": np.float32, "f64": np.float64, "real": np.dtype(dtype)}
    return [np.full(shape_of(t, sizes), 0.5, dtypes[t.dtype]) for t in f.args]


@pytest.mark.parametrize(("full", "modules"), [(1, 5), (10**6, 1)])
def test_the_derivative_of_the_paper_is_printed_as_it_runs(
    full: int, modules: int, tadc_, monkeypatch: pytest.MonkeyPatch
):
    # without vectors there is one kind of code
    monkeypatch.setattr(classes, "MOST_WORK_WITHOUT_TILES", 10**6)
    monkeypatch.setattr(llvm, "FULL_MODULE", {False: full, True: full})
    printed = tadc_("derive", str(EXAMPLES / "paper.tad"), "--emit", "llvm").out
    derivative = tadc.compile_file(EXAMPLES / "paper.tad").derivative()
    texts = compiled_texts(monkeypatch)
    derivative(*arguments_of(derivative, {}, "float64"))
    assert len(texts) == modules
    assert functions_in(texts) == functions_in([printed])
    assert modules > 1 or texts[0].rstrip("\n") + "\n" == printed


@pytest.mark.parametrize("precision", ["f32", "f64"])
@pytest.mark.parametrize("size", [3, 120])
@pytest.mark.parametrize(
    "source", [MATMUL, "y[i] = sum[k](w[k] * x[i + k])", "y[i, j] = exp(-(x[i] - z[j])**2)"]
)
def test_sizes_and_precision_choose_the_code_of_a_call(
    source: str, size: int, precision: str, monkeypatch: pytest.MonkeyPatch
):
    f = tadc.compile(source)
    names = list(dict.fromkeys(str(n) for t in f.args for n in t.shape))
    sizes = {name: size + n for n, name in enumerate(reversed(names))}
    printed = f.emit("llvm", sizes, precision)
    texts = compiled_texts(monkeypatch)
    f(*arguments_of(f, sizes, {"f32": "float32", "f64": "float64"}[precision]))
    assert texts == [printed]
    assert f.emit("llvm", sizes, precision) == printed
    assert f.emit("scheduled", sizes, precision) == str(f.runner.code(sizes, precision).module)


@pytest.mark.parametrize("sizes", [(300, 3, 4000), (20, 500, 400), (64, 300, 7), (6, 5, 3)])
def test_calls_before_do_not_choose_the_code(
    sizes: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
):
    """The code, and so the bits of results, depends on the sizes of the call alone."""
    known = dict(zip("IKJ", sizes, strict=True))
    printed = tadc.compile(MATMUL).emit("llvm", known)
    f = tadc.compile(MATMUL)
    for n in (200, 40, 33, 8, 3):
        f(np.ones((n, 300)), np.ones((300, n)))
    assert f.emit("llvm", known) == printed
    texts = compiled_texts(monkeypatch)
    f(*arguments_of(f, known, "float64"))
    assert {*texts} <= {printed}  # calls before may have compiled it
    assert f.runner.executable("f64", size_class(f.program.summary, known)).text == printed


def test_a_stage_shows_the_same_in_python_and_on_the_command_line(tadc_):
    f = tadc.compile("x: f64[N]\ny[i] = sum[k in range(3)](x[i + k])", file="<stdin>")
    for stage in ("tensor-index", "derivative", "simplified", "scheduled", "code"):
        words = ("--emit", stage, "--size", "N=12", "--precision", "f32")
        printed = tadc_("derive", "-", *words, stdin=f.program.source).out
        assert printed == f.ir(stage, sizes={"N": 12}, precision="f32").rstrip("\n") + "\n"


def test_sizes_that_no_call_has_are_refused():
    f = tadc.compile("x: f64[2*N]\nw: f64[M]\ny[i] = w[i] * x[2*i]")
    with pytest.raises(UnknownNameError, match="there is no size 'K'"):
        f.emit("llvm", {"N": 3, "K": 4})
    with pytest.raises(SizeError, match="the size M is missing"):
        f.emit("llvm", {"N": 3})
    with pytest.raises(SizeError, match="the size N is -1"):
        f.emit("llvm", {"N": -1, "M": 2})
    with pytest.raises(ArgumentError, match="a precision is f32 or f64"):
        f.emit("llvm", precision="f16")
    no_precision: Any = np.ones(2)
    with pytest.raises(ArgumentError, match="a precision is f32 or f64"):
        f.plan([(3,), (3,)], no_precision)

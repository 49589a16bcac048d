"""`tadc.torch.op`: calls, results, copies, and what is said about tensors that do not fit."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tadc
from tadc.errors import ArgumentError, DtypeError, SizeError, TargetError
from tests.support.paths import ROOT
from tests.torch.programs import CONV, TWO, assert_close, assert_equal, conv, rand, torch

op = pytest.importorskip("tadc.torch").op


@op
def turned(x: Any, w: Any) -> Any:
    """y[i] = sum[k](w[k] * x[2*i + k])"""


def test_by_position_and_by_name() -> None:
    f, w, x = op(CONV), rand(3), rand(9)
    expected = tadc.compile(CONV)(w.numpy(), x.numpy())
    for found in (f(w, x), f(w, x=x), f(x=x, w=w), turned(x, w), turned(w=w, x=x)):
        assert_equal(found, expected)


def test_a_decorated_function_keeps_its_face() -> None:
    assert turned.__name__ == "turned" and turned.__module__ == __name__
    assert turned.__doc__ == "y[i] = sum[k](w[k] * x[2*i + k])"
    assert list(inspect.signature(turned).parameters) == ["x", "w"]
    assert [t.name for t in turned.function.args] == ["w", "x"]
    assert repr(turned) == "<tadc.torch.Op (x, w) -> y>"
    w, x = rand(3), rand(9, requires_grad=True)
    assert_close(torch.vmap(turned, (0, None))(x.detach().expand(2, 9), w)[1], conv(w, x.detach()))
    assert_close(
        torch.autograd.grad(turned(x, w).sum(), x), torch.autograd.grad(conv(w, x).sum(), x)
    )


def test_functions_of_tadc() -> None:
    f = tadc.compile(CONV)
    assert op(f).function is f
    assert_equal(
        op(f.derivative("w"))(rand(3), x := rand(9), g := rand(4)),
        (tadc.vjp(f, np.ones(3), x.numpy())[1](g.numpy())[0]),
    )
    with pytest.raises(TargetError, match="'interpret'"):
        op(f.with_target("interpret"))


def test_several_results_have_names() -> None:
    a, b = rand(3), rand(3)
    found = op(TWO)(a, b)
    assert found._fields == ("y", "z")
    assert_equal(found, tuple(tadc.compile(TWO)(a.numpy(), b.numpy())))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_take_the_precision_of_the_tensors(dtype: Any) -> None:
    scaled = op("y[i] = h * x[i]")
    x = rand(4, dtype=dtype)
    for h in (2, 0.1):
        found = scaled(h, x)
        assert found.dtype == dtype
        assert_equal(found, scaled(torch.tensor(h, dtype=dtype), x))
    assert op("s: real[]\ny = s * s")(3) == 9


def test_precisions_as_for_numpy() -> None:
    f, g = op(CONV), tadc.compile(CONV)
    for one in (torch.float32, torch.float64):
        for other in (torch.float32, torch.float64):
            w = rand(3, dtype=one, requires_grad=True)
            x = rand(9, dtype=other, requires_grad=True)
            y = f(w, x)
            assert_equal(y, g(w.detach().numpy(), x.detach().numpy()))
            gradients = torch.autograd.grad(y.sum(), (w, x))
            assert [t.dtype for t in gradients] == [one, other]


def test_copies_and_pickles() -> None:
    w, x = rand(3), rand(9)
    assert copy.copy(turned) is turned and copy.deepcopy([turned])[0] is turned
    again = pickle.loads(pickle.dumps(turned))
    assert again.__name__ == "turned" and again.__doc__ == turned.__doc__
    assert_equal(again(x, w), turned(x, w))


def test_a_pickle_carries_functions_of_the_user() -> None:
    tadc.define_function("twice", "x", value="2 * x", derivative="2")
    f = op("y[i] = twice(x[i])")
    stored = pickle.dumps(f)
    tadc.define_function("twice", "x", value="3 * x", derivative="3")
    x = rand(3)
    assert_close(pickle.loads(stored)(x), 2 * x)
    assert_close(f(x), 2 * x)
    assert_close(op("y[i] = twice(x[i])")(x), 3 * x)


class Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, n: int) -> Any:
        return turned(torch.arange(9.0) + n, torch.ones(3))


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_workers_of_a_data_loader(context: str) -> None:
    turned(torch.arange(9.0), torch.ones(3))
    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=2, num_workers=1, multiprocessing_context=context
    )
    rows = torch.cat(list(loader))
    assert_equal(rows, torch.stack([Rows()[n] for n in range(4)]))


def test_imports_take_no_more_than_they_need() -> None:
    """Of `tadc` no PyTorch, of `tadc.torch` not what compiles functions, which takes a second."""
    code = (
        "import sys, tadc.function, tadc.frameworks.operation; print('torch' in sys.modules)\n"
        "import tadc.torch; print('torch._dynamo' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout == "False\nFalse\n"


# --- errors ---------------------------------------------------------------------------------------


def nested(layout: torch.layout) -> Any:
    return torch.nested.nested_tensor([rand(2), rand(3)], layout=layout)


WRONG = {
    "rank": (lambda: rand(3, 3), ArgumentError, "w has rank 2, not 1"),
    "half": (
        lambda: rand(3).half(),
        DtypeError,
        r"w has dtype torch.float16.*\n.*\n.*\nhint: w.double",
    ),
    "bfloat16": (lambda: rand(3).bfloat16(), DtypeError, "w has dtype torch.bfloat16"),
    "integers": (lambda: torch.arange(3), DtypeError, "w has dtype torch.int64"),
    "complex": (lambda: rand(3) * 1j, DtypeError, "w has dtype torch.complex128"),
    "sparse": (
        lambda: rand(3).to_sparse(),
        ArgumentError,
        r"layout torch.sparse_coo(.|\n)*to_dense",
    ),
    "nested": (
        lambda: nested(torch.strided),
        ArgumentError,
        r"w is a nested tensor(.|\n)*to_padded_tensor",
    ),
    "jagged": (lambda: nested(torch.jagged), ArgumentError, "w is a nested tensor"),
    "list": (lambda: [1.0, 2.0], ArgumentError, r"w is a list, not a tensor(.|\n)*torch.as_tensor"),
    "array": (lambda: np.ones(3), ArgumentError, "w is a ndarray, not a tensor"),
    "number": (lambda: 2.0, ArgumentError, "w has rank 0, not 1"),
    "none": (lambda: None, ArgumentError, "w is a NoneType, not a tensor"),
}


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("name", WRONG)
def test_tensors_that_do_not_fit(name: str) -> None:
    make, kind, message = WRONG[name]
    f = op(CONV)
    f(rand(3), rand(9))
    with pytest.raises(kind, match=message) as error:
        f(make(), rand(9))
    assert error.value.argument == "w" and error.value.line == 1


def test_sizes_that_do_not_fit() -> None:
    f = op("x: f64[N]\nw: f64[N]\ny[i] = x[i] * w[i]")
    for options in ({}, {"requires_grad": True}):
        with pytest.raises(SizeError, match="dimension 0 of w is 4"):
            f(rand(3, **options), rand(4))
    with pytest.raises(SizeError, match="dimension 0 of w is 4"):
        f(rand(3).to("meta"), rand(4).to("meta"))
    with pytest.raises(DtypeError, match=r"not torch.float64\b"):
        f(rand(3), rand(3).float())


def test_calls_that_do_not_fit() -> None:
    f, x = op(CONV), rand(9)
    with pytest.raises(ArgumentError, match="3 arguments for 2"):
        f(x, x, x)
    with pytest.raises(ArgumentError, match="the argument x is missing"):
        f(x)
    with pytest.raises(ArgumentError, match="there is no argument v"):
        f(x, v=x)


def test_signatures_that_do_not_fit() -> None:
    with pytest.raises(ArgumentError, match=r"v of .* is not in its program"):

        @op
        def _(x: Any, v: Any) -> Any:
            """y[i] = x[i]"""


def test_other_devices_are_refused() -> None:
    fake = torch._subclasses.fake_tensor.FakeTensorMode()
    with fake:
        w = torch.empty(3, device="cuda")
        with pytest.raises(ArgumentError, match=r"w is on the device cuda(.|\n)*w.cpu\(\)"):
            op(CONV)(w, torch.empty(9))


@pytest.mark.parametrize("number", [2, 2.0, np.float64(2), np.float32(2), np.int64(2)])
def test_numbers_have_no_precision(number: Any) -> None:
    f = op("y[i] = c * x[i]")
    for dtype in (torch.float32, torch.float64):
        x = torch.ones(3, dtype=dtype)
        assert_equal(f(number, x), 2 * x)
        assert f(number, x).dtype == (number * x).dtype == dtype


@pytest.mark.parametrize("c_dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("x_dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3,), ()])
def test_tensors_without_dimensions_widen_none_that_has(
    c_dtype: Any, x_dtype: Any, shape: Any
) -> None:
    f = op("y[i] = c * x[i]" if shape else "y = c * x")
    c = torch.tensor(2.0, dtype=c_dtype, requires_grad=True)
    x = torch.ones(shape, dtype=x_dtype, requires_grad=True)
    expected = c * x
    for _ in range(2):
        found = f(c, x)
        assert found.dtype == expected.dtype
        gradients = torch.autograd.grad(found.sum(), (c, x))
        wanted = torch.autograd.grad((c * x).sum(), (c, x))
        for g, w in zip(gradients, wanted, strict=True):
            assert g.dtype == w.dtype
            assert_equal(g, w)


def test_a_number_on_a_line_of_its_own_is_weak() -> None:
    f = op("c = 0.5\ny[i] = c * x[i]")
    assert f(torch.ones(3)).dtype == torch.float32
    assert f(torch.ones(3, dtype=torch.float64)).dtype == torch.float64

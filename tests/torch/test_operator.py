"""PyTorch's own checks of operators: of programs, their gradients, and what these keep."""

from __future__ import annotations

from typing import Any

import pytest

from tadc.frameworks.operation import Operation
from tests.torch.programs import CONV, KEEPING, SIZES, TWO, assert_close, example, rand, torch

op = pytest.importorskip("tadc.torch").op


def check(operation: Operation, values: list[Any]) -> None:
    from tadc.torch.registered import RegisteredOperator

    operator = RegisteredOperator.of(operation)
    tensors, shapes = operator.layout.parts(values)
    torch.library.opcheck(operator.overload, (*tensors, *shapes))


@pytest.mark.parametrize("name", SIZES)
def test_examples(name: str) -> None:
    function, tensors = example(name)
    check(Operation.of(function), tensors)


@pytest.mark.parametrize("text", [CONV, KEEPING])
def test_what_is_made_of_an_operation(text: str) -> None:
    operation = Operation.of(op(text).function)
    w, x = rand(3, requires_grad=True), rand(9, requires_grad=True)
    adjoint = rand(4, requires_grad=True)
    gradient = operation.reverse((0, 1), (0,))
    tangent = operation.forward((1,))
    split = operation.split((0,), [(3,), (9,)])
    assert gradient and tangent
    check(gradient.operation, [w, x, adjoint])
    check(tangent.operation, [w, x, rand(9)])
    check(split.value, [w, x])
    kept = [rand(4) for _ in split.kept]
    check(split.pullback, [w, x, *kept, adjoint])
    check(operation.batched((1,)).operation, [w, rand(2, 9)])


def test_several_results() -> None:
    check(Operation.of(op(TWO).function), [rand(4, requires_grad=True), rand(4)])


def test_shapes_in_place_of_tensors() -> None:
    operation = Operation.of(op("x: f64[N]\nw: f64[N]\ny[i in range(N)] = w[i] * i").function)
    check(operation, [rand(4), rand(4, requires_grad=True)])
    f = op("x: f64[N]\ny[i in range(N)] = 2.0 * i")
    assert not f(rand(3, requires_grad=True)).requires_grad


def test_programs_without_arguments() -> None:
    f = op("y[i in range(3)] = 2.0 * i")
    expected = torch.tensor([0.0, 2.0, 4.0], dtype=torch.float64)
    assert torch.equal(f(), expected)
    assert torch.equal(torch.compile(f, fullgraph=True, backend="aot_eager")(), expected)
    assert torch.vmap(lambda a: a * f())(rand(2, 3)).shape == (2, 3)


def test_programs_may_have_more_arguments_than_pytorch_takes() -> None:
    many = 70
    terms = " + ".join(f"sin(a{n}[i]) * a{(n + 1) % many}[i]" for n in range(many))
    layer = op(f"y[i] = {terms}")
    inputs = [rand(2, requires_grad=True) for _ in range(many)]
    expected = sum(torch.sin(a) * b for a, b in zip(inputs, [*inputs[1:], inputs[0]], strict=True))
    found = layer(*inputs)
    assert_close(found, expected)
    first = torch.func.grad(lambda *a: layer(*a).sum())(*inputs)
    assert_close(first, torch.cos(inputs[0]) * inputs[1] + torch.sin(inputs[-1]))
    for a, b in zip(
        *(torch.autograd.grad(y.sum(), inputs) for y in (found, expected)), strict=True
    ):
        assert_close(a, b)

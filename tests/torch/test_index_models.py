"""Index tensors in compiled and exported graphs, and in models that learn."""

from __future__ import annotations

from typing import Any

import pytest

import tadc
from tadc.errors import ArgumentError
from tadc.runtime.view_store import STORE
from tests.torch.graphs import (
    CASES,
    COLUMNS,
    EMBEDDING,
    GAT,
    GCN,
    NEIGHBOURS,
    NODES,
    SEGMENTS,
    SOFTMAX,
    F,
    case,
    edges,
    gat,
    loss,
    operation,
    segment_sum,
    softmax,
)
from tests.torch.programs import assert_close, assert_equal, rand, torch

op = pytest.importorskip("tadc.torch").op


@pytest.fixture(autouse=True)
def _nothing_is_compiled() -> None:
    torch._dynamo.reset()


# --- views ----------------------------------------------------------------------------------------


def test_layers_and_gradients_share_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one graph in two layers, with gradients, two inverse indices are made: `src`, `dst`."""
    from tadc.runtime import inspectors

    made: list[int] = []
    places = inspectors.places
    monkeypatch.setattr(
        inspectors, "places", lambda array, below: made.append(below) or places(array, below)
    )
    STORE.forget()
    src, dst = edges(23)
    f, c = operation(GCN), rand(23)
    x = rand(NODES, COLUMNS, requires_grad=True)
    for _ in range(2):
        torch.sin(f(src, dst, c, torch.tanh(f(src.clone(), dst, c, x)))).sum().backward()
    compiled = torch.compile(lambda x: f(src, dst, c, x), fullgraph=True, backend="aot_eager")
    compiled(x).sum().backward()
    assert made == [NODES, NODES]


# --- graphs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dynamic"), [*((name, True) for name in CASES), ("segments", False), ("gcn", False)]
)
def test_compiled(name: str, dynamic: bool) -> None:
    one = case(name)
    f = operation(one.text)
    compiled = torch.compile(
        lambda *inputs, **sizes: torch.sin(f(*inputs, **sizes)).sum(),
        fullgraph=True,
        dynamic=dynamic,
        backend="aot_eager",
    )
    reals = [r.requires_grad_() for r in one.reals]
    found, expected = compiled(*one.indices, *reals, **one.sizes), loss(one.torch)(*reals)
    assert_close(found, expected)
    assert_close(torch.autograd.grad(found, reals), torch.autograd.grad(expected, reals))


def test_one_compilation_serves_many_sizes() -> None:
    from torch._dynamo.testing import CompileCounterWithBackend

    counter, f = CompileCounterWithBackend("aot_eager"), operation(SEGMENTS)
    compiled = torch.compile(
        lambda seg, v, n: f(seg, v, B=n + 1) * 2, fullgraph=True, dynamic=True, backend=counter
    )
    for count, n in ((9, 6), (11, 7), (20, 9)):
        _, dst = edges(count)
        v = rand(count, requires_grad=True)
        found, expected = compiled(dst, v, n), 2 * segment_sum(v**2, dst, n + 1)
        assert_close(found, expected)
        assert_close(torch.autograd.grad(found.sum(), v), torch.autograd.grad(expected.sum(), v))
    assert counter.frame_count == 1
    with pytest.raises(ArgumentError, match=r"seg\[0\] is 9"):
        compiled(torch.full((12,), 9), rand(12), 6)


@torch._dynamo.config.patch(capture_scalar_outputs=True)
def test_sizes_that_elements_tell() -> None:
    f, one = operation(SEGMENTS), case("segments")

    @torch.compile(fullgraph=True, backend="aot_eager")
    def compiled(seg: Any, v: Any) -> Any:
        count = seg.max().item() + 1
        torch._check(count >= 0)
        return f(seg, v, B=count)

    (seg,), (v,) = one.indices, one.reals
    found, expected = compiled(seg, v.requires_grad_()), segment_sum(v**2, seg, NODES)
    assert_close(found, expected)
    found, expected = (torch.autograd.grad(f.sin().sum(), v) for f in (found, expected))
    assert_close(found, expected)


def test_inductor() -> None:
    one = case("gat")
    h, a, b = (r.requires_grad_() for r in one.reals)
    f = operation(GAT)

    def model(f: F) -> F:
        return lambda src, dst, h, a, b: torch.relu(f(src, dst, torch.tanh(h), a, b) - 0.1).sum()

    found = torch.compile(model(f), fullgraph=True)(*one.indices, h, a, b)
    expected = model(gat)(*one.indices, h, a, b)
    assert_close(found, expected)
    found, expected = (torch.autograd.grad(of, (h, a, b)) for of in (found, expected))
    assert_close(found, expected)


def test_transforms_are_compiled() -> None:
    one = case("gcn")
    batch = (one.reals[0], torch.stack([one.reals[1], rand(NODES, COLUMNS)]))

    def transform(f: F) -> Any:
        return torch.vmap(torch.func.grad(loss(f), (0, 1)), (None, 0))

    compiled = torch.compile(transform(one.tadc), fullgraph=True, backend="aot_eager")
    assert_close(compiled(*batch), transform(one.torch)(*batch))


@pytest.mark.parametrize("name", CASES)
def test_operators_keep_the_rules_of_pytorch(name: str) -> None:
    one = case(name)
    f = operation(one.text)
    reals = [r.requires_grad_() for r in one.reals]
    sizes = [(n,) for n in one.sizes.values()]
    torch.library.opcheck(f._operator.overload, (*one.indices, *reals, *sizes))


def test_exported(tmp_path: Any) -> None:
    f, g = operation(EMBEDDING), operation(SOFTMAX)

    class Model(torch.nn.Module):
        def forward(self, idx: Any, w: Any, dst: Any) -> Any:
            return f(idx, w), g(dst, w[:, 0][dst], N=w.shape[0])

    idx, (_, dst), w = torch.tensor([[0, 2], [5, 1]]), edges(), rand(NODES, 2)
    auto = torch.export.Dim.AUTO
    shapes = {"idx": {0: auto, 1: None}, "w": {0: auto, 1: None}, "dst": {0: auto}}
    program = torch.export.export(Model(), (idx, w, dst), dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "model.pt2")
    again = torch.export.load(tmp_path / "model.pt2").module()
    idx, (_, dst), w = torch.randint(0, 9, (4, 2)), edges(30), rand(9, 2, requires_grad=True)
    found, expected = again(idx, w, dst), (w[idx], softmax(dst, w[:, 0][dst], 9))
    assert_close(found, expected)
    assert_close(
        torch.autograd.grad(found[1].sin().sum(), w),
        torch.autograd.grad(expected[1].sin().sum(), w),
    )
    with pytest.raises(ArgumentError, match=r"idx\[0, 0\] is 9"):
        again(torch.full((1, 2), 9), w, dst)


def test_meta_and_fake_tensors() -> None:
    one = case("segments")
    y = operation(SEGMENTS)(*[t.to("meta") for t in (*one.indices, *one.reals)], **one.sizes)
    assert y.device.type == "meta" and y.shape == (NODES + 2,)
    with torch._subclasses.fake_tensor.FakeTensorMode():
        y = operation(SEGMENTS)(torch.zeros(3, dtype=torch.int64), rand(3), B=4)
    assert y.shape == (4,)


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_a_graph_network_learns(compiled: bool) -> None:
    """Two layers learn from their own kind, by the modules and optimisers of PyTorch."""
    layer = operation(GAT)

    class Attention(torch.nn.Module):
        def __init__(self, features: int, hidden: int):
            super().__init__()
            self.linear = torch.nn.Linear(features, hidden, bias=False)
            self.a = torch.nn.Parameter(torch.randn(hidden))
            self.b = torch.nn.Parameter(torch.randn(hidden))

        def forward(self, src: Any, dst: Any, x: Any) -> Any:
            return layer(src, dst, self.linear(x), self.a, self.b)

    class Network(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Attention(4, 8), Attention(8, 1)

        def forward(self, src: Any, dst: Any, x: Any) -> Any:
            return self.second(src, dst, torch.tanh(self.first(src, dst, x)))

    torch.manual_seed(1)
    src, dst = edges(30)
    x = torch.randn(NODES, 4)
    target = Network()(src, dst, x).detach()
    network = Network()
    step = torch.compile(network, fullgraph=True, backend="aot_eager") if compiled else network
    optimizer = torch.optim.Adam(network.parameters(), 0.05)
    losses: list[float] = []
    for _ in range(60):
        optimizer.zero_grad()
        error = (step(src, dst, x) - target).square().mean()
        error.backward()
        optimizer.step()
        losses.append(error.item())
    assert losses[-1] < 0.05 * losses[0]


def test_forces_are_matched() -> None:
    """The gradient of a force, by the parameters of an energy: derivatives of second order."""
    text = NEIGHBOURS.replace("exp(-d2[p])", "exp(-s * d2[p])").replace("r:", "s: real[]\nr:")
    energy = op(text)
    one = case("neighbours")
    (r,), (a, b) = one.reals, one.indices

    def forces(f: F, s: Any) -> Any:
        return -torch.func.grad(lambda r: f(a, b, s, r))(r)

    def plain(a: Any, b: Any, s: Any, r: Any) -> Any:
        return torch.exp(-s * ((r[a] - r[b]) ** 2).sum(-1)).sum()

    truth = forces(plain, 1.5)
    found, expected = (
        torch.func.grad(lambda s, f=f: (forces(f, s) - truth).square().sum())(
            torch.tensor(1.0, dtype=torch.float64)
        )
        for f in (energy, plain)
    )
    assert_close(found, expected)


def test_results_are_those_of_calls_with_arrays() -> None:
    for name in CASES:
        one = case(name)
        arrays = [t.numpy() for t in (*one.indices, *one.reals)]
        assert_equal(one.tadc(*one.reals), tadc.compile(one.text)(*arrays, **one.sizes))

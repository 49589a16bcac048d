"""Index tensors and sizes in `tadc.torch.op`: graphs and tables against plain PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import pytest

import tadc
from tadc.errors import ArgumentError, DtypeError, SizeError
from tadc.runtime.view_store import STORE
from tests.torch.programs import assert_close, assert_equal, rand, torch

op = pytest.importorskip("tadc.torch").op
F = Callable[..., Any]

NODES, EDGES, COLUMNS = 6, 17, 3

EMBEDDING = "idx: range(V)[N, S]\nw: real[V, K]\ny[i, s, k] = w[idx[i, s], k]"
SEGMENTS = "seg: range(B)[E]\nv: real[E]\ns[b in range(B)] = sum[e, seg[e] == b](v[e]**2)"
SOFTMAX = """
dst: range(N)[E]
z: real[E]
N: size
m[i in range(N)] = max[e, dst[e] == i](z[e])
w[e] = exp(z[e] - m[dst[e]])
s[i in range(N)] = sum[e, dst[e] == i](w[e])
y[e] = w[e] / s[dst[e]]
"""
GCN = """
src: range(N)[E]
dst: range(N)[E]
c: real[E]
x: real[N, K]
y[i in range(N), k] = sum[e, dst[e] == i](c[e] * x[src[e], k])
"""
GAT = """
src: range(N)[E]
dst: range(N)[E]
h: real[N, K]
a: real[K]
b: real[K]
l[i] = sum[k](a[k] * h[i, k])
r[i] = sum[k](b[k] * h[i, k])
z[e] = max(l[dst[e]] + r[src[e]], 0.2 * (l[dst[e]] + r[src[e]]))
m[i in range(N)] = max[e, dst[e] == i](z[e])
w[e] = exp(z[e] - m[dst[e]])
s[i in range(N)] = sum[e, dst[e] == i](w[e])
y[i in range(N), k] = sum[e, dst[e] == i](w[e] * h[src[e], k]) / s[i]
"""
NEIGHBOURS = """
a: range(N)[P]
b: range(N)[P]
r: real[N, 3]
d2[p] = sum[c]((r[a[p], c] - r[b[p], c])**2)
u = sum[p](exp(-d2[p]))
"""


def segment_sum(values: Any, dst: Any, count: int) -> Any:
    return torch.zeros(count, *values.shape[1:], dtype=values.dtype).index_add(0, dst, values)


def softmax(dst: Any, z: Any, count: int) -> Any:
    m = torch.full((count,), -torch.inf, dtype=z.dtype).scatter_reduce(0, dst, z, "amax")
    w = torch.exp(z - m[dst])
    return w / segment_sum(w, dst, count)[dst]


def gat(src: Any, dst: Any, h: Any, a: Any, b: Any) -> Any:
    z = torch.nn.functional.leaky_relu((h @ a)[dst] + (h @ b)[src], 0.2)
    return segment_sum(softmax(dst, z, len(h))[:, None] * h[src], dst, len(h))


class Case(NamedTuple):
    """A program, the same in PyTorch, and tensors: of indices, of reals, and sizes by name."""

    text: str
    plain: F
    indices: tuple[Any, ...]
    reals: tuple[Any, ...]
    sizes: dict[str, int]

    @property
    def tadc(self) -> F:
        """The program as a function of the reals."""
        return lambda *reals: operation(self.text)(*self.indices, *reals, **self.sizes)

    @property
    def torch(self) -> F:
        """The same in PyTorch."""
        return lambda *reals: self.plain(*self.indices, *reals, *self.sizes.values())


@cache
def operation(text: str) -> Any:
    """The operation of a program, which is derived once for all tests."""
    return op(text)


def edges(count: int = EDGES) -> tuple[Any, Any]:
    """Edges of which some repeat, in any order; each node has one."""
    generator = torch.Generator().manual_seed(count)
    src, dst = torch.randint(0, NODES, (2, count), generator=generator)
    dst[:NODES] = torch.arange(NODES)
    return src, dst


def case(name: str) -> Case:
    torch.manual_seed(0)
    src, dst = edges()
    x = rand(NODES, COLUMNS)
    match name:
        case "embedding":
            table = src[:10].reshape(5, 2)
            return Case(EMBEDDING, lambda idx, w: w[idx], (table,), (x,), {})
        case "segments":
            sums = lambda seg, v, count: segment_sum(v**2, seg, count)
            return Case(SEGMENTS, sums, (dst,), (rand(EDGES),), {"B": NODES + 2})
        case "softmax":
            return Case(SOFTMAX, softmax, (dst,), (rand(EDGES),), {"N": NODES})
        case "gcn":
            layer = lambda s, d, c, x: segment_sum(c[:, None] * x[s], d, len(x))
            return Case(GCN, layer, (src, dst), (rand(EDGES), x), {})
        case "gat":
            return Case(GAT, gat, (src, dst), (x, rand(COLUMNS), rand(COLUMNS)), {})
        case _:
            pairs = lambda a, b, r: torch.exp(-((r[a] - r[b]) ** 2).sum(-1)).sum()
            return Case(NEIGHBOURS, pairs, (src, dst), (x,), {})


CASES = ["embedding", "segments", "softmax", "gcn", "gat", "neighbours"]


def loss(f: F) -> F:
    return lambda *reals: torch.sin(f(*reals)).sum()


@pytest.fixture(autouse=True)
def _nothing_is_compiled() -> None:
    torch._dynamo.reset()


# --- gradients ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_to_second_order(name: str) -> None:
    one = case(name)
    reals = [r.requires_grad_() for r in one.reals]
    found, expected = loss(one.tadc)(*reals), loss(one.torch)(*reals)
    assert_close(found, expected)
    first = torch.autograd.grad(found, reals, create_graph=True)
    wanted = torch.autograd.grad(expected, reals, create_graph=True)
    assert_close(first, wanted)
    second, also = (sum((g**2).sum() for g in of) for of in (first, wanted))
    assert_close(torch.autograd.grad(second, reals), torch.autograd.grad(also, reals))


@pytest.mark.parametrize("name", ["softmax", "gat", "neighbours"])
def test_gradcheck(name: str) -> None:
    one = case(name)
    inputs = (*one.indices, *[r.requires_grad_() for r in one.reals])

    def f(*inputs: Any) -> Any:
        return operation(one.text)(*inputs, **one.sizes)

    assert torch.autograd.gradcheck(f, inputs, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(f, inputs)


@pytest.mark.parametrize("name", CASES)
def test_transforms(name: str) -> None:
    t, one = torch.func, case(name)
    every = tuple(range(len(one.reals)))
    batch = tuple(torch.stack([r, 2 * r]) for r in one.reals)
    for transform in (
        lambda f: t.grad(loss(f), every)(*one.reals),
        lambda f: t.jvp(f, one.reals, one.reals),
        lambda f: t.hessian(loss(f), every)(*one.reals),
        lambda f: torch.vmap(f)(*batch),
        lambda f: torch.vmap(t.grad(loss(f), every))(*batch),
        lambda f: t.grad(lambda *b: torch.vmap(f)(*b).sum(), every)(*batch),
    ):
        assert_close(transform(one.tadc), transform(one.torch))


def test_vmap_of_index_tensors() -> None:
    one = case("gcn")
    graphs = [edges(EDGES), edges(EDGES + 1)]
    src, dst = (torch.stack([g[n][:EDGES] for g in graphs]) for n in (0, 1))
    c, x = rand(2, EDGES), one.reals[1]
    where = (0, 0, 0, None)
    found = torch.vmap(operation(GCN), where)(src, dst, c, x)
    expected = torch.stack([one.plain(*graph, x) for graph in zip(src, dst, c, strict=True)])
    assert_close(found, expected)

    def gradients(f: F) -> F:
        return torch.func.grad(lambda s, d, c, x: loss(f)(s, d, c, x), (2, 3))

    found = torch.vmap(gradients(operation(GCN)), where)(src, dst, c, x)
    each = [gradients(one.plain)(*graph, x) for graph in zip(src, dst, c, strict=True)]
    assert_close(found, tuple(map(torch.stack, zip(*each, strict=True))))


def test_index_tensors_have_no_gradient() -> None:
    one = case("gcn")
    y = operation(GCN)(*one.indices, *[r.requires_grad_() for r in one.reals])
    assert [node is None for node, _ in y.grad_fn.next_functions] == [True, True, False, False]
    only = operation("a: range(V)[N]\nV: size\ny[i] = 2.0 * a[i]")(one.indices[0], V=NODES)
    assert not only.requires_grad
    assert_equal(only, 2.0 * one.indices[0].double())


def test_indices_that_change_before_backward_are_noticed() -> None:
    one = case("gcn")
    y = one.tadc(*[r.requires_grad_() for r in one.reals]).sum()
    one.indices[0][0] += 0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_inverse_modes() -> None:
    layer = op(
        "idx: range(V)[N]\nw: f64[V, N]\na: f64[N]\na[i] = a[i] + 0.1 * sum[j](w[idx[i], j] * a[j])"
    )
    idx = torch.tensor([0, 2, 1, 2])
    w, a, v = rand(3, 4, requires_grad=True), rand(4), rand(4)
    jacobian = torch.eye(4, dtype=w.dtype) + 0.1 * w[idx]
    for found, expected in (
        (layer.inverse_jvp((idx, w, a), (v,)).a, torch.linalg.solve(jacobian, v)),
        (layer.inverse_vjp((idx, w, a), (v,)).a, torch.linalg.solve(jacobian.T, v)),
        (layer.log_abs_det((idx, w, a))[1], torch.linalg.slogdet(jacobian)[1]),
    ):
        assert_close(found, expected)
        found, expected = (
            torch.autograd.grad(f.sum(), w, retain_graph=True)[0] for f in (found, expected)
        )
        assert_close(found, expected)


# --- what calls take ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"])
def test_types_of_indices(name: str) -> None:
    one = case("gcn")
    wanted = one.tadc(*one.reals)
    indices = [i.to(getattr(torch, name)) for i in one.indices]
    assert_equal(operation(GCN)(*indices, *one.reals), wanted)
    apart = [torch.stack([i, i], 1)[:, 0] for i in indices]
    assert_equal(operation(GCN)(*apart, *one.reals), wanted)


def test_indices_that_change_in_place() -> None:
    f, w = operation(EMBEDDING), rand(4, 2)
    idx = torch.zeros(1, 3, dtype=torch.int64)
    for n in (1, 3, 2):
        idx[0, 1] = n
        assert_equal(f(idx, w), w[idx])
    idx[0, 1] = 4
    with pytest.raises(ArgumentError, match=r"idx\[0, 1\] is 4"):
        f(idx, w)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_precision_is_that_of_the_reals(dtype: Any) -> None:
    src, dst = edges()
    c, x = rand(EDGES, dtype=dtype), rand(NODES, COLUMNS, dtype=dtype, requires_grad=True)
    y = operation(GCN)(src, dst, c, x)
    assert y.dtype == dtype
    (dx,) = torch.autograd.grad(y.sum(), x)
    assert dx.dtype == dtype
    torch.testing.assert_close(dx, segment_sum(c[:, None].expand(-1, COLUMNS), src, NODES))


def test_large_tensors_whose_rows_lie_apart() -> None:
    src, dst = edges(500)
    c, x = rand(500), rand(NODES, 4000)[:, :2000]
    assert_close(operation(GCN)(src, dst, c, x), segment_sum(c[:, None] * x[src], dst, NODES))


def test_numbers_as_indices() -> None:
    f = operation("q: range(V)[]\nw: real[V, K]\ny[k] = w[q, k]")
    w = rand(4, 3, requires_grad=True)
    for q in (2, torch.tensor(2)):
        y = f(q, w)
        assert_equal(y, w[2])
        assert_close(
            torch.autograd.grad(y.sum(), w)[0], torch.eye(4, dtype=w.dtype)[2][:, None].expand(4, 3)
        )
    with pytest.raises(ArgumentError, match="q is 4"):
        f(4, w)
    with pytest.raises(DtypeError, match=r"q has dtype torch\.float64"):
        f(1.0, w)


def test_sizes_come_by_position_or_name() -> None:
    f, one = operation(SEGMENTS), case("segments")
    wanted = f(*one.indices, *one.reals, B=NODES)
    assert_equal(f(*one.indices, *one.reals, NODES), wanted)
    assert_equal(f(*one.indices, *one.reals, B=torch.tensor(NODES)), wanted)
    assert_equal(f(*one.indices, *one.reals, B=NODES + 3)[:NODES], wanted)

    @op
    def turned(B: Any, v: Any, seg: Any) -> Any:
        """seg: range(B)[E]
        v: real[E]
        s[b in range(B)] = sum[e, seg[e] == b](v[e]**2)"""

    assert_equal(turned(NODES, one.reals[0], one.indices[0]), wanted)


def test_programs_of_sizes_alone() -> None:
    assert_equal(
        op("B: size\ny[b in range(B)] = 2.0 * b")(3), torch.arange(3, dtype=torch.float64) * 2
    )
    f = op("x: f64[N]\nB: size\ny[b in range(B)] = 2.0 * b + N")
    assert_equal(f(rand(4), B=2), torch.tensor([4, 6], dtype=torch.float64))


SEG, V = edges()[1], rand(EDGES)

WRONG = {
    "too large": (lambda f: f(SEG, V, NODES - 1), ArgumentError, r"seg\[\d+\] is 5.*in range\(5\)"),
    "negative": (lambda f: f(SEG - 1, V, NODES), ArgumentError, r"seg\[\d+\] is -1"),
    "floats": (
        lambda f: f(SEG.double(), V, 6),
        DtypeError,
        r"float64, but indices(.|\n)*seg.long\(",
    ),
    "bools": (
        lambda f: f(SEG > 2, V, 6),
        DtypeError,
        r"seg has dtype torch.bool(.|\n)*torch.where",
    ),
    "halves": (
        lambda f: f(SEG.half(), V, 6),
        DtypeError,
        "seg has dtype torch.float16, but indices",
    ),
    "rank": (lambda f: f(SEG[None], V, 6), ArgumentError, "seg has rank 2, not 1"),
    "list": (lambda f: f([0, 1], V, 6), ArgumentError, r"seg is a list, not a tensor"),
    "length": (lambda f: f(SEG[:2], V, 6), SizeError, "dimension 0 of v is 17, expected 2|E = 2"),
    "integers": (
        lambda f: f(SEG, SEG, 6),
        DtypeError,
        "v has dtype torch.int64, not torch.float32",
    ),
    "no size": (lambda f: f(SEG, V), ArgumentError, r"B is missing(.|\n)*give it at the call"),
    "negative size": (
        lambda f: f(SEG, V, B=-1),
        SizeError,
        "the size B is -1: no size is negative",
    ),
    "real size": (lambda f: f(SEG, V, B=6.0), ArgumentError, "the size B is a float"),
    "device": (lambda f: f(SEG.to_sparse(), V, B=6), ArgumentError, "layout torch.sparse_coo"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said(name: str) -> None:
    call, kind, message = WRONG[name]
    f = operation(SEGMENTS)
    f(SEG, V, NODES)
    with pytest.raises(kind, match=message):
        call(f)


def test_what_is_wrong_is_said_of_sorted_tensors() -> None:
    f = op("seg: sorted(range(B))[E]\nv: real[E]\ns[b in range(B)] = sum[e, seg[e] == b](v[e])")
    with pytest.raises(ArgumentError, match=r"seg\[2\] is 0 after 1"):
        f(torch.tensor([0, 1, 0]), rand(3), B=2)
    assert_close(f(torch.tensor([0, 0, 2]), torch.ones(3), B=3), torch.tensor([2.0, 0, 1]))


def test_autocast_leaves_indices() -> None:
    src, dst = edges()
    c, x = rand(EDGES, dtype=torch.float32), rand(NODES, COLUMNS, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = operation(GCN)(src, dst, c, x.bfloat16())
    assert y.dtype == torch.float32


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


def test_sizes_that_elements_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch._dynamo.config, "capture_scalar_outputs", True)
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

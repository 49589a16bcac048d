"""Index tensors and sizes in `tadc.torch.op`: gradients, transforms, and what calls take."""

from __future__ import annotations

from typing import Any

import pytest

from tadc.errors import ArgumentError, DtypeError, SizeError
from tests.torch.graphs import (
    CASES,
    COLUMNS,
    EDGES,
    EMBEDDING,
    GCN,
    NODES,
    SEGMENTS,
    F,
    case,
    edges,
    loss,
    operation,
    segment_sum,
)
from tests.torch.programs import assert_close, assert_equal, rand, torch

op = pytest.importorskip("tadc.torch").op

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

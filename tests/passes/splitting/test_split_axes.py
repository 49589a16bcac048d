"""Indices in quotients and remainders: what programs mean, what is split, and how long axes are."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest

import tadc
from tadc.passes.splitting import split_axes as split
from tadc.passes.splitting.split_axes import split_axes
from tests.support.campaign import seeds
from tests.support.derivations import Case, random_case
from tests.support.random_programs import EVERYTHING
from tests.support.rewritten import check_meaning

PATCHES = """\
y[n, i, j, o] = sum[c, a in range(9), b in range(9)](
    w[o, c, a, b] * x[n, c, 9*i + a, 9*j + b])"""
GROUPS = """\
x: f64[N, 32, X]
w: f64[32, 8, 3]
y[n, o, i] = sum[c, u](x[n, 8*(o // 8) + c, i + u] * w[o, c, u])"""
SHUFFLED = "y[p] = b[p] * sum[o](a[p // 16, o] * w[o, p % 16])"

check = partial(check_meaning, split_axes)


@pytest.fixture
def short_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of any length are worth a copy, of any number of parts: programs here are small."""
    monkeypatch.setattr(split, "FEWEST_TERMS", 1)
    monkeypatch.setattr(split, "MOST_RESIDUES", 1)


OVERLAPPING = "y[n, p in range({})] = sum[f, i](pad(w[f, p - {}*i + {}]) * x[n, f, i])"

# --- meaning --------------------------------------------------------------------------------------


def divided(rng: random.Random) -> Case:
    """A random sum with quotients of indices of the sum, and around it."""
    m, n, offset = rng.randint(2, 4), rng.randint(2, 3), rng.randint(-2, 2)
    terms = [
        f"x[i // {m} + j // {n}]",
        f"w[i % {m}, j % {n}]",
        f"z[(j + {offset + 2}) // {n}]",
        f"u[i, j // {m}]",
        f"(v[j] if (j + {offset}) % {m} != 1 else 2*v[j])",
    ]
    chosen = rng.sample(terms, rng.randint(2, 4))
    length = rng.randint(3, 9)
    source = f"v: f64[J]\ny[i in range({length})] = sum[j]({' * '.join([*chosen, 'v[j]'])})"
    numbers = np.random.default_rng(rng.randint(0, 999))
    args = tadc.compile(source).args
    shapes = {t.name: [12] * len(t.shape) for t in args} | {"v": [rng.randint(1, 9)]}
    shapes |= {"u": [length, 12]} if "u" in shapes else {}
    return Case(source, {name: numbers.normal(size=shape) for name, shape in shapes.items()})


@pytest.mark.usefixtures("short_sums")
def test_random_quotients_keep_their_meaning() -> None:
    """Most are split: not those of which `absorb-conditions` makes something else."""
    cases = [divided(random.Random(seed)) for seed in seeds(6, of=300)]
    assert sum(map(check, cases)) > len(cases)


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("seed", seeds(6, of=300, start=1000))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    check(random_case(seed, **EVERYTHING))


def projected(width: int, parts: int, columns: int) -> Case:
    """Products of parts of rows, one head behind the other: of 2, with so many parts each."""
    reads = [f"p[{i}, {parts * width}*h + d + {n * width}]" for n, i in enumerate("ijj"[:parts])]
    source = f"y[h in range(2), i, j] = sum[d in range({width})]({' * '.join(reads)})"
    return Case(source, {"p": np.random.default_rng(columns).normal(size=(9, columns))})


@pytest.mark.usefixtures("short_sums")
@pytest.mark.parametrize("columns", [96, 97, 128])
def test_quotients_that_begin_at_other_places(columns: int) -> None:
    """Heads of 48 elements in parts of 16, and of 32 in two: gradients count by 16."""
    for parts in (2, 3):
        case = projected(16, parts, columns)
        assert check(case) == 1
        program = split_axes(case.function.derivative("p").program.op)
        assert program.definitions[-2].shape[-1].constant == 16


@pytest.mark.parametrize("size", [27, 28, 35, 17])
def test_patches_of_images_of_any_size(size: int) -> None:
    """The last rows and columns may be in no patch: their gradient is 0."""
    rng = np.random.default_rng(size)
    x, w = rng.normal(size=(2, 2, size, size)), rng.normal(size=(9, 2, 9, 9))
    assert check(Case(PATCHES, {"x": x, "w": w})) == 1


def test_gradients_of_groups() -> None:
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(2, 32, 5)), rng.normal(size=(32, 8, 3))
    gradients = tadc.compile(GROUPS).derivative()
    values = {"x": x, "w": w, "dy": rng.normal(size=(2, 32, 3))}
    assert check(Case(str(gradients), values)) == 2


@pytest.mark.parametrize("size", [31, 32, 33])
def test_results_of_any_length(size: int) -> None:
    rng = np.random.default_rng(size)
    case = Case(
        SHUFFLED,
        {"a": rng.normal(size=(3, 9)), "b": rng.normal(size=size), "w": rng.normal(size=(9, 16))},
    )
    assert check(case)


@pytest.mark.parametrize("stride", [5, 7])
@pytest.mark.parametrize("length", [9, 10, 11])
@pytest.mark.parametrize("padding", [0, 2])
def test_windows_of_any_length(stride: int, length: int, padding: int) -> None:
    """As many windows as 8 over p, of which the last ones may lie behind its end."""
    rng = np.random.default_rng(length)
    source = OVERLAPPING.format(4 * stride + length, stride, padding)
    arrays = {"x": rng.normal(size=(2, 3, 8)), "w": rng.normal(size=(3, length))}
    declared = "".join(f"{name}: f64{list(a.shape)}\n" for name, a in arrays.items())
    assert check(Case(declared + source, arrays)) == 1


@pytest.mark.parametrize(("stride", "kernel"), [(2, 19), (5, 7), (5, 23), (8, 16), (23, 40)])
@pytest.mark.parametrize("channels", [(3, 2), (17, 20)])
def test_gradients_with_strides_agree_with_the_interpreter(
    stride: int, kernel: int, channels: tuple[int, int]
) -> None:
    """In the code that calls run, undeclared and with the numbers of their class."""
    rng = np.random.default_rng(stride)
    given, made = channels
    x = rng.normal(size=(2, given, 29 * stride + kernel + 1)).astype("f")
    w = rng.normal(size=(made, given, kernel)).astype("f")
    source = f"y[n, o, i in range(30)] = sum[c, u](x[n, c, {stride}*i + u] * w[o, c, u])"
    found: list[np.ndarray] = []
    for target in ("cpu", "interpret"):
        y, pullback = tadc.vjp(tadc.compile(source, target=target), x, w, wrt=("x",))
        found += pullback(np.cos(y))
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-3)


# --- the choice -----------------------------------------------------------------------------------


def shapes(source: str) -> list[list[str]]:
    """The shapes of the definitions after the pass."""
    program = split_axes(tadc.compile(source).program.op)
    return [[str(size) for size in d.shape] for d in program.definitions]


def test_an_axis_is_as_long_as_there_are_quotients() -> None:
    """A condition on quotients tells how many of them have elements."""
    program = split_axes(tadc.compile(PATCHES).derivative("x").program.op)
    first, last = program.definitions
    assert [str(n) for n in first.shape[2:]] == ["Affine(I)", "Affine(9)", "Affine(J)", "Affine(9)"]
    assert last.label.data == "dx"
    assert first.label.data == "dx_split"
    (rounded, _), _ = shapes(f"b: f64[N]\nw: f64[O, 16]\n{SHUFFLED}")
    assert rounded == "Affine(P)"
    (whole, _), _ = shapes(f"b: f64[16*N]\nw: f64[O, 16]\n{SHUFFLED}")
    assert whole == "Affine(N)"


def test_what_is_not_split() -> None:
    # a part for each residue, of which one has other terms
    few = "y[p in range(99)] = sum[o](a[p // 4, o] * w[o, p % 4] if p % 4 != 1 else b[o])"
    short = "y[p in range(99)] = a[p // 16] * w[p % 16]"
    for source in (few, short, "y[p] = sum[o](a[o] * w[o, p])"):
        program = tadc.compile(source).program.op
        assert split_axes(program) is program


@pytest.mark.parametrize(
    ("stride", "kernel", "windows", "split"),
    [
        (8, 16, 9, True),
        (8, 72, 9, False),  # all windows lie over most elements
        (4, 8, 9, False),  # a part for each residue
        (8, "K", 9, False),  # by the length that is assumed
    ],
)
def test_windows_with_strides(stride: int, kernel: int | str, windows: int, split: bool) -> None:
    source = f"x: f64[N, F, {windows}]\nw: f64[F, {kernel}]\n" + OVERLAPPING.format(90, stride, 0)
    program = tadc.compile(source).program.op
    assert (split_axes(program, {"N": 9, "F": 9, "K": 60}) is not program) == split


def test_windows_without_products_that_elements_share() -> None:
    """They are streams where no number bounds them."""
    source = "y[p in range(400)] = sum[i](pad(w[p - 8*i]) * x[i])"
    program = tadc.compile(source).program.op
    assert split_axes(program, {"I": 50, "W": 30}) is program


def test_few_residues_that_decide_places_alone() -> None:
    (split, whole) = shapes("w: f64[2, 8]\ny[j] = sum[t](w[j % 2, t] * x[j // 2 + t])")
    assert split[1:] == ["Affine(2)"]
    assert len(whole) == 1


def test_groups_decide_what_is_summed_but_their_elements_do_not() -> None:
    """In the gradient by the input of a convolution in groups, as many terms for each element."""
    program = tadc.compile(GROUPS).derivative("x").program.op
    first, _ = split_axes(program).definitions
    assert [str(n) for n in first.shape] == ["Affine(N)", "Affine(4)", "Affine(8)", "Affine(X)"]


def test_groups_whose_numbers_are_made_are_rows() -> None:
    y = "y[n, c, i] = x[n, c, i] - m[n, c // 8]"
    mean = "m[n, g in range(8)] = sum[c in range(8), i](x[n, 8*g + c, i])"
    (_, split, _) = shapes(f"x: f64[N, 64, I]\n{mean}\n{y}")
    assert split == ["Affine(N)", "Affine(8)", "Affine(8)", "Affine(I)"]
    given = tadc.compile(f"x: f64[N, 64, I]\n{y}").program.op
    assert split_axes(given) is given
    part = f"{mean}\n{y}".replace(
        "y[n, c,", "y[n, c in range(60),"
    )  # the last group is no whole one
    program = tadc.compile(f"x: f64[N, 64, I]\n{part}").program.op
    assert split_axes(program) is program


# --- code -----------------------------------------------------------------------------------------


def test_gradients_of_patches_in_tiles() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 67, 80)).astype(np.float32)
    w = rng.normal(size=(32, 3, 16, 16)).astype(np.float32)
    f = tadc.compile(PATCHES.replace("9", "16"))
    _, pullback = tadc.vjp(f, w=w, x=x, wrt="x")
    dy = rng.normal(size=(2, 4, 5, 32)).astype(np.float32)
    (dx,) = pullback(dy)
    expected = np.zeros(x.shape)
    patches = np.einsum("nijo,ocab->ncijab", dy, w)
    for i in range(4):
        for j in range(5):
            expected[:, :, 16 * i : 16 * i + 16, 16 * j : 16 * j + 16] = patches[:, :, i, j]
    np.testing.assert_allclose(dx, expected, atol=1e-4)

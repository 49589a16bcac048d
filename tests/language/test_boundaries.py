"""Indices beyond borders, against NumPy: `clamp`, `reflect`, `wrap` and `% N`."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest

import tadc
from tests.support.campaign import seeds

PLACES: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "clamp": lambda e, n: np.clip(e, 0, n - 1),
    "reflect": lambda e, n: np.where(e < 0, -e, np.where(e < n, e, 2 * n - 2 - e)),
    "wrap": lambda e, n: e % n,
}
MODES: dict[str, Literal["edge", "reflect", "wrap"]] = {
    "clamp": "edge",
    "reflect": "reflect",
    "wrap": "wrap",
}


@pytest.mark.parametrize("size", ["7", "N"])
@pytest.mark.parametrize("word", MODES)
@pytest.mark.parametrize(("before", "behind"), [(0, 0), (1, 2), (6, 6), (3, 0)])
def test_a_padded_tensor_is_that_of_numpy(word: str, before: int, behind: int, size: str) -> None:
    x = np.random.default_rng(0).standard_normal(7)
    index = f"x[{word}(i - {before})]"
    f = tadc.compile(f"x: f64[{size}]\ny[i in range({size} + {before + behind})] = {index}")
    np.testing.assert_array_equal(f(x), np.pad(x, (before, behind), MODES[word]))


@dataclass
class Axis:
    """A dimension of a tensor: its index as text, the same with numbers for indices, its size."""

    text: str
    place: Callable[[np.ndarray, np.ndarray], np.ndarray]
    size: int
    name: str


def axis(rng: random.Random, index: str, term: str, number: int) -> Axis:
    size = rng.randrange(5, 8)
    name = rng.choice(["NMK"[number], str(size)])
    sign, shift = rng.choice([1, -1]), rng.randrange(-2, 2)
    form = f"{index} {'+' if sign > 0 else '-'} {term} + {shift}" if term else f"{index} + {shift}"
    word = rng.choice(["clamp", "reflect", "wrap", "%", "% behind"])
    turned = PLACES.get(word, PLACES["wrap"])

    def place(own: np.ndarray, terms: np.ndarray) -> np.ndarray:
        found = turned(own + (sign * terms if term else 0) + shift, size)
        return size - 1 - found if word == "% behind" else found

    texts = {"%": f"({form}) % {name}", "% behind": f"{name} - 1 - ({form}) % {name}"}
    return Axis(texts.get(word, f"{word}({form})"), place, size, name)


@dataclass
class Program:
    """`y[i, ...] = sum[k](x[...] * w[k])`, and the elements of x that it reads."""

    source: str
    x: np.ndarray
    w: np.ndarray
    places: tuple[np.ndarray, ...]

    @staticmethod
    def of(seed: int) -> Program:
        rng = random.Random(seed)
        rank = rng.choice([1, 1, 2, 2, 2, 3])
        axes = [axis(rng, "ijl"[n], rng.choice(["k", ""]), n) for n in range(rank)]
        ranges = ", ".join(f"{v} in range({a.name})" for v, a in zip("ijl", axes, strict=False))
        read = f"x[{', '.join(a.text for a in axes)}]"
        body = f"sum[k]({read} * w[k])"
        source = f"x: f64[{', '.join(a.name for a in axes)}]\nw: f64[3]\ny[{ranges}] = {body}"
        shape = [a.size for a in axes]
        *own, terms = np.indices((*shape, 3))
        places = tuple(a.place(v, terms) for a, v in zip(axes, own, strict=True))
        numbers = np.random.default_rng(seed)
        return Program(source, numbers.standard_normal(shape), numbers.standard_normal(3), places)

    @property
    def value(self) -> np.ndarray:
        return self.x[self.places] @ self.w

    def gradients(self, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        dx = np.zeros_like(self.x)
        np.add.at(dx, self.places, dy[..., None] * self.w)
        return dx, np.tensordot(dy, self.x[self.places], dy.ndim)


def assert_close(found: object, expected: np.ndarray) -> None:
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("target", ["cpu", "interpret"])
@pytest.mark.parametrize("seed", seeds(16, of=1000))
def test_values_and_gradients_are_exact(seed: int, target: str) -> None:
    program = Program.of(seed)
    f = tadc.compile(program.source, target=target)
    y, pullback = tadc.vjp(f, program.x, program.w)
    assert_close(y, program.value)
    dy = np.random.default_rng(seed + 1).standard_normal(program.value.shape)
    for found, expected in zip(pullback(dy), program.gradients(dy), strict=True):
        assert_close(found, expected)


@pytest.mark.parametrize("seed", seeds(6, of=300))
def test_what_is_printed_means_the_same(seed: int) -> None:
    program = Program.of(seed)
    f = tadc.compile(program.source)
    assert_close(tadc.compile(str(f))(program.x, program.w), program.value)
    derivative = tadc.compile(str(f.derivative()))
    dy = np.random.default_rng(seed + 1).standard_normal(program.value.shape)
    for found, expected in zip(
        derivative(program.x, program.w, dy), program.gradients(dy), strict=True
    ):
        assert_close(found, expected)


@pytest.mark.parametrize("seed", seeds(4, of=200))
def test_forward_mode_and_batches(seed: int) -> None:
    program = Program.of(seed)
    f, x, w = tadc.compile(program.source), program.x, program.w
    _, tangent = tadc.jvp(f, (x, w), (x, np.zeros(3)))
    assert_close(tangent, program.value)
    found = f.batched("x")(np.stack([x, 2 * x]), w)
    assert_close(found, np.stack([program.value, 2 * program.value]))


PLAIN = "x: f64[N]\nw: f64[K]\ny[i in range(N)] = "


@pytest.mark.parametrize(
    ("value", "size", "message"),
    [
        ("x[wrap(i + 5)]", 2, r"x\[wrap\(i \+ 5\)\] reaches 3 at i = 0, but .* has size 2"),
        ("x[(i - 3) % N]", 2, "reaches -1 at i = 0, but dimension 0 of x has size 2"),
        ("x[reflect(i + 1)]", 1, "reaches -1 at i = 0, but dimension 0 of x has size 1"),
        ("x[reflect(i - 2)]", 2, "reaches 2 at i = 0, but dimension 0 of x has size 2"),
    ],
)
def test_what_is_further_outside_than_once_is_an_error(value: str, size: int, message: str) -> None:
    f = tadc.compile(PLAIN + value + " * w[0]")
    assert f(np.ones(9), np.ones(1)).shape == (9,)
    with pytest.raises(tadc.TadcError, match=message):
        f(np.ones(size), np.ones(1))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("w[(i + 1) % N]", "a size N divides an index that is between -N and 2\\*N - 1 for sure"),
        ("x[(i + 1) % i]", "must be a number or a size, without indices"),
        ("x[i] * ((i + 1) % N)", "must be a number here"),
        ("x[clamp(i) + 1]", "clamp stands around a whole index"),
        ("x[wrap(i, 1)]", "wrap takes one index"),
        ("reflect(x[i + 1])", "reflect stands around an index"),
    ],
)
def test_what_is_no_index_is_an_error(value: str, message: str) -> None:
    source = PLAIN.replace("w: f64[K]", "w: f64[K]\nv: f64[N]") + value + " + w[0] + v[i]"
    if value.startswith("w[(i + 1) % N]"):
        source = source.replace("x[i]", "x[0]") + " + w[(i + 2*K) % N]"
    with pytest.raises(tadc.TadcError, match=message):
        tadc.compile(source)


def test_a_boundary_tells_no_range() -> None:
    with pytest.raises(tadc.TadcError, match=r"every i is possible in x\[clamp\(i \+ 1\)\]"):
        tadc.compile("y[i] = x[clamp(i + 1)]")
    f = tadc.compile("y[i] = z[i] + x[wrap(i - 1)] * x[clamp(i)]")
    assert [str(t.shape) for t in f.args] == ["('I',)", "('X_0',)"]
    z, x = np.zeros(3), np.arange(1.0, 6.0)
    np.testing.assert_array_equal(f(z, x), [5, 2, 6])


def test_words_around_an_index_name_other_things_too() -> None:
    f = tadc.compile("y[clamp] = reflect[clamp] * wrap[wrap(clamp + 1)]")
    np.testing.assert_array_equal(f(np.arange(3.0), np.arange(3.0)), [0, 2, 0])

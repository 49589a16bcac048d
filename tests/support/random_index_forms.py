"""Affine forms of indices, elements of index tensors, and quotients, which are 0 or more."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

SIZES = "NMEV"


class Lin:
    """An affine form of sizes: `2*N + V - 1`."""

    def __init__(self, sizes: dict[str, int] | None = None, constant: int = 0):
        self.sizes = {s: c for s, c in (sizes or {}).items() if c}
        self.constant = constant

    def __add__(self, other: Lin | int) -> Lin:
        other = other if isinstance(other, Lin) else Lin({}, other)
        both = {**self.sizes}
        for size, c in other.sizes.items():
            both[size] = both.get(size, 0) + c
        return Lin(both, self.constant + other.constant)

    def __mul__(self, factor: int) -> Lin:
        return Lin({s: c * factor for s, c in self.sizes.items()}, self.constant * factor)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lin) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        terms = [(c, s) for s, c in sorted(self.sizes.items())] + [(self.constant, "")]
        return affine_text(terms)


def affine_text(terms: Sequence[tuple[int, str]]) -> str:
    """The sum of terms: a number by a name, or alone where that is empty."""
    text = ""
    for c, name in sorted(terms, key=lambda t: t[0] <= 0):
        if c:
            factor = name if abs(c) == 1 and name else f"{abs(c)}*{name}" if name else f"{abs(c)}"
            sign = "-" if c < 0 else "+"
            text = f"{text} {sign} {factor}" if text else f"-{factor}" if c < 0 else factor
    return text or "0"


class Atom(NamedTuple):
    """A variable of affine forms, from 0 to below an end: an index, element or quotient."""

    text: str
    end: Lin


class Form(NamedTuple):
    """An affine form of atoms, which is below an end."""

    text: str
    end: Lin


class Value(NamedTuple):
    """An expression in the language and in Python."""

    text: str
    python: str


@dataclass
class IndexTensor:
    """An index tensor: its end is None where it holds any integers."""

    shape: tuple[Lin, ...]
    end: Lin | None
    is_sorted: bool = False

    def declaration(self, name: str) -> str:
        shape = ", ".join(map(str, self.shape))
        if self.end is None:
            return f"{name}: int[{shape}]"
        kind = f"range({self.end})"
        return f"{name}: {f'sorted({kind})' if self.is_sorted else kind}[{shape}]"


def terms_of(form: Lin) -> list[tuple[int, str]]:
    return [*((c, s) for s, c in form.sizes.items()), (form.constant, "")]


def bracketed(text: str) -> str:
    return f"({text})" if " " in text.split("[")[0] or " // " in text or " % " in text else text


class IndexForms:
    """Random forms, and the arguments that they read: these are as large as the forms reach."""

    def __init__(self, rng: random.Random, kinks: bool = True, dtype: str = "f64"):
        self.rng, self.kinks, self.dtype = rng, kinks, dtype
        self.sizes = {s: rng.choice([1, 2, 3, 3, 4, 5, 6]) for s in SIZES}
        if rng.random() < 0.06:
            self.sizes["E"] = 0
        self.indices: dict[str, IndexTensor] = {}
        self.reals: dict[str, tuple[Lin, ...]] = {}
        self.defined: dict[str, tuple[Lin, ...]] = {}
        self.names = 0
        self.nodes = 0

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def size(self) -> Lin:
        return Lin({self.rng.choice(SIZES): 1})

    def atoms(self, scope: Sequence[Atom], deep: int = 2) -> list[Atom]:
        """The atoms of a scope, with a few elements and quotients of them."""
        found = [*scope]
        for _ in range(deep):
            for name, t in self.indices.items():
                if t.end is not None and self.chance(0.7):
                    at = [self.position(found, s) for s in t.shape]
                    if all(at):
                        text = f"{name}[{', '.join(map(str, at))}]" if at else f"{name}[()]"
                        if len(text) < 30:
                            found.append(Atom(text, t.end))
        if found and self.chance(0.25):
            base = self.rng.choice(found)
            shift = self.rng.choice([0, 0, 1])
            inner = f"({base.text} + {shift})" if shift else base.text
            d = self.rng.choice([2, 3])
            if self.chance(0.5):
                found.append(Atom(f"{inner} // {d}", base.end + shift))
            else:
                found.append(Atom(f"{inner} % {d}", Lin({}, d)))
        return found

    def position(self, atoms: Sequence[Atom], size: Lin) -> str | None:
        """A form of atoms that is in a dimension of this size."""
        fit = [a for a in atoms if a.end == size]
        fit += [a for a in atoms if a.end + 1 == size] if self.chance(0.3) else []
        if fit:
            atom = self.rng.choice(fit)
            if self.chance(0.06):
                return affine_text([(-1, bracketed(atom.text)), *terms_of(atom.end + -1)])
            return atom.text
        if not size.sizes and size.constant > 0:
            return str(self.rng.randrange(size.constant))
        # an index doubled, where a tensor is twice as long
        double = [a for a in atoms if a.end * 2 == size or a.end * 2 + 1 == size]
        if double:
            return affine_text([(2, bracketed(self.rng.choice(double).text)), (1, "")])[:None]
        longer = [
            a for a in atoms if not (size + a.end * -1).sizes and (size + a.end * -1).constant > 0
        ]
        if longer:
            atom = self.rng.choice(longer)
            most = (size + atom.end * -1).constant
            return affine_text([(1, atom.text), (self.rng.randint(0, most), "")])
        return None

    def form(self, atoms: Sequence[Atom]) -> Form:
        """An affine form of one or two atoms, which is 0 or more."""
        if not atoms:
            n = self.rng.randrange(3)
            return Form(str(n), Lin({}, n + 1))
        count = min(len(atoms), self.rng.choice([1, 1, 1, 1, 2, 2, 3]))
        terms: list[tuple[int, str]] = []
        low, high = Lin(), Lin()
        for atom in self.rng.sample(list(atoms), count):
            c = self.rng.choice([1, 1, 1, 1, 2, -1, 3, -2])
            terms.append((c, bracketed(atom.text)))
            reach = (atom.end + -1) * c
            low, high = (low + reach, high) if c < 0 else (low, high + reach)
        shift = low * -1 + (self.rng.randrange(1, 3) if self.chance(0.2) else 0)
        terms += terms_of(shift)
        return Form(affine_text(terms), high + shift + 1)

    def compared(self, atoms: Sequence[Atom]) -> str:
        """A side of a comparison: any affine form."""
        terms = [
            (self.rng.choice([1, 1, 1, 2, -1]), bracketed(a.text))
            for a in self.rng.sample(list(atoms), min(len(atoms), self.rng.choice([1, 1, 1, 2])))
        ]
        return affine_text([*terms, (self.rng.choice([0, 0, 0, 1, -1, 2]), "")])

    def real(self, shape: tuple[Lin, ...]) -> str:
        """A real argument of this shape, an old one where there is."""
        old = [n for n, s in self.reals.items() if s == shape and n != "p"]
        if old and self.chance(0.8):
            return self.rng.choice(old)
        name = f"x{len(self.reals)}"
        self.reals[name] = shape
        return name

"""Affine forms as text that reads back as the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from dialects.tix import Affine, FloorDivOp, Key
from tadc.language.sizes import Bound

CONDITION, OR, AND, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)
"""How tightly text binds, in the order of Python's grammar."""


class Text(NamedTuple):
    """Text and how tightly it binds."""

    text: str
    binds: int

    def within(self, binds: int) -> str:
        """In parentheses, unless it binds as tightly as needed."""
        return self.text if self.binds >= binds else f"({self.text})"


class Part(NamedTuple):
    """One term `coefficient * atom`."""

    coefficient: int
    atom: Text


class Names:
    """Names of the indices in scope, in the order in which the text introduces them."""

    def __init__(
        self,
        sizes: Mapping[str, str],
        derived: Mapping[str, Sequence[Bound]],
        indices: Mapping[SSAValue, str] | None = None,
    ):
        self.sizes = sizes
        self.derived = derived
        """Derived sizes that no argument binds: they have no name in the text."""
        self.indices = dict(indices or {})

    def inside(self, indices: Mapping[SSAValue, str]) -> Names:
        return Names(self.sizes, self.derived, {**self.indices, **indices})

    # --- forms ---

    def form(self, form: Affine) -> Text:
        """`2*i - k + N + 1`."""
        return total(*self.parts(form))

    def parts(self, form: Affine) -> tuple[list[Part], int]:
        """The terms (indices in order, remainders and quotients, sizes by name), and the rest."""
        remainders, rest = self._split(form)
        parts = [Part(rest[v], Text(n, ATOM)) for v, n in self.indices.items() if rest[v]]
        parts += remainders
        quotients = [v for v in rest.indices if v not in self.indices]
        named = [Part(rest[v], self._quotient(v)) for v in quotients]
        parts += sorted(named, key=lambda part: part.atom)
        parts += [Part(rest[s], self._size(s)) for s in sorted(rest.sizes)]
        return parts, rest.constant

    def _split(self, form: Affine) -> tuple[list[Part], Affine]:
        """`e - m * (e // m)` as `e % m`, where that takes all of `e` out of the form."""
        remainders: list[Part] = []
        for index, op in self._local(form):
            e, m = op.form, op.divisor.data
            c, other = divmod(-form[index], m)
            rest = form - (e - Affine.of(index) * m) * c
            if c and not other and not any(rest[key] for key in e.terms):
                text = f"{self.form(e).within(PRODUCT)} % {m}"
                remainders.append(Part(c, Text(text, PRODUCT)))
                form = rest
        return sorted(remainders, key=lambda part: part.atom), form

    def _local(self, form: Affine) -> list[tuple[SSAValue, FloorDivOp]]:
        """The local indices of a form, those that are computed from others first."""
        found = [(v, v.owner) for v in form.indices if v not in self.indices]
        local = [(v, op) for v, op in found if isinstance(op, FloorDivOp)]
        return sorted(local, key=lambda item: (-_depth(item[1]), self._quotient(item[0])))

    def quotients(self, key: Key) -> Sequence[Bound] | None:
        """What a key without a name is the least of: a local index or a derived size."""
        if isinstance(key, str):
            return self.derived.get(key)
        op = key.owner
        if key in self.indices or not isinstance(op, FloorDivOp):
            return None
        return [(op.form, op.divisor.data)]

    def _quotient(self, index: SSAValue) -> Text:
        bounds = self.quotients(index)
        if bounds is None:
            raise ValueError(f"the index {index} is not in scope")
        return self.bound(bounds[0])

    def _size(self, size: str) -> Text:
        bounds = self.derived.get(size)
        if bounds is None:
            return Text(self.sizes[size], ATOM)
        if len(bounds) > 1:
            raise ValueError(f"the derived size {size} has no name that the language could say")
        return self.bound(bounds[0])

    def bound(self, bound: Bound) -> Text:
        """`(N + 1) // 2`."""
        form, divisor = bound
        if divisor == 1:
            return self.form(form)
        return Text(f"{self.form(form).within(PRODUCT)} // {divisor}", PRODUCT)

    def size(self, size: Affine) -> str:
        """What a definition's index runs up to: an affine form, or a least of quotients."""
        if len(size.sizes) == 1 and size == Affine.of(size.sizes[0]):
            bounds = self.derived.get(size.sizes[0])
            if bounds is not None:
                return extreme("min", [self.bound(b).text for b in bounds])
        return self.form(size).text if size.terms else str(max(0, size.constant))


def _depth(op: FloorDivOp) -> int:
    inner = [v.owner for v in op.form.indices]
    return 1 + max((_depth(o) for o in inner if isinstance(o, FloorDivOp)), default=0)


def extreme(word: str, texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{word}({', '.join(texts)})"


def total(parts: Sequence[Part], constant: int) -> Text:
    """Terms and a constant; something positive goes first."""
    parts = list(parts)
    positive = next((n for n, part in enumerate(parts) if part.coefficient > 0), None)
    if positive:
        parts.insert(0, parts.pop(positive))
    if not parts:
        return Text(str(constant), ATOM if constant >= 0 else SIGN)
    if positive is None and constant > 0:
        text, binds, constant = str(constant), SUM, 0
    else:
        first = parts.pop(0)
        text, binds = _term(first.coefficient, first.atom)
    for c, atom in parts:
        text += f" {'-' if c < 0 else '+'} {_term(abs(c), atom).text}"
    if constant:
        text += f" {'-' if constant < 0 else '+'} {abs(constant)}"
    return Text(text, SUM if parts or constant else binds)


def _term(c: int, atom: Text) -> Text:
    if c == 1:
        return atom
    if c == -1:
        return Text(f"-{atom.within(ATOM)}", SIGN)
    return Text(f"{c}*{atom.within(ATOM)}", PRODUCT)

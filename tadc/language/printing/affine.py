"""Affine forms as text that reads back as the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, AtOp, FloorDivOp, Variable
from tadc.language.sizes import Bound

CONDITION, OR, AND, COMPARISON, SUM, PRODUCT, SIGN, POWER, ATOM = range(9)
"""Levels of text: the later ones bind more tightly, as in Python's grammar."""


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


class NamesInScope:
    """Names of the indices in scope, in the order in which the text introduces them."""

    def __init__(
        self,
        sizes: Mapping[str, str],
        derived: Mapping[str, Sequence[Bound]],
        tensors: Mapping[SSAValue, str],
        indices: Mapping[SSAValue, str] | None = None,
    ):
        self.sizes = sizes
        self.derived = derived
        """Derived sizes that no argument binds: they have no name in the text."""
        self.tensors = tensors
        """The names of the tensors, whose elements may stand in indices."""
        self.indices = dict(indices or {})

    def inside(self, indices: Mapping[SSAValue, str]) -> NamesInScope:
        own = {**self.indices, **indices}
        return NamesInScope(self.sizes, self.derived, self.tensors, own)

    def with_derived(self, derived: Mapping[str, Sequence[Bound]]) -> NamesInScope:
        more = {**self.derived, **derived}
        return NamesInScope(self.sizes, more, self.tensors, self.indices)

    def _elements(self, form: Affine) -> list[Part]:
        """The elements of index tensors, as `idx[i + 1]`."""
        found: list[Part] = []
        for v in form.indices:
            if isinstance(v.owner, AtOp) and v not in self.indices:
                name = self.tensors[v.owner.tensor]
                forms = ", ".join(self.form(f).text for f in v.owner.forms)
                found.append(Part(form[v], Text(f"{name}[{forms}]" if forms else name, ATOM)))
        return sorted(found, key=lambda part: part.atom)

    # --- forms ---

    def form(self, form: Affine) -> Text:
        """`2*i - k + N + 1`."""
        return total(*self.parts(form))

    def parts(self, form: Affine) -> tuple[list[Part], int]:
        """The terms (elements of index tensors, indices in order, remainders and quotients, sizes
        by name), and the rest."""
        remainders, rest = self._split(form)
        parts = self._elements(rest)
        parts += [Part(rest[v], Text(n, ATOM)) for v, n in self.indices.items() if rest[v]]
        parts += remainders
        parts += [Part(rest[key], self.bound(bound)) for key, bound in self._quotients(rest)]
        named = sorted(s for s in rest.sizes if self.quotients(s) is None)
        parts += [Part(rest[s], self._named(s)) for s in named]
        return parts, rest.constant

    def _split(self, form: Affine) -> tuple[list[Part], Affine]:
        """`e - m * (e // m)` as `e % m`, where that takes all of `e` out of the form."""
        remainders: list[Part] = []
        for key, (e, m) in self._quotients(form):
            c, other = divmod(-form[key], m)
            rest = form - (e - Affine.of(key) * m) * c
            if c and not other and not any(rest[k] for k in e.terms):
                text = f"{self.form(e).within(PRODUCT)} % {m}"
                remainders.append(Part(c, Text(text, PRODUCT)))
                form = rest
        return sorted(remainders, key=lambda part: part.atom), form

    def _quotients(self, form: Affine) -> list[tuple[Variable, Bound]]:
        """The keys without a name, those that are computed from others first."""
        found: list[tuple[Variable, Bound]] = []
        for key in form.terms:
            bounds = self.quotients(key)
            if bounds is not None:
                if len(bounds) > 1:
                    raise ValueError(f"the derived size {key} has no name that the language has")
                found.append((key, bounds[0]))
        return sorted(found, key=lambda item: (-self._depth(item[0]), self.bound(item[1])))

    def quotients(self, key: Variable) -> Sequence[Bound] | None:
        """The quotients of which a local index or derived size is the least; None for a name."""
        if key in self.indices:
            return None
        if isinstance(key, str):
            return self.derived.get(key)
        op = key.owner
        if isinstance(op, AtOp):
            return None
        if not isinstance(op, FloorDivOp):
            raise ValueError(f"the index {key} is not in scope")
        return [(op.form, op.divisor.data)]

    def _named(self, size: str) -> Text:
        if size not in self.sizes:
            raise ValueError(f"no argument has the size {size}")
        return Text(self.sizes[size], ATOM)

    def _depth(self, key: Variable) -> int:
        bounds = self.quotients(key) or ()
        return 1 + max((self._depth(k) for form, _ in bounds for k in form.terms), default=0)

    def varies(self, key: Variable) -> bool:
        """True if a variable depends on an index, and not on sizes alone."""
        if not isinstance(key, str) and isinstance(key.owner, AtOp):
            return True
        bounds = self.quotients(key) or ()
        return key in self.indices or any(self.varies(k) for form, _ in bounds for k in form.terms)

    def bound(self, bound: Bound) -> Text:
        """`(N + 1) // 2`."""
        form, divisor = bound
        if divisor == 1:
            return self.form(form)
        return Text(f"{self.form(form).within(PRODUCT)} // {divisor}", PRODUCT)

    def size(self, size: Affine) -> str:
        """The end of a definition's index: an affine form, or a least of quotients."""
        if len(size.sizes) == 1 and size == Affine.of(size.sizes[0]):
            bounds = self.derived.get(size.sizes[0])
            if bounds is not None:
                return extreme("min", [self.bound(b).text for b in bounds])
        return self.form(size).text if size.terms else str(max(0, size.constant))


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

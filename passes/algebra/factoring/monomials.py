"""Sums of products, and the factors that their terms have in common.

    2 a b / c  +  a d / c        becomes        (2 b + d) a / c

A `Monomial` is a number times powers of *factors*, which are anything that can be hashed; a factor
may also divide. Factors of numerators and of denominators are never cancelled, and 0 times a
product stays: where a factor is infinite, neither is what algebra says.

`collect` takes out a factor of several terms, the dearest one first, together with what else these
have in common, and again of what is left. Sums that come out of this are factors, too, `Factored`,
so that  a b + a c + d b + d c  is first  a (b + c) + d (b + c),  and then  (a + d) (b + c).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

COST_OF_DIVISION = 12
"""The cost of a division, in products."""


class Power(NamedTuple):
    """A factor, or one that divides."""

    factor: Hashable
    divides: bool = False


@dataclass(frozen=True)
class Monomial:
    """A number times powers of factors."""

    number: float
    powers: Counter[Power] = field(default_factory=Counter[Power])

    def __mul__(self, other: Monomial) -> Monomial:
        return Monomial(self.number * other.number, self.powers + other.powers)

    def __pow__(self, exponent: int) -> Monomial:
        powers = Counter({power: n * exponent for power, n in self.powers.items()})
        return Monomial(self.number**exponent, powers)

    @staticmethod
    def of(factor: Hashable, divides: bool = False, exponent: int = 1) -> Monomial:
        """A power of a factor."""
        return Monomial(1.0, Counter({Power(factor, divides): exponent}))

    @property
    def only(self) -> Hashable | None:
        """The factor of a monomial that has just one."""
        if len(self.powers) == 1:
            ((power, count),) = self.powers.items()
            return power.factor if count == 1 and not power.divides else None
        return None

    @property
    def key(self) -> Hashable:
        """A key that monomials share which differ in their numbers alone."""
        return frozenset(self.powers.items())


@dataclass(frozen=True)
class Factored:
    """A sum that is a factor of products."""

    terms: tuple[Monomial, ...] = field(compare=False)
    key: frozenset[Hashable] = field(default=frozenset())

    @staticmethod
    def of(terms: Sequence[Monomial]) -> Factored:
        return Factored(tuple(terms), frozenset((t.number, t.key) for t in terms))


Expand = Callable[[Sequence[Monomial]], list[Monomial]]
"""Takes factors of terms apart that are sums, where they are the only factor."""

Token = Power | float
"""A factor that terms can have in common, or a number but for its sign."""


@dataclass
class Collector:
    """Collects terms; sums that are equal but for their sign come out as the same factor."""

    expand: Expand
    _ranks: dict[Hashable, int] = field(default_factory=dict[Hashable, int])
    """The order in which terms were seen first, which decides about signs."""

    def collect(self, terms: Iterable[Monomial]) -> list[Monomial]:
        """Terms with the same sum, of which no two have a factor in common."""
        found = _like_terms(self.expand(_like_terms(terms)))
        while (token := _dearest(found)) is not None:
            group = [t for t in found if token in _tokens(t)]
            place = found.index(group[0])
            rest = [t for t in found if t not in group]
            found = _like_terms([*rest[:place], self._taken_out(group), *rest[place:]])
        return found

    def _taken_out(self, group: Sequence[Monomial]) -> Monomial:
        """The sum of terms as a product of what they have in common and what is left."""
        common = reduce(lambda a, b: a & b, (t.powers for t in group))
        numbers = {abs(t.number) for t in group}
        number = (numbers.pop() if len(numbers) == 1 else 0.0) or 1.0
        left = self.collect(Monomial(t.number / number, t.powers - common) for t in group)
        if len(left) == 1:
            return Monomial(number, common) * left[0]
        ranks = [self._ranks.setdefault(t.key, len(self._ranks)) for t in left]
        sign = -1.0 if left[ranks.index(min(ranks))].number < 0 else 1.0
        inner = Factored.of([Monomial(sign * t.number, t.powers) for t in left])
        return Monomial(sign * number, common + Counter([Power(inner)]))


def _like_terms(terms: Iterable[Monomial]) -> list[Monomial]:
    """Terms of which no two differ in their numbers alone."""
    found: dict[Hashable, Monomial] = {}
    for term in terms:
        other = found.get(term.key)
        number = term.number if other is None else other.number + term.number
        found[term.key] = Monomial(number, term.powers)
    return list(found.values())


def _tokens(term: Monomial) -> list[Token]:
    return [*term.powers, *([abs(term.number)] if abs(term.number) not in (0, 1) else [])]


def _dearest(terms: Sequence[Monomial]) -> Token | None:
    """The factor to take out of all terms that have it: with all that they share, it saves most."""
    counts = Counter(token for t in terms for token in _tokens(t))
    shared = [token for token, n in counts.items() if n > 1]
    return max(shared, key=lambda token: _saved(token, terms), default=None)


def _saved(token: Token, terms: Sequence[Monomial]) -> int:
    group = [{*_tokens(t)} for t in terms if token in _tokens(t)]
    common = reduce(lambda a, b: a & b, group)
    return (len(group) - 1) * sum(map(_cost, common))


def _cost(token: Token) -> int:
    return COST_OF_DIVISION if isinstance(token, Power) and token.divides else 1

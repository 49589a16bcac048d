"""Index expressions of random programs, with their values at the points of their scope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Form:
    """An index expression: its text and its value at every point."""

    text: str
    values: np.ndarray
    index: str | None = None
    """The index that it is, where it stands alone."""

    @property
    def low(self) -> int:
        return int(self.values.min()) if len(self.values) else 0

    @property
    def high(self) -> int:
        return int(self.values.max()) if len(self.values) else -1

    def plus(self, n: int) -> Form:
        text = f"{self.text} {'+' if n > 0 else '-'} {abs(n)}"
        return Form(text, self.values + n) if n else self


@dataclass(frozen=True)
class Scope:
    """The indices in scope and the points at which an expression is evaluated."""

    names: tuple[str, ...]
    points: np.ndarray
    conditional: bool = False

    @property
    def count(self) -> int:
        return len(self.points)

    def index(self, name: str) -> Form:
        return Form(name, self.points[:, self.names.index(name)], name)

    def where(self, mask: np.ndarray) -> Scope:
        return Scope(self.names, self.points[mask], True)

    def extend(self, name: str, low: np.ndarray, high: np.ndarray) -> Scope:
        """With a further index in `range(low, high)`."""
        counts = np.maximum(high - low, 0)
        origin = np.repeat(np.arange(self.count), counts)
        first = np.repeat(np.cumsum(counts) - counts, counts)
        values = low[origin] + np.arange(len(origin)) - first
        points = np.column_stack([self.points[origin], values])
        return Scope((*self.names, name), points, self.conditional)


def constant(value: int, count: int) -> Form:
    return Form(str(value), np.full(count, value))


def linear(coefficients: Sequence[tuple[int, Form]], count: int) -> Form:
    """`2*i - j`, positive terms first."""
    terms = sorted(((c, f) for c, f in coefficients if c), key=lambda t: t[0] < 0)
    values = sum((c * f.values for c, f in terms), np.zeros(count, np.int64))
    text = ""
    for c, f in terms:
        body = f.text if abs(c) == 1 else f"{abs(c)}*{f.text}"
        sign = "-" if c < 0 else "+"
        text = f"{text} {sign} {body}" if text else f"{'-' if c < 0 else ''}{body}"
    return Form(text or "0", values, terms[0][1].index if text == terms[0][1].text else None)

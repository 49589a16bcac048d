"""How random programs declare arguments and write ranges, once all sizes are known."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass
class Range:
    """`range(size)` of an index, left out in the end if `alone` says that it can be inferred."""

    name: str
    size: int
    alone: list[tuple[str, int]] = field(default_factory=list)
    """Dimensions in which it stands alone."""
    hidden: bool = False
    """It stands alone where the language may not look."""
    defines: tuple[str, int] | None = None
    """The dimension of a definition that it runs over."""


class RangeText:
    """Chooses among the ways that mean the same sizes."""

    def __init__(self, rng: random.Random, shapes: Mapping[str, Sequence[int]]):
        self.rng = rng
        self.shapes = shapes
        self.names: dict[int, str] = {}
        """Names of sizes by their value."""
        self.words: dict[tuple[str, int], str] = {}
        """What the text says of the size of a dimension."""

    def declarations(
        self, arguments: Mapping[str, Sequence[int]], styles: Sequence[str], dtype: str
    ) -> list[str]:
        """The lines that declare arguments; sets the `words` of their sizes."""
        lines: list[str] = []
        for name, shape in arguments.items():
            style = self.rng.choice(styles)
            if style == "none":
                continue
            if style == "symbolic":
                for size in shape:
                    self.names.setdefault(size, f"N{len(self.names) or ''}")
            words = [self.names[size] if style == "symbolic" else str(size) for size in shape]
            self.words |= {(name, n): word for n, word in enumerate(words)}
            lines.append(f"{name}: {dtype}[{', '.join(words)}]")
        return lines

    def head(self, range_: Range, inferred: bool) -> str:
        """`i in range(3)`, with a name for 3 where there is one, or `i` where 3 is inferred."""
        agree = range_.alone and all(self.shapes[t][d] == range_.size for t, d in range_.alone)
        words = {self.words[place] for place in range_.alone if place in self.words}
        infer = inferred and agree and not range_.hidden and len(words) < 2
        if infer and self.rng.random() < 0.5:
            word = words.pop() if words else "an open size of {}[{}]".format(*range_.alone[0])
            self.words |= dict.fromkeys(range_.alone, word)
            text = range_.name
        else:
            word = str(range_.size)
            word = self.names.get(range_.size, word) if self.rng.random() < 0.5 else word
            text = f"{range_.name} in range({word})"
        if range_.defines:
            self.words[range_.defines] = word
        return text

"""Random programs of constant width, as text, with arguments: what the inverse modes are tested on.

    update = random_update(random.Random(seed))
    tadc.compile(update.source) and update.arguments

A program is a chain of moves (`tests/support/update_moves.py`). They read all else of the state,
parameters and temporaries, new ones and those of earlier moves (`update_expressions.py`).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.support.update_expressions import LETTERS, Shape, Unfit, element
from tests.support.update_moves import Moves


@dataclass(frozen=True)
class Update:
    """A program, its arguments by name, and the moves that it is made of."""

    source: str
    arguments: dict[str, np.ndarray]
    moves: tuple[str, ...]


def random_update(rng: random.Random, dtype: str = "f64") -> Update:
    """A random program with arguments, the same for the same state of `rng`."""
    return _Generator(rng, dtype).update()


class _Generator(Moves):
    """Appends moves until there are enough of them."""

    def update(self) -> Update:
        if self.style == "none":  # what is first read in its own update is an argument
            self.lines += [f"{element(v, LETTERS[: len(s)])} *= 1.25" for v, s in self.shapes()]
        while len(self.moves) < self.count:
            self.move(self.rng.choice(list(self.state)))
        for name in self.state:
            if not any(line.startswith((f"{name}[", f"{name} ")) for line in self.lines):
                self.move(name)
        declarations = [self.declaration(name, shape) for name, shape in self.shapes()]
        declarations += [self.declaration(n, s) for n, s in self.parameters.items()]
        lines = [line for line in declarations if line] + self.lines
        if self.chance(0.6) or self.unread():
            lines.append(f"return {', '.join(self.rng.sample(list(self.state), len(self.state)))}")
        values = np.random.default_rng(self.rng.getrandbits(32))
        shapes = {**self.state, **self.parameters}
        kind = np.float32 if self.dtype == "f32" else np.float64
        arguments = {n: np.asarray(values.uniform(-1, 1, s), kind) for n, s in shapes.items()}
        return Update("\n".join(lines) + "\n", arguments, tuple(self.moves))

    def unread(self) -> bool:
        """True if there is a temporary that no line reads, which would be a result."""
        values = " ".join(line.split("=", 1)[1] for line in self.lines)
        return any(not re.search(rf"\b{name}\b", values) for name in self.temporaries)

    def declaration(self, name: str, shape: Shape) -> str:
        if self.style == "none":
            return ""
        return f"{name}: {self.dtype}[{', '.join(map(self.size, shape))}]"

    def move(self, name: str) -> None:
        """Any move that the shape of a tensor allows."""
        moves: list[Callable[[str], None]] = [
            *(self.scale, self.turn, self.exchange, self.rotate, self.halves, self.parity),
            *(self.steps, self.band, self.triangle, self.blocks, self.dense, self.mix),
            *(self.cycle, self.reshape, self.coupled, self.first_row),
        ]
        rare = self.band, self.reshape, self.rotate, self.exchange, self.steps, self.triangle
        moves.sort(key=lambda m: self.rng.random() * (0.4 if m in (*rare, self.blocks) else 1))
        for move in moves:
            self.flips = {}
            before = len(self.lines), dict(self.temporaries), dict(self.parameters)
            try:
                move(name)
            except Unfit:
                del self.lines[before[0] :]
                self.temporaries, self.parameters = before[1], before[2]
                continue
            self.moves.append(move.__name__)
            return

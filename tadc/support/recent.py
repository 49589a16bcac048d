"""`Recent`: the values of the keys that were used last, a bounded number of them."""

from __future__ import annotations

from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The values of the `most` keys that were used last. Safe to use from several threads."""

    def __init__(self, most: int):
        self._most = most
        self._values: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of a key, which is now used last; None where there is none."""
        value = self._values.pop(key, None)
        if value is not None:
            self._values[key] = value
        return value

    def peek(self, key: K) -> V | None:
        """The value of a key, whose use does not count."""
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Remember a value, and forget those that were used longest ago."""
        while len(self._values) >= self._most:
            try:
                self._values.pop(next(iter(self._values)), None)
            except (RuntimeError, StopIteration):  # another thread changed it meanwhile
                continue
        self._values[key] = value

    def clear(self) -> None:
        """Forget all values."""
        self._values.clear()

    def __len__(self) -> int:
        return len(self._values)

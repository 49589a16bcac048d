"""`ScopedMap`: mappings inside each other, as the names of nested blocks are."""

from __future__ import annotations

from collections import ChainMap
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class ScopedMap(ChainMap[K, V]):
    """A `ChainMap` that looks up in plain loops, several times faster: passes do little else."""

    def __getitem__(self, key: K) -> V:
        for layer in self.maps:
            if key in layer:
                return layer[key]
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        for layer in self.maps:  # noqa: SIM110
            if key in layer:
                return True
        return False

    def get(self, key: K, default: T = None) -> V | T:
        for layer in self.maps:
            if key in layer:
                return layer[key]
        return default

"""Costs of memory in terms of arithmetic: the numbers by which passes store or compute again.

The unit is an addition in code of full vectors: of float32 about 0.01 ns on a core with two units
of 512 bits. An element that moves between a core and its second cache takes some 0.04 ns there, one
that moves to or from a cache that cores share 0.1 ns, to or from memory about 0.4 ns, and to begin
with a definition 0.1 to 2 µs. Nothing here is fitted to a program, and nothing needs to be exact:
ways are compared that differ by factors.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MachineFacts:
    """Costs in additions."""

    near_element: int = 4
    """To read or write an element of a tensor that stays in the caches of a core."""
    far_element: int = 40
    """To read or write an element of a larger tensor."""
    near_elements: int = 1 << 19
    """The number of elements that stay in the caches of a core: 2 MiB of float32."""
    definition: int = 10_000
    """To compute one more tensor, beside its elements."""
    shared_element: int = 10
    """To read or write an element of a tensor that stays in the cache that cores share."""
    shared_elements: int = 1 << 22
    """The number of elements that stay there: 16 MiB of float32."""

    def moving(self, elements: int, times: int) -> int:
        """The cost of reading and writing a tensor of so many elements so many times."""
        return elements * times * self._moving_one(elements)

    def _moving_one(self, elements: int) -> int:
        if elements <= self.near_elements:
            return self.near_element
        return self.shared_element if elements <= self.shared_elements else self.far_element


MACHINE = MachineFacts()
"""The facts assumed of every machine: programs are derived once for all."""

ASSUMED_LENGTH = 512
"""The length of ranges that no number tells."""

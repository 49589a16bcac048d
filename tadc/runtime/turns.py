"""Turns: steps that read the same large tensor take turns, part by part of it.

    da[s] = sum[i, j](dy[i, j] * x[i + s, j])      one after the other    by turns
    dx[i, j] = sum[s](a[s] * dy[i - s, j])         da over all rows       da over 100 rows
                                                   dx over all rows       dx over 100 rows
                                                                          da over the next 100

One after the other, each step reads dy from memory, if the largest cache does not hold what a step
goes over. By turns, those after the first one find their part of it in that cache.

No step of a *round* reads what another one of it writes, so all orders are right; a step computes
the same elements in the same way, whatever part comes first. How far the loops of two steps have
come in dy is a guess, that both go over it in the order of memory: where one does not, turns bring
nothing. Steps that compute much for each byte wait for no memory, and stay whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from tadc.runtime.executable import KernelCall

STEPS_AHEAD = 16
"""The steps behind the first one of a round among which others of it are looked for."""

PARTS_OF_CACHE = 8
"""A turn goes over about this part of the largest cache, which holds the tensors of other threads,
and of other processes, too."""

MOST_TURNS = 32
"""The turns of a step at most: each begins and ends a region of all threads."""

MOST_WORK_FOR_A_BYTE = 16
"""Operations for each byte of a step that may wait for memory."""


@dataclass(frozen=True)
class Extents:
    """The sizes of tensors, kernels and the cache: turns depend on these alone."""

    nbytes: Mapping[str, int]
    """The bytes of each tensor."""
    work: Mapping[str, int]
    """The operations of each kernel."""
    grains: Mapping[str, int]
    """The parts that the loops of each kernel may be cut into at most."""
    cache: int
    """The bytes of the largest cache; 0 if they are not known, so that nothing takes turns."""

    def over(self, calls: Sequence[KernelCall]) -> int:
        """The bytes of all tensors that steps read or write."""
        return sum(self.nbytes[name] for name in {name for c in calls for name in c.buffers})

    def may_take_turns(self, call: KernelCall) -> bool:
        """True for a step that may wait for memory, in loops that can be cut."""
        waits = self.work[call.kernel] <= MOST_WORK_FOR_A_BYTE * self.over([call])
        return waits and self.grains[call.kernel] >= PARTS_OF_CACHE


@dataclass(frozen=True)
class Round:
    """Steps that take so many turns."""

    calls: Sequence[KernelCall]
    turns: int = 1


def rounds(calls: Sequence[KernelCall], extents: Extents) -> Iterator[Round]:
    """The steps of a program in an order in which those that read the same take turns.

    Takes time linear in the number of steps.
    """
    left = deque(calls)
    while left:
        together = _together([*islice(left, 1 + STEPS_AHEAD)], extents)
        turns = _turns(together, extents)
        together = together if turns > 1 else together[:1]
        yield Round(together, turns)
        for call in together:
            left.remove(call)  # quick, as they are among the first


def _together(calls: Sequence[KernelCall], extents: Extents) -> list[KernelCall]:
    """The first of some steps, and those of the others that may take turns with it."""
    first, *others = calls
    found, written = [first], {*first.written}
    for call in others if extents.may_take_turns(first) else ():
        is_next = not written & {*call.read} and extents.may_take_turns(call)
        if is_next and any(_share(call, one, extents) for one in found):
            found.append(call)
        written |= {*call.written}
    return found


def _share(one: KernelCall, other: KernelCall, extents: Extents) -> bool:
    """True if two steps read the same, and that is much of what they go over."""
    same = sum(extents.nbytes[name] for name in {*one.read} & {*other.read})
    return PARTS_OF_CACHE * same >= extents.over([one, other])


def _turns(calls: Sequence[KernelCall], extents: Extents) -> int:
    """The number of turns of steps, of which the largest cache holds a part each."""
    if len(calls) < 2 or not 0 < extents.cache < 2 * extents.over(calls):
        return 1
    most = min(MOST_TURNS, *(extents.grains[call.kernel] for call in calls))
    return min(most, PARTS_OF_CACHE * extents.over(calls) // extents.cache)

"""Minimum separators of a graph with weighted nodes, all of them, as steps from first to last.

A separator is a set of nodes that every path from a source to a sink meets. Give each node v an
edge `in(v) -> out(v)` of its weight as capacity and all other edges an infinite one: the least
weight of a separator is the largest flow (Menger), and a set of ends of edges that the residual
graph of a largest flow does not leave is a minimum cut. So all minimum separators are found from
one flow: they grow from the sources, one strongly connected component of the residual graph after
the other (Picard and Queyranne 1980). These components are the same for every largest flow: they
are the finest steps that there are.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """From one minimum separator to the next: these nodes leave it, those enter it."""

    leave: tuple[int, ...]
    enter: tuple[int, ...]


@dataclass(frozen=True)
class Separators:
    """The minimum separator next to the sources, the weight of all, and the steps to the last."""

    first: tuple[int, ...]
    weight: int
    steps: tuple[Step, ...]


def separators(
    weights: Sequence[int],
    edges: Iterable[tuple[int, int]],
    sources: Sequence[int],
    sinks: Sequence[int],
) -> Separators:
    """The minimum separators between `sources` and `sinks`, which may be part of them.

    Node v has the weight `weights[v] >= 0`. Of the steps that could come next, the one in which
    the smallest node enters comes first.
    """
    # what the residual graph reaches from the source is the smallest minimum cut; each component
    # that joins it, behind all that it leads to, makes the next one
    network = _Network(weights, edges, sources, sinks)
    weight = network.saturate()
    inside = network.reachable(network.source)
    first = tuple(v for v in range(len(weights)) if _separates(v, inside))
    steps: list[Step] = []
    for group in network.groups(inside):
        # only a node with an end in the group can enter or leave the separator
        touched = sorted({end // 2 for end in group})
        leave = tuple(v for v in touched if _separates(v, inside))
        inside |= group
        enter = tuple(v for v in touched if _separates(v, inside))
        if leave or enter:
            steps.append(Step(leave, enter))
    return Separators(first, weight, tuple(steps))


def _separates(v: int, inside: set[int]) -> bool:
    """True if the edge of a node crosses the cut: its in-end is inside, its out-end is not."""
    return 2 * v in inside and 2 * v + 1 not in inside


class _Network:
    """Node v is the ends `2 v` (in) and `2 v + 1` (out); edge e and its reverse are e and e ^ 1."""

    def __init__(
        self,
        weights: Sequence[int],
        edges: Iterable[tuple[int, int]],
        sources: Sequence[int],
        sinks: Sequence[int],
    ):
        self.source, self.sink = 2 * len(weights), 2 * len(weights) + 1
        self.leaving: list[list[int]] = [[] for _ in range(2 * len(weights) + 2)]
        self.target: list[int] = []
        self.residual: list[int] = []
        infinite = sum(weights) + 1
        for v, weight in enumerate(weights):
            self._add(2 * v, 2 * v + 1, weight)
        for u, v in edges:
            self._add(2 * u + 1, 2 * v, infinite)
        for v in sources:
            self._add(self.source, 2 * v, infinite)
        for v in sinks:
            self._add(2 * v + 1, self.sink, infinite)

    def _add(self, start: int, end: int, capacity: int) -> None:
        for a, b, c in ((start, end, capacity), (end, start, 0)):
            self.leaving[a].append(len(self.target))
            self.target.append(b)
            self.residual.append(c)

    def saturate(self) -> int:
        """Make the flow a largest one, and give it: Dinic's algorithm, V² E steps at most."""
        flow = 0
        while (levels := self._levels())[self.sink] >= 0:
            position = [0] * len(self.leaving)
            while pushed := self._augment(levels, position):
                flow += pushed
        return flow

    def _levels(self) -> list[int]:
        """The distance of every end from the source, -1 where the residual graph has no way."""
        levels = [-1] * len(self.leaving)
        levels[self.source] = 0
        queue = deque([self.source])
        while queue:
            end = queue.popleft()
            for e in self.leaving[end]:
                if self.residual[e] and levels[self.target[e]] < 0:
                    levels[self.target[e]] = levels[end] + 1
                    queue.append(self.target[e])
        return levels

    def _augment(self, levels: list[int], position: list[int]) -> int:
        """Push flow along one shortest way; `position` says which edges are known to be blocked."""
        way: list[int] = []
        end = self.source
        while end != self.sink:
            if position[end] == len(self.leaving[end]):
                # a dead end: go back, and block the edge that led here
                if not way:
                    return 0
                end = self.target[way.pop() ^ 1]
                position[end] += 1
                continue
            e = self.leaving[end][position[end]]
            # only edges that lead one level on: then each way is a shortest one
            if self.residual[e] and levels[self.target[e]] == levels[end] + 1:
                way.append(e)
                end = self.target[e]
            else:
                position[end] += 1
        pushed = min(self.residual[e] for e in way)
        for e in way:
            self.residual[e] -= pushed
            self.residual[e ^ 1] += pushed
        return pushed

    def _next(self, end: int) -> list[int]:
        return [self.target[e] for e in self.leaving[end] if self.residual[e]]

    def reachable(self, start: int) -> set[int]:
        """The ends that the residual graph leads to."""
        found, pending = {start}, [start]
        while pending:
            new = [end for end in self._next(pending.pop()) if end not in found]
            found.update(new)
            pending += new
        return found

    def groups(self, inside: set[int]) -> Iterable[set[int]]:
        """The components behind `inside`, each after those that it leads to; not the sink's."""
        # Kahn's topological order of the components: one is ready when all that it leads to are
        # done, and of those that are ready the one with the smallest node comes first
        components = self._components()
        home = {end: n for n, component in enumerate(components) for end in component}
        before = [
            {home[b] for a in component for b in self._next(a)} - {n}
            for n, component in enumerate(components)
        ]
        users: list[list[int]] = [[] for _ in components]
        for n, needed in enumerate(before):
            for m in needed:
                users[m].append(n)
        missing = [len(needed) for needed in before]
        missing[home[self.sink]] += 1  # never complete
        order = [min((end for end in c if end % 2 == 0), default=min(c)) for c in components]
        ready = [(order[n], n) for n in range(len(components)) if not missing[n]]
        heapq.heapify(ready)
        while ready:
            _, n = heapq.heappop(ready)
            if components[n][0] not in inside:
                yield set(components[n])
            for user in users[n]:
                missing[user] -= 1
                if not missing[user]:
                    heapq.heappush(ready, (order[user], user))

    def _components(self) -> list[list[int]]:
        """The strongly connected components of the residual graph (Tarjan), without recursion."""
        number: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        waiting: set[int] = set()
        found: list[list[int]] = []
        for root in range(len(self.leaving)):
            if root in number:
                continue
            calls = [(root, iter(self._next(root)))]
            number[root] = low[root] = len(number)
            stack.append(root)
            waiting.add(root)
            while calls:
                end, rest = calls[-1]
                for other in rest:
                    if other not in number:
                        number[other] = low[other] = len(number)
                        stack.append(other)
                        waiting.add(other)
                        calls.append((other, iter(self._next(other))))
                        break
                    if other in waiting:
                        low[end] = min(low[end], number[other])
                else:
                    calls.pop()
                    if calls:
                        low[calls[-1][0]] = min(low[calls[-1][0]], low[end])
                    if low[end] == number[end]:
                        found.append(_popped(stack, end))
                        waiting.difference_update(found[-1])
        return found


def _popped(stack: list[int], end: int) -> list[int]:
    """The top of the stack down to `end`, removed."""
    group = [stack.pop()]
    while group[-1] != end:
        group.append(stack.pop())
    return group

"""The order of the steps of a program: nests, and calls of the functions of others.

    r[i] = sum[k](z[i, k])             r                       each step behind all that it reads,
    s[i] = b[i] * 2                    s and w, as streams     else as the program has them
    t[i, k] = s[i]                     t
    w[i] = r[i] + b[i]

A nest stands where its first member does, unless a member reads what is computed later: then as
early as that allows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.equivalence import Member
from tadc.passes.rewriting.programs import reads_of
from tadc.passes.scheduling.nest import Nest

Step = Nest | Member
"""A nest, or a definition that calls the function of an equivalent one."""


def definitions_of(step: Step) -> Sequence[tix.DefineOp]:
    """The definitions that a step computes."""
    return step.members if isinstance(step, Nest) else [step.op]


def in_order(steps: Sequence[Step], members: Sequence[Member]) -> list[Step]:
    """Steps of all members of a program, each behind what it reads and the function that it calls.

    Raises `AssertionError` where steps wait for each other.
    """
    number = {op: n for n, step in enumerate(steps) for op in definitions_of(step)}
    place = {m.op: n for n, m in enumerate(members)}
    made: dict[SSAValue, int] = {op.result: n for op, n in number.items()}
    before = [_needed(step, made, number) - {n} for n, step in enumerate(steps)]
    waiting = [len(needed) for needed in before]
    behind = defaultdict[int, list[int]](list)
    for n, needed in enumerate(before):
        for other in needed:
            behind[other].append(n)
    first = [place[definitions_of(step)[0]] for step in steps]
    ready = [(first[n], n) for n, count in enumerate(waiting) if not count]
    heapify(ready)
    found: list[Step] = []
    while ready:
        _, n = heappop(ready)
        found.append(steps[n])
        for other in behind[n]:
            waiting[other] -= 1
            if not waiting[other]:
                heappush(ready, (first[other], other))
    left = (op.label.data for step in steps if step not in found for op in definitions_of(step))
    assert len(found) == len(steps), f"these wait for each other: {', '.join(left)}"
    return found


def _needed(step: Step, made: dict[SSAValue, int], number: dict[tix.DefineOp, int]) -> set[int]:
    """The numbers of the steps that a step depends on."""
    reads = (r.tensor for op in definitions_of(step) for r in reads_of(op))
    found = {made[tensor] for tensor in reads if tensor in made}
    return found if isinstance(step, Nest) else found | {number[step.first]}

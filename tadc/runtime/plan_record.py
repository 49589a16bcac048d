"""The record of a plan in memory, which `plan_runner` runs: steps, operands and arrays as words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tadc.runtime.arguments import Array
from tadc.runtime.buffer_assignment import BufferAssignment, Tensor
from tadc.runtime.executable import KernelCall, Strides
from tadc.runtime.plan_layout import HELD, RELEASED, SUPERVISED
from tadc.runtime.workspace import Lifetime, pack

MOST_WORK_ON_ONE_THREAD = 50_000
"""Operations of a step below which waking a thread costs more than it saves."""

MOST_WORK_OF_A_PART = 5_000_000
"""Operations of a part: some milliseconds, after which an interrupted call can end."""

PARTS = 64
"""The number of parts of a step: many more than threads, so that a slow one delays little."""

MOST_WORK_WITH_LOCK = 20_000
"""Operations of a call that is over before another thread of Python could use the interpreter."""

LEAST_WORK_TO_SUPERVISE = 400_000_000
"""Operations of a call that somebody may want to interrupt: 1 ms in blocks, 0.2 s in gathers.

Another thread runs such a call: to wake it takes 60 µs, and the caches of its core are cold.
"""

Words = npt.NDArray[np.int64]
BYTES_OF_A_WORD = 8
WORDS_OF_HEADER, WORDS_OF_TENSOR = 9, 4


def address(array: Array) -> int:
    """The address of the first element of a dense array."""
    return array.__array_interface__["data"][0]


class Step(NamedTuple):
    """A call of a kernel over a range of its outermost index, with its operands."""

    code: int
    begin: int
    end: int
    grain: int
    operands: Sequence[tuple[int, int]]
    work: int

    @property
    def grains(self) -> int:
        """The parts that it may be cut into at most."""
        return -(-(self.end - self.begin) // self.grain)

    @property
    def parts(self) -> int:
        """The number of parts: by sizes alone, whoever runs them."""
        if self.work < MOST_WORK_ON_ONE_THREAD:
            return 1
        return max(1, min(self.grains, max(PARTS, self.work // MOST_WORK_OF_A_PART)))

    def turn(self, number: int, of: int) -> Step:
        """One of several turns: a part of about the same length as others."""

        def cut(turns: int) -> int:
            return self.end if turns == of else self.begin + self.grains * turns // of * self.grain

        return self._replace(begin=cut(number), end=cut(number + 1), work=self.work // of)


class Places:
    """The operand of each name: where its word comes from, and what is added."""

    def __init__(
        self,
        assignment: BufferAssignment,
        arguments: Sequence[str],
        results: Sequence[str],
        sizes: Mapping[str, int],
    ):
        outer = 2 + len(arguments)
        owner = {
            assignment.buffer_of[name]: outer + n
            for n, name in enumerate(results)
            if name in assignment.buffer_of
        }
        inner = [n for n in range(len(assignment.buffers)) if n not in owner]
        lives = dict(_lifetimes(assignment))
        offsets, self.workspace = pack([lives[n] for n in inner])
        offset_of = dict(zip(inner, offsets, strict=True))
        self.operand_of = {name: (2 + n, 0) for n, name in enumerate(arguments)}
        for name, n in assignment.buffer_of.items():
            self.operand_of[name] = (owner[n], 0) if n in owner else (1, offset_of[n])
        self._sizes = sizes

    def operands(self, step: KernelCall) -> Iterator[tuple[int, int]]:
        """The operands of a step, one for each parameter; a tensor without elements is nowhere."""
        for name in step.buffers:
            yield self.operand_of.get(name, (0, 0))
        for name in step.sizes:
            yield 0, self._sizes[name]


def _lifetimes(assignment: BufferAssignment) -> Iterator[tuple[int, Lifetime]]:
    """The steps in which each buffer lives."""
    created: dict[int, int] = {}
    for step, change in enumerate(assignment.changes):
        for number in change.released:
            yield number, Lifetime(assignment.buffers[number].nbytes, created.pop(number), step - 1)
        created.update(dict.fromkeys(change.created, step))
    for number, step in created.items():
        yield number, Lifetime(assignment.buffers[number].nbytes, step, len(assignment.changes))


def record(
    steps: Sequence[Step],
    tensors: Sequence[Tensor],
    strides: Strides | None,
    workspace: int,
    team: int,
) -> Words:
    """The words of `Plan` in `plan_code`, and behind them all that it points to.

    Shapes and dtypes of `tensors`, which are the arguments and then the results, are what calls
    compare arrays with; `strides` are those of the arguments where they need not be dense.
    """
    operands = [word for step in steps for pair in step.operands for word in pair]
    firsts = accumulate((len(step.operands) for step in steps), initial=0)
    rows = [
        word
        for step, first in zip(steps, firsts, strict=False)
        for word in (*step[:4], step.parts, first, len(step.operands))
    ]
    given = [*(strides or ()), *[()] * len(tensors)]
    shapes = [n for t, own in zip(tensors, given, strict=False) for n in (*t.shape, *own)]
    lengths = WORDS_OF_HEADER, len(rows), len(operands), WORDS_OF_TENSOR * len(tensors)
    found = np.zeros(sum(lengths) + len(shapes) + 1, np.int64)
    begin = address(found)
    places = [begin + BYTES_OF_A_WORD * n for n in accumulate(lengths)]
    rows_at, operands_at, tensors_at, shapes_at = places
    arrays: list[int] = []
    for t, own in zip(tensors, given, strict=False):
        strides_at = shapes_at + BYTES_OF_A_WORD * len(t.shape)
        arrays += [id(t.dtype), len(t.shape), shapes_at, strides_at if own else 0]
        shapes_at = strides_at + BYTES_OF_A_WORD * len(own)
    most = max((len(step.operands) for step in steps), default=0)
    counts = len(steps), rows_at, operands_at, most, workspace, len(tensors), tensors_at
    words = [*counts, mode(steps), team, *rows, *operands, *arrays, *shapes]
    found[: len(words)] = words
    return found


def mode(steps: Sequence[Step]) -> int:
    """`HELD`, `RELEASED` or `SUPERVISED`, by the work of all steps."""
    work = sum(step.work for step in steps)
    if work < MOST_WORK_WITH_LOCK:
        return HELD
    return RELEASED if work < LEAST_WORK_TO_SUPERVISE else SUPERVISED

"""`unwrap-indices`: tensors that are read around a circle are read along a line.

    y[i in range(100)] = x[(i + 1) % 100] - x[i]

becomes

    y[i in range(100)] = (x[i + 1] if i + 1 < 100 else x[i - 99]) - x[i]

As an index, `(i + 1) % 100` is `i + 1 - 100 q` with `q = (i + 1) // 100`, which is 0 or 1. With a
number for q each read is affine. So vectors load what lies side by side, and all that is there for
boundaries of images serves circles. Windows that wrap around, which read each element many times,

    y[i in range(100)] = sum[k in range(3)](x[(i + k + 99) % 100] * w[k])

read a tensor that goes on beyond both ends of the circle. Then they are windows like others:

    x_around[t in range(102)] = x[t + 99] if t < 1 else (x[t - 1] if t < 101 else x[t - 101])
    y[i in range(100)] = sum[k in range(3)](x_around[i + k] * w[k])

No value changes; definitions that must round identically stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType, Variable
from tadc.passes.analysis.properties import sums_bounded
from tadc.passes.analysis.rounding import is_free, must_round_identically
from tadc.passes.index_sets.paths import Path
from tadc.passes.index_sets.wraps import Wrap, is_at_most, wraps_of
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    copy_definition,
    index_names,
    start_copy,
    type_of,
)

MOST_READS = 64
"""Reads that a definition has then at most: each value of a quotient takes one."""


@dataclass(frozen=True)
class UnwrapIndicesPass(ProgramPass):
    """`unwrap-indices`: without options."""

    name = "unwrap-indices"
    requires = leaves = (sums_bounded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return unwrap_indices(program)


def unwrap_indices(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with reads along lines; itself where nothing wraps around."""
    found = {d: reads for d in program.definitions if (reads := _unwrapped_in(d))}
    if not found:
        return program
    fixed = must_round_identically(program)
    builder, cloner = start_copy(_Unwrapper, program)
    cloner.reads, cloner.copies = {}, {}
    names: dict[SSAValue, str] = {v: name for name, v in program.arguments.items()}
    names |= {d.result: d.label.data for d in program.definitions}
    for op in program.definitions:
        for read, unwrapped in found.get(op, {}).items() if is_free(op, fixed) else ():
            cloner.reads[read] = unwrapped
            around = unwrapped.around
            if around and around not in cloner.copies:
                label = f"{names[around.tensor]}_around"
                cloner.copies[around] = _go_around(builder, cloner, around, label, op.location)
        cloner.values[op.result] = copy_definition(builder, cloner, op)
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    made.derived = program.derived
    return made


# --- which reads ----------------------------------------------------------------------------------


class Turn(NamedTuple):
    """An axis of a copy, of which element t is `(t + low) % m + start` of the tensor."""

    low: int
    length: int
    divisor: int
    start: int


class Around(NamedTuple):
    """A tensor, and for each axis how a copy of it goes around, if it does."""

    tensor: SSAValue
    turns: tuple[Turn | None, ...]


class Unwrapped(NamedTuple):
    """A read without quotients that wrap around."""

    wraps: Sequence[Wrap]
    """The quotients whose values choices are by, if it reads no copy."""
    around: Around | None = None
    """The copy that it reads."""
    place: Sequence[Affine] = ()
    """The element of that."""


def _unwrapped_in(definition: tix.DefineOp) -> Mapping[tix.ReadOp, Unwrapped] | None:
    """The reads of a definition that wrap around; None where they would become too many."""
    reads = [op for op in definition.walk() if isinstance(op, tix.ReadOp)]
    found = {r: made for r in reads if (made := _unwrapped(r, definition))}
    count = sum(prod(len(w.values) for w in found[r].wraps) if r in found else 1 for r in reads)
    return found if definition.view is None and count <= MOST_READS else None


def _unwrapped(read: tix.ReadOp, definition: tix.DefineOp) -> Unwrapped | None:
    """A read that wraps around, without that: of a copy, if elements are read several times as
    indices of reductions move."""
    path = Path.to(read, definition)
    every = list(wraps_of(read, path))
    if not every:
        return None
    wraps = [wrap for wrap in every if len(wrap.values) > 1]
    own = {v for r in path.reductions for v in r.indices}
    moves = any(v in own for wrap in wraps for v in wrap.rest.indices)
    is_whole = read.view is None and all(form.indices for form in read.forms)
    if moves and is_whole and len(path.indices) > len(read.forms):
        fixed: dict[Variable, Affine] = {
            wrap.quotient.result: wrap.whole + wrap.values[0] for wrap in every if wrap not in wraps
        }
        axes = [_turned(form.substitute(fixed), wraps) for form in read.forms]
        turns = tuple(turn for turn, _ in axes)
        if sum(turn is not None for turn in turns) == len(wraps):
            return Unwrapped((), Around(read.tensor, turns), [place for _, place in axes])
    return Unwrapped(every)


def _turned(form: Affine, wraps: Sequence[Wrap]) -> tuple[Turn | None, Affine]:
    """An axis of the copy, and the index of a read along it."""
    for wrap in wraps:
        remainder = wrap.quotient.form - Affine.of(wrap.quotient.result) * wrap.divisor
        start = form - remainder
        if form[wrap.quotient.result] and not start.terms:
            low, length = wrap.span[0], len(wrap.span)
            return Turn(low, length, wrap.divisor, start.constant), wrap.rest - low
    return None, form


# --- the change -----------------------------------------------------------------------------------


class _Unwrapper(Cloner):
    """Copies; reads that wrap around are choices, or reads of copies that go around."""

    reads: dict[tix.ReadOp, Unwrapped]
    copies: dict[Around, SSAValue]

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        found = self.reads.get(op)
        if found is None:
            return super().copy_read(op)
        if found.around:
            return self.builder.read(self.copies[found.around], [*map(self.form, found.place)])
        return self._by_quotients(op, found.wraps)

    def _by_quotients(self, op: tix.ReadOp, wraps: Sequence[Wrap]) -> SSAValue:
        """The read, by the values of these quotients."""
        if not wraps:
            return super().copy_read(op)
        wrap, *others = wraps

        def with_value(e: BodyBuilder, value: int) -> SSAValue:
            inner = self.inner(e)
            inner.indices[wrap.quotient.result] = self.form(wrap.whole) + value
            return inner._by_quotients(op, others)

        return _by_value(self.builder, self.form(wrap.rest), wrap.divisor, wrap.values, with_value)


def _by_value(
    e: BodyBuilder,
    numerator: Affine,
    divisor: int,
    values: range,
    body: Callable[[BodyBuilder, int], SSAValue],
) -> SSAValue:
    """A choice by the value of a quotient, which is one of these."""
    value, *rest = values
    if not rest:
        return body(e, value)
    return e.choose(
        [[is_at_most(numerator, divisor, value)]],
        lambda e, _: body(e, value),
        lambda e, _: _by_value(e, numerator, divisor, values[1:], body),
    )


def _go_around(
    builder: ProgramBuilder,
    cloner: _Unwrapper,
    around: Around,
    label: str,
    location: LocationAttr,
) -> SSAValue:
    """Append the definition of a tensor that goes on beyond the ends of circles."""
    tensor = cloner.value(around.tensor)
    type = type_of(around.tensor)
    pairs = zip(type.shape, around.turns, strict=True)
    shape = [Affine(constant=turn.length) if turn else size for size, turn in pairs]

    def element(e: BodyBuilder, before: Sequence[Affine], rest: Sequence[SSAValue]) -> SSAValue:
        if not rest:
            return e.read(tensor, before)
        (index, *behind), turn = rest, around.turns[len(before)]
        own = Affine.of(index)
        if turn is None:
            return element(e, [*before, own], behind)
        place, m = own + turn.low, turn.divisor
        values = range(turn.low // m, (turn.low + turn.length - 1) // m + 1)

        def turned(e: BodyBuilder, value: int) -> SSAValue:
            return element(e, [*before, place - m * value + turn.start], behind)

        return _by_value(e, place, m, values, turned)

    return builder.define(
        builder.fresh_label(label),
        TensorType.of(shape, tix.ELEMENT_TYPES[type.dtype]),
        index_names(around.tensor),
        location,
        lambda e, own: element(e, [], own),
    )

"""Loops as LLVM IR: rotated, with carried values, and left when the word at `%stop` is not 0.

A test on top leaves a loop without iterations out. Behind it a block of its own leads to the loop:
there LLVM computes vectors that are the same for all iterations.

A loop tests that word between its iterations, unless these are short. A long loop of short ones is
cut into strips: a loop over strips, which tests, is around the loop itself, which stays as simple
as it was, so that LLVM unrolls and vectorises it.

    for s in range(low, high, 65536):                between two strips: return if the word says so
        for k in range(s, min(s + 65536, high)):     no tests

Where no number bounds a loop, it has no strips: in a loop of a few iterations, such as the three
terms of a sum, the one over strips costs a half more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tadc.targets.llvm_code import Body

MOST_ITERATIONS_OF_STRIPS = 1 << 16
"""Iterations of innermost loops that take about a millisecond or less: no test among them."""

MOST_ITERATIONS_OF_SHORT_LOOPS = 1 << 9
"""Iterations of innermost loops after which a test would cost too much; LLVM may unroll these."""

STOPPED = ("stopped:", "  ret void")
"""The block by which loops leave their function."""


@dataclass
class Loop:
    """A rotated loop under construction: `for i in range(low, high, step)` with carried values.

    The lines of the body stand between `open` and `close`. Carried values are phis on top; their
    last values are phis after the loop, reached also when there is no iteration.
    """

    body: Body
    hint: str
    type: str
    index: str
    high: str
    step: str
    carried: Sequence[tuple[str, str]]
    """The type and the name of each carried value."""
    tests: bool = False
    """True to test between two iterations whether to leave the function."""

    def open(self, low: str, initial: Sequence[str]) -> None:
        """Begin the loop at `low`; `initial` are the first carried values."""
        body = self.body
        self.top, self.bottom = body.fresh(f"for.{self.hint}"), body.fresh(f"done.{self.hint}")
        self.before, self.low, self.initial = body.block, low, initial
        some = body.temporary("some", f"icmp slt {self.type} {low}, {self.high}")
        self.ahead = body.fresh(f"enter.{self.hint}")
        body.line(f"br i1 {some}, label %{self.ahead}, label %{self.bottom}")
        body.start_block(self.ahead)
        body.line(f"br label %{self.top}")
        body.start_block(self.top)
        self.first = len(body.lines)
        self.next = f"%{body.fresh(f'{self.hint}.next')}"

    def close(self, yielded: Sequence[str]) -> list[str]:
        """End the loop: carry `yielded` on; returns the phis of what is carried at the end."""
        body, last = self.body, self.body.block
        body.line(f"{self.next} = add nsw {self.type} {self.index}, {self.step}")
        more = body.temporary("more", f"icmp slt {self.type} {self.next}, {self.high}")
        again = body.fresh(f"test.{self.hint}") if self.tests else self.top
        body.line(f"br i1 {more}, label %{again}, label %{self.bottom}")
        if self.tests:
            self._test(again)
        self._phis(body.block, yielded)
        body.start_block(self.bottom)
        return [
            f"phi {type} [ {start}, %{self.before} ], [ {final}, %{last} ]"
            for (type, _), start, final in zip(self.carried, self.initial, yielded, strict=True)
        ]

    def _test(self, label: str) -> None:
        body = self.body
        body.stops = True
        body.start_block(label)
        word = body.temporary("word", "load volatile i64, ptr %stop, align 8")
        stop = body.temporary("is.stop", f"icmp ne i64 {word}, 0")
        body.line(f"br i1 {stop}, label %stopped, label %{self.top}")

    def _phis(self, last: str, yielded: Sequence[str]) -> None:
        heads = zip(
            ((self.type, self.index), *self.carried),
            (self.low, *self.initial),
            (self.next, *yielded),
            strict=True,
        )
        self.body.lines[self.first : self.first] = [
            f"  {name} = phi {type} [ {start}, %{self.ahead} ], [ {again}, %{last} ]"
            for (type, name), start, again in heads
        ]


@dataclass
class StripLoop:
    """A loop in strips, each of so many iterations."""

    inner: Loop
    iterations: int
    outer: Loop = field(init=False)

    def open(self, low: str, initial: Sequence[str]) -> None:
        """Begin both loops, the one over strips at `low`."""
        inner, body = self.inner, self.inner.body
        step = _times(body, inner.step, self.iterations)
        index, *carried = (f"%{body.fresh(f'{n[1:]}.strip')}" for n in self._names())
        types = [type for type, _ in inner.carried]
        self.outer = Loop(
            body,
            f"{inner.hint}.strip",
            inner.type,
            index,
            inner.high,
            step,
            list(zip(types, carried, strict=True)),
            tests=True,
        )
        self.outer.open(low, initial)
        end = body.temporary("strip.end", f"add nsw {inner.type} {index}, {step}")
        minimum = f"call {inner.type} @llvm.smin.{inner.type}"
        inner.high = body.temporary(
            "strip.high", f"{minimum}({inner.type} {end}, {inner.type} {inner.high})"
        )
        inner.open(index, carried)

    def _names(self) -> list[str]:
        return [self.inner.index, *(name for _, name in self.inner.carried)]

    def close(self, yielded: Sequence[str]) -> list[str]:
        """End both loops; returns the phis of what is carried at the end."""
        phis = self.inner.close(yielded)
        names = (name for _, name in self.inner.carried)
        body = self.inner.body
        finals = [body.temporary(f"{n[1:]}.sofar", p) for n, p in zip(names, phis, strict=True)]
        return self.outer.close(finals)


def _times(body: Body, step: str, factor: int) -> str:
    """The product of a step and a number."""
    if step.isdecimal():
        return str(int(step) * factor)
    return body.temporary("strip.step", f"mul nsw i64 {step}, {factor}")


@dataclass(frozen=True)
class Length:
    """The most trips of a loop, and the most innermost iterations of one; None without a bound."""

    trips: int | None
    iteration: int | None

    @property
    def tests(self) -> bool:
        """True if each iteration may be long."""
        return self.iteration is None or self.iteration > MOST_ITERATIONS_OF_SHORT_LOOPS

    @property
    def strip(self) -> int | None:
        """The iterations of a strip; None where all may fit into one, or the loop tests itself."""
        if self.trips is None or self.iteration is None or self.tests:
            return None
        strip = MOST_ITERATIONS_OF_STRIPS // max(1, self.iteration)
        return strip if self.trips > strip else None


def loop_of(
    body: Body,
    index: SSAValue,
    high: str,
    step: str,
    carried: Sequence[SSAValue],
    length: Length,
) -> Loop | StripLoop:
    """A loop over the values of an index, in strips if it may be long."""
    hint = index.name_hint or "i"
    names = [body.name(value) for value in (index, *carried)]
    types = [body.type(value) for value in carried]
    values = list(zip(types, names[1:], strict=True))
    loop = Loop(body, hint, body.type(index), names[0], high, step, values, length.tests)
    return StripLoop(loop, length.strip) if length.strip else loop

"""`Operation`: a program as a framework sees it, and the rules that make operations of it again.

Frameworks ask five things of an operation, and a program answers each with a program:

    shapes without running     result_shapes(shapes)
    numbers                    plan(shapes, precision), addresses in and addresses out
    tangents of some inputs    forward(wrt)
    adjoints of some results   reverse(wrt, of), or split(wrt): values that keep what gradients need
    one more leading axis      batched(which)

So every order of derivation, and every nesting with batching, is one of these again. Arguments are
numbered in the order of the function's.

A pullback that `split` makes takes kept values, which are neither variables nor constants. So it
has a *meaning*: the operation that computes the same from the arguments alone. The pullback is what
runs; its meaning is what is derived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from tadc.function import Function
from tadc.once import Lock, cached_property
from tadc.passes.derive.batch import BatchPass
from tadc.program import Program, Tensor
from tadc.runtime.value_and_gradients import Pullbacks

if TYPE_CHECKING:
    from tadc.runtime.native_plan import NativePlan
    from tadc.runtime.value_and_gradients import ValueAndGradients

Shape = Sequence[Any]
"""Integers, or symbolic ones of a framework."""

Numbers = tuple[int, ...]
T = TypeVar("T")


class Derived(NamedTuple):
    """An operation that derives another one: from some of its arguments, and then seeds.

    Seeds are the tangents of arguments, or the adjoints of results, that were asked for.
    """

    operation: Operation
    inputs: Numbers
    """The arguments of the other operation that it begins with."""
    wrt: Numbers
    """The arguments, of those that were asked for, by which there is a derivative."""


class Meaning(NamedTuple):
    """An operation that computes what a pullback does, of the arguments `own` of the pullback."""

    operation: Operation
    own: Numbers

    def derived(
        self, wrt: Numbers, rule: Callable[[Operation, Numbers], Derived | None]
    ) -> Derived | None:
        """Its derivative by a rule, for the arguments `wrt` of the pullback."""
        among = tuple(self.own.index(n) for n in wrt if n in self.own)
        found = rule(self.operation, among) if among else None
        return found and Derived(
            found.operation,
            tuple(self.own[n] for n in found.inputs),
            tuple(self.own[n] for n in found.wrt),
        )


class Batched(NamedTuple):
    """An operation with one more leading axis in some arguments, and in what depends on them."""

    operation: Operation
    arguments: tuple[bool, ...]
    """True for each argument that has it: more than were asked for where updates need them."""
    results: tuple[bool, ...]


class Operation:
    """A program as an operation of a framework, on whose CPU it runs.

    Equal programs are one operation, as `Operation.of` makes them. Safe to call from several
    threads. Rules take as long as deriving a program, and are remembered.
    """

    def __init__(self, function: Function, meaning: Meaning | None = None):
        self.function = function
        self.names = [t.name for t in function.args]
        self._meaning = meaning
        self._made: dict[object, Any] = {}

    @staticmethod
    def of(function: Function) -> Operation:
        """The operation of a function."""
        return _once_each(function.with_target("cpu"), None)

    # --- what it is ---

    @cached_property
    def pullbacks(self) -> Pullbacks:
        """The program cut in two, for gradients by any arguments."""
        return Pullbacks(self.function.runner)

    @property
    def key(self) -> str:
        """The hash of the program: the same one in every process, another for another program."""
        return self.function.program.key

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __repr__(self) -> str:
        """Its formulas in one line, without declarations: for the listings of frameworks."""
        lines = str(self.function).splitlines()
        declared = tuple(f"{name}: " for name in self.names)
        return "; ".join(line for line in lines if not line.startswith(declared))

    def __reduce__(self) -> tuple[Any, ...]:
        if self._meaning:
            raise TypeError("a pullback is made by the operation that it belongs to")
        return Operation.of, (self.function,)

    @cached_property
    def unread(self) -> frozenset[int]:
        """Arguments of which the program reads no element, only the shape.

        Frameworks need not keep them. One that decides the precision of results is none of them,
        nor is one of a pullback that its meaning reads: its derivatives take that.
        """
        read, args = self.function.program.summary.read, self.function.args
        unread = {n for n, t in enumerate(args) if t.name not in read}
        if self._meaning:
            operation, own = self._meaning
            unread -= {n for k, n in enumerate(own) if k not in operation.unread}
        free = [n for n, t in enumerate(args) if t.dtype == "real"]
        return frozenset(unread - set(free[-1:]) if unread.issuperset(free) else unread)

    @property
    def is_pullback(self) -> bool:
        """True for the second part of a `Split`, which has a meaning."""
        return self._meaning is not None

    def precision(self, dtypes: Sequence[str | None]) -> str:
        """`f32` or `f64` for tensors of undeclared precision: that of the widest among them.

        `dtypes` are those of the arguments, None for what has none: numbers, and shapes alone.
        """
        pairs = zip(self.function.args, dtypes, strict=True)
        free = {dtype for t, dtype in pairs if t.dtype == "real" and dtype is not None}
        return "f32" if free == {"f32"} else "f64"

    def result_dtypes(self, precision: str) -> list[str]:
        """`f32` or `f64` for each result."""
        return [precision if t.dtype == "real" else t.dtype for t in self.function.results]

    def result_shapes(self, shapes: Sequence[Shape]) -> list[tuple[Any, ...]]:
        """The shapes of the results; see `Function.result_shapes`."""
        return self.function.result_shapes(shapes)

    def plan(self, shapes: Sequence[Sequence[int]], precision: str) -> NativePlan:
        """The machine code for arguments of these shapes; see `Function.plan`.

        The addresses of `unread` arguments may be 0.
        """
        return self.function.plan(shapes, precision)

    # --- rules ---

    def forward(self, wrt: Numbers) -> Derived | None:
        """The tangents of all results, given those of the arguments `wrt`; None where they are 0.

        Those of kept values say nothing new: a pullback has a tangent by what its meaning takes.
        """
        if self._meaning:
            return self._meaning.derived(wrt, lambda operation, own: operation.forward(own))
        return self._derived("forward", wrt, lambda names: self.function.forward(*names))

    def reverse(self, wrt: Numbers, of: Numbers) -> Derived | None:
        """The gradients by the arguments `wrt`, given the adjoints of the results `of` alone.

        None where they are 0: kept values have none.
        """
        if self._meaning:
            return self._meaning.derived(wrt, lambda operation, own: operation.reverse(own, of))
        results = [self.function.results[n].name for n in of]
        return self._derived(
            ("reverse", of), wrt, lambda names: self.function.derivative(*names, of=results)
        )

    def _derived(
        self, rule: object, wrt: Numbers, derive: Callable[[Sequence[str]], Function]
    ) -> Derived:
        def make() -> Derived:
            operation = Operation.of(derive([self.names[n] for n in wrt]))
            return Derived(operation, tuple(range(len(self.names))), wrt)

        return self._once((rule, wrt), make)

    def split(self, wrt: Numbers, shapes: Sequence[Sequence[int]] | None = None) -> Split:
        """The values with what gradients by `wrt` need of them, and these gradients given that.

        Not for pullbacks: kept values have no gradients.

        With shapes, the parts that `tadc.vjp` has for arguments of these shapes; they may keep less
        than those for all sizes.
        """
        if self._meaning:
            raise TypeError("a pullback is derived as a whole")
        names = tuple(self.names[n] for n in wrt)
        if shapes is None:
            both = self.pullbacks.of(names)
        else:
            both = self.pullbacks.of_shapes(names, tuple(map(tuple, shapes)))
        return self._once(("split", wrt, both), lambda: Split(self, wrt, both))

    def batched(self, which: Numbers) -> Batched:
        """The operation for several values of the arguments `which` at once."""
        return self._once(("batched", which), lambda: self._batched(which))

    def _batched(self, which: Numbers) -> Batched:
        if self._meaning is None:
            program = self._batch(which)
            return Batched(_of(program), *_batched_tensors(self.function.program, program))
        meaning, own = self._meaning
        if not any(n in own for n in which):
            which = tuple(range(len(self.names)))
        # both have every result batched, so that each may stand for the other
        everything = tuple(t.name for t in self.function.results)
        program = self._batch(which, everything)
        arguments, results = _batched_tensors(self.function.program, program)
        also = tuple(k for k, n in enumerate(own) if arguments[n])
        like = meaning._batch(also, tuple(t.name for t in meaning.function.results))
        if _batched_tensors(meaning.function.program, like)[0] != tuple(arguments[n] for n in own):
            raise AssertionError("a pullback and its meaning are batched differently")
        return Batched(_of(program, Meaning(_of(like), own)), arguments, results)

    def _batch(self, which: Numbers, results: tuple[str, ...] = ()) -> Program:
        names = tuple(self.names[n] for n in which)
        (program,) = self.function.program.derive([BatchPass(names, results)])
        return program

    def _once(self, key: object, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made.setdefault(key, make())
        return self._made[key]


class Split:
    """An operation cut in two, for gradients by the arguments `wrt`.

        value       arguments                             ->  results, and some values to keep
        pullback    arguments, kept values, adjoints      ->  gradients

    What is kept may be among the results.
    """

    def __init__(self, whole: Operation, wrt: Numbers, both: ValueAndGradients):
        self.value = _of(both.value.program)
        labels = both.value.program.result_labels
        self.kept: Numbers = tuple(labels.index(label) for label in both.saved)
        """The results of `value` that the pullback takes."""
        count, results = len(whole.names), tuple(range(len(whole.function.results)))
        first = count + len(self.kept)
        own = (*range(count), *(first + n for n in results))
        derivative = whole.reverse(wrt, results)
        assert derivative, "an operation without meaning has all derivatives"
        self.pullback = _of(both.gradients.program, Meaning(derivative.operation, own))


# --- one operation for each program ---

_operations: WeakValueDictionary[str, Operation] = WeakValueDictionary()
_lock = Lock()


def _of(program: Program, meaning: Meaning | None = None) -> Operation:
    return _once_each(Function(program, "cpu"), meaning)


def _once_each(function: Function, meaning: Meaning | None) -> Operation:
    """The operation of a function. The key of a pullback says of what it was made: so it means one
    thing."""
    with _lock:
        found = _operations.get(function.program.key)
        if found is None:
            found = _operations[function.program.key] = Operation(function, meaning)
        return found


def _batched_tensors(
    program: Program, batched: Program
) -> tuple[tuple[bool, ...], tuple[bool, ...]]:
    """The arguments and the results of a program that have one more axis when it is batched."""

    def longer(old: Sequence[Tensor], new: Sequence[Tensor]) -> tuple[bool, ...]:
        pairs = zip(old, new, strict=True)
        return tuple(len(b.shape) > len(a.shape) for a, b in pairs)

    return longer(program.args, batched.args), longer(program.results, batched.results)

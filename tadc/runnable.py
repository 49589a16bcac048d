"""`Runnable`: a compiled program that is called; what runs is imported with the first call.

So deriving and looking at a program need no NumPy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tadc.errors import TadcError
from tadc.once import cached_property
from tadc.program import Program, Tensor, recursing
from tadc.runtime.compiled import Compiled
from tadc.runtime.results import named as named_values
from tadc.sizes import NUMBERS, Integers, Size
from tadc.support.entries import entry, outside

if TYPE_CHECKING:
    from tadc.runtime.memory import Memory, PullbackMemory
    from tadc.runtime.native_plan import NativePlan
    from tadc.runtime.results import Results
    from tadc.runtime.runner import Runner
    from tadc.runtime.value_and_gradients import Pullbacks, ValueAndGradients


class Runnable:
    """A program on a target, called with arrays; see `tadc.function.Function`."""

    def __init__(self, program: Program, target: str):
        self.program = program
        self.target = target
        self.compiled = Compiled(program, target)

    @property
    def args(self) -> tuple[Tensor, ...]:
        """The arguments in order, each with name, dtype and shape."""
        return self.program.args

    @property
    def results(self) -> tuple[Tensor, ...]:
        """The results in order, each with name, dtype and shape."""
        return self.program.results

    @cached_property
    def runner(self) -> Runner:
        """The program ready for calls, with what they keep for later ones."""
        from tadc.runtime.inspected import runner_of

        return runner_of(self.program, self.target)

    def __call__(self, *positional: Any, out: Any = None, **named: Any) -> Results:
        """The result or results; with `out`, an array or a tuple of arrays, in these.

        They have the shapes and dtypes of the results, and may overlap arguments.
        """
        try:  # as `entry` does it, in less time
            return one_or_named(self.results, self.runner.call(positional, named, out))
        except TadcError as error:
            raise outside(error) from error.__cause__

    def call(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The results as a list, also where there is one."""
        return self.runner.call(positional, named)

    @entry
    def memory(self, *positional: Any, **named: Any) -> Memory:
        """Bytes that a call with these arguments allocates at its worst moment; it is not run."""
        from tadc.runtime.memory import memory_of

        return memory_of(self.runner, positional, named)

    @entry
    def result_shapes(
        self, shapes: Sequence[Sequence[Size]], integers: Integers = NUMBERS, **sizes: Size
    ) -> list[tuple[Size, ...]]:
        """The shapes of the results for arguments of these shapes, each in order.

        Size arguments are given by name, as in calls: `f.result_shapes([(5,), (5,)], B=3)`.

        Nothing is compiled or run. With `integers` of a framework that traces programs for any
        sizes dimensions may be symbolic: see `tadc.sizes`. Raises `SizeError` for sizes that do
        not fit, `ArgumentError` for ranks, and `RangeError` where the program would read outside of
        a tensor; where sizes are symbolic, the call that runs the program does.
        """
        return self.compiled.result_shapes(self._with_sizes(shapes, sizes), integers)

    @entry
    def plan(
        self, shapes: Sequence[Sequence[int]], precision: str = "f64", **sizes: int
    ) -> NativePlan:
        """This program for arguments of these shapes, as one call of machine code on addresses.

        See `NativePlan`. Tensors of undeclared precision are `precision`, f32 or f64. Raises
        `SizeError` for shapes that do not fit, `TargetError` where the target is not `cpu`.
        """
        from tadc.runtime.runner import native_plan

        return native_plan(self.runner, self._with_sizes(shapes, sizes), precision)

    def _with_sizes(
        self, shapes: Sequence[Sequence[Size]], sizes: Mapping[str, Size]
    ) -> Sequence[Sequence[Size]]:
        """The shapes of all arguments, where those that are sizes may be given by name."""
        if not sizes:
            return shapes
        given, found = iter(shapes), list[Sequence[Size]]()
        for t in self.args:
            if t.name in sizes and t.dtype == "size":
                found.append((sizes[t.name],))
            elif (shape := next(given, None)) is not None:
                found.append(shape)
        return [*found, *given]

    @entry
    def pullback_memory(self, *positional: Any, **named: Any) -> PullbackMemory:
        """Bytes that `tadc.vjp` allocates, that its pullback does, and that are kept between."""
        from tadc.runtime.memory import pullback_memory_of

        return pullback_memory_of(self.pullback_of(positional, named), positional, named)

    # --- a value and its gradients ---

    @cached_property
    def _pullbacks(self) -> Pullbacks:
        from tadc.runtime.value_and_gradients import Pullbacks

        return Pullbacks(self.runner)

    @entry
    @recursing
    def with_pullback(self, *wrt: str) -> ValueAndGradients:
        """The program cut in two: its results, and its gradients by arguments, by default all."""
        self.program.check_arguments(wrt)
        return self._pullbacks.of(wrt)

    @recursing
    def pullback_of(
        self, positional: Sequence[Any], named: Mapping[str, Any], wrt: Sequence[str] = ()
    ) -> ValueAndGradients:
        """The program cut in two for calls like this one, whose sizes may be numbers in it."""
        self.program.check_arguments(wrt)
        return self._pullbacks.of_call(wrt, positional, named)


def one_or_named(tensors: Sequence[Tensor], values: Sequence[Any]) -> Any:
    """The only value, or a tuple of several named like `tensors`."""
    return values[0] if len(values) == 1 else named_values([t.name for t in tensors], values)

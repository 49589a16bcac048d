"""`ValueAndGradients`: a program cut in two, its value and, given what that saved, its gradients.

    value       arguments                       ->  results, saved tensors
    gradients   arguments, saved, adjoints      ->  gradients

`passes/derive/split_pullback.py` makes the cut. A tensor is saved under its label; one that is a
result, too, is returned once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.passes import ModulePass

from tadc.once import Once
from tadc.program import Program, Tensor, recursing
from tadc.runtime.arguments import Array
from tadc.runtime.buffer_pool import FEWEST_BYTES_LEASED, pool
from tadc.runtime.inspected import runner_of
from tadc.runtime.plan_record import address
from tadc.runtime.runner import Runner
from tadc.runtime.size_class import is_long, short_sizes
from tadc.runtime.targets import executable_class
from tadc.runtime.team import team
from tadc.support.recent import Recent


class ValueAndGradients:
    """Both parts of a program with `results` results, and which argument of the second is what."""

    def __init__(self, value: Runner, gradients: Runner, results: int):
        self.value = value
        self.gradients = gradients
        labels = value.program.result_labels
        self.result_labels = labels[:results]
        arguments, given = len(value.program.args), gradients.program.args
        self.saved: Sequence[str] = [t.name for t in given[arguments : len(given) - results]]
        self.adjoints: Sequence[Tensor] = given[len(given) - results :]
        read = gradients.program.summary.read
        self.reread: Sequence[int] = [n for n, t in enumerate(given[:arguments]) if t.name in read]
        """The numbers of the arguments that the gradients read again."""
        self._places = [labels.index(label) for label in self.saved]
        self._results = results

    def saved_of(self, computed: Sequence[Any]) -> list[Any]:
        """Of all that the value computed, the tensors that the gradients take, in their order.

        Results are copied: they are the user's, who may change them.
        """
        return [_copy(computed[n]) if n < self._results else computed[n] for n in self._places]


def _copy(array: Array) -> Array:
    """A copy of a dense array: of a large one by all threads, in memory of the pool."""
    if array.nbytes < FEWEST_BYTES_LEASED or not team.is_loaded:  # as of what is interpreted
        return array.copy()
    made = pool.empty(array.shape, array.dtype)
    team.copy(address(made), address(array), array.nbytes)
    return made


MOST_SHAPES = 1024
"""The number of shapes of arguments for which the parts are remembered."""


class Pullbacks:
    """The two parts of a program, for each choice of arguments to derive by.

    Long calls have parts of their own, in which short sizes are numbers: then gradients compute
    again what takes longer to store. What a call gets depends on its sizes alone.
    """

    def __init__(self, runner: Runner):
        self._runner = runner
        self.program = runner.program
        self._made: Once[object, ValueAndGradients] = Once()
        self._by_shapes: Recent[object, ValueAndGradients] = Recent(MOST_SHAPES)
        self._is_fixed = all(isinstance(n, int) for t in self.program.args for n in t.shape)

    @recursing
    def of(self, wrt: Sequence[str]) -> ValueAndGradients:
        """The parts for calls of any sizes."""
        return self._parts(tuple(wrt), {}, False)

    def of_call(
        self, wrt: Sequence[str], positional: Sequence[Any], named: Mapping[str, Any]
    ) -> ValueAndGradients:
        """The parts for calls like this one."""
        if self._is_fixed:
            return self._parts(tuple(wrt), {}, is_long(self.program.summary, {}))
        arrays = self._runner.in_order(positional, named)
        if not all(type(a) is np.ndarray for a in arrays) or not arrays:
            sizes = self._runner.sizes(positional, named)
            return self._parts_of(tuple(wrt), sizes)
        return self.of_shapes(tuple(wrt), tuple(a.shape for a in arrays))

    @recursing
    def of_shapes(
        self, wrt: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]
    ) -> ValueAndGradients:
        """The parts for arguments of these shapes, in the order of the program's."""
        key = wrt, shapes
        found = self._by_shapes.get(key)
        if found is None:
            sizes = self._runner.sizes_of(shapes)
            found = self._parts_of(wrt, sizes)
            self._by_shapes.put(key, found)
        return found

    def _parts_of(self, wrt: tuple[str, ...], sizes: Mapping[str, int]) -> ValueAndGradients:
        """The parts for calls of such sizes."""
        summary = self.program.summary
        return self._parts(wrt, short_sizes(summary, sizes), is_long(summary, sizes))

    def _parts(
        self, wrt: tuple[str, ...], numbers: Mapping[str, int], long: bool
    ) -> ValueAndGradients:
        key = wrt, long, *numbers.items()

        def make() -> ValueAndGradients:
            program = self.program.specialised(numbers) if numbers else self.program
            return _in_two(program, self._runner.target, wrt, long)

        return self._made.of(key, make)


def _in_two(program: Program, target: str, wrt: Sequence[str], long: bool) -> ValueAndGradients:
    expect = executable_class(target).expect

    def passes() -> Sequence[ModulePass]:
        # here, for programs from the disk need none of all the passes
        from tadc.passes.derive.differentiation.names import adjoint_names
        from tadc.passes.pipeline import pullback_passes

        return pullback_passes(adjoint_names(program.op), wrt, recompute=long).passes

    def begin() -> object:
        return expect(1 + len(wrt or program.args), long)

    parts = program.derive(passes, begin, ("pullback", wrt, long))
    value, gradients = (runner_of(part, target) for part in parts)
    return ValueAndGradients(value, gradients, len(program.results))

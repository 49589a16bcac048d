"""The pullback of a call: gradients for adjoints of the results, and what observers see on the way.

A program is cut in two (`passes/derive/split_pullback.py`): its values with what gradients need of
them, computed at once, and the gradients from that, computed whenever the pullback is called.
Adjoints that are observed come from a program of their own, made when they are first asked for: a
pullback without observers does nothing for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tadc.errors import ArgumentError, unknown_name
from tadc.function import Function
from tadc.runtime.arguments import Array
from tadc.runtime.value_and_gradients import ValueAndGradients
from tadc.support.entries import entry

Observers = Mapping[str, Callable[[Array], object]] | Callable[[str, Array], object]
"""Functions to call with the adjoint of the tensor of each name, or one for all names."""


class Pullback:
    """`da, db = pullback(dy)`: the gradients of a function at the arguments of one call.

    Takes one adjoint per result, in the shape of the result, in order or by name (`dy=...`), and
    gives a tuple of one gradient per argument asked for. Raises `ArgumentError` where an argument
    that gradients read has changed since, as far as a sample of its elements shows.

    `pullback(dy, observe={"h": look})` also calls `look(adjoint)` with the adjoint of the tensor
    `h` that the program defines: an array in the shape of `h`, of zeros where no result depends on
    it. Versions of an updated `p` are `p_1`, `p_2`, ... in the order of the lines.
    `observe=look` calls `look(name, adjoint)` for all of them. Calls come last definition first, as
    adjoints do. Observers see and change nothing. A pullback that is observed computes the values
    again.
    """

    def __init__(
        self,
        function: Function,
        both: ValueAndGradients,
        inputs: Sequence[Any],
        saved: Sequence[Any],
        wrt: Sequence[str],
    ):
        self._function = function
        self._both = both
        self._inputs = inputs
        self._samples = [(n, _sample(inputs[n])) for n in both.reread]
        self._saved = saved
        self._wrt = wrt

    @entry
    def __call__(
        self, *adjoints: Any, observe: Observers | None = None, **named: Any
    ) -> tuple[Array, ...]:
        if named or len(adjoints) != len(self._both.adjoints):
            adjoints = self._in_order(adjoints, named)
        for number, sample in self._samples:
            if _sample(self._inputs[number]) != sample:
                name = self._function.args[number].name
                raise ArgumentError(
                    f"the argument {name} has changed since its value was computed",
                    hint=f"the pullback reads it again: pass {name}.copy() where it must change",
                    argument=name,
                )
        if observe is not None:
            return self._observed(adjoints, observe)
        return tuple(self._both.gradients.call([*self._inputs, *self._saved, *adjoints], {}))

    def _in_order(self, adjoints: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
        names = [t.name for t in self._both.adjoints]
        for name in named:
            if name not in names:
                raise unknown_name("adjoint", name, names)
        rest = names[len(adjoints) :]
        if len(adjoints) + len(named) != len(names) or any(name not in named for name in rest):
            many = "1 adjoint" if len(names) == 1 else f"{len(names)} adjoints"
            hint = f"one for each result; here are {len(adjoints) + len(named)}"
            raise ArgumentError(f"the pullback takes {many}: {', '.join(names)}", hint=hint)
        return *adjoints, *(named[name] for name in rest)

    def _observed(self, adjoints: Sequence[Any], observe: Observers) -> tuple[Any, ...]:
        f = self._function
        known = f.program.definition_labels[::-1]
        names = known
        if not callable(observe):
            # those that do not exist first, for the derivative to refuse them
            names = sorted(observe, key=lambda name: known.index(name) if name in known else -1)
        derivative = f.derivative(*self._wrt, observe=names)
        computed = derivative.call([*self._inputs, *adjoints], {})
        first = len(computed) - len(names)
        for name, adjoint in zip(names, computed[first:], strict=True):
            if callable(observe):
                observe(name, adjoint)
            else:
                observe[name](adjoint)
        return tuple(computed[:first])


MOST_SAMPLED_ELEMENTS = 100
"""Of an argument are kept to notice that it changes: all of a small one, of others some apart.

Each of these is a line that no cache may have: 512 took 60 µs, twice in a call."""


def _sample(value: Any) -> bytes:
    """The bytes of some elements of an array, spread evenly; of other values, nothing."""
    if not isinstance(value, np.ndarray):
        return b""
    array = cast(Array, value)
    if array.size <= MOST_SAMPLED_ELEMENTS:
        return array.tobytes()
    most = (
        MOST_SAMPLED_ELEMENTS if array.ndim < 2 else int(MOST_SAMPLED_ELEMENTS ** (1 / array.ndim))
    )
    return array[tuple(slice(None, None, -(-n // most) or 1) for n in array.shape)].tobytes()


def pull_back(
    function: Function, wrt: Sequence[str], positional: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Any], Pullback]:
    """The results of a call, and its pullback."""
    both = function.pullback_of(positional, named, wrt)
    inputs = both.value.bind(positional, named)
    computed = both.value.call(inputs, {})
    results = computed[: len(function.results)]
    return results, Pullback(function, both, inputs, both.saved_of(computed), wrt)

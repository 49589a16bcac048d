"""`Eager`: calls on plain tensors, for which PyTorch's dispatcher would only find the kernel.

Most calls are like the one before: tensors of the same kind, and no mode or transform at work. A
guard, as `torch.compile` has them, tells so in a fifth of a microsecond. The dispatcher takes
several, as it goes from machine code to Python and back for each key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.support.recent import Recent
from tadc.torch import private
from tadc.torch.autograd import Rule, rule_of
from tadc.torch.kernel import MOST_READY
from tadc.torch.layout import Results, Shape, Value, shape_of
from tadc.torch.operator import Operator
from tadc.torch.package import Tensor, torch

_is_beyond_guards = private.is_beyond_guards
_is_grad_enabled: Callable[[], bool] = torch.is_grad_enabled


class Eager:
    """Runs an operator on plain tensors. Safe to call from several threads."""

    def __init__(self, operator: Operator):
        self._operator = operator
        self._calls: Recent[object, EagerCall] = Recent(MOST_READY)
        self._last: EagerCall | None = None

    def again(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results | None:
        """The results, if this call is like the last one."""
        last = self._last
        if last is None or _is_beyond_guards(tensors):
            return None
        if not last.matches(*tensors) or last.shapes != shapes:
            return None
        if last.rule is None or not _is_grad_enabled():
            return last.ready(tensors)
        found = last.apply(*tensors)
        return (found,) if last.is_single else found

    def __call__(self, tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results | None:
        """The results, if the tensors are plain and nothing is at work."""
        if not tensors or not private.is_plain(tensors):
            return None
        kinds = [(t.shape, t.dtype, t.stride(), t.requires_grad) for t in tensors]
        key = (*map(tuple, shapes), *kinds)
        call = self._calls.get(key)
        if call is None or not call.matches(*tensors):  # as under autocast, or a parameter
            call = EagerCall(self._operator, tensors, shapes)
            self._calls.put(key, call)
        self._last = call
        return self.again(tensors, shapes)


class EagerCall:
    """A call on plain tensors of a kind, with all that can be found out before it runs."""

    def __init__(self, operator: Operator, tensors: Sequence[Tensor], shapes: Sequence[Shape]):
        self.matches = private.guard(tensors).check
        """Tells whether other tensors are of that kind, and in no mode or transform."""
        self.shapes = shapes
        values = operator.layout.values(tensors, shapes)
        every = [tuple(shape_of(value)) for value in values]
        self.ready = operator.kernel.ready(tensors, shapes).__call__
        """The function that runs where no gradients are wanted."""
        self.rule: Rule | None = None
        pairs = zip(operator.layout.read, tensors, strict=True)
        wrt = tuple(n for n, t in pairs if t.requires_grad and n in operator.derivable)
        if wrt:
            self.rule = rule_of(operator, wrt, every)
            self.is_single = operator.count == 1
            value = _value_of(operator, self.rule.value, values)
            self.apply = private.apply_of(_node(self.rule, value, every))


def _value_of(
    operator: Operator, value: Operator, values: Sequence[Value]
) -> Callable[[Sequence[Tensor]], Results]:
    """The function that runs in place of an operator, which may read fewer of its tensors."""
    ready = value.kernel.ready(*value.layout.parts(values)).__call__
    if value.layout == operator.layout:
        return ready
    places = [operator.layout.read.index(n) for n in value.layout.read]
    return lambda tensors: ready([tensors[k] for k in places])


def _node(
    rule: Rule, value: Callable[[Sequence[Tensor]], Results], shapes: Sequence[Shape]
) -> type[Any]:
    """The node of PyTorch's graph for calls of one kind: a class that knows the call.

    One class for all would have to be told, and keep, which call it is: 7 % of a small call's time.
    """

    def forward(ctx: Any, *tensors: Tensor) -> Any:
        return rule.keep(ctx, tensors, value(tensors))

    def simple(ctx: Any, *tensors: Tensor) -> Any:  # as `keep` does, in less time
        ctx.save_for_backward(*tensors)
        return value(tensors)[0]

    def backward(ctx: Any, *adjoints: Tensor | None) -> Any:
        return tuple(rule.gradients(ctx, shapes, adjoints))

    is_simple = rule.operator.count == 1 and rule.saves_all
    rules = {"forward": simple if is_simple else forward, "backward": backward}
    methods = {name: staticmethod(f) for name, f in rules.items()}
    return type("EagerNode", (torch.autograd.Function,), methods)

"""Gradients and tangents of operators: a node of PyTorch's graph whose rules call operators again.

`torch.library.register_autograd` has no forward mode and is refused by `torch.func.grad`; so the
kernel of the key `Autograd` is our own, and makes the node for the layer that the dispatcher has
come to. It is called by every layer of `torch.func`, and traced by `torch.compile`.

Where gradients are wanted, the operator that runs also returns what they need of its values, and
the pullback takes that (`Split`). The pullback in turn is derived by what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tadc.frameworks.operation import Numbers, Split
from tadc.torch import private
from tadc.torch.layout import Layout, Results, Shape, is_symbolic, shape_of
from tadc.torch.operator import Operator
from tadc.torch.package import Tensor, torch


class Rule:
    """A way to derive an operator by the arguments `wrt`: what runs, what is kept, what comes back.

    With a split, its value runs in place of the operator itself, and gradients are its pullback.
    """

    def __init__(self, operator: Operator, wrt: Numbers, split: Split | None):
        self.operator = operator
        self.wrt = wrt
        self._read = operator.layout.read
        self._count = operator.count
        self.value = operator.like(split.value) if split else operator
        self._kept: Numbers = split.kept if split else ()
        self._pullback = operator.like(split.pullback) if split else None
        saved = self._pullback.layout.read if self._pullback else self._read if wrt else ()
        self._saved = [k for k, n in enumerate(self._read) if n in saved]
        """The tensors of which gradients of any order read elements."""
        self.saves_all = len(self._saved) == len(self._read) and not self._kept
        if self._pullback:
            self._inputs = self._places(self._pullback.layout)
            self._shapes = self._pullback.layout.unread

    def _places(self, layout: Layout) -> list[int]:
        """Places of the tensors of a pullback, among what is saved and the adjoints behind it."""
        count = len(self.operator.operation.names)
        saved = {self._read[k]: place for place, k in enumerate(self._saved)}
        return [saved[n] if n < count else n - count + len(saved) for n in layout.read]

    def keep(self, ctx: Any, tensors: Sequence[Tensor], computed: Results) -> Any:
        """Keep in a node what gradients need; answers with the results, as a node does."""
        if self.saves_all:
            ctx.save_for_backward(*tensors)
        else:
            kept = [computed[n] for n in self._kept]
            ctx.save_for_backward(*[tensors[k] for k in self._saved], *kept)
        if self._count == 1:
            return computed[0]
        ctx.set_materialize_grads(False)
        ctx.results = [(r.shape, r.dtype) for r in computed[: self._count]]
        return tuple(computed[: self._count])

    def gradients(
        self, ctx: Any, shapes: Sequence[Shape], adjoints: Sequence[Tensor | None]
    ) -> Sequence[Any]:
        """A gradient or None for each tensor, given the shapes of all arguments.

        Results without adjoint have None.
        """
        saved = ctx.saved_tensors
        given = [a for a in adjoints if a is not None]
        if self._pullback and len(given) == len(adjoints):
            both = [*saved, *given]
            own: tuple[Shape, ...] = ()
            if self._shapes:
                behind = both[len(self._saved) :]  # what is kept, and the adjoints
                every = [*shapes, *[a.shape for a in behind]]
                own = tuple([every[n] for n in self._shapes])
            found = self._pullback.run([both[k] for k in self._inputs], own)
            return found if self.wrt == self._read else self._in_places(self.wrt, found)
        of = tuple(n for n, a in enumerate(adjoints) if a is not None)
        derived = self.operator.operation.reverse(self.wrt, of) if of and self.wrt else None
        if derived is None:
            return self._in_places((), ())
        operator = self.operator.like(derived.operation)
        values: list[Any] = list(shapes)
        for k, tensor in zip(self._saved, saved, strict=False):
            values[self._read[k]] = tensor
        inputs = [values[n] for n in derived.inputs] + given
        if not all(isinstance(inputs[n], torch.Tensor) for n in operator.layout.read):
            # it reads what the pullback has as kept values
            return self.gradients(ctx, shapes, _with_zeros(adjoints, ctx.results))
        return self._in_places(derived.wrt, operator(inputs))

    def _in_places(self, wrt: Numbers, found: Results) -> Sequence[Any]:
        """A gradient for each tensor: those found by the arguments `wrt`, None for the others."""
        by_number = dict(zip(wrt, found, strict=True))
        return [by_number.get(n) for n in self._read]


def _with_zeros(adjoints: Sequence[Tensor | None], results: Sequence[Any]) -> list[Tensor]:
    """The adjoints, zeros for results of these shapes and types that have none."""
    pairs = zip(adjoints, results, strict=True)
    return [torch.zeros(s, dtype=dtype) if a is None else a for a, (s, dtype) in pairs]


class Node(torch.autograd.Function):
    """A call that PyTorch's dispatcher has brought to one layer of transforms, in that layer's
    graph of gradients. The layers below it follow the operators that run."""

    @staticmethod
    def forward(ctx: Any, operator: Operator, shapes: Sequence[Shape], *tensors: Any) -> Any:
        """The results, by the value of a rule for the gradients that this layer asks for."""
        values = operator.layout.values(tensors, shapes)
        ctx.operator, ctx.own, ctx.shapes = operator, shapes, [shape_of(v) for v in values]
        needed = zip(operator.layout.read, ctx.needs_input_grad[2:], strict=True)
        wrt = tuple(n for n, asked in needed if asked and n in operator.derivable)
        ctx.rule = rule_of(operator, wrt, ctx.shapes)
        value = ctx.rule.value
        # `apply` turned gradients and tangents off, which the layers below may want; without this
        # a second gradient of `torch.func` is 0
        with torch.enable_grad(), private.with_tangents(), private.below_autograd():
            computed = value.dispatch(*value.layout.parts(values))
        ctx.save_for_forward(*tensors)
        ctx.like = [(r.shape, r.dtype, r.device) for r in computed[: operator.count]]
        return ctx.rule.keep(ctx, tensors, computed)

    @staticmethod
    def backward(ctx: Any, *adjoints: Tensor | None) -> Any:
        return None, None, *ctx.rule.gradients(ctx, ctx.shapes, adjoints)

    @staticmethod
    def jvp(ctx: Any, _operator: None, _shapes: None, *tangents: Tensor | None) -> Any:
        operator: Operator = ctx.operator
        pairs = zip(operator.layout.read, tangents, strict=True)
        given = {n: tangent for n, tangent in pairs if tangent is not None}
        derived = operator.operation.forward(tuple(given)) if given else None
        if derived is None:
            found = [torch.zeros(s, dtype=dtype, device=device) for s, dtype, device in ctx.like]
        else:
            values = operator.layout.values(ctx.saved_tensors, ctx.own)
            inputs = [values[n] for n in derived.inputs] + [given[n] for n in derived.wrt]
            found = operator.like(derived.operation)(inputs)
        return found[0] if operator.count == 1 else tuple(found)


_apply = private.apply_of(Node)


def rule_of(operator: Operator, wrt: Numbers, shapes: Sequence[Shape]) -> Rule:
    """The way to derive an operator by the arguments `wrt`, of these shapes."""
    split = None
    if wrt and operator.splits and not operator.operation.is_pullback:
        known = None if any(map(is_symbolic, shapes)) else shapes
        split = operator.operation.split(wrt, known)
        if not (operator.fits(split.value) and operator.fits(split.pullback)):
            split = None  # a pullback of another kind would not say what it means
    found = operator.rules.get((wrt, split))
    if found is None:
        found = operator.rules[wrt, split] = Rule(operator, wrt, split)
    return found


def differentiable(operator: Operator) -> Callable[..., Results]:
    """The kernel of an operator under the key `Autograd`."""
    places = [k for k, n in enumerate(operator.layout.read) if n in operator.derivable]

    def kernel(tensors: Sequence[Tensor], shapes: Sequence[Shape]) -> Results:
        variables = [tensors[k] for k in places]
        gradients = torch.is_grad_enabled() and private.any_requires_grad(*variables)
        if gradients or private.follows_tangents() or private.transforms():
            with private.single_layer():
                found = _apply(operator, shapes, *tensors)
            return (found,) if operator.count == 1 else found
        with private.below_autograd():
            return operator.dispatch(tensors, shapes)

    return kernel

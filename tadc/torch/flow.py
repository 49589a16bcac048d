"""`FlowOp`: the map of a differential equation (`tadc.ode`) on tensors, with first derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tadc.frameworks.flow import several, underived
from tadc.frameworks.signature import parameters_of
from tadc.inverse.vectors import vectors
from tadc.ode.flow import Flow
from tadc.runtime.parameters import bind
from tadc.runtime.results import kind
from tadc.torch import private
from tadc.torch.checks import as_tensors, check
from tadc.torch.package import Tensor, torch

if TYPE_CHECKING:
    from tadc.torch.package import TensorResults

Compute = Callable[..., Sequence[Any]]
"""Arrays of NumPy from arrays of NumPy."""


class FlowOp:
    """A flow as a function of tensors of the CPU; `tadc.torch.op` makes it.

    Arguments and results are those of the flow, as tensors. Gradients come by `Flow.vjp`, which
    keeps the path, and tangents by `Flow.jvp`. Second derivatives raise `UnsupportedError`.
    `torch.vmap` integrates each element of a batch by itself; `torch.compile` leaves calls out.

    Raises `TadcError` as the flow does, and for tensors that do not fit.
    """

    def __init__(self, flow: Flow):
        self.function = flow
        """The flow, on arrays of NumPy."""
        self._parameters = parameters_of(flow.g, flow.args)
        self._names = [t.name for t in flow.results]

    @private.uncompiled
    def __call__(self, *positional: Any, **named: Any) -> TensorResults:
        tensors = self._tensors(bind(self._parameters, positional, named))
        found = _Value.apply(_Call(self.function, tensors), *tensors)
        return found[0] if len(found) == 1 else kind(self._names)(*found)

    @private.uncompiled
    def inverse_jvp(self, arguments: Sequence[Any], ydot: Any, /) -> tuple[Any, ...]:
        """`J⁻¹ ydot`, as `Flow.inverse_jvp` gives it; without derivatives."""
        return self._inverse(self.function.inverse_jvp, arguments, ydot, "tangent")

    @private.uncompiled
    def inverse_vjp(self, arguments: Sequence[Any], xbar: Any, /) -> tuple[Any, ...]:
        """`J⁻ᵀ xbar`, as `Flow.inverse_vjp` gives it; without derivatives."""
        return self._inverse(self.function.inverse_vjp, arguments, xbar, "adjoint")

    @private.uncompiled
    def log_abs_det(self, arguments: Sequence[Any], /) -> tuple[Any, Any]:
        """The sign of det J, which is 1, and log |det J|, without derivatives."""
        tensors = self._tensors(bind(self._parameters, arguments, {}))
        sign, logarithm = self._once(lambda *a: self.function.log_abs_det(a), tensors)
        return sign, logarithm

    def _inverse(
        self, mode: Callable[..., Any], arguments: Sequence[Any], given: Any, what: str
    ) -> tuple[Any, ...]:
        seeds = vectors(self._names, given, what)
        tensors = self._tensors(bind(self._parameters, arguments, {}))
        count = len(tensors)
        inputs = [*tensors, *map(torch.as_tensor, seeds)]
        found = self._once(lambda *a: mode(a[:count], a[count:]), inputs)
        return kind(self._names)(*found)

    def _once(self, compute: Compute, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
        return _Underived.apply(_Mode(self.function, compute), *tensors)

    def _tensors(self, values: Sequence[Any]) -> Sequence[Tensor]:
        tensors = as_tensors(self._parameters, values)
        check(self._parameters, tensors)
        return tensors

    def __repr__(self) -> str:
        return f"<tadc.torch.FlowOp of {self.function!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return FlowOp, (self.function,)


class _Mode:
    """Something that a flow computes, and how to say that it has no derivatives."""

    def __init__(self, flow: Flow, compute: Compute):
        self.flow = flow
        self.compute = compute

    def refuse(self) -> NoReturn:
        raise underived(self.flow)


class _Call:
    """A call of a flow, which keeps its path where gradients will surely ask for it."""

    def __init__(self, flow: Flow, tensors: Sequence[Tensor]):
        self.flow = flow
        self.pullback: Callable[..., Any] | None = None
        asked = torch.is_grad_enabled() and any(t.requires_grad for t in tensors)
        self._keeps = asked and not private.transforms()

    def value(self, *arrays: Any) -> Sequence[Any]:
        if not self._keeps:
            return several(self.flow(*arrays))
        value, self.pullback = self.flow.vjp(*arrays)
        return several(value)

    def gradients(self, *arrays: Any) -> Sequence[Any]:
        """The gradients by all arguments, given these and the adjoints behind them."""
        count = len(self.flow.args)
        pullback = self.pullback or self.flow.vjp(*arrays[:count])[1]
        return pullback(*arrays[count:])

    def tangents(self, given: Sequence[int], *arrays: Any) -> Sequence[Any]:
        """The tangents of the state, given the arguments and the tangents of those in `given`."""
        count = len(self.flow.args)
        known = dict(zip(given, arrays[count:], strict=True))
        return several(self.flow.jvp(arrays[:count], [known.get(n) for n in range(count)])[1])


def _computed(compute: Compute, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
    found = compute(*(t.detach().numpy() for t in tensors))
    return tuple(torch.from_numpy(np.asarray(value)) for value in found)


def _one_by_one(node: Any, info: Any, dimensions: Any, first: Any, tensors: Any) -> Any:
    """The results of a node for each element of a batch, with a dimension of it in front."""
    pairs = list(zip(tensors, dimensions[1:], strict=True))
    found = [
        node.apply(first, *(t if d is None else t.select(d, k) for t, d in pairs))
        for k in range(info.batch_size)
    ]
    stacked = tuple(torch.stack(results) for results in zip(*found, strict=True))
    return stacked, (0,) * len(stacked)


class _Value(torch.autograd.Function):
    """The last state."""

    @staticmethod
    def forward(call: _Call, *tensors: Tensor) -> tuple[Tensor, ...]:
        return _computed(call.value, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.call, *tensors = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, *adjoints: Tensor) -> Any:
        mode = _Mode(ctx.call.flow, ctx.call.gradients)
        return None, *_Underived.apply(mode, *ctx.saved_tensors, *adjoints)

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Any:
        given = [n for n, tangent in enumerate(tangents) if tangent is not None]
        mode = _Mode(ctx.call.flow, partial(ctx.call.tangents, given))
        return _Underived.apply(mode, *ctx.saved_tensors, *(tangents[n] for n in given))

    @staticmethod
    def vmap(info: Any, dimensions: Any, call: _Call, *tensors: Tensor) -> Any:
        return _one_by_one(_Value, info, dimensions, call, tensors)


class _Underived(torch.autograd.Function):
    """A computation that has no derivatives."""

    @staticmethod
    def forward(mode: _Mode, *tensors: Tensor) -> tuple[Tensor, ...]:
        return _computed(mode.compute, tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.mode = inputs[0]

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> Any:
        ctx.mode.refuse()

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> Any:
        ctx.mode.refuse()

    @staticmethod
    def vmap(info: Any, dimensions: Any, mode: _Mode, *tensors: Tensor) -> Any:
        return _one_by_one(_Underived, info, dimensions, mode, tensors)

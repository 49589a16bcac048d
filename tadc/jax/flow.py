"""`FlowOp`: the map of a differential equation (`tadc.ode`) on arrays, with first derivatives.

The primitive `tadc_flow` computes a mode of a flow in NumPy, called by XLA where it is compiled.
Behind the arguments of the flow its operands are vectors, in which each mode is linear:

    mode            vectors                        results          transpose
    value           none                           x(t1)
    tangents        of some arguments              J v              gradients
    gradients       adjoints of x(t1)              J^T w            tangents
    inverse-jvp     tangents of x(t1)              J^-1 v           inverse-vjp
    inverse-vjp     adjoints of x(t0)              J^-T w           inverse-jvp
    log-abs-det     none                           sign, log |J|

So JAX has forward and reverse mode by the rules that it has for linear functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.errors import UnsupportedError
from tadc.frameworks.flow import several, underived
from tadc.frameworks.operation import Numbers, Operation
from tadc.frameworks.signature import parameters_of
from tadc.inverse.vectors import vectors
from tadc.jax import private
from tadc.jax.arguments import as_they_are
from tadc.jax.package import Array, Primitive, ad, batching, jax, mlir
from tadc.jax.package import numpy as jnp
from tadc.ode.checks import check_shape
from tadc.ode.flow import Flow
from tadc.runtime.parameters import bind

if TYPE_CHECKING:
    from tadc.jax.package import ArrayResults

TRANSPOSED = {
    "tangents": "gradients",
    "gradients": "tangents",
    "inverse-jvp": "inverse-vjp",
    "inverse-vjp": "inverse-jvp",
}

flow_p = Primitive("tadc_flow")
flow_p.multiple_results = True


class FlowOp:
    """A flow as a function of JAX; `tadc.jax.op` makes it.

    Arguments and results are those of the flow, as arrays. Gradients come by `Flow.vjp`, tangents
    by `Flow.jvp`; both integrate the path again. Second derivatives raise `UnsupportedError`. Under
    `vmap` each element of a batch is integrated by itself. The solver runs in Python, on the CPU,
    which compiled functions call.

    Raises `TadcError` as the flow does, and for arrays that do not fit. What compiled functions
    come upon while they run, JAX raises as an error of its own, with the text of this one.
    """

    def __init__(self, flow: Flow):
        self.function = flow
        """The flow, on arrays of NumPy."""
        self._parameters = parameters_of(flow.g, flow.args)
        self._names = [t.name for t in flow.results]

    def __call__(self, *positional: Any, **named: Any) -> ArrayResults:
        """The last state: an array, or a tuple of several."""
        found: Any = self._run("value", bind(self._parameters, positional, named))
        return found[0] if len(found) == 1 else found

    def inverse_jvp(self, arguments: Sequence[Any], ydot: Any, /) -> tuple[Any, ...]:
        """`J⁻¹ ydot`, as `Flow.inverse_jvp` gives it; it has derivatives by `ydot` alone."""
        return self._inverse("inverse-jvp", arguments, ydot, "tangent")

    def inverse_vjp(self, arguments: Sequence[Any], xbar: Any, /) -> tuple[Any, ...]:
        """`J⁻ᵀ xbar`, as `Flow.inverse_vjp` gives it; it has derivatives by `xbar` alone."""
        return self._inverse("inverse-vjp", arguments, xbar, "adjoint")

    def log_abs_det(self, arguments: Sequence[Any], /) -> tuple[Any, Any]:
        """The sign of det J, which is 1, and log |det J|, without derivatives."""
        sign, logarithm = self._run("log-abs-det", bind(self._parameters, arguments, {}))
        return sign, logarithm

    def _inverse(
        self, mode: str, arguments: Sequence[Any], given: Any, what: str
    ) -> tuple[Any, ...]:
        seeds = vectors(self._names, given, what)
        return self._run(mode, bind(self._parameters, arguments, {}), seeds)

    def _run(
        self, mode: str, values: Sequence[Any], seeds: Sequence[Any] = ()
    ) -> tuple[Array, ...]:
        given = as_they_are(self._parameters, values)
        call = Call(self.function, mode, tuple(range(len(given))))
        types = call.vector_types(given)
        linear = [jnp.asarray(v, t.dtype) for v, t in zip(seeds, types, strict=True)]
        return tuple(_bind(call, [*given, *linear]))

    def __repr__(self) -> str:
        return f"<tadc.jax.FlowOp of {self.function!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return FlowOp, (self.function,)


@dataclass(frozen=True)
class Call:
    """A mode of a flow, for one element of a batch or for many."""

    flow: Flow
    mode: str
    wrt: Numbers
    """The arguments that tangents are given of, or gradients wanted by."""
    axes: int = 0
    """The number of first axes of all operands and results along which elements of a batch lie."""

    @property
    def count(self) -> int:
        """The number of operands that are arguments of the flow; vectors stand behind them."""
        return len(self.flow.args)

    def compute(self, *operands: Any) -> list[np.ndarray[Any, Any]]:
        """The results in NumPy."""
        arrays = [np.asarray(v) for v in operands]
        batch = arrays[0].shape[: self.axes]
        types = self.result_types(arrays)
        results = [np.empty(t.shape, t.dtype) for t in types]
        for place in np.ndindex(*batch):
            found = self._compute([a[place] for a in arrays])
            for result, value in zip(results, found, strict=True):
                result[place] = value
        return results

    def _compute(self, arrays: Sequence[Any]) -> Sequence[Any]:
        arguments, given = arrays[: self.count], arrays[self.count :]
        match self.mode:
            case "value":
                return several(self.flow(*arguments))
            case "tangents":
                known = dict(zip(self.wrt, given, strict=True))
                tangents = [known.get(n) for n in range(self.count)]
                return several(self.flow.jvp(arguments, tangents)[1])
            case "gradients":
                gradients = self.flow.vjp(*arguments)[1](*given)
                return [gradients[n] for n in self.wrt]
            case "inverse-jvp":
                return self.flow.inverse_jvp(arguments, given)
            case "inverse-vjp":
                return self.flow.inverse_vjp(arguments, given)
            case _:
                return self.flow.log_abs_det(arguments)

    def result_types(self, operands: Sequence[Any]) -> list[Any]:
        """The types of the results: those of the state, or of the arguments in `wrt`."""
        arguments = operands[: self.count]
        if self.mode == "gradients":
            return [arguments[n] for n in self.wrt]
        if self.mode == "log-abs-det":
            batch = arguments[0].shape[: self.axes]
            dtype = jax.dtypes.canonicalize_dtype(np.float64)
            return [jax.ShapeDtypeStruct(batch, dtype)] * 2
        return self.state(arguments)

    def vector_types(self, arguments: Sequence[Any]) -> list[Any]:
        """The types of the vectors, given the arguments."""
        if self.mode in ("value", "log-abs-det"):
            return []
        if self.mode == "tangents":
            return [arguments[n] for n in self.wrt]
        return self.state(arguments)

    def state(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments that are the state."""
        names = [t.name for t in self.flow.args]
        return [arguments[names.index(name)] for name in self.flow.state]

    def check(self, operands: Sequence[Any]) -> None:
        """Raise `TadcError` where the arguments have shapes that do not fit."""
        flow = self.flow
        names = (t.name for t in flow.args)
        shapes = {n: tuple(a.shape[self.axes :]) for n, a in zip(names, operands, strict=False)}
        found = Operation.of(flow.g).result_shapes([shapes.get(t.name, ()) for t in flow.g.args])
        for name, result, shape in zip(flow.state, flow.g.results, found, strict=True):
            check_shape(name, shapes[name], result.name, shape)


def _bind(call: Call, operands: Sequence[Array]) -> list[Array]:
    return flow_p.bind(*private.vary_alike(operands), call=call)


def _run(*operands: Array, call: Call) -> list[Array]:
    call.check(operands)
    return [jnp.asarray(found) for found in call.compute(*operands)]


def _types(*operands: Any, call: Call) -> list[Any]:
    call.check(operands)
    return [private.result_type(t.shape, t.dtype, operands) for t in call.result_types(operands)]


def _tangents(
    primals: Sequence[Array], tangents: Sequence[Any], *, call: Call
) -> tuple[Sequence[Array], Sequence[Array]]:
    """The results and their tangents: by the arguments those of a value, else those by vectors."""
    given = [n for n, t in enumerate(tangents) if type(t) is not ad.Zero]
    results = _bind(call, primals)
    if call.mode == "value":
        derived = Call(call.flow, "tangents", tuple(given), call.axes)
        return results, _bind(derived, [*primals, *(tangents[n] for n in given)])
    if any(n < call.count for n in given):
        raise underived(call.flow)
    vectors = [ad.instantiate_zeros(t) for t in tangents[call.count :]]
    return results, _bind(call, [*primals[: call.count], *vectors])


def _transpose(adjoints: Sequence[Any], *operands: Any, call: Call) -> Sequence[Any]:
    """The adjoints of the vectors, None for the arguments."""
    arguments = operands[: call.count]
    if any(map(ad.is_undefined_primal, arguments)):
        raise underived(call.flow)
    derived = Call(call.flow, TRANSPOSED[call.mode], call.wrt, call.axes)
    found = _bind(derived, [*arguments, *map(ad.instantiate_zeros, adjoints)])
    return [None] * call.count + found


def _batch(
    operands: Sequence[Array], axes: Sequence[int | None], *, call: Call
) -> tuple[Sequence[Array], Sequence[int]]:
    """The results for several values of some operands: of the others, copies."""
    size = next(v.shape[axis] for v, axis in zip(operands, axes, strict=True) if axis is not None)
    many = [
        jnp.broadcast_to(v, (size, *v.shape)) if axis is None else jnp.moveaxis(v, axis, 0)
        for v, axis in zip(operands, axes, strict=True)
    ]
    results = _bind(Call(call.flow, call.mode, call.wrt, call.axes + 1), many)
    return results, [0] * len(results)


def _lower(context: Any, *operands: Any, call: Call) -> Sequence[Any]:
    """A call of Python; raises `UnsupportedError` for `jax.export`, whose programs have none."""
    if context.module_context.lowering_parameters.for_export:
        raise UnsupportedError(
            "jax.export cannot store a flow, which is integrated in Python",
            hint="jax.jit compiles functions that call it",
        )
    types = [jax.ShapeDtypeStruct(t.shape, t.dtype) for t in context.avals_out]
    called: Callable[..., Any] = partial(jax.pure_callback, call.compute, types)
    return mlir.lower_fun(called, multiple_results=True)(context, *operands)


flow_p.def_impl(_run)
flow_p.def_abstract_eval(_types)
ad.primitive_jvps[flow_p] = _tangents
ad.primitive_transposes[flow_p] = _transpose
batching.primitive_batchers[flow_p] = _batch
mlir.register_lowering(flow_p, _lower)

"""The primitive `tadc_transposed`: the linear function whose transpose is a pullback.

For gradients JAX linearizes a function at its arguments, and transposes the linear function that it
gets. A call of an operation is cut in two: the values, with some values that are kept, and a
pullback P(known; adjoints), which is linear in the adjoints. What JAX gets is

    L(known; tangents) = the transpose of P in the adjoints, applied to the tangents

The transpose of L is P itself, which gradients run; no program for L is made until one asks for
tangents (`jax.linearize`). Then it is the derivative of P by the adjoints.

Kept values are results of a call like any others, so they have tangents and adjoints, and P is
derived by them as by other arguments: second derivatives follow from the chain rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from tadc.frameworks.operation import Numbers, Operation
from tadc.function import Function
from tadc.jax import private
from tadc.jax.call import MOST_REMEMBERED, Call, Shape, gradients_of, results_of, without
from tadc.jax.package import Array, Primitive, ad, batching, jax, mlir
from tadc.jax.primitive import bind, call_p

transposed_p = Primitive("tadc_transposed")
transposed_p.multiple_results = True


class Cut(NamedTuple):
    """An operation in two: its values, and its gradients given some of these."""

    value: Operation
    kept: Sequence[int]
    """The results of `value` that the pullback takes behind the arguments."""
    pullback: Operation


@lru_cache(MOST_REMEMBERED)
def _cut(operation: Operation, wrt: Sequence[int], shapes: tuple[Shape, ...]) -> Cut:
    """The two parts, for gradients by the arguments `wrt`.

    `Operation.split` gives them for frameworks in which kept values are no variables.
    """
    names = tuple(operation.names[n] for n in wrt)
    both = operation.pullbacks.of_shapes(names, shapes)
    labels = both.value.program.result_labels
    value, pullback = (
        Operation(Function(part.program, "cpu")) for part in (both.value, both.gradients)
    )
    return Cut(value, [labels.index(label) for label in both.saved], pullback)


def _linearize(
    nonzeros: Sequence[bool], *primals: Any, call: Call
) -> tuple[Sequence[Array], Sequence[bool], Any, Callable[..., Sequence[Array]]]:
    """The results, True for each as it has a tangent, what is kept, and the linear function."""
    wrt = tuple(n for n, nonzero in zip(call.numbers, nonzeros, strict=True) if nonzero)
    arguments = call.arguments(primals)
    cut = _cut(call.operation, wrt, tuple(tuple(a.shape) for a in arguments))
    computed = bind(cut.value, call.precision, arguments)
    results = computed[: len(call.operation.function.results)]
    adjoints = [jax.ShapeDtypeStruct(r.shape, r.dtype) for r in results]
    known = [*arguments, *(computed[n] for n in cut.kept), *adjoints]
    linear = tuple(range(len(known) - len(adjoints), len(known)))
    transposed, residuals = Call.of(cut.pullback, call.precision, known, linear)

    def linear_function(residuals: Sequence[Array], *tangents: Any) -> Sequence[Array]:
        given = [t for t, nonzero in zip(tangents, nonzeros, strict=True) if nonzero]
        operands = private.vary_alike([*residuals, *given])
        return transposed_p.bind(*operands, call=transposed, linear=linear)

    return results, [True] * len(results), residuals, linear_function


def _apply(*operands: Array, call: Call, linear: Numbers) -> list[Array]:
    """The linear function as a call of the pullback's derivative by the adjoints."""
    count = len(call.numbers)
    arguments = call.arguments(operands[:count])
    derived = gradients_of(call.operation, linear, results_of(call.operation))
    return bind(derived, call.precision, [*arguments, *operands[count:]])


def _transpose(
    adjoints: Sequence[Array], *operands: Array, call: Call, linear: Numbers
) -> Sequence[Array]:
    """The gradients by the tangents: the pullback, of the adjoints that are not zero."""
    count = len(call.numbers)
    arguments = call.arguments(operands[:count])
    given = dict(zip(linear, adjoints, strict=True))
    zero = tuple(n for n, adjoint in given.items() if type(adjoint) is ad.Zero)
    known = [given.get(n, argument) for n, argument in enumerate(arguments) if n not in zero]
    gradients = bind(without(call.operation, zero), call.precision, known)
    tangents = zip(gradients, operands[count:], strict=True)
    return [None] * count + [g if ad.is_undefined_primal(t) else None for g, t in tangents]


@lru_cache(MOST_REMEMBERED)
def _compiled(call: Call, linear: Numbers) -> Any:
    return jax.jit(partial(_apply, call=call, linear=linear))


def _run(*operands: Array, call: Call, linear: Numbers) -> list[Array]:
    return _compiled(call, linear)(*operands)


def _types(*operands: Array, call: Call, linear: Numbers) -> list[Array]:
    arguments = call.arguments(operands[: len(call.numbers)])
    found = (arguments[n] for n in linear)
    return [private.result_type(a.shape, a.dtype, operands) for a in found]


def _tangents(
    primals: Sequence[Array], tangents: Sequence[Array], **params: Any
) -> tuple[Sequence[Array], Sequence[Array]]:
    given = [ad.instantiate_zeros(t) for t in tangents]
    return jax.jvp(partial(_apply, **params), list(primals), given)


def _batch(
    operands: Sequence[Array], axes: Sequence[int | None], **params: Any
) -> tuple[Sequence[Array], Sequence[int]]:
    results = jax.vmap(partial(_apply, **params), tuple(axes))(*operands)
    return results, [0] * len(results)


private.define_linearization(call_p, _linearize)
transposed_p.def_impl(_run)
transposed_p.def_abstract_eval(_types)
ad.primitive_jvps[transposed_p] = _tangents
ad.primitive_transposes[transposed_p] = _transpose
batching.primitive_batchers[transposed_p] = _batch
mlir.register_lowering(transposed_p, mlir.lower_fun(_apply, multiple_results=True))

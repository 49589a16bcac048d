"""The primitive `tadc`: a call of an operation, with the rules by which JAX transforms it.

    tangents        a call of operation.forward
    transposition   a call of operation.reverse, which does not read what the operation is linear in
    batching        a call of operation.batched
    linearization   a call that keeps values, and the transpose of a pullback: see `transposed`
    lowering        a custom call of machine code: see `lowering`

Each rule makes another call, so that every composition of transformations is one. `bind` makes all.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

from tadc.errors import UnsupportedError
from tadc.frameworks.operation import Operation
from tadc.jax import lowering
from tadc.jax.call import (
    MOST_REMEMBERED,
    Argument,
    Call,
    gradients_of,
    tangents_of,
    unread_of,
)
from tadc.jax.package import Array, Primitive, ad, batching, jax, mlir
from tadc.jax.package import numpy as jnp
from tadc.jax.private import vary_alike

call_p = Primitive("tadc")
call_p.multiple_results = True


def bind(operation: Operation, precision: str, arguments: Sequence[Argument]) -> list[Array]:
    """The results of an operation, as a list.

    Of arguments that it does not read, it takes the shape.
    """
    call, operands = Call.of(operation, precision, arguments)
    return call_p.bind(*vary_alike(operands), call=call)


@lru_cache(MOST_REMEMBERED)
def _compiled(call: Call) -> Any:
    return jax.jit(partial(call_p.bind, call=call))


def _run(*operands: Array, call: Call) -> list[Array]:
    return _compiled(call)(*operands)


def _types(*operands: Array, call: Call) -> list[Array]:
    return call.result_types(operands)


def _tangents(
    primals: Sequence[Array], tangents: Sequence[Array], *, call: Call
) -> tuple[Sequence[Array], Sequence[Array]]:
    """The results and their tangents; one of the tangents of operands is not zero."""
    results = call_p.bind(*primals, call=call)
    arguments = call.arguments(primals)
    tangent_of = {
        n: t for n, t in zip(call.numbers, tangents, strict=True) if type(t) is not ad.Zero
    }
    derived = tangents_of(call.operation, tuple(tangent_of))
    return results, bind(derived, call.precision, [*arguments, *tangent_of.values()])


def _transpose(adjoints: Sequence[Array], *operands: Array, call: Call) -> Sequence[Array]:
    """The adjoints of the operands that are linear, None for the others.

    Raises `UnsupportedError` where the operation is not linear in them.
    """
    unknown = [n for n, v in zip(call.numbers, operands, strict=True) if ad.is_undefined_primal(v)]
    arguments = call.arguments(operands)
    for n in unknown:
        aval = arguments[n].aval
        arguments[n] = jax.ShapeDtypeStruct(aval.shape, aval.dtype)
    given = {n: adjoint for n, adjoint in enumerate(adjoints) if type(adjoint) is not ad.Zero}
    derived = gradients_of(call.operation, tuple(unknown), tuple(given))
    _check_linear(call.operation, derived, unknown)
    gradients = iter(bind(derived, call.precision, [*arguments, *given.values()]))
    return [next(gradients) if ad.is_undefined_primal(v) else None for v in operands]


def _check_linear(operation: Operation, derived: Operation, unknown: Sequence[int]) -> None:
    names = [operation.names[n] for n in unknown if n not in unread_of(derived)]
    if names:
        raise UnsupportedError(
            f"the program is not linear in {', '.join(names)}",
            hint="jax.vjp and jax.linearize take programs that are not",
        )


def _batch(
    operands: Sequence[Array], axes: Sequence[int | None], *, call: Call
) -> tuple[Sequence[Array], Sequence[int | None]]:
    """The results of the operation for several values of some operands, along these axes."""
    size = next(v.shape[axis] for v, axis in zip(operands, axes, strict=True) if axis is not None)
    axis_of = dict(zip(call.numbers, axes, strict=True))
    which = tuple(n for n, axis in axis_of.items() if axis is not None)
    batched = call.operation.batched(which)
    arguments = [
        _with_axis(argument, axis_of.get(n), size) if batched.arguments[n] else argument
        for n, argument in enumerate(call.arguments(operands))
    ]
    results = bind(batched.operation, call.precision, arguments)
    return results, [0 if has_axis else None for has_axis in batched.results]


def _with_axis(argument: Argument, axis: int | None, size: int) -> Argument:
    """The argument with the axis in front, repeated along it where it has none."""
    if axis is not None:
        return jnp.moveaxis(argument, axis, 0)
    shape = (size, *argument.shape)
    if isinstance(argument, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(shape, argument.dtype)
    return jnp.broadcast_to(argument, shape)


call_p.def_impl(_run)
call_p.def_abstract_eval(_types)
ad.primitive_jvps[call_p] = _tangents
ad.primitive_transposes[call_p] = _transpose
batching.primitive_batchers[call_p] = _batch
mlir.register_lowering(call_p, lowering.lower, platform="cpu")
mlir.register_lowering(call_p, lowering.refuse)

"""`op`: a program as a function of arrays of JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tadc.errors import UnsupportedError
from tadc.frameworks import signature
from tadc.frameworks.inverse import InverseMode
from tadc.frameworks.operation import Operation
from tadc.frameworks.signature import Signature, Source
from tadc.function import Function
from tadc.inverse.vectors import vectors
from tadc.jax.arguments import as_known_array, prepare
from tadc.jax.flow import FlowOp
from tadc.jax.inverse import inverse_mode
from tadc.jax.package import jax
from tadc.jax.package import numpy as jnp
from tadc.jax.transposed import bind
from tadc.ode.flow import Flow
from tadc.support.entries import entry

if TYPE_CHECKING:
    from tadc.jax.package import ArrayResults

_NOT_FOR_JIT = (jax.core.Tracer, np.ma.MaskedArray)
"""Values of a call that is traced already, and arrays whose mask `jax.jit` would not see."""


def _check_real(function: Function) -> None:
    """Raise `UnsupportedError` for programs with index tensors: JAX runs none so far."""
    for t in function.args:
        if not t.is_real:
            what = "an index tensor" if t.dtype == "int" else "a size"
            raise UnsupportedError(
                f"{t.name} is {what}, which operations of JAX do not take yet",
                function.program.span_of_argument(t.name),
                "tadc.compile(...) takes it in NumPy, tadc.torch.op(...) in PyTorch",
            )


class Op:
    """A program as a function of JAX, which `op` makes.

    Call it with arrays, by position or by name: one result comes as an array, several as a tuple.
    `function` is the program. Safe to call from several threads and to pickle.
    """

    def __init__(self, found: Signature, name: str = "tadc", doc: str | None = None):
        _check_real(found.function)
        self.function: Function = found.function
        """The program: `op.function(...)` computes the same in NumPy."""
        self.__name__ = self.__qualname__ = name
        self.__doc__ = doc
        self.__signature__ = _python_signature(found.names)
        self._signature = found
        self._operation = Operation.of(found.function)
        self._parameters = signature.parameters_of(found.function, found.function.args)
        self._compiled = jax.jit(self._traced)
        self._modes: dict[str, InverseMode] = {}

    @entry
    def __call__(self, /, *positional: Any, **named: Any) -> ArrayResults:
        """The result, or a tuple of results. Raises `TadcError` for arguments that do not fit."""
        results: Any
        values = self._signature.bind(positional, named)
        if any(isinstance(v, _NOT_FOR_JIT) for v in values):
            results = self._traced(*values)
        else:
            results = self._called(values)
        return results[0] if len(results) == 1 else results

    def _traced(self, *values: Any) -> tuple[Any, ...]:
        precision, arrays = prepare(self._operation, self._parameters, values)
        return tuple(bind(self._operation, precision, arrays))

    def _called(self, values: Sequence[Any]) -> tuple[Any, ...]:
        with suppress(TypeError, ValueError):  # about a value that is no array for JAX
            return self._compiled(*values)
        return self._compiled(*map(as_known_array, self._parameters, values))

    # --- inverse modes ---

    def inverse_jvp(self, arguments: Sequence[Any], ydot: Any, /) -> tuple[Any, ...]:
        """`J⁻¹ ydot`, as `tadc.inverse_jvp` gives it: one tangent per tensor that is updated.

        Differentiable to any order, and under `jit` and `vmap`. Linear systems are solved by JAX,
        as matrices that hold all their elements. What is singular raises `SingularError` where
        nothing is traced; where JAX traces (`jit`, `grad`, `vmap`), it gives inf and nan.
        """
        return self._inverse("inverse-jvp", arguments, ydot, "tangent")

    def inverse_vjp(self, arguments: Sequence[Any], xbar: Any, /) -> tuple[Any, ...]:
        """`J⁻ᵀ xbar`, one adjoint per tensor that is updated; see `inverse_jvp`."""
        return self._inverse("inverse-vjp", arguments, xbar, "adjoint")

    def log_abs_det(self, arguments: Sequence[Any], /) -> tuple[Any, Any]:
        """Sign and logarithm of |det J|; 0 and -inf where that is 0. See `inverse_jvp`."""
        sign, logarithm = self._mode("log-abs-det")(self._signature.bind(arguments, {}))
        return sign, logarithm

    def _inverse(
        self, mode: str, arguments: Sequence[Any], given: Any, what: str
    ) -> tuple[Any, ...]:
        names = [t.name for t in self.function.results]
        seeds = [jnp.asarray(v) for v in vectors(names, given, what)]
        return tuple(self._mode(mode)(self._signature.bind(arguments, {}), seeds))

    def _mode(self, mode: str) -> Callable[..., Sequence[Any]]:
        made = self._modes.get(mode)
        if made is None:
            made = self._modes[mode] = inverse_mode(self.function, mode)

        def run(values: Sequence[Any], seeds: Sequence[Any] = ()) -> Sequence[Any]:
            _, arrays = prepare(self._operation, self._parameters, values)
            return made(arrays, seeds)

        return run

    def __repr__(self) -> str:
        arguments = ", ".join(self._signature.names)
        results = ", ".join(t.name for t in self.function.results)
        return f"<tadc.jax.op ({arguments}) -> {results}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Op, (self._signature, self.__name__, self.__doc__)


@overload
def op(source: Flow) -> FlowOp: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def op(source: Source) -> Op: ...
@entry
def op(source: Source | Flow) -> Op | FlowOp:
    """A program as a function of JAX: given as text, as a `tadc.Function`, or in a docstring.

    A flow of `tadc.ode` gives a `FlowOp`. Raises `TadcError` for what is wrong with the program.
    """
    if isinstance(source, Flow):
        return FlowOp(source)
    found = signature.of(source)
    if isinstance(source, str | Function):
        return Op(found)
    return Op(found, source.__name__, source.__doc__)


def _python_signature(names: Sequence[str]) -> inspect.Signature:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])

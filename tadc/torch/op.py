"""`op`: makes a program a function of tensors, which PyTorch derives, vectorises and compiles."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from tadc.errors import TadcError
from tadc.frameworks import signature
from tadc.frameworks.operation import Operation
from tadc.frameworks.signature import Signature, Source
from tadc.inverse.vectors import vectors
from tadc.modes import INVERSE_MODES
from tadc.ode.flow import Flow
from tadc.runtime.results import kind
from tadc.support.entries import entry, outside
from tadc.torch.checks import as_tensors, check
from tadc.torch.exported import ExportedOperator
from tadc.torch.flow import FlowOp
from tadc.torch.inverse import InverseOp
from tadc.torch.layout import Results
from tadc.torch.package import torch
from tadc.torch.registered import operator_of

if TYPE_CHECKING:
    from tadc.torch.package import NamedTensors, TensorResults

is_traced: Callable[[], bool] = torch.compiler.is_dynamo_compiling
"""True where `torch.compile` follows this code instead of running it."""


class Op:
    """A program as a function of tensors of the CPU; `op` makes it.

    Arguments come by position, in the order of `op.function.args` or of the decorated function, or
    by name: tensors of float32 or float64, of any strides, and numbers for scalars; tensors of any
    integers for index tensors, which have no gradient, and whole numbers for sizes that no shape
    tells, as in `f(seg, v, B=3)`. Results are new tensors: one, or a named tuple of several.
    Updated arguments are results, and stay as they are. A tensor of the device `meta` gives results
    that have shapes alone.

    Raises `TadcError` for tensors that do not fit: of other devices, sparse ones, complex numbers,
    integers for real numbers, and half precision, which programs do not compute in; and for
    elements of index tensors outside of their ranges. Under autocast, halves are widened to
    float32, and gradients come back in the precision of the argument.

    Every order of gradients and tangents is exact; of `autograd` and `torch.func` all works, and so
    do `torch.compile(fullgraph=True)`, for all sizes at once, `torch.export`, checkpoints and
    inference mode. For `backward`, tensors are kept that some gradient reads, no others.

    Safe to call from several threads, to copy, to pickle, and to use after a fork. Dense tensors
    are read where they lie, and large ones whose rows lie apart.
    """

    def __init__(self, program: Signature, attributes: Mapping[str, Any] | None = None):
        self.function = program.function
        """The program as a `tadc.Function`."""
        self._signature = program
        self._names = program.names
        self._attributes = dict(attributes or {})
        self.__dict__.update(self._attributes)
        self._parameters = program.function.runner.parameters
        operation = Operation.of(program.function)
        self._operator = operator_of(operation)
        self._exported = ExportedOperator.of(operation)
        self._again = self._operator.again
        self._modes = {mode: InverseOp(program.function, mode) for mode in INVERSE_MODES}
        names = [t.name for t in program.function.results]
        self._state: Any = kind(names)
        self._tuple: Any = None if len(names) == 1 else self._state
        count = len(self._names)
        direct = program.order == self._operator.layout.read == tuple(range(count))
        self._direct = count if direct else -1
        """The number of arguments, if a call by position passes them on as they are."""

    def __call__(self, *positional: Any, **named: Any) -> TensorResults:
        results = None
        if len(positional) == self._direct and not named and not is_traced():
            results = self._again(positional, ())  # most calls are like the last one
        if results is None and is_traced():
            results = self._results(positional, named)
        elif results is None:
            try:
                results = self._results(positional, named)
            except TadcError as error:
                raise outside(error) from error.__cause__
        return self._tuple(*results) if self._tuple else results[0]

    def _results(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Results:
        values = as_tensors(self._parameters, self._signature.bind(positional, named))
        if torch.compiler.is_exporting():
            return self._exported.dispatch(*self._exported.layout.parts(values))
        if is_traced():  # errors come from the operator, which is asked for shapes
            return self._operator.dispatch(*self._operator.layout.parts(values))
        check(self._parameters, values)
        return self._operator(values)

    # --- inverse modes ---

    @entry
    def inverse_jvp(self, arguments: Sequence[Any], ydot: Any, /) -> NamedTensors:
        """`J⁻¹ ydot`, as `tadc.inverse_jvp` gives it: one tangent per tensor that is updated.

        Differentiable to any order by arguments and vectors, and vectorised by `torch.vmap`. Linear
        systems are solved by PyTorch, as matrices that hold all their elements, and once more
        by `tadc` where elements can be looked at, which raises `SingularError` and warns. Where
        they cannot, in `torch.compile` and `torch.vmap`, what is singular gives inf and nan.
        """
        return self._inverse("inverse-jvp", arguments, ydot, "tangent")

    @entry
    def inverse_vjp(self, arguments: Sequence[Any], xbar: Any, /) -> NamedTensors:
        """`J⁻ᵀ xbar`, one adjoint per tensor that is updated; see `inverse_jvp`."""
        return self._inverse("inverse-vjp", arguments, xbar, "adjoint")

    @entry
    def log_abs_det(self, arguments: Sequence[Any], /) -> tuple[Any, Any]:
        """Sign and logarithm of |det J|, tensors without dimensions; 0 and -inf where that is 0.

        Differentiable as `inverse_jvp` is; the sign has the gradient 0.
        """
        values = self._signature.bind(arguments, {})
        sign, logarithm = self._modes["log-abs-det"](values)
        return sign, logarithm

    def _inverse(self, mode: str, arguments: Sequence[Any], given: Any, what: str) -> NamedTensors:
        values = self._signature.bind(arguments, {})
        seeds = vectors([t.name for t in self.function.results], given, what)
        return self._state(*self._modes[mode](values, seeds))

    @property
    def __signature__(self) -> inspect.Signature:
        one = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, one) for name in self._names])

    def __repr__(self) -> str:
        results = ", ".join(t.name for t in self.function.results)
        return f"<tadc.torch.Op ({', '.join(self._names)}) -> {results}>"

    # --- keeping: nothing changes an operation ---

    def __copy__(self) -> Op:
        return self

    def __deepcopy__(self, memo: object) -> Op:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Op, (self._signature, self._attributes)


@overload
def op(source: Flow) -> FlowOp: ...  # pyright: ignore[reportOverlappingOverload]
@overload
def op(source: Source) -> Op: ...
@entry
def op(source: Source | Flow) -> Op | FlowOp:
    """An operation of PyTorch: of a text, of a `tadc.Function`, or of a function with a docstring.

        conv = tadc.torch.op("y[i] = sum[k](w[k] * x[2*i + k])")

        @tadc.torch.op
        def conv(w, x):
            \"\"\"y[i] = sum[k](w[k] * x[2*i + k])\"\"\"

    Of a function, the signature gives the order of the arguments, and the docstring is the program.
    Functions of the user (`tadc.define_function`) are taken as they are now. A flow of `tadc.ode`
    gives a `FlowOp`. Raises `TadcError` for whatever is wrong with the program.
    """
    if isinstance(source, Flow):
        return FlowOp(source)
    program = signature.of(source)
    if not inspect.isroutine(source):
        return Op(program)
    names = [name for name in functools.WRAPPER_ASSIGNMENTS if hasattr(source, name)]
    return Op(program, {name: getattr(source, name) for name in names})

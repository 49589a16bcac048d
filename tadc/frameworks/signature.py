"""`Signature`: what a call of an operation takes, in which order, and the program behind it.

    op("y[i] = sum[k](w[k] * x[2*i + k])")     a text: undeclared arguments in order of first use

    @op
    def conv(x, w):                            a function of Python: its parameters give the order,
        \"\"\"y[i] = sum[k](w[k] * x[2*i + k])\"\"\"     and its docstring is the program

or a `Function`, whose arguments have an order. No program is ever read again from its text, which
would not say which functions of the user it calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tadc.errors import ArgumentError, TargetError
from tadc.function import Function, Tensor
from tadc.program import Program
from tadc.runtime.parameters import Parameter, bind

Source = str | Function | Callable[..., Any]
"""A program as text, compiled, or as the docstring of a function of Python."""


class Signature(NamedTuple):
    """A program of the target `cpu`, and the order in which calls give its arguments."""

    function: Function
    order: tuple[int, ...]
    """The numbers of the program's arguments, in the order of calls."""

    @property
    def names(self) -> list[str]:
        """The names of the arguments in the order of calls."""
        return [self.function.args[n].name for n in self.order]

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """The values of a call in the order of the program's arguments.

        Raises `ArgumentError` for values that are missing, unknown, given twice or too many.
        """
        if named or len(positional) != len(self.order):
            positional = bind(self._parameters(), positional, named)
        values = list(positional)
        for number, value in zip(self.order, positional, strict=True):
            values[number] = value
        return values

    def _parameters(self) -> list[Parameter]:
        return parameters_of(self.function, [self.function.args[n] for n in self.order])


def parameters_of(function: Function, args: Sequence[Tensor]) -> list[Parameter]:
    """Some arguments of a function as calls give them, each with its place in the text."""
    known = {p.name: p for p in function.runner.parameters}
    return [known[t.name] for t in args]


def of(source: Source) -> Signature:
    """The signature of an operation; raises `TadcError` where there is no such program."""
    if isinstance(source, str):
        return _in_order(Function(Program.parsed(source), "cpu"))
    if isinstance(source, Function):
        if source.target != "cpu":
            raise TargetError(
                f"operations of frameworks are of the target 'cpu', not {source.target!r}",
                hint="with_target('cpu') gives such a function",
            )
        return _in_order(source)
    if not inspect.isroutine(source):
        raise ArgumentError(
            "an operation is made of a text, a tadc.Function or a function with a docstring, "
            f"not of {type(source).__name__!r}"
        )
    return _of_routine(source)


def _in_order(function: Function) -> Signature:
    return Signature(function, tuple(range(len(function.args))))


def _of_routine(routine: Callable[..., Any]) -> Signature:
    name: str = getattr(routine, "__qualname__", repr(routine))
    text = inspect.getdoc(routine)
    if not text:
        raise ArgumentError(
            f"the function {name} has no docstring, which is the program",
            hint='def f(x): """y[i] = x[i]**2"""',
        )
    function = Function(Program.parsed(text, f"<{name}>"), "cpu")
    names = [t.name for t in function.args]
    given = _parameters_of(routine, name)
    _check_all("parameter", "program", name, given, names)
    _check_all("argument", "signature", name, names, given)
    return Signature(function, tuple(map(names.index, given)))


def _parameters_of(routine: Callable[..., Any], name: str) -> list[str]:
    parameters = inspect.signature(routine).parameters.values()
    for p in parameters:
        if p.kind is not p.POSITIONAL_OR_KEYWORD or p.default is not p.empty:
            raise ArgumentError(
                f"the parameter {p} of {name} is not a plain name",
                hint="every argument of a program is given, by position or by name",
                argument=p.name,
            )
    return [p.name for p in parameters]


def _check_all(
    what: str, where: str, name: str, wanted: Sequence[str], known: Sequence[str]
) -> None:
    for found in wanted:
        if found not in known:
            raise ArgumentError(
                f"the {what} {found} of {name} is not in its {where}",
                hint=f"the {where} has {', '.join(known) or 'none'}",
                argument=found,
            )

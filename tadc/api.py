"""The functions of `import tadc`: compile programs, and differentiate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from os import PathLike
from typing import TYPE_CHECKING, Any

from tadc.errors import ArgumentError, FileError
from tadc.function import Function
from tadc.inverse.vectors import by_name, vectors
from tadc.program import Program
from tadc.runnable import one_or_named
from tadc.runtime.results import named as named_values
from tadc.support.entries import entry

if TYPE_CHECKING:
    from tadc.ode.flow import Flow
    from tadc.pullback import Pullback
    from tadc.runtime.results import Array, Named, Results


@entry
def compile(
    source: str, target: str = "cpu", *, file: str = "<program>", plan: str | None = None
) -> Function:
    """Compile a program of the language.

    `target` is `cpu` (LLVM, all cores), `cuda` or `interpret` (the slow reference); `file` names
    the text in errors. A `plan` says how the loops of definitions run on `cpu`, in the program and
    in its derivatives, as `f.emit("plan")` and `tadc derive --explain-plan` print it: it changes
    times, and results by rounding at most. Raises `TadcError` for whatever is wrong with the
    program, `PlanError` for what is wrong with the plan.
    """
    function = Function(Program.parsed(source, file, plan or ""), target)
    if plan is not None:
        from tadc.checked_plan import check_loop_plan  # here, as most programs have none

        check_loop_plan(function)
    return function


@entry
def define_function(
    name: str,
    arguments: str | Sequence[str],
    *,
    value: str,
    derivative: str | Sequence[str] | Mapping[str, str],
) -> None:
    """Define an elementary function with a derivative of its own, for programs compiled later.

        tadc.define_function("softplus", "x", value="log1p(exp(x))", derivative="sigmoid(x)")
        tadc.define_function("hypot", "x, y", value="sqrt(x**2 + y**2)",
                             derivative={"x": "x / hypot", "y": "y / hypot"})

    The formulas are expressions of the language in the arguments, which are scalars: operators,
    functions (defined ones too) and conditions on values. A derivative may also read the value,
    under the name of the function, and call any function, even its own. It is one formula for one
    argument, else one for each: in order, or by name. Every mode and every order of derivation goes
    by it, whatever the value says.

    Programs take functions as these are when they are compiled, and carry them along: a function
    that is defined again is new for later programs only. Raises `TadcError` for names that are
    taken and, with the place in the formula, for what is wrong there.
    """
    from tadc.language.custom_functions import define

    define(name, arguments, value, derivative)


@entry
def compile_file(path: str | PathLike[str], target: str = "cpu") -> Function:
    """Compile the program in a file (UTF-8)."""
    return compile(read_program(path), target, file=str(path))


def read_program(path: str | PathLike[str]) -> str:
    """The text of a file; raises `FileError` where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise FileError(f"cannot read it: {error.strerror}", file=str(path)) from None
    except UnicodeDecodeError as error:
        raise FileError(f"not a text in UTF-8 (byte {error.start})", file=str(path)) from None


@entry
def vjp(
    f: Function | Flow, /, *arguments: Any, wrt: str | Sequence[str] | None = None, **named: Any
) -> tuple[Results, Callable[..., tuple[Array, ...]]]:
    """The value of `f` and its pullback: `y, pullback = vjp(f, a, b); da, db = pullback(dy)`.

    The pullback takes one adjoint per result (each in the shape of the result) and gives a tuple of
    one gradient per argument, in the order of `f.args`, or of `wrt` where that names some: then
    nothing is computed or kept for the others. Adjoints may be given by name, `pullback(dy=...)`.
    It reads the arguments again, so they must not change in between: an `ArgumentError` says where
    that is noticed. `pullback(dy, observe={"h": look})` calls `look` with the adjoint of `h`: see
    `tadc.pullback.Pullback`. Of a flow (`tadc.ode`) too, by all its arguments.
    """
    names = _names(wrt)
    if not isinstance(f, Function):
        if names:
            raise ArgumentError("a flow is derived by all its arguments", hint="leave out wrt=")
        return f.vjp(*arguments, **named)
    results, pullback = _pull_back()(f, names, arguments, named)
    return one_or_named(f.results, results), pullback


@cache
def _pull_back() -> Callable[..., tuple[list[Any], Pullback]]:
    """The function of pullbacks, which needs NumPy: imported once, as an import takes a while."""
    from tadc.pullback import pull_back

    return pull_back


def _names(wrt: str | Sequence[str] | None) -> tuple[str, ...]:
    return (wrt,) if isinstance(wrt, str) else tuple(wrt or ())


@entry
def jvp(
    f: Function | Flow,
    arguments: Sequence[Any],
    tangents: Sequence[Any] | Mapping[str, Any],
    /,
    **sizes: int,
) -> tuple[Results, Results]:
    """The value of `f` and its derivative in a direction: `y, ydot = jvp(f, (a, b), (adot, bdot))`.

    One tangent per argument, in the shape of the argument, or None for 0: what only tangents of
    None need is not computed. They may be given by name too, as `{"a": adot}`, those of other
    arguments being 0. Both come as one array, or as named tuples where `f` has several results.
    Costs a small constant times `f`, and no more memory than `f` and the tangents of what it keeps.
    Raises `ArgumentError` where the numbers of arguments and tangents differ. Sizes that no array
    tells are given by name. Takes a flow (`tadc.ode`) too.
    """
    if sizes and isinstance(f, Function):
        arguments = f.runner.bind(arguments, sizes)
        if not isinstance(tangents, Mapping):
            tangents = _without_sizes(f, tangents)
    names = [t.name for t in f.args]
    tangents = by_name(tangents, names, "argument") if isinstance(tangents, Mapping) else tangents
    if not isinstance(f, Function):
        return f.jvp(arguments, tangents)
    given = [v.name for v, tangent in zip(f.args, tangents, strict=False) if tangent is not None]
    if len(arguments) != len(tangents) or len(arguments) != len(f.args):
        raise ArgumentError(
            f"jvp takes {len(f.args)} arguments and as many tangents: "
            f"here are {len(arguments)} and {len(tangents)}",
            hint=f"arguments are {', '.join(names)}; None is a tangent of 0",
        )
    if not given:
        raise ArgumentError("jvp needs a tangent of at least one argument")
    forward = f.forward(*given, keep_values=True)
    seeds = [tangent for tangent in tangents if tangent is not None]
    computed = forward.call([*arguments, *seeds], {})
    values, derivatives = computed[: len(f.results)], computed[len(f.results) :]
    return one_or_named(f.results, values), one_or_named(f.results, derivatives)


def _without_sizes(f: Function, tangents: Sequence[Any]) -> list[Any]:
    """Tangents for all arguments, where those of sizes are left out."""
    given = iter(tangents)
    return [*(None if t.dtype == "size" else next(given, None) for t in f.args), *given]


@entry
def inverse_jvp(f: Function | Flow, arguments: Sequence[Any], ydot: Any, /) -> Named:
    """`J⁻¹ ydot`: one tangent per tensor that `f` updates, in order of the results, also by name.

    `f` updates some of its arguments, and its results are exactly those, in the same shapes; its
    other arguments are constants. `ydot` has one tangent per result, in order or by name, as
    `{"p": p_dot, "q": q_dot}` (a single one may come bare).
    Costs about as much as `jvp`, and the solution of the linear systems that have no structure.
    Raises `UnsupportedError` where a program has no inverse modes or its Jacobian must be singular,
    `SingularError` where it is at these arguments; warns with `IllConditionedWarning`. Source:
    Pearlmutter and Siskind, "Automatic Differentiation: Inverse Accumulation Mode", section 2.
    Takes a flow (`tadc.ode`) too.
    """
    if not isinstance(f, Function):
        return f.inverse_jvp(arguments, ydot)
    found = f.inverse("inverse-jvp")(arguments, vectors(_results(f), ydot, "tangent"))
    return named_values(_results(f), found)


@entry
def inverse_vjp(f: Function | Flow, arguments: Sequence[Any], xbar: Any, /) -> Named:
    """`J⁻ᵀ xbar`: one adjoint per result, given one per tensor that `f` updates; see `inverse_jvp`.

    Needs no more memory than `jvp`: lumps are undone first to last.
    """
    if not isinstance(f, Function):
        return f.inverse_vjp(arguments, xbar)
    found = f.inverse("inverse-vjp")(arguments, vectors(_results(f), xbar, "adjoint"))
    return named_values(_results(f), found)


@entry
def log_abs_det(f: Function | Flow, arguments: Sequence[Any], /) -> tuple[float, float]:
    """Sign and logarithm of the absolute value of the determinant of `f`'s Jacobian.

    0 and -inf where it is singular, as of `numpy.linalg.slogdet`; for the programs of
    `inverse_jvp`.
    """
    if not isinstance(f, Function):
        return f.log_abs_det(arguments)
    sign, logarithm = f.inverse("log-abs-det")(arguments, ())
    return sign, logarithm


def _results(f: Function) -> list[str]:
    return [t.name for t in f.results]


@entry
def grad(loss: Function, wrt: str | Sequence[str] | None = None) -> Function:
    """The gradient of a function with one scalar result, as a function of the same arguments.

    `wrt` names the arguments, all of them by default. Several gradients come as a tuple.
    """
    return loss.gradient(*_names(wrt))

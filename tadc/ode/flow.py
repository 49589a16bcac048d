"""`flow`: the map from the state at one time to that at another, and its modes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tadc.function import Function, Tensor
from tadc.ode.checks import check_fit, check_solver, number, one_each, shaped, state_names
from tadc.ode.equations import Equation, Joint, Layout
from tadc.ode.solver import Solver, Span, Vector
from tadc.runtime.parameters import Parameter, bind
from tadc.support.entries import entry

if TYPE_CHECKING:
    from tadc.runtime.results import Named, Results

Pullback = Callable[..., tuple[Any, ...]]


@entry
def flow(
    g: Function,
    t0: float,
    t1: float,
    *,
    state: str | Sequence[str] | None = None,
    time: str | None = None,
    method: str = "DOP853",
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float = np.inf,
) -> Flow:
    """The map from x(t0) to x(t1) where dx/dt = g(x).

    `state` names the arguments of `g` that are the state, in the order of the results of `g`, which
    are their derivatives by time: one result for each, in its shape. It may be left out where `g`
    has one argument, and where its results have the names of arguments. `time` names a scalar
    argument that is the time. All other arguments are parameters, constant in time. `t1` may be
    less than `t0`.

    `method`, `rtol`, `atol` and `max_step` are those of `scipy.integrate.solve_ivp`; the tolerances
    are 1e-10 and 1e-12, or 1e-5 and 1e-7 where `g` declares f32. `Radau`, `BDF` and `LSODA` are for
    stiff equations. The state is integrated in float64.

    Raises `TadcError` where `g`, `state` and `time` do not fit together.
    """
    span = number("t0", t0), number("t1", t1)
    rough = any(t.dtype == "f32" for t in g.args)  # rounding makes steps shorter, not better
    solver = Solver(
        method,
        (1e-5 if rough else 1e-10) if rtol is None else number("rtol", rtol),
        (1e-7 if rough else 1e-12) if atol is None else number("atol", atol),
        number("max_step", max_step),
    )
    check_solver(span, solver)
    names = state_names(g, state, time)
    check_fit(g, names, time)
    return Flow(g, span, names, time, solver)


class Flow:
    """The map from the state at one time to that at another; `tadc.ode.flow` makes it.

    Call it with the state and the parameters, by position in the order of `args` or by name. One
    tensor of the state comes as an array, several as a tuple, in the precision of the state.

    Raises `TadcError` for arguments that `g` does not take, and `IntegrationError` where the solver
    does not reach the end. Safe to call from several threads, and to pickle.
    """

    def __init__(
        self, g: Function, span: Span, state: tuple[str, ...], time: str | None, solver: Solver
    ):
        self.g = g
        self.span = span
        self.state = state
        self.time = time
        self.solver = solver
        self.args: tuple[Tensor, ...] = tuple(t for t in g.args if t.name != time)
        by_name = {t.name: t for t in self.args}
        self.results: tuple[Tensor, ...] = tuple(by_name[name] for name in state)
        self.parameters: tuple[str, ...] = tuple(name for name in by_name if name not in state)

    def __repr__(self) -> str:
        arguments = ", ".join(t.name for t in self.args)
        ends = f"{self.span[0]:g} to {self.span[1]:g}"
        return f"<tadc.ode.Flow ({arguments}) -> {', '.join(self.state)}, t from {ends}>"

    @property
    def _backwards(self) -> Span:
        return self.span[1], self.span[0]

    @entry
    def __call__(self, *arguments: Any, **named: Any) -> Results:
        p = self._equation(arguments, named)
        return p.as_results(self.solver.end(p.value, self.span, p.start))

    @entry
    def jvp(self, arguments: Sequence[Any], tangents: Sequence[Any]) -> tuple[Results, Results]:
        """The last state, and J v for one tangent per argument, those of parameters included.

            dv/dt = J_g(x) v,  v(t0) -> v(t1)                                         (5.11a)

        Tangents have the shapes of their arguments; `None` is zero.
        """
        p = self._equation_at(arguments)
        names = [t.name for t in self.args]
        given = {
            name: np.zeros(p.shapes[name])
            if v is None
            else shaped(f"the tangent of {name}", v, p.shapes[name])
            for name, v in zip(names, one_each("tangents", tangents, names), strict=True)
        }
        scale = _largest(*given.values())
        moving = {name: given[name] / scale for name in self.parameters if given[name].any()}
        first = p.layout.pack([given[name] / scale for name in self.state])
        start = np.concatenate([p.start, first])
        x, v = np.split(self.solver.end(p.with_tangents(moving), self.span, start), 2)
        return p.as_results(x), p.as_results(v * scale)

    @entry
    def vjp(self, /, *arguments: Any, **named: Any) -> tuple[Results, Pullback]:
        """The last state, and its pullback: J^T w for one adjoint per tensor of the state.

            dw/dt = -J_g(x)^T w,  w(t1) -> w(t0)                                      (5.11b)
            dp    = the integral of the derivative of w . g(x) by the parameters p

        The pullback gives a tuple of one gradient per argument, in the order of `args`. It needs
        the solution at all times from `t0` to `t1`: memory in proportion to the number of steps.
        """
        p = self._equation(arguments, named)
        path = self.solver.path(p.value, self.span, p.start)
        back = p.cotangents(self.parameters)
        layout = Layout([p.shapes[name] for name in (*self.state, *self.parameters)])

        def pullback(*adjoints: Any) -> tuple[Any, ...]:
            w = p.pack("adjoint", adjoints)
            scale, n = _largest(w), w.size
            first = np.concatenate([w / scale, np.zeros(layout.size - n)])
            end = self.solver.end(lambda t, z: -back(t, path(t), z[:n]), self._backwards, first)
            parts = layout.unpack(end * scale)
            gradients = dict(zip((*self.state, *self.parameters), parts, strict=True))
            return tuple(p.like(t.name, gradients[t.name]) for t in self.args)

        return p.as_results(path(self.span[1])), pullback

    @entry
    def inverse_jvp(self, arguments: Sequence[Any], tangents: Any) -> Named:
        """J^-1 v for tangents of the last state: a tuple, one for each tensor of the state.

            dv/dt = J_g(x) v,  v(t1) -> v(t0)                                         (5.11c)

        What the flow contracts by a factor, errors grow by here.
        """
        p = self._equation_at(arguments)
        v = p.pack("tangent", _several(tangents))
        scale = _largest(v)
        along = p.tangents()
        path = self.solver.path(p.value, self.span, p.start)
        end = self.solver.end(lambda t, z: along(t, path(t), z), self._backwards, v / scale)
        return p.as_tuple(end * scale)

    @entry
    def inverse_vjp(self, arguments: Sequence[Any], adjoints: Any) -> Named:
        """J^-T w for adjoints of the first state: a tuple, one for each tensor of the state.

            dw/dt = -J_g(x)^T w,  w(t0) -> w(t1)                                      (5.11d)

        What the flow contracts by a factor, errors grow by here.
        """
        p = self._equation_at(arguments)
        w = p.pack("adjoint", _several(adjoints))
        scale = _largest(w)
        back = p.cotangents()
        joint = Joint(p.value, lambda t, x, z: -back(t, x, z), w.size)
        end = self.solver.end(joint, self.span, np.concatenate([p.start, w / scale]))
        return p.as_tuple(joint.split(end)[1] * scale)

    @entry
    def log_abs_det(self, arguments: Sequence[Any]) -> tuple[float, float]:
        """The sign of det J, which is 1, and log |det J|.

            d/dt log |det J| = trace J_g(x)

        At every step this takes one tangent for each element of the state.
        """
        p = self._equation_at(arguments)
        along = p.tangents()
        units = np.eye(p.start.size)

        def trace(t: float, x: Vector, _: Vector) -> Vector:
            return np.array([sum(along(t, x, e)[k] for k, e in enumerate(units))], np.float64)

        joint = Joint(p.value, trace, p.start.size)
        end = self.solver.end(joint, self.span, np.append(p.start, 0.0))
        return 1.0, float(end[-1])

    def _equation_at(self, arguments: Any) -> Equation:
        return self._equation(one_each("arguments", arguments, [t.name for t in self.args]), {})

    def _equation(self, positional: Sequence[Any], named: Mapping[str, Any]) -> Equation:
        parameters = [Parameter(t.name, t.dtype, len(t.shape)) for t in self.args]
        values = bind(parameters, positional, named)
        given = dict(zip((t.name for t in self.args), values, strict=True))
        return Equation(self.g, self.state, self.time, given, self.span[0])


def _largest(*arrays: Any) -> float:
    """A scale for linear equations, so that absolute tolerances mean the same for all tangents."""
    return max((float(np.abs(a).max(initial=0.0)) for a in arrays), default=0.0) or 1.0


def _several(values: Any) -> Any:
    """One value per tensor of the state; where there is one, it may come alone."""
    if isinstance(values, tuple | list):
        return values  # pyright: ignore[reportUnknownVariableType]
    return (values,)

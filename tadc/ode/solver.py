"""SciPy's `solve_ivp` for differential equations of vectors, with errors in terms of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tadc.errors import IntegrationError
from tadc.support.packages import installed

Vector = npt.NDArray[np.float64]
Field = Callable[[float, Vector], Vector]
"""The right-hand side of a differential equation."""
Span = tuple[float, float]

METHODS = ("RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA")
"""The methods of `solve_ivp` by name; the last three are for stiff equations."""


@dataclass(frozen=True)
class Solver:
    """A method of SciPy with its tolerances."""

    method: str
    rtol: float
    atol: float
    max_step: float

    def end(self, f: Field, span: Span, start: Vector) -> Vector:
        """The solution at the end of `span`; raises `IntegrationError`."""
        if _stays(span, start):
            return start
        return self._solve(f, span, start, t_eval=[span[1]]).y[:, -1]

    def path(self, f: Field, span: Span, start: Vector) -> Callable[[float], Vector]:
        """The solution at every time of `span`; raises `IntegrationError`."""
        if _stays(span, start):
            return lambda t: start
        return self._solve(f, span, start, dense_output=True).sol

    def _solve(self, f: Field, span: Span, start: Vector, **how: Any) -> Any:
        watched = _Watched(f, span[0])
        options = {"method": self.method, "rtol": self.rtol, "atol": self.atol, **how}
        # imported here: it takes half a second, which only those pay who need it
        scipy = installed("scipy.integrate", "a flow")
        with np.errstate(all="ignore"):  # steps that are too long may overflow, and are rejected
            solution = scipy.solve_ivp(watched, span, start, max_step=self.max_step, **options)
        if not solution.success or not np.isfinite(solution.y).all():
            raise watched.failure(span, solution.message)
        return solution


def _stays(span: Span, start: Vector) -> bool:
    """True if there is nothing to integrate, which SciPy does not take."""
    return span[0] == span[1] or not start.size


class _Watched:
    """A right-hand side that remembers where it was last looked at, and whether it was finite."""

    def __init__(self, f: Field, t: float):
        self.f = f
        self.time = t
        self.finite = True

    def __call__(self, t: float, x: Vector) -> Vector:
        slope = self.f(t, x)
        self.time = float(t)
        self.finite = bool(np.isfinite(slope).all())
        return slope

    def failure(self, span: Span, message: str) -> IntegrationError:
        why = message.rstrip(".") if self.finite else "the equation is not finite there"
        return IntegrationError(
            f"the solver stopped at t = {self.time:g}, between {span[0]:g} and {span[1]:g}: {why}",
            hint="is there a solution beyond? For stiff equations there are Radau, BDF and LSODA",
            time=self.time,
        )

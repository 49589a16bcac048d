"""Differential equations: the map from the state at one time to that at another, in four modes.

    dx/dt = g(x)      x(t0) -> x(t1)      with the Jacobian J

Its modes solve linear equations along x(t) (Pearlmutter and Siskind, "Automatic Differentiation:
Inverse Accumulation Mode", equations 5.11), with the exact derivatives of the program `g`:

    jvp           J v        dv/dt =  J_g(x) v      from t0 to t1, together with x
    vjp           J^T w      dw/dt = -J_g(x)^T w    from t1 to t0, along the stored x
    inverse_jvp   J^-1 v     dv/dt =  J_g(x) v      from t1 to t0, along the stored x
    inverse_vjp   J^-T w     dw/dt = -J_g(x)^T w    from t0 to t1, together with x

Those that go back in time read x from the solver's own interpolation of its solution. Integrating
`dx/dt = g(x)` backwards instead would save the memory, and be unstable where `g` is stable.

- `flow`: such maps, and their modes
- `equations`: `g` and its derivatives as functions of vectors
- `solver`: integration of these with SciPy
- `checks`: errors about what does not fit together
"""

from tadc.ode.flow import Flow, flow

__all__ = ["Flow", "flow"]

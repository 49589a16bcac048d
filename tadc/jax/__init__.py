"""Programs as functions of JAX.

    import tadc.jax
    conv = tadc.jax.op("y[i] = sum[k](w[k] * x[2*i + k])")
    y = conv(w, x)
    jax.jit(jax.hessian(lambda w: conv(w, x).sum()))(w)

An op is an ordinary function of JAX: under `jit`, `grad`, `jvp`, `vmap`, `linearize`, `hessian`,
`scan`, `checkpoint`, `shard_map`, in any order and composition. It computes on the CPU what the
program computes in NumPy, to the last bit; tangents are those of `Function.forward`, gradients
those of `tadc.vjp`.

- Arguments are arrays of float32 or float64, or numbers of Python. Tensors of undeclared precision
  are computed in the widest among them. Declared f64 needs JAX's option `jax_enable_x64`; half
  precision, integers and complex numbers are refused.
- Shapes are numbers when a function is compiled, as everywhere in JAX. `jax.export` is refused: a
  stored program would miss the machine code.
- A call is a custom call of XLA that runs machine code, with no Python and no lock in between. The
  code for each program, shapes and precision lives as long as the process. JAX's persistent
  compilation cache works across processes.

How it is made, in the order in which to read it:

- `ops`: the functions that users call
- `inverse`: inverse modes, `op.log_abs_det((x, w))` and others
- `flow`: flows of differential equations, `op(tadc.ode.flow(g, 0, 1))`, with first derivatives
- `arguments`: what a call accepts
- `call`: an operation with everything that is fixed when JAX traces
- `primitive`: what JAX asks of a call (types, tangents, transposition, batching)
- `transposed`: gradients, which keep values of the call
- `lowering`: a call as a custom call of XLA
- `handler`, `handler_code`, `door`: the machine code that XLA calls
- `package`, `private`: the modules of JAX, and its names that are not public
"""

from tadc.jax.flow import FlowOp
from tadc.jax.ops import Op, op

__all__ = ["FlowOp", "Op", "op"]

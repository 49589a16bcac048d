"""Benchmarks of tadc: beside hand-written C and other compilers, and of single costs.

- `workloads`: thirteen functions with inputs, NumPy, torch, jax and numba, and fifteen others; `c`
  has them in C
- `timing`, `machine`, `tables`: taking turns, where it was measured, results as Markdown and JSON
- `hand_written`, `contenders`: who computes a workload
- `cpu`: the comparison; `report`: its tables, geometric means, and the change to an earlier run
- `operations`, `limits`: what workloads have to do, and how near they are to what the machine can
- `convolutions`: a sweep over channels, kernels and strides beside torch, which looks for cliffs
- `calls`, `jax_calls`: microseconds of small calls, in NumPy and in JAX
- `start`: the way to the first gradient, and memory
- `compile_time`, `long_programs`, `inverse_modes`: steps of compilation, long texts, modes

`benchmarks/README.md` says how to run and read them.
"""

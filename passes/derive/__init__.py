"""Derivatives of programs: sums over exactly the points that contribute to a gradient.

A read `x[A i + a]` adds to the adjoint of x a sum over the points with `A i = p - a`: an equation
in the sum's own indices. Passes write these sums down, solve their equations in integers, and give
each index bounds.

In the order of the pipeline
----------------------------
- `batch`: one more index for arguments and for all that depends on them, before derivatives or
  behind them
- `outline_reductions`: names for sums whose values a derivative will need
- `outline_stencils`: names for written-out sums whose adjoint many elements will need
- `differentiate`: adjoints as sums over equations; in other modes tangents, or what inverts the
  program
- `sparse_jacobian`: instead of `differentiate`, the entries of a Jacobian that can differ from 0
- `solve_index_kernels`: the integer solutions of these equations, and guards
- `solve_elements`: indices that elements of index tensors are, and no loops over them
- `absorb_conditions`: conditions inside a sum become part of its index set
- `infer_ranges`: bounds for each index, so that a sum runs over the points that contribute
- `split_pullback`: two programs: the values and what they save, and the gradients from that
- `zero_arguments`: the gradients without what absent adjoints would contribute
- `split_solves`: the parts of an inverse mode, with a linear system between them

The packages
------------
- `inversion`: lumps, the structure of their matrices, and the programs that solve with these
- `differentiation`: rules of elementary functions; forward and reverse mode over definitions
"""

"""The middle of the compiler: from a program of the dialect `tix` to its derivative, and to loops.

`pipeline` holds the order of the passes to a derivative, with a reason for each place,
`code_pipeline` that of the passes to code; `run_passes` runs them.

The way of a program, phase by phase
------------------------------------
A program comes as tensors that are defined element by element (`tadc.dialects.tix`). Each phase has
a folder, whose docstring names its passes in the order in which a program comes to them.

To a derivative:

- `derive`: definitions of adjoints or tangents. `tadc.passes.derive.differentiate` writes each
  gradient as a sum over the points that read an element, given by equations,
  `tadc.passes.derive.solve_index_kernels` solves these in integers, and
  `tadc.passes.derive.infer_ranges` gives all indices bounds. Programs are cut here, too: a value
  from its pullback, an inverse at the linear systems in it.
- `simplify`: definitions as small as they get, and the choice of those that are stored

To code, from a program or its derivative:

- `splitting`: index sets in parts that have better loops, and long reductions in pieces for threads
  and for caches
- `algebra`: partial sums, factors and other indices, so that sums take fewer operations
- `layout`: which tensors are stored, copied in another order, or only another view of one
- `scheduling`: the plan of loops: tiles, streams, rows, bands; what they cost; the plan as text
- `lowering`: operations and types of machines, and then loops over memory: from the plan and the
  bodies of definitions to `scf`, `arith` and `memref` (`tadc.passes.lowering.schedule`)

Phases take turns: `factor_sums` of `algebra` goes before and behind derivatives, too, and
`simplify_sums` wherever a rewrite leaves something to simplify. The name of a pass, as
`tadc-opt -p` takes it, does not depend on its folder.

A pass imports passes of its own phase, and of those below it in `tests/house/layers.py`. What
several passes share lies in packages of their phase, or in those that serve all phases:

- `analysis`: activity, equivalence, rounding, costs, what is safe to compute where nobody asks
- `index_sets`: unions of convex sets of integers, with what holds at a place in a program
- `rewriting`: builders, cloners and everything else to make new programs out of old ones
- `polyhedral`: Smith normal form, Diophantine equations, Fourier-Motzkin; knows nothing of the IR
"""

"""Exact integer algebra of index maps: the mathematics of the compiler, free of any IR.

Everything is Python `int` or `Fraction`, nothing is rounded, every result is immutable.

- `matrix`: matrices as tuples of rows
- `division`: floor, ceiling and nearest division; evaluation of loop bounds
- `smith`: the Smith normal form
- `lattice`: the normal form of a null-space basis, preferring chosen unknowns
- `particular`: a particular solution while it is being found
- `canonical`: one choice among the equal ways to write the solutions down
- `diophantine`: all integer solutions of `M ξ = h (p, 1)` with their guards
- `images`: coordinates of the values that several forms take together
- `simplex`: rational feasibility by integer pivoting
- `inequalities`: normal form, implication and irredundance of inequalities
- `fourier_motzkin`: projections of a polyhedron
- `steady_bounds`: bounds that are the same for all values of the other variables in them
- `loop_nests`: loop nests over the integer points of a polyhedron, and single points of it
"""

"""Reference meanings of programs, the oracle of all tests: slow, and free of what code gets wrong.

- `tensor_index`: the value of a `tix` program, element by element on NumPy arrays
- `arrays`: elementary functions on NumPy arrays
- `absent_terms`: what conditions leave out of sums
- `points`: the points of index sets on which a body is evaluated at once
- `index_sets`: enumerates the integer points of an index set
- `loops`: the effect of a scheduled function on its buffers
- `loops_scalars`: the operations of `arith` and `math` on numbers
- `loops_vectors`: those on vectors
"""

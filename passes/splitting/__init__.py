"""Index sets in parts, each of which has loops of its own: unrolled, peeled, split by ranges or
residues, cut into pieces.

Index sets
----------
- `unwrap_indices`: what wraps around circles is read along lines, by choices or from copies
- `unroll_rounds`: sums over the rounds of circles are written out
- `solve_conditions`: equations leave the conditions of programs as they are written
- `peel_sums`: long sums get bounds that do not move (loop peeling)
- `split_axes`: an index that counts by its quotient and its remainder becomes two (strip-mining)

Results
-------
- `split_ranges`: range by range, where each is another sum (index-set splitting)
- `split_elements`: element by element of a short index, what shares dear terms with its neighbours
- `hoist_reductions`: reductions that nearly all elements need leave choices (loop unswitching)
- `split_residues`: residue by residue, what takes other terms than its neighbours (strip-mining)

Reductions, in pieces (partial reductions, Halide's `rfactor`)
--------------------------------------------------------------
- `cut_sums`: sums over rows, to whose pieces each row can add when it is computed
- `cut_reductions`: long reductions of few elements, for the threads of a processor
- `spread_reductions`: long reductions of few elements, for the threads of a GPU

The package
-----------
- `rfactor`: sums that are cut into pieces, for rows that other definitions run along, and for pairs
"""

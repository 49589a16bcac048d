"""The middle of the compiler: from a program of the dialect `tix` to its derivative, and to loops.

Only passes lie here, beside `pipeline`, which holds their order with a reason for each place, and
`run_passes`, which runs them. What several passes share lies in the packages further down.

The way of a program, pass by pass
----------------------------------
A program comes as tensors that are defined element by element (`tadc.dialects.tix`). First
`factor_sums` makes tensors of sums within sums, where that saves operations; it does so again at
the end. Then `outline_reductions` gives a name to every sum whose value a derivative will need, and
`outline_stencils` to written-out ones whose adjoint many elements will need. `differentiate`
defines adjoints beside it: each read `x[A i + a]` adds a sum over the points with `A i = p - a`, an
equation in the sum's own indices that is not solved yet; in other modes it defines tangents, or
what inverts the program. `solve_index_kernels` solves these equations in integers and leaves
guards. `absorb_conditions` makes conditions inside a sum part of its index set, and `infer_ranges`
gives each index bounds, so that a sum runs over exactly the points that contribute. Then
`simplify_sums` reads single points, moves factors and merges guards, and `join_guards` makes one
choice of terms that exclude each other.

For a value and its pullback `split_pullback` cuts the program in two, and `zero_arguments` leaves
out of the pullback what adjoints would contribute that are not there. For inverse modes
`split_solves` cuts the program where a linear system is solved. `inline_definitions` decides what
is stored and what is computed where it is read, `order_definitions` when. `batch` gives arguments,
and all that depends on them, one more index: it goes before derivatives or behind them.

Code begins with `specialise`, which makes numbers of sizes that a call has. `unwrap_indices` reads
along lines what wraps around circles, by choices or from copies, `unroll_rounds` writes out sums
over the rounds of these, `solve_conditions` takes equations out of the conditions of programs as
they are written, and `peel_sums` gives long sums bounds that do not move. `recompute_elements`
computes where they are read the elements of large tensors that are made of few numbers.
`outline_scans` gives names to sums up to an element, and to their terms, `split_axes` makes two
indices of one that counts by its quotient and its remainder, `multiply_out` sums of products of
which parts can leave a sum, `order_windows` lets windows of columns follow those of rows, and
`move_windows` gives sums the windows that others have, so that `factor_sums` finds what they share.
`split_ranges` computes range by range what is another sum in each, `split_elements` element by
element of a short index what shares dear terms with its neighbours, `hoist_reductions` takes those
out of choices that nearly all elements need, and `split_residues` computes residue by residue what
takes other terms than its neighbours; `outline_values` makes tensors of dear values that many
elements have in common; `pack_reads` copies what vectors would gather, and terms that lie far
apart, to where they lie side by side; `cut_sums` cuts sums over rows into pieces, to which each row
can add when it is computed, and `cut_reductions` long reductions of few elements into pieces that
threads share. For GPUs, where a thread computes one element, `spread_reductions` makes many
elements of long reductions, and `transpose_reads` copies what neighbouring threads would read row
by row.
`expand_calls` puts formulas in the place of the user's functions, `expand_powers` products in that
of powers by small indices, `set_precision` types of
elements in the place of undeclared ones. For processors with caches and vectors `set_registers`
says which registers these have, for passes that choose blocks and copies. `split_sums` parts sums
whose terms depend on different indices, `join_sums` joins those whose terms share what they
compute, and `collect_factors` multiplies and divides once by what these have in common.
`shift_sums` chooses the indices that a sum runs over: short ranges that stay, reads of neighbours;
`interchange_sums` their order. `share_values` computes
equal values of a definition once. `shape_loops` decides between narrow loops and boxes,
`merge_axes` which neighbouring indices are one in memory; then `elide_copies` writes what is only
copied where the copy would be. `order_factors` multiplies first what rows or columns of a block
share; `schedule` makes a function of loops over flat buffers of each definition
(`tadc.dialects.loops`). For GPUs `coarsen_threads` lets a thread compute several elements, with
what they have in common read once.

The packages, each of which knows those below it alone
------------------------------------------------------
- `inversion`: lumps, the structure of their matrices, and the programs that solve with these
- `lowering`: from a plan and the bodies of definitions to `scf`, `arith` and `memref`
- `cutting`: sums that are cut into pieces, for rows that other definitions run along, and for pairs
- `factoring`: what is worth a tensor of its own: sums within sums, and what is not: all pairs
- `differentiation`: rules of elementary functions; forward and reverse mode over definitions
- `threads`: what threads of a GPU compute: how many elements, by code that these share
- `scheduling`: the plan of loops: tiles, streams, rows, bands; what they cost; the plan as text
- `analysis`: activity, equivalence, rounding, costs, what is safe to compute where nobody asks
- `index_sets`: unions of convex sets of integers, with what holds at a place in a program
- `rewriting`: builders, cloners and everything else to make new programs out of old ones
- `polyhedral`: Smith normal form, Diophantine equations, Fourier-Motzkin; knows nothing of the IR
"""

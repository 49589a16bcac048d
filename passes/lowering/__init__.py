"""Loops over buffers, emitted from the plan of `passes/scheduling`: `scf`, `arith` and `memref`.

`passes/lowering/schedule.py` makes functions, and `nest_loops` the loops in them: it calls one
entry for each kind of loops. docs/tours/tiles.md shows what blocks look like, docs/tours/printer.md
how LLVM IR is made of all this.

The passes
----------
- `expand_calls`: formulas in the place of the user's functions
- `expand_powers`: products in the place of powers by small indices
- `set_precision`: machine types for elements that have none
- `set_registers`: the vector registers of the processor
- `shape_loops`: index sets as narrow loops, or as boxes with tests inside
- `schedule`: a function of loops over flat buffers (`tadc.dialects.loops`) for each definition
- `coarsen_threads`: a thread of a GPU computes several elements, by code that these share

The packages
------------
- `loop_tree`: trees of loops, whatever recipe has made them
- `blocks`: register blocks
- `lanes`: values in the lanes of vectors, for all of these
- `scalars`: values as numbers, for plain loops and what is outside of vectors
- `gpu_threads`: threads of a GPU that compute several elements

Modules
-------
- `nest_loops`: the loops of a nest, each kind by the emitter that has it
- `all_pairs_loops`: sums over pairs, superstep by superstep; `all_pairs_blocks`: blocks of pairs
- `band_loops`: definitions band by band
- `roll_loops`: a stage that rolls along with its reader
- `parallel`: the parallel loop around each kind, and the pieces that its iterations take
- `tails`: masks, and the ends of loops over vectors or blocks
- `accumulators`: compensated totals of long sums, in registers or in memory
- `loop_builders`: short forms for loops, branches and buffers on the stack
- `operations`: the most frequent operations of loops, made quickly
- `needed_operations`: what a value or a bound needs, before it can be emitted
"""

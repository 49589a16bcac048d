"""Loops over buffers, emitted from the plan of `passes/scheduling`: `scf`, `arith` and `memref`.

`passes/schedule.py` makes functions, and `nest_loops` the loops in them: it calls one entry for
each kind of loops. docs/tours/tiles.md shows what blocks look like, docs/tours/printer.md how
LLVM IR is made of all this.

The packages
------------
- `tree`: trees of loops, whatever recipe has made them
- `blocks`: register blocks
- `lanes`: values in the lanes of vectors, for all of these
- `scalars`: values as numbers, for plain loops and what is outside of vectors

Modules
-------
- `nest_loops`: the loops of a nest, each kind by the emitter that has it
- `pair_loops`: sums over pairs, superstep by superstep; `pair_blocks`: blocks of pairs
- `band_loops`: definitions band by band
- `roll_loops`: a stage that rolls along with its reader
- `parallel`: the parallel loop around each kind, and the pieces that its iterations take
- `tails`: masks, and the ends of loops over vectors or blocks
- `accumulators`: compensated totals of long sums, in registers or in memory
- `emit`: short forms for loops, branches and buffers on the stack
- `operations`: the most frequent operations of loops, made quickly
- `trees`: what a value or a bound needs, before it can be emitted
"""

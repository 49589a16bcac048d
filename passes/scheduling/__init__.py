"""Loops over buffers for definitions: what `passes/schedule.py` emits, plain or in register blocks.

- `shared_values`: values that several bodies compute, and where one computation would do
- `index_lowering`: affine forms as index arithmetic: positions, loop bounds, conditions
- `elementary`: elementary functions as operations of `arith` and `math`
- `body_lowering`: the scalars of a body, its sums as loops that carry a number
- `segments`: long sums in segments, whose totals are added with their rounding errors
- `lane_sums`: sums whose innermost index gets one partial sum per value
- `index_uses`: the indices that a value depends on
- `tile`: how elements are parted into register blocks, and what is copied into panels
- `tile_analysis`: how long sums are, how far apart reads lie, what to compute ahead
- `term_choice`: tiles whose vectors run along the terms of a sum
- `tile_choice`: the cost of tiles, and whether one beats the plain nest
- `emit`: short forms for loops, branches and buffers on the stack
- `tile_loops`: a definition in tiles; its docstring draws block, strip, group, panel and chunk
- `tile_grid`: which blocks each iteration of the parallel loop computes
- `tile_strip`: what the blocks of one iteration share, and sums that advance by chunks
- `sloped_sums`: sums of a block whose bounds move with the column
- `tile_panels`: what blocks share, copied so that columns lie side by side
- `tile_totals`: what sums that wait in memory are emptied into
- `tile_block`: one block, from its sums to its elements
- `tile_terms`: blocks whose vectors run along the terms of a sum
- `lanes_lowering`: values at the rows and vectors of a block
- `lane_choices`: choices in the lanes of vectors, by branches and masks
- `lane_reads`: reads in the lanes of vectors
- `vector_lowering`: arithmetic on vectors and numbers
- `streams`: large results, written past the caches
- `trees`: what a value or a bound needs, before it can be emitted
"""

"""Loops over buffers for definitions: what `passes/schedule.py` emits, plain or in register blocks.

The groups stand in the order in which a definition passes them. First a plan is made of it: which
loops it has, and with whom it shares them. Then the loops are emitted, each kind by its own group.
Three tours show the way, with a drawing each: docs/tours/plan.md, tiles.md and printer.md.

The plan: what is weighed
-------------------------
- `sharing`: the nests of a program; here a plan begins
- `nest`: definitions that one function computes
- `blocking`: the loops of one definition: in tiles, as a stream, or plain
- `tile_choice`: which tiles are tried, and whether one beats the plain nest
- `small_parts`: which definitions are so short that compiling counts more than running
- `tile`: how elements are parted into register blocks, and what is copied into panels
- `sum_lengths`: which sums are short, and unrolled where they stand
- `boxes`: the box around what a sum runs over, the same for all elements
- `tile_analysis`: how far apart reads lie, what to compute ahead
- `term_choice`: tiles whose vectors run along the terms of a sum
- `stream_tiles`: which streams have blocks of rows, for what these share
- `neighbours`: values that elements share with their neighbours
- `tile_cost`: the cost of tiles, and of the plain nest
- `block_sizes`: how wide and how high blocks may be
- `panel_runs`: terms of panels that lie side by side, while columns lie apart
- `panel_choice`: what blocks copy, in which chunks, and how many blocks share it
- `cache_lines`: whether blocks find in a cache what others read, or copy it
- `far_lines`: what lines cost that no cache near the core keeps
- `fusion`: which definitions share the loops of tiles
- `joined_bodies`: definitions as one, in which sums over the same points are one operation
- `pairs`: walks over pairs, for sums along both of their indices
- `rows`: which neighbours are computed row by row
- `strips`: which neighbours are computed strip by strip, in strips of columns
- `bands`: which definitions share bands: stages of a stencil
- `band_axes`: definitions with an index for each dimension
- `band_windows`: what an element reads of each dimension of a tensor
- `band_stages`: the elements that a definition has in a band
- `band_pieces`: sides of pieces of a sum that are bands of what it alone reads
- `rolls`: stages that roll along with their reader, in registers, in place of bands
- `row_forms`: what has a form in the vectors of a row
- `row_places`: places of rows and strips in memory
- `piece_sums`: sums over the rows of a piece, to which each of these adds
- `scans`: reductions over all terms up to an element, whose loops carry a total

The plan as text
----------------
- `plan_text`: the nests of a program as text
- `value_text`: values of a body as text, as plans name them
- `plan_comments`: comments of a plan: work, time, what was rejected
- `predict`: the time that a definition takes in a nest
- `predict_nests`: the time of definitions that share loops
- `frequencies`: how often each operation of a definition runs
- `instructions`: the instructions of an element, as lanes and rows share them
- `plan_parser`: that text, read into entries
- `planned`: the nests that entries say, where definitions have them
- `planned_sums`: panels and chunks that entries say

Blocks
------
- `tile_loops`: a definition in tiles; its docstring draws block, strip, group, panel and chunk
- `tile_grid`: which blocks each iteration of the parallel loop computes
- `tile_strip`: what the blocks of one iteration share, and sums that advance by chunks
- `tile_panels`: what blocks share, copied so that columns lie side by side
- `squares`: elements that are read across rows, transposed in registers
- `tile_totals`: what sums that wait in memory are emptied into
- `tile_block`: one block, from its sums to its elements
- `tested_terms`: terms that only some rows of a block have
- `row_terms`: terms that read for one row of a block what others read for the next
- `sloped_sums`: sums of a block whose bounds move with the column
- `tile_terms`: blocks whose vectors run along the terms of a sum

Streams
-------
- `streams`: large results, written past the caches, and rows with borders or quotients
- `stream_blocks`: streams in blocks of rows
- `stream_rows`: the vectors of a row of a stream
- `stream_lanes`: values of a stream inside, where all guards hold, and at borders
- `stream_phases`: the elements of a row by the residues of their column
- `stream_segments`: parts of rows between the columns at which choices change sides

Rows and strips
---------------
- `row_loops`: definitions row by row
- `piece_loops`: sums over the rows of a piece
- `strip_loops`: definitions strip by strip
- `column_scans`: scans along another index than that of lanes
- `lane_loops`: loops over the vectors of a row
- `row_lanes`: values of a row in the lanes of vectors
- `row_scans`: prefixes in the lanes of vectors, with totals that a row carries
- `row_quotients`: quotients by a number of the row

Bands
-----
- `band_loops`: definitions band by band
- `roll_loops`: a stage that rolls along with its reader

Pairs
-----
- `pair_loops`: sums over pairs, in blocks of rows and vectors of columns

Lanes: values of all these loops
--------------------------------
- `lanes_lowering`: values at the rows and vectors of a block
- `lane_reads`: reads in the lanes of vectors
- `lane_choices`: choices in the lanes of vectors, by branches and masks
- `lane_tests`: which tests of choices hold anyway, and which are left to be made
- `vector_lowering`: arithmetic on vectors and numbers

What all share, plain nests too
-------------------------------
- `body_lowering`: the scalars of a body, its sums as loops that carry a number
- `lane_sums`: sums whose innermost index gets one partial sum per value
- `segments`: long sums in segments, whose totals are added with their rounding errors
- `index_lowering`: affine forms as index arithmetic: positions, loop bounds, conditions
- `elementary`: elementary functions as operations of `arith` and `math`
- `trees`: what a value or a bound needs, before it can be emitted
- `emit`: short forms for loops, branches and buffers on the stack
- `operations`: the most frequent operations of loops, made quickly
- `shared_values`: values that several bodies compute, and where one computation would do; the pass
  `share_values` asks for it
- `shared_choices`: values that several choices by values compute, for the same test
"""

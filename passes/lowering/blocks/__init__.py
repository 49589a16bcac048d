"""Definitions in register blocks; the docstring of `tile_loops` draws block, strip, group, panel.

- `tile_loops`: a definition in tiles; its docstring draws block, strip, group, panel and chunk
- `tile_grid`: which blocks each iteration of the parallel loop computes
- `tile_strip`: what the blocks of one iteration share, and sums that advance by chunks
- `tile_panels`: what blocks share, copied so that columns lie side by side
- `tile_block`: one block, from its sums to its elements
- `tile_stores`: how the elements of a block come to the result
- `block_versions`: code without tests for blocks all of whose elements have their terms
- `narrow_ranges`: loops over the terms that are there, rather than tests in each
- `predicated_terms`: terms that only some rows of a block have
- `shifted_terms`: terms that share what they read at other columns
- `triangular_sums`: sums of a block whose bounds move with the column
- `dot_blocks`: blocks whose vectors run along the terms of a sum
- `transposed_loads`: elements across rows, loaded along them and transposed in registers
"""

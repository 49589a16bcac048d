"""Neighbours that share loops: definitions computed row by row, or strip by strip.

- `fuse_rows`: which neighbours are computed row by row
- `fuse_strips`: which neighbours are computed strip by strip, in strips of columns
- `unroll_and_jam`: how many rows are computed at the same time
- `vectorized_rows`: what has a form in the vectors of a row
- `fuse_loops`: parts of definitions that run along a row in one loop
- `storage_reuse`: places of rows and strips in memory
- `rfactored_sums`: sums over the rows of a piece, to which each of these adds
"""

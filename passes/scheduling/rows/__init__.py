"""Neighbours that share loops: definitions computed row by row, or strip by strip.

- `rows`: which neighbours are computed row by row
- `strips`: which neighbours are computed strip by strip, in strips of columns
- `jammed_rows`: how many rows are computed at the same time
- `row_forms`: what has a form in the vectors of a row
- `row_parts`: parts of definitions that run along a row in one loop
- `row_places`: places of rows and strips in memory
- `piece_sums`: sums over the rows of a piece, to which each of these adds
"""

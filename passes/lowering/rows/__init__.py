"""Definitions that share rows, and sums over the rows of a piece.

- `row_loops`: definitions row by row, some rows side by side
- `part_loops`: a loop along rows, for all parts of definitions that share it
- `row_group`: numbers of rows side by side
- `piece_loops`: sums over the rows of a piece
- `lane_loops`: loops over the vectors of a row
- `row_lanes`: values of a row in the lanes of vectors
- `row_scans`: prefixes in the lanes of vectors, with totals that a row carries
- `row_quotients`: quotients by a number of the row
"""

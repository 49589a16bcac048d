"""Rows of a definition that are written in one go: with borders, quotients, or past the caches.

- `stream_choice`: large results, written past the caches, and rows with borders or quotients
- `stream_phases`: the elements of a row by the residues of their column
- `stream_segments`: parts of rows between the columns at which choices change sides
- `stream_rows`: the phases or segments of a row, as definitions
- `stream_guards`: choices that differ along the rows of streams
- `interior`: most elements, for which no choice changes sides, and the sides that these take there
- `stream_tiles`: which streams have blocks of rows, or rows side by side, for what these share
- `reused_values`: values that elements of a block share
- `masked_lanes`: what vectors compute under masks, and what they may read
"""

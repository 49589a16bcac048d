"""Recipes: how definitions become trees of loops, one file for a kind of programs.

- `column_scans`: totals in the lanes of vectors, which go down columns
- `elementwise`: a parallel loop for each index
- `recurrence`: a loop that carries totals from element to element
- `rows`: definitions that share rows
- `stream_blocks`: rows of a stream that share what they read and compute
- `streams`: rows in vectors with borders, past the caches where they are large
- `strips`: definitions that share strips of columns
"""

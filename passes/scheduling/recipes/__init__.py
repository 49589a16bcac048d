"""Recipes: how definitions become trees of loops, one file for a kind of programs.

- `elementwise`: a parallel loop for each index
- `recurrence`: a loop that carries totals from element to element
- `strips`: definitions that share strips of columns
"""

"""Recipes: how definitions become trees of loops, one file for a kind of programs.

- `elementwise`: a parallel loop for each index
- `strips`: definitions that share strips of columns
"""

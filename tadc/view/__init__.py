"""Derivatives to look at.

- `pictures`: pictures of index sets, as SVG
"""

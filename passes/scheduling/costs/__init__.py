"""Costs of loops: units in which tiles are compared, and predicted times.

- `tile_cost`: the cost of tiles, and of the plain nest
- `known_prices`: prices of tiles that definitions which are alike share
- `cache_lines`: whether blocks find in a cache what others read, or copy it
- `far_lines`: what lines cost that no cache near the core keeps
- `row_lines`: what lines cost that rows read for a term each
- `row_vectors`: what vectors cost that rows have in one place of a cache, where others come between
- `frequencies`: how often each operation of a definition runs
- `instructions`: the instructions of an element, as lanes and rows share them
- `predict`: the time that a definition takes in a nest
- `predict_nests`: the time of definitions that share loops
"""

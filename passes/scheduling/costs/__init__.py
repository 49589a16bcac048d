"""Costs of loops: units in which tiles are compared, and predicted times.

- `tile_cost`: the cost of tiles, and of the plain nest
- `price_cache`: prices of tiles that definitions which are alike share
- `line_reuse`: whether blocks find in a cache what others read, or copy it
- `cache_misses`: what lines cost that no cache near the core keeps
- `strided_lines`: what lines cost that rows read for a term each
- `conflict_misses`: what vectors cost that rows have in one place of a cache
- `frequencies`: how often each operation of a definition runs
- `instructions`: the instructions of an element, as lanes and rows share them
- `predict_time`: the time that a definition takes in a nest
- `predict_nest_time`: the time of definitions that share loops
"""

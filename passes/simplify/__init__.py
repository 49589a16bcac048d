"""Definitions that mean the same and are smaller, and the choice of what is stored.

No pass here imports another one: those of later phases use them after rewrites of their own.

- `specialise`: numbers in the place of sizes that a call has
- `simplify_sums`: single points are read, factors leave sums, guards are merged, constants folded
- `join_guards`: one choice of terms that exclude each other
- `inline_definitions`: what is stored, and what is computed where it is read
- `order_definitions`: when it is computed
- `share_values`: equal values of a definition are computed once
"""

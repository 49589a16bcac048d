"""Sums in another form, by the laws of arithmetic: distributive, commutative, change of variables.

For fewer operations
--------------------
- `outline_scans`: names for sums up to an element, and for their terms
- `multiply_out`: sums of products of which parts can leave a sum
- `order_windows`: windows of columns come after those of rows
- `move_windows`: windows where other sums have them, so that `factor_sums` finds what they share
- `factor_sums`: sums within sums become tensors, where that saves operations

For loops
---------
- `split_sums`: sums whose terms depend on different indices are parted
- `join_sums`: sums whose terms share what they compute become one
- `collect_factors`: what the terms of a sum have in common is multiplied and divided once
- `shift_sums`: the indices that a sum runs over: short ranges that stay, reads of neighbours
- `interchange_sums`: the order of these indices
- `order_factors`: what rows or columns of a block share is multiplied first

The package
-----------
- `factoring`: what is worth a tensor of its own: sums within sums, and what is not: all pairs
"""

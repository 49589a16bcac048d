"""Sums in fewer operations: what `factor_sums` asks before it makes a tensor of a partial sum.

- `contraction_order`: the cheapest order in which to sum a product over several indices
- `partial_sums`: the sum within a sum that is worth a tensor of its own, where that is safe
"""

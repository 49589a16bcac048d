"""Choices between storing and computing again: what is worth a tensor of its own.

- `contraction_order`: the cheapest order in which to sum a product over several indices
- `sum_places`: what is known around a sum
- `sum_images`: the tensor that a partial sum is
- `partial_sums`: the sum within a sum that is worth a tensor of its own, where that is safe
- `extracted_sums`: programs in which these are tensors
- `shared_sums`: partial sums that several definitions have in common
- `equal_tensors`: tensors that are equal become one
- `monomials`: sums of products, and the factors that their terms have in common
- `scalar_monomials`: values of a body as such sums
- `block_sums`: sums inside of reductions that have blocks as tensors of their own
- `crossing_sums`: sums beside each other whose vectors run along different axes
- `separate_sums`: sums over several indices that are products of sums
- `needed_elements`: the elements of a reduction that a definition needs
- `nested_sums`: short sums inside of long ones, which need less for each term
- `recomputation`: the tensors whose elements are better computed again than stored
"""

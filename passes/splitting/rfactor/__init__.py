"""Sums that become sums of pieces, and where these stand in a program.

- `cut`: a sum that is cut
- `replaced_sums`: sums that become several, where that may round in another order
- `row_cuts`: sums over rows that other definitions run along
- `pair_cuts`: sums along both indices of pairs
"""

"""Values of a body as numbers, and sums as loops that carry a number.

- `body_lowering`: the scalars of a body, its sums as loops that carry a number
- `index_arithmetic`: arithmetic of indices outside of all loops in which it is the same, and of
  numbers at once
- `index_lowering`: affine forms as index arithmetic: positions, loop bounds, conditions
- `elementary`: elementary functions as operations of `arith` and `math`
- `lane_sums`: sums whose innermost index gets one partial sum per value
- `segments`: long sums in segments, whose totals are added with their rounding errors
"""

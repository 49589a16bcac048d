"""Explanations of derivatives in words and formulas, and of loops, for `tadc derive --explain`.

- `gradients`: a gradient as the sum of contributions, one for each read
- `records`: the explanation of a contribution as data, and the same as text
- `contribution`: the equations of one read, and their solution in integers
- `guards`: the guards and bounds of a sum, with the condition that each comes from
- `notation`: the text of indices, affine forms and constraints
- `lumps`: the steps that an inverse mode inverts
- `loops`: the plan of the loops of a function and of a derivative
"""

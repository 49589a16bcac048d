"""Programs as text of the language, which reads back as the same program.

- `program`: declarations, definitions and `return`
- `values`: scalar expressions, with no more parentheses than needed
- `marks`: the characters of a text that an operation wrote
- `affine`: affine forms, with quotients and remainders as `//` and `%`
- `bounds`: ranges of reductions
- `conditions`: conditions on indices
- `choices`: conditions on values
"""

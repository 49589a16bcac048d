"""The inverse modes of a program: `J⁻¹ ẏ`, `J⁻ᵀ x̄` and the determinant of its Jacobian.

- `inverse`: runs the programs of a mode, and solves the linear systems between them
- `vectors`: what they are multiplied with, as callers give it
- `text`: prints these programs, with the systems between them as comments
- `structures`: says of a matrix why it is solved as it is
"""

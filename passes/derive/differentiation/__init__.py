"""Derivatives of programs in gather form: adjoints in reverse mode, tangents in forward mode.

The pass `differentiate` puts these together. A sweep goes through the definitions; for each of them
the derivative of its scalars is emitted where a gradient asks for it.

- `rules`: the partial derivatives of every elementary function
- `cancelled_extrema`: maxima that results do not depend on, as those of a softmax
- `names`: the names of adjoints and tangents, and labels that leave these free
- `extended_program`: a copy of a program, to which derivatives are added
- `forward_values`: values of the program that its derivative needs: read, or computed again
- `reverse_scalars`: the adjoint of a value inside one definition
- `linked_elements`: elements of index tensors as conditions on the terms of adjoints
- `reverse_sweep`: the contribution of each read to the adjoint of the tensor that it reads
- `shared_adjoints`: equivalent adjoints are emitted once, and copied
- `forward_scalars`: the tangent of one definition
- `forward_sweep`: the tangents of all definitions, first to last
- `band_tangents`: the entries of a Jacobian, band by band
"""

"""Index sets of definitions, reductions and reads, as constraints on indices and sizes.

What is asked of them is answered by the exact mathematics of `passes/polyhedral`.

- `space`: constraints as rows of numbers, and whether any point meets them
- `disjuncts`: unions of convex sets: complements, and parts that are disjoint
- `sets`: the index set of a definition, and the constraints of quotients
- `images`: the values that index forms take together, as the index set of a tensor
- `paths`: the reductions and branches around an operation
- `wraps`: quotients in indices that wrap around a circle
- `half_boxes`: boxes around indices that run over at least about half of them
- `context`: a cloner that knows the constraints at the place of the copy
- `conditional_constants`: values of a body once some conditions are assumed true or false
- `cells`: an index set cut by the conditions in the body of its reduction
- `dependence`: the elements of one tensor that those of another one depend on
- `bands`: bands of a Jacobian, entries at affine places
- `band_flow`: the bands of all tensors of a program by one argument, and the entries in them
"""

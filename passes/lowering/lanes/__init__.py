"""Values of a body in the lanes of vectors.

- `lanes_lowering`: values at the rows and vectors of a block
- `lane_reads`: reads in the lanes of vectors
- `lane_choices`: choices in the lanes of vectors, by branches and masks
- `border_lanes`: choices that change sides along a loop, inside and at borders
- `lane_tests`: which tests of choices hold anyway, and which are left to be made
- `zero_lanes`: which values are 0 in the lanes that a mask leaves out, and whether any is NaN
- `vector_lowering`: arithmetic on vectors and numbers
"""

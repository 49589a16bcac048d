"""Jacobians and Hessians as sparse matrices: their entries by a program, their pattern by proof.

- `points`: the integer points of a polyhedron, as arrays
- `pattern`: the places of entries in a matrix, for given sizes
- `matrix`: matrices of other packages, made of a pattern and its entries
- `places`: the place of each entry in words, above the program
- `jacobian`: the function from arguments to a matrix
"""

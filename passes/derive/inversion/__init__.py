"""Inverse modes: `J⁻¹ ẏ`, `J⁻ᵀ x̄` and `log |det J|` of programs that update their state.

A program is cut into lumps, short steps with square matrices; each matrix is classified by which of
its entries can differ from 0, and solved accordingly (Pearlmutter and Siskind, "Automatic
Differentiation: Inverse Accumulation Mode"). Finding lumps:

- `state`: the arguments that a program updates, and the tensors that depend on them
- `separators`: all minimum separators of a graph with weighted nodes, free of any IR
- `lumps`: the finest steps between states of full width

classifying their matrices:

- `sparsity`: which entries of a matrix may differ from 0, as dependences
- `structures`: the claims that are made about a matrix, from diagonal to dense
- `classify`: the most special structure that is proved for a lump
- `one_to_one`: diagonals, bands, triangles and nilpotent rests, between two tensors
- `signed_permutations`: maps of indices that permute and reflect dimensions
- `batches`: blocks, between any number of tensors
- `monomial`: one entry in each row and in each column
- `singularity`: refusal of programs whose Jacobian must be singular

and solving with them:

- `lump_matrix`: diagonals and matrices as definitions, by forward mode with seeds
- `inverse_program`: what both directions share, and the linear systems between programs
- `inverse_systems`: the system of one lump, solved by the structure of its matrix
- `inverse_forward`: `J⁻¹ ẏ`, one solution for each structure
- `inverse_reverse`: `J⁻ᵀ x̄`, one solution for each structure
- `determinant`: sign and logarithm of the determinant
- `parity`: signs of permutations of elements, for symbolic sizes
"""

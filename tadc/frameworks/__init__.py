"""Operations, which PyTorch and JAX share: a program whose derivatives are operations again.

- `signature`: the program of an operation, and the order in which calls give its arguments
- `operation`: a program, its shapes and plans, and the operations that rules make of it
- `inverse`: inverse modes, whose linear systems a framework solves
- `flow`: flows of differential equations, which have first derivatives
"""

"""Operations, which PyTorch and JAX share: a program whose derivatives are operations again.

- `operation`: a program, its shapes and plans, and the operations that rules make of it
"""

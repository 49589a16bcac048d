"""The compiler's own operations and types, as dialects of xDSL.

- `tix`: tensors defined element by element over index sets; programs from parsing to simplifying
- `loops`: parallel loops, calls of kernels, lanes; scheduled programs, beside xDSL's own dialects
- `quick`: how the operations of both are defined, so that passes make and ask them quickly
"""

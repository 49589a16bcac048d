"""Code for scheduled programs (`dialects/loops`): LLVM IR for processors, CUDA C for GPUs.

- `llvm`: programs as LLVM IR, their functions and what these refer to; `-t llvm`
- `llvm_functions`: functions, loops and branches
- `llvm_loops`: loops, and the places where they stop
- `trip_counts`: bounds on how often loops run
- `llvm_ops`: the instructions of each operation of `arith` and `math`, of numbers and of vectors
- `llvm_signs`: numbers that are never below 0
- `llvm_quotients`: quotients by constants, as products that have their bits
- `llvm_memory`: loads and stores, of elements and of vectors
- `llvm_strided`: loads of elements that lie apart
- `llvm_vectors`: how vectors are made, permuted, compared, and summed up
- `llvm_sections`: functions that need LLVM's passes, and those that do not, in one text
- `llvm_code`: names and literals of a function's text, and the types of its values
- `llvm_types`: types as text, without xDSL
- `llvm_math`: `exp`, `log` and their kin as LLVM IR that vectorises; a package
- `llvm_libmvec`: vector forms of C library functions, added on the machine that runs the code
- `cuda`: kernels, loops and branches as CUDA C; `-t cuda`
- `cuda_variables`: values as variables, constants, or text that stands where it is used
- `cuda_ops`: the C expression of each operation without regions
- `c_text`: C expressions with their parentheses, C names and literals
"""

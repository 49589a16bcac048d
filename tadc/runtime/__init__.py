"""Calls of compiled programs: from arguments by name to results, for each target.

A call goes this way:

- `parameters`: the arguments that a program declares, to which values and shapes are bound
- `arguments`: checks the values and makes them dense arrays
- `runner`: takes a call from its arguments to its results, and keeps what the next one can use
- `inspected`: a call of a program with index tensors: their checks and views first
- `compiled`: the program as code for each class of sizes: all that texts need of it
- `targets`: the targets by name
- `located`: a program with views of index tensors as further arguments
- `factored`: a program in fewer operations, for classes of sizes
- `loop_plan`: the plan of the loops that a call runs, as text
- `executable`: a program as code of a target, and the plan of a call with given sizes
- `size_class`: which sizes are numbers in the code of a call, and which share code
- `buffer_assignment`: the buffer of each tensor; those of dead tensors serve later ones
- `out`: results into arrays of the caller
- `results`: several results as one named tuple

on processors:

- `on_cpu`: the target `cpu`
- `machine`: the processor that code is made for: this one, or what `TADC_CPU` says
- `vector_speed`: what vectors of 512 bits bring over 256, measured once per machine
- `llvm_library`: LLVM itself, through llvmlite
- `llvm_compiler`: a module of LLVM IR to an object file
- `compilation`: the modules of a program to object files, in this process and in others
- `recent_objects`: those compiled last, for programs that have functions in common
- `compiler_process`, `compiler_pool`: a process that compiles for this one, and all of them
- `compiler_server`: what such a process runs
- `cpu`: machine code in memory
- `llvm_values`, `llvm_builder`: machine code of this package's own, written as functions of Python
- `team`: the threads that share the work of calls, in machine code
- `team_gates`, `team_state`, `team_regions`, `team_deputy`: its code: sleep, what lies in memory,
  loops in pieces, and calls that Ctrl-C can stop
- `thread_count`: the number of threads, as asked for or by processors
- `native_plan`: a program for given sizes as one call of machine code
- `turns`: which of its steps take turns, as they read the same
- `plan_record`: the record of such a plan in memory: steps, operands, arrays
- `plan_layout`: the numbers that those who write and who read it agree about
- `plan_runner`, `plan_code`: the machine code that runs the record, for Python and for anyone
- `inspectors`: checks of index arrays, and their inverse indices, in machine code
- `inspector_layout`, `inspector_code`: numbers that it and its callers agree about, and the code
- `index_arrays`: the values of index arguments, and what is wrong with their elements
- `view_store`: what was made of index arrays, by their content, for all programs
- `workspace`: the places of tensors that are not results, in one block of memory
- `buffer_pool`: memory that calls and results give back, and later ones use

on other targets:

- `on_gpu`: the target `cuda`
- `nvrtc`: CUDA C to machine code, without a GPU
- `cuda`: kernels and buffers on a GPU
- `interpreted`: the target `interpret`

and around a call:

- `value_and_gradients`: a program cut in two, its value and its gradients
- `linear_systems`: the systems between the programs of an inverse mode, through LAPACK
- `memory`: the bytes that calls allocate
"""

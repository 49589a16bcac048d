"""The texts that `tadc COMMAND --help` begins with, and those that it ends with."""

EPILOG = """\
  tadc derive f.tad > g.tad
  tadc run f.tad --arg x=x.npy s=0.5 --vjp
  tadc check f.tad
  tadc explore f.tad
  tadc doctor

tadc COMMAND --help says more, with examples; tadc-opt runs single passes. The exit code is 1 where
the input is bad or a check fails, 2 where the command line makes no sense.
"""
DERIVE = """
Print the derivative program: a program of the arguments of FILE and of the adjoint df of each
result f, with a result dx for each argument x. It is a program like any other: it compiles, runs
and can be derived again. --mode gives other derivatives of FILE.

  tadc derive f.tad > g.tad
  tadc derive f.tad --wrt a,b --emit bounded --source-lines
  tadc derive f.tad --diff solved bounded
  tadc derive f.tad --wrt a --explain --read 'a[i + 1]'
  tadc derive f.tad --wrt a --picture a.svg --element p=12
  tadc derive f.tad --mode forward --wrt a
  tadc derive f.tad --mode inverse-jvp --explain
  tadc derive f.tad --explain-plan --size N=512 --precision f32
"""
DERIVE_EMIT = """
--mode, with J the Jacobian of the results by the arguments:
  reverse, vjp    transpose(J) times the adjoints df, as dx (the default)
  forward, jvp    J times the tangents x_dot, as f_dot
and for programs whose results are exactly the arguments that they update (the state):
  inverse-jvp     inverse(J) times the tangents x_dot of the results, as x_dot of the arguments
  inverse-vjp     inverse(transpose(J)) times the adjoints dx of the arguments, as dx of the results
  log-abs-det     sign and logarithm of |det J|, as signdet and logdet
These may be several programs, with linear systems to be solved between them, which stand there as
comments: what is solved, the statement that it comes from, and the structure of the matrix.

--emit:
  source          the derivative program in the language (the default)
  tensor-index    the program of FILE as IR, before it is derived
  derivative      its derivative, in reverse modes as sums over equations in the indices
  solved          the equations solved
  bounded         every index with its bounds
  simplified      factors moved, sums over one point gone
  scheduled       the derivative program as loops
  code, llvm      ... as LLVM IR;  llvm-optimized, assembly: what LLVM makes of it here
  cuda, ptx       ... as CUDA C, and as what NVRTC makes of that

From scheduled on, what is printed is exactly what the next call with sizes --size and arrays of
--precision compiles and runs; without --size, what large calls of any sizes do.
"""
RUN = """
Run the program. An argument is a number, numbers in brackets, a file .npy, or an array in a file
.npz:

  tadc run f.tad --arg a=a.npy b=data.npz:b s=0.5 'x=[[1, 2], [3, 4]]'
  tadc run f.tad --arg a=a.npy --vjp --arg df=df.npy --out gradients.npz
"""
CHECK = """
Compare every derivative with central differences on random arguments, in float64: the derivative
program as machine code, the differences by the reference interpreter; and forward mode in a
random direction. Of programs that have inverse modes, multiply what these give by J again, and
compare the determinant with that of J. Exits with 1 where the largest error, relative to
max(1, |derivative|), exceeds the tolerance.

  tadc check f.tad
  tadc check f.tad --seed 7 --size N=6 --tolerance 1e-8
"""
EXPLORE = """
Serve a page to this machine's browser: write a formula, and see its derivative, why its ranges are
what they are, pictures, the stages of the compiler with their differences, code, assembly, times
and memory. It listens on this machine alone, under an address that nobody else knows, until Ctrl-C.

  tadc explore
  tadc explore f.tad
  tadc explore f.tad --port 8000 --no-browser
"""
CACHE = """
What is compiled is kept on disk, so that later processes start at once: derivatives, and machine
code for the sizes and the processor that it was made for. `tadc cache` shows the folder, what it
holds and how much it may hold; `tadc cache clear` removes all entries, also while programs run:
whatever is needed again is compiled again. Results are the same with and without.

  tadc cache
  tadc cache clear
  TADC_CACHE=/scratch/tadc python train.py

The variable TADC_CACHE of the environment chooses the folder; with off, nothing is read or written.
Without it, the folder is $XDG_CACHE_HOME/tadc or ~/.cache/tadc. Files that others own or may write
to are not used.
"""
DOCTOR = """
Show what tadc finds on this machine: the versions of Python and of the packages that it uses, the
processor and its vectors, the threads of a call, the cache on disk; and compile a small program,
run it and derive it, with its results and gradients checked. Of PyTorch and JAX only versions are
looked up. Exits with 1 where something is wrong, and says what to do about it.

  tadc doctor
"""

"""The `loops` dialect: what scheduled programs need beside `scf`, `arith`, `math` and `vector`.

A *scheduled* program is a module of `func.func`, one per definition or for several of them, over
`scf`, `arith`, `math`, `memref` and `vector`, plus `loops.parallel`:

    func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %N: index)
        attributes {buffers = ["y", "x"], sizes = ["N"]} {
      loops.parallel (%i) to (%N) {
        %0 = memref.load %x[%i] : memref<?xf64>
        %1 = math.exp %0 : f64
        memref.store %1, %y[%i] : memref<?xf64>
      }
      func.return
    }

A definition that is like an earlier one has no function of its own. In its place stands

    loops.call @y ["z", "y"]

which runs the earlier function on other buffers, for the same sizes; a size that is a stride of the
first, `y stride 0`, is that of the second there. So the functions and calls of a module, from the
first to the last, are the steps of its program.

Conventions that the printers in `tadc/targets` rely on:

- the arguments are the buffers in the order of `buffers`, the written one first, then the sizes
  in the order of `sizes`; a function that writes several, which come first, says how many:
  `results = 2`; a buffer is row-major and flat (rank 1), indices are linear; it is dense,
  or the strides of all dimensions but the last are among the sizes, as `x stride 0`;
- a function holds exactly one `loops.parallel`, at its top level; what stands before it is pure;
- every element is written by exactly one iteration of the parallel loop, or of each of its
  supersteps (an iteration may write it twice, with the same bits: so blocks of a fixed size cover a
  range that they do not divide); no iteration reads what another one of its superstep writes;
- a body may hold stack buffers of constant size (`memref.alloca`): registers of a block, panels,
  bands; they begin at a multiple of 64 bytes;
- `loops.part` is a buffer from an element on, as the rows of a band.

Explicit vectors
----------------

A value may be a vector, `vector<16xf32>`, of 2, 4, 8, 16, 32 or 64 lanes, as may be what `scf.for`
carries and `scf.if` gives. A vector wider than a register of the machine takes several.

    %0 = vector.load %x[%k] : memref<?xf32>, vector<16xf32>
    %1 = vector.broadcast %a : f32 to vector<16xf32>
    %2 = math.fma %0, %1, %sum : vector<16xf32>

Operations of `arith`, `math` and `loops.libm` on vectors are those on numbers, lane by lane, with
the same bits. xDSL has some of them for numbers alone; for vectors `loops.compare` stands for
`arith.cmpf` and `arith.cmpi`, `loops.select` for `arith.select`, `loops.convert` for
`arith.sitofp`, `arith.extsi`, `arith.trunci` and `arith.index_cast`.

- `vector.load`, `vector.store`, `vector.maskedload` and `vector.maskedstore` take one linear index,
  that of the first lane, and touch neighbouring elements; where the mask is off they touch nothing,
  and the element may lie outside the buffer.
- `loops.prefetch` is a hint to the caches, and may name any position; `loops.fence` is one to
  compilers, which then read again what they have read before.
- `loops.strided_load` reads elements that lie apart, backwards if its stride is negative.
- An attribute `alignment = 64 : i64` of these promises that the address is a multiple of so many
  bytes; without it, of an element. Buffers of users begin anywhere: the address of one is
  `memref.extract_aligned_pointer_as_index`.
- A store that is `nontemporal` bypasses the caches. Its alignment is that of the whole vector, or
  64 bytes if that is less.
- `vector.shuffle`, `vector.extract` and `vector.insert` know their positions; no lane of a shuffle
  is undefined (-1).
- `vector.create_mask %n` has the lanes below n on.
- `vector.reduction` combines the two halves of a vector lane by lane, then the halves of the
  result, and so on: lanes 0 and 4, 1 and 5, 2 and 6, 3 and 7 of eight come first. The order is the
  same everywhere. Real sums and products must say `fastmath<reassoc>`: without it, MLIR adds from
  the first lane to the last.

- `operations`: parallel loops, calls of functions and of C's mathematical library
- `functions`: the buffers and sizes of a function, by name
- `lanes`: operations on vectors that xDSL lacks, and what those of `vector` promise
"""

from xdsl.ir import Dialect

from tadc.dialects.loops.lanes import (
    FLOAT_PREDICATES,
    INTEGER_PREDICATES,
    LANES,
    CompareLanesOp,
    ConvertLanesOp,
    SelectLanesOp,
    StridedLoadOp,
    alignment_of,
    is_nontemporal,
    sums_in_order,
    vector_of,
    vector_type,
)
from tadc.dialects.loops.operations import (
    CallOp,
    EndOp,
    FenceOp,
    LibmOp,
    ParallelOp,
    PartOp,
    PrefetchOp,
    SharedCacheOp,
)

__all__ = [
    "FLOAT_PREDICATES",
    "INTEGER_PREDICATES",
    "LANES",
    "CallOp",
    "CompareLanesOp",
    "ConvertLanesOp",
    "EndOp",
    "FenceOp",
    "LibmOp",
    "Loops",
    "ParallelOp",
    "PartOp",
    "PrefetchOp",
    "SelectLanesOp",
    "SharedCacheOp",
    "StridedLoadOp",
    "alignment_of",
    "is_nontemporal",
    "sums_in_order",
    "vector_of",
    "vector_type",
]

Loops = Dialect(
    "loops",
    [
        *(ParallelOp, EndOp, CallOp, LibmOp, PartOp, FenceOp, PrefetchOp, SharedCacheOp),
        *(CompareLanesOp, SelectLanesOp, ConvertLanesOp, StridedLoadOp),
    ],
    [],
)

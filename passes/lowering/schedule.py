"""`schedule`: definitions become functions of loops over flat buffers.

    %y = tix.define "y" (%i) : !tix.tensor<[N], f64> {
      %0 = tix.sum (%k) in (%k >= 0, %k <= 4, %i >= %k) {
        %1 = tix.read %x[%i - %k]
        tix.yield %1
      }
      tix.yield %0
    }

becomes

    func.func @y(%y: memref<?xf64>, %x: memref<?xf64>, %N: index)
        attributes {buffers = ["y", "x"], sizes = ["N"]} {
      loops.parallel (%i) to (%N) {
        %1 = arith.addi %i, %c1 : index
        %2 = arith.minsi %c5, %1 : index
        %3 = scf.for %k = %c0 to %2 step %c1 iter_args(%sum = %zero) -> (f64) {
          ...
        }
        memref.store %3, %y[%i] : memref<?xf64>
      }
      func.return
    }

A definition that is like an earlier one (`passes/analysis/equivalence.py`) becomes a call of that
one's function:

    loops.call @y ["y_1", "y"]

In tiles, neighbours that sum over the same points may become one function of several results
(`passes/scheduling/fuse_sums.py`), and what is in no tiles is computed row by row, or strip by
strip, with neighbours that read the same (`passes/scheduling/rows`), or band by band with those
that it reads windows of (`passes/scheduling/bands/bands.py`):

    func.func @dz(%dz: memref<?xf64>, %db: memref<?xf64>, %x: memref<?xf64>, %N: index)
        attributes {buffers = ["dz", "db", "x"], results = 2 : i64, sizes = ["N"]} { ... }

One iteration of the parallel loop owns one element of the result: nothing is written twice and
nothing needs an atomic operation. A body computes in the precision of its result; elements of
another precision are converted where they are read.

On entry loops are shaped (`shape-loops`). The result obeys the conventions of `dialects/loops`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, Region, SSAValue

from tadc.dialects import tix
from tadc.dialects.loops import CallOp
from tadc.dialects.loops.functions import names_in, stride_names
from tadc.dialects.quick import INDEX, block_with, dissolve, make
from tadc.dialects.tix.affine import factors_of
from tadc.passes.analysis.equivalence import Member, equivalent_definitions
from tadc.passes.analysis.properties import calls_expanded, precisions_set, sums_bounded
from tadc.passes.analysis.rounding import compared_definitions, must_round_identically
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.analysis.stage_checks import require_bounded, require_precision
from tadc.passes.lowering.nest_loops import Around, loops_of
from tadc.passes.lowering.scalars.body_lowering import Strides
from tadc.passes.lowering.scalars.index_lowering import IndexLowering
from tadc.passes.rewriting.program_pass import ContractPass
from tadc.passes.rewriting.programs import accesses_of, forms_of, is_hint, tensor_names, type_of
from tadc.passes.rewriting.written_sizes import parse_sizes
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.blocking import ChooseBlocking, blocking_chooser
from tadc.passes.scheduling.choose_nests import steps_of
from tadc.passes.scheduling.cold_code import is_small_part
from tadc.passes.scheduling.nest import (
    Nest,
    Rows,
)
from tadc.passes.scheduling.text.apply_plan import planned
from tadc.passes.scheduling.text.plan_parser import parse_plan

Names = Mapping[SSAValue, str]


@dataclass(frozen=True)
class SchedulePass(ContractPass):
    """`schedule{tile=true sizes="N=64" least="N=65"}`: in tiles where they pay, made best for these
    sizes.

    Tiles are for processors with caches and vectors. The result is right for all other sizes too,
    if these are the `least` ones or more, and no larger than the program says: that makes it
    shorter. A `plan` (`passes/scheduling/text/plan_parser.py`) goes before the choice where it is
    possible. With `strided`, tensors that are read may lie in memory in rows that are apart:
    functions take the strides of all dimensions but the last as sizes, named `x stride 0`, ...
    """

    name = "schedule"
    requires = (sums_bounded, calls_expanded, precisions_set)
    tile: bool = False
    sizes: tuple[str, ...] = ()
    least: tuple[str, ...] = ()
    strided: bool = False
    plan: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for program in list(op.ops):
            if isinstance(program, tix.ProgramOp):
                for step in self.steps(program):
                    op.body.block.insert_op_before(step, program)
                program.detach()
                dissolve(program)

    def steps(self, program: tix.ProgramOp) -> Iterator[func.FuncOp | CallOp]:
        """The functions and calls that the program becomes, each made when it is asked for."""
        plan = parse_plan(self.plan)
        choose = blocking_chooser(self.tile, self.sizes, self.least, program.registers)
        chosen = choose and planned(plan, program, choose)
        known = SizeBounds.in_calls(program, parse_sizes(self.least))
        return schedule(program, chosen, self.strided, known, parse_sizes(self.sizes))


def schedule(
    program: tix.ProgramOp,
    choose: ChooseBlocking | None = None,
    strided: bool = False,
    known: SizeBounds | None = None,
    sizes: Mapping[str, int] | None = None,
) -> Iterator[func.FuncOp | CallOp]:
    """Functions of the definitions, in order, or calls of the functions of equivalent ones.

    Each is made when it is asked for, once the loops of all are chosen. These are what `choose`
    gives; without it, there is one function for each definition, and every loop is a plain nest.
    With `strided` they take strides of what they read. They are right for sizes in `known` bounds;
    what is a small part of the work for these `sizes` gets short code.
    """
    require_bounded(program)
    require_precision(program)
    members = equivalent_definitions(program, must_round_identically(program))
    labels = compared_definitions(program)
    compared = {m.first.label.data for m in members if m.op.label.data in labels}
    names = tensor_names(program)
    as_written = must_round_identically(program, compared)
    steps = steps_of(members, choose, as_written)
    maker = _FunctionMaker(names, as_written, choose is not None, strided, known)
    functions: dict[tix.DefineOp, func.FuncOp] = {}
    for step in steps:
        if isinstance(step, Member):
            yield _call(step, functions[step.first], names)
            continue
        small = all(is_small_part(op, sizes or {}) for op in step.members)
        function = maker.function(replace(step, is_small=small))
        step.forget()
        functions[step.members[0]] = function
        yield function


def _call(member: Member, function: func.FuncOp, names: Names) -> CallOp:
    """A call of the function of an equivalent definition."""
    own = {names[old]: names[new] for old, new in member.tensors.items()}
    call = CallOp(function.sym_name.data, [own[b] for b in names_in(function, "buffers")])
    call.location = member.op.location
    return call


@dataclass(frozen=True)
class _FunctionMaker:
    """Makes the functions of the nests of a program."""

    names: Names
    as_written: Set[Operation]
    """The operations that keep their order."""
    vectors: bool
    """True for processors with vectors."""
    strided: bool
    """True if functions take strides of what they read."""
    known: SizeBounds | None
    """The bounds of sizes in all calls."""

    def function(self, nest: Nest) -> func.FuncOp:
        """The function of a nest."""
        results = [op.result for op in nest.written]
        made = {op.result for op in nest.members}
        reads = [r for op in nest.members for r in accesses_of(op) if r.tensor not in made]
        inputs = list(dict.fromkeys(r.tensor for r in reads))
        tensors = [*results, *inputs]
        strides = self._stride_names(reads)
        sizes = [*_size_names(nest.members, tensors), *chain.from_iterable(strides.values())]
        types = [*(_buffer(type_of(t).element) for t in tensors), *([INDEX] * len(sizes))]
        block = block_with(types)
        labels = [*(self.names[t] for t in tensors), *sizes]
        for argument, label in zip(block.args, labels, strict=True):
            argument.name_hint = label if is_hint(label) else None
        index = IndexLowering(block, nest.members[0].location, self.known)
        index.values.update(zip(sizes, block.args[len(tensors) :], strict=True))
        buffers = dict[SSAValue, SSAValue](zip(tensors, block.args, strict=False))
        self._fill(index, nest, buffers, _strides(index, nest, strides), strides.keys())
        first = nest.written[0]
        function = func.FuncOp(
            kernel_name(first.label.data), ([a.type for a in block.args], []), Region(block)
        )
        function.attributes["buffers"] = ArrayAttr(StringAttr(self.names[t]) for t in tensors)
        function.attributes["sizes"] = ArrayAttr(StringAttr(s) for s in sizes)
        if len(results) > 1:
            function.attributes["results"] = IntegerAttr(len(results), i64)
        function.location = first.location
        return function

    def _stride_names(self, reads: Sequence[tix.ReadOp | tix.AtOp]) -> dict[SSAValue, list[str]]:
        """The names of stride arguments that a function with these reads takes, for each tensor.

        A tensor that is read in another shape than its own has no such arguments: its rows are
        contiguous.
        """
        if not self.strided:
            return {}
        own = dict.fromkeys(r.tensor for r in reads if r.shape == type_of(r.tensor).shape)
        return {t: stride_names(self.names[t], type_of(t).rank) for t in own}

    def _fill(
        self,
        index: IndexLowering,
        nest: Nest,
        buffers: dict[SSAValue, SSAValue],
        strides: Strides,
        strided: Set[SSAValue],
    ) -> None:
        """Fill the block of a function, whose lowering is given."""
        if isinstance(nest.loops, Rows):
            buffers.update((own, buffers[host]) for own, host in nest.loops.hosts.items())
        made = nest.members[0].type
        own = index, made, buffers, strides
        around = Around(*own, self.as_written, strided, self.vectors)
        index.block.add_op(loops_of(around, nest))
        index.block.add_op(make(func.ReturnOp))


def _strides(index: IndexLowering, nest: Nest, given: Mapping[SSAValue, Sequence[str]]) -> Strides:
    """The strides of all that a nest reads and writes in memory, in each of its shapes; those of
    tensors in `given` are sizes of these names."""
    bands = nest.loops if isinstance(nest.loops, Bands) else None
    stages = [stage.op for stage in bands.stages] if bands else []
    made = {op.result for op in stages}
    seen = [(op.result, op.shape) for op in nest.members]
    seen += [(r.tensor, r.shape) for op in (*nest.members, *stages) for r in accesses_of(op)]
    found = {(t, shape): index.strides(shape) for t, shape in seen if t not in made}
    for tensor, names in given.items():
        found[tensor, type_of(tensor).shape][:-1] = [index.values[name] for name in names]
    return found


@cache
def _buffer(element: Attribute) -> MemRefType[Attribute]:
    """The type of a buffer of elements."""
    return MemRefType(i32 if isinstance(element, tix.IndexRange) else element, [DYNAMIC_INDEX])


def _size_names(ops: Sequence[tix.DefineOp], tensors: Sequence[SSAValue]) -> list[str]:
    """The sizes that bodies, their bounds or the shapes around them mention, in order of name."""
    forms = [f for t in tensors for f in type_of(t).shape]
    for inner in (inner for op in ops for inner in op.walk()):
        forms += forms_of(inner)
    return sorted({name for f in forms for size in f.sizes for name in factors_of(size)})


C_WORDS = (
    "auto break case char const continue default do double else enum extern float for goto if",
    "inline int long register restrict return short signed sizeof static struct switch typedef",
    "union unsigned void volatile while bool class delete new this true false template main",
)
RESERVED = frozenset(word for line in C_WORDS for word in line.split())


def kernel_name(label: str) -> str:
    """The function's name for a definition: the label, made fit for C."""
    word = "".join(c if c.isascii() else f"_u{ord(c):x}" for c in label)
    return f"{word}_" if word in RESERVED else word

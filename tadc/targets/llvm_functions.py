"""Functions of scheduled programs as LLVM IR text.

Each `func.func @f(buffers..., sizes...)` becomes

    @f.entry   the loops; the outermost parallel index runs over [%begin, %end). Callers hold the
               arguments in an array of 64-bit words:
               void @f.entry(ptr %params, i64 %begin, i64 %end, ptr %stop)
    @f         the loops that the entry calls, where LLVM is to find the vectors in them
    @f.extent  where that index ends, a number: 1 if there is no parallel index. Where sizes
               decide, a function reads them from the same array: i64 @f.extent_of(ptr %params)
    @f.grain   into multiples of how many indices [0, extent) may be cut, so that
               the bits of the result do not depend on the cuts
    @f.supersteps   into how many equal parts it is cut of which each waits for the one before

Loops go straight from `scf` to blocks with phis, already rotated: test at the bottom, guarded by
one test on top. When the word at %stop is not 0, long loops leave the function, and its results are
unfinished.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import MemRefType, VectorType
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects.loops import EndOp, ParallelOp, StridedLoadOp
from tadc.dialects.loops.functions import names_in
from tadc.dialects.quick import block_in, constant_integer, operands_of, ops_in, walk
from tadc.targets.llvm_code import Body, Needs, failure, llvm_type, symbol
from tadc.targets.llvm_loops import STOPPED, Length, Loop, StripLoop, loop_of
from tadc.targets.llvm_memory import MEMORY_PRINTERS, access
from tadc.targets.llvm_ops import OP_PRINTERS, OpPrinter
from tadc.targets.llvm_strided import print_strided_load
from tadc.targets.llvm_vectors import VECTOR_PRINTERS
from tadc.targets.trip_counts import TripCounts, times

PIECE = ("i64 %begin", "i64 %end", "ptr %stop")
"""The last parameters of functions: what to compute, and a word that is not 0 to stop."""

NAMES = ("begin", "end", "stop", "entry")
"""The names that each function has."""

# A multiple of every vector width times every interleaving that LLVM chooses.
VECTOR_GRAIN = 64

# Loops of fewer iterations may be unrolled, which leaves the loop around them to be vectorised.
MOST_ITERATIONS_UNROLLED = 512


@dataclass
class FunctionPrinter:
    """Prints one `func.func` with its entry, extent, grain and supersteps."""

    op: func.FuncOp
    needs: Needs
    largest: Mapping[str, int] = field(default_factory=dict[str, int])
    """The largest values of sizes, where they are known."""
    explicit: bool = False
    """True for explicit vectors: the entry holds the loops then, which spares LLVM a function. Its
    own passes need one, as parameters alone can say that buffers do not overlap."""
    body: Body = field(init=False)

    def __post_init__(self) -> None:
        names = names_in(self.op, "sizes") if self.largest else []
        sizes = zip(self.arguments[len(self.arguments) - len(names) :], names, strict=True)
        largest = {size: self.largest[name] for size, name in sizes if name in self.largest}
        self.body = Body(self.needs, counts=TripCounts(largest))

    @property
    def name(self) -> str:
        return self.op.sym_name.data

    @property
    def arguments(self) -> Sequence[SSAValue]:
        return self.op.body.block.args

    def text(self) -> str:
        parallel = self._parallel()
        parts = [
            *([self._whole()] if self.explicit else [self._loops(), self._call()]),
            self._extent(parallel),
            self._constant("grain", grain(parallel)),
            self._constant("supersteps", parallel.supersteps.value.data),
        ]
        return "\n\n".join(parts)

    def _constant(self, what: str, value: int) -> str:
        return f"{symbol(f'{self.name}.{what}')} = constant i64 {value}"

    def _parallel(self) -> ParallelOp:
        found = [op for op in self.op.body.block.ops if isinstance(op, ParallelOp)]
        if len(found) != 1:
            raise failure(self.op, f"@{self.name} has {len(found)} loops.parallel, not one")
        return found[0]

    def _whole(self) -> str:
        """The entry with the loops in it."""
        self.body.taken = dict.fromkeys((*NAMES, "stopped", "params"), 0)
        load_arguments(self.body, self.arguments)
        return self._entry(self._lines())

    def _loops(self) -> str:
        self.body.taken = dict.fromkeys((*NAMES, "stopped"), 0)
        names = [*map(self.body.name, self.arguments)]
        lines = self._lines()
        header = ", ".join([*map(parameter, self.arguments, names), *PIECE])
        return define(f"internal void {symbol(self.name)}({header})", lines)

    def _lines(self) -> list[str]:
        """The lines of the body, for which the names of arguments are taken already."""
        body = self.body
        print_block(body, self.op.body.block)
        return [*body.allocas, *body.lines, *(STOPPED if body.stops else ())]

    def _call(self) -> str:
        """The entry that calls the loops."""
        body = Body(self.needs, taken=dict.fromkeys((*NAMES, "params"), 0))
        load_arguments(body, self.arguments)
        arguments = [*(body.typed(a) for a in self.arguments), *PIECE]
        body.line(f"call void {symbol(self.name)}({', '.join(arguments)})")
        body.line("ret void")
        return self._entry(body.lines)

    def _entry(self, lines: Iterable[str]) -> str:
        header = ", ".join(["ptr readonly captures(none) %params", *PIECE])
        return define(f"void {symbol(self.name + '.entry')}({header})", lines)

    def _extent(self, parallel: ParallelOp) -> str:
        number = constant_integer(parallel.sizes[0]) if parallel.sizes else 1
        if number is not None:
            return self._constant("extent", number)
        body = Body(self.needs, taken=dict.fromkeys(("params", "entry"), 0))
        needed = ancestors(parallel.sizes[0])
        load_arguments(body, self.arguments, needed)
        print_ops(body, (op for op in self.op.body.block.ops if set(op.results) & needed))
        body.line(f"ret i64 {body.value(parallel.sizes[0])}")
        header = "ptr readonly captures(none) %params"
        return define(f"i64 {symbol(self.name + '.extent_of')}({header})", body.lines)


def parameter(argument: SSAValue, name: str) -> str:
    """An argument of a function; buffers do not overlap."""
    if isinstance(argument.type, MemRefType):
        return f"ptr noalias {access(argument)} {name}"
    return f"{llvm_type(argument.type)} {name}"


def define(header: str, lines: Iterable[str]) -> str:
    return "\n".join([f"define {header} #0 {{", "entry:", *lines, "}"])


def load_arguments(
    body: Body, arguments: Sequence[SSAValue], needed: set[SSAValue] | None = None
) -> None:
    """Read the arguments, or the needed ones, from the words at `%params`."""
    for position, argument in enumerate(arguments):
        if needed is None or argument in needed:
            at = body.temporary("at", f"getelementptr inbounds i64, ptr %params, i64 {position}")
            body.define(argument, f"load {body.type(argument)}, ptr {at}, align 8")


def ancestors(value: SSAValue) -> set[SSAValue]:
    """The value and all that it is computed from."""
    found, open_ = {value}, [value]
    while open_:
        owner = open_.pop().owner
        new = set(owner.operands) - found if isinstance(owner, Operation) else set[SSAValue]()
        found |= new
        open_ += new
    return found


def has_vectors(op: Operation) -> bool:
    """True if there are vectors in it: then LLVM has nothing to vectorise, and needs no passes."""
    return any(type(v.type) is VectorType for inner in walk(op) for v in operands_of(inner))


def grain(parallel: ParallelOp) -> int:
    """1 if LLVM cannot vectorise the outermost loop: it holds a real loop, or vectors already."""
    if has_vectors(parallel):
        return 1
    iterations = 1
    for trips in [*map(constant_integer, parallel.sizes[1:]), *map(trip_count, loops(parallel))]:
        iterations = MOST_ITERATIONS_UNROLLED if trips is None else iterations * max(trips, 1)
    return 1 if iterations >= MOST_ITERATIONS_UNROLLED or not parallel.sizes else VECTOR_GRAIN


def loops(parallel: ParallelOp) -> Iterable[scf.ForOp]:
    return (op for op in parallel.walk() if isinstance(op, scf.ForOp))


def trip_count(loop: scf.ForOp) -> int | None:
    low, high, step = map(constant_integer, operands_of(loop)[:3])
    if low is None or high is None or not step:
        return None
    return max(0, -((low - high) // step))


# ---- control flow


def print_block(body: Body, block: Block) -> None:
    print_ops(body, ops_in(block))


def print_ops(body: Body, ops: Iterable[Operation]) -> None:
    for op in ops:
        printer = PRINTERS.get(type(op))
        if printer is None:
            raise failure(op, f"no form for {op.name}")
        printer(body, op)


def print_for(body: Body, op: Operation) -> None:
    assert isinstance(op, scf.ForOp)
    block = block_in(op.body)
    low, high, step, *initial = map(body.value, operands_of(op))
    index, *carried = block.args
    length = Length(body.counts.trips(op), body.counts.iterations(block))
    loop = loop_of(body, index, high, step, carried, length)
    loop.open(low, initial)
    print_block(body, block)
    for result, phi in zip(op.results, loop.close(yielded_by(body, block)), strict=True):
        body.define(result, phi)


def yielded_by(body: Body, block: Block) -> list[str]:
    """The names of what the block's `scf.yield` gives."""
    last = block.last_op
    return [*map(body.value, operands_of(last))] if isinstance(last, scf.YieldOp) else []


def print_parallel(body: Body, op: Operation) -> None:
    """The outermost index runs over [%begin, %end), the others from 0 to their sizes."""
    assert isinstance(op, ParallelOp)
    opened: list[Loop | StripLoop] = []
    for index, size, length in zip(op.body.block.args, op.sizes, lengths(op, body), strict=True):
        low, high = ("0", body.value(size)) if opened else ("%begin", "%end")
        loop = loop_of(body, index, high, "1", (), length)
        loop.open(low, ())
        opened.append(loop)
    print_block(body, op.body.block)
    for loop in reversed(opened):
        loop.close(())


def lengths(op: ParallelOp, body: Body) -> list[Length]:
    """The length of the loop of each index; the outermost one is cut into pieces by callers."""
    found: list[Length] = []
    inside = body.counts.iterations(op.body.block)
    for size in reversed(op.sizes):
        trips = body.counts.most((size, 1))
        found.append(Length(trips, inside))
        inside = times(trips, inside)
    return [*(Length(0, length.iteration) for length in found[-1:]), *reversed(found[:-1])]


def print_if(body: Body, op: Operation) -> None:
    """A branch whose results meet in phis behind it."""
    assert isinstance(op, scf.IfOp)
    labels = [body.fresh(label) for label in ("then", "else", "endif")]
    has_else = bool(op.false_region.blocks)
    otherwise = labels[1] if has_else else labels[2]
    body.line(f"br i1 {body.value(op.cond)}, label %{labels[0]}, label %{otherwise}")
    ends = [_branch(body, labels[0], op.true_region.block, labels[2])]
    if has_else:
        ends.append(_branch(body, labels[1], op.false_region.block, labels[2]))
    body.start_block(labels[2])
    for position, result in enumerate(op.output):
        sources = ", ".join(f"[ {values[position]}, %{block} ]" for block, values in ends)
        body.define(result, f"phi {body.type(result)} {sources}")


def _branch(body: Body, label: str, block: Block, after: str) -> tuple[str, list[str]]:
    """Print one side; returns the block it ends in and what it yields."""
    body.start_block(label)
    print_block(body, block)
    body.line(f"br label %{after}")
    return body.block, yielded_by(body, block)


def print_nothing(_body: Body, _op: Operation) -> None:
    """Terminators: the op around them prints the branch."""


def print_return(body: Body, op: Operation) -> None:
    if op.operands:
        raise failure(op, "functions return nothing: results are buffers")
    if body.streams:
        # What bypasses the caches has no order among stores unless a fence gives it one.
        body.line("fence seq_cst")
    body.line("ret void")


PRINTERS: dict[type[Operation], OpPrinter] = {
    **OP_PRINTERS,
    **MEMORY_PRINTERS,
    **VECTOR_PRINTERS,
    StridedLoadOp: print_strided_load,
    ParallelOp: print_parallel,
    EndOp: print_nothing,
    scf.ForOp: print_for,
    scf.IfOp: print_if,
    scf.YieldOp: print_nothing,
    func.ReturnOp: print_return,
}

"""CUDA C text for the scheduled level: one `__global__` function per `func.func`.

    loops.parallel (%i) to (%N) {              const long long i = ... the number of the thread ...
      %0 = memref.load %x[%i]          =>      if (i >= N) return;
      %1 = math.exp %0                         y[i] = exp(x[i]);
      memref.store %1, %y[%i]
    }

One thread does one iteration of the `loops.parallel`; its indices are the digits of its number,
last index fastest, so that the threads of a warp touch neighbouring elements. A value that is used
once is written where it is used, so that the kernel reads as if by hand. The text includes nothing
and needs neither templates nor atomics: NVRTC takes it as it is, and so does g++ behind a header
that imitates the built-in names.

Who launches a kernel has to know: the parameters are the function's arguments, a size is always
`long long`, a block has at most 256 threads, and `thread_count` says how many threads there are in
all. Where that is none, the kernel must not be launched.
"""

from __future__ import annotations

import math as pymath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import IndexType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.utils.hints import isa
from xdsl.utils.target import Target

from tadc.dialects import loops
from tadc.dialects.loops.functions import names_in
from tadc.passes.analysis.index_ranges import Range, Ranges, fits, yielded
from tadc.targets import c_text as c
from tadc.targets.c_text import Expr
from tadc.targets.cuda_ops import HELPERS, failure, helper
from tadc.targets.cuda_variables import LONGEST_INLINED_TEXT, Variables

THREADS = 256  # threads of a block: enough to hide latency, few enough to keep 255 registers each
LONGEST_HEAD = 100  # characters of a function's head on one line


def kernel_names(module: ModuleOp) -> dict[str, str]:
    """The C name of the kernel of each function: its own where C allows that."""
    names = c.Names()
    return {f.sym_name.data: names.fresh(f.sym_name.data) for f in functions(module)}


def functions(module: ModuleOp) -> list[func.FuncOp]:
    """The functions of a scheduled module, which holds nothing else but calls of them."""
    for op in module.ops:
        if not isinstance(op, func.FuncOp | loops.CallOp):
            raise failure(op, f"{op.name} stands outside a function")
    return [op for op in module.ops if isinstance(op, func.FuncOp)]


def parallel_loop(function: func.FuncOp) -> loops.ParallelOp:
    """The one loop whose iterations become threads."""
    found = [op for op in function.body.ops if isinstance(op, loops.ParallelOp)]
    if len(found) != 1:
        raise failure(function, f"{len(found)} loops.parallel in {function.sym_name}, not one")
    return found[0]


def thread_count(function: func.FuncOp, sizes: Sequence[int]) -> int:
    """The number of threads that a launch needs, for the values of the arguments that are sizes."""
    arguments = [a for a in function.body.block.args if isinstance(a.type, IndexType)]
    ranges = Ranges({a: (n, n) for a, n in zip(arguments, sizes, strict=True)})
    return pymath.prod(max(0, ranges.of(size)[0]) for size in parallel_loop(function).sizes)


def small(function: func.FuncOp, known: Mapping[SSAValue, Range]) -> bool:
    """True if all indices and the number of the last thread of the last block fit in an `int`."""
    ranges = Ranges(known)
    threads = pymath.prod(max(0, ranges.of(s)[1]) for s in parallel_loop(function).sizes)
    return threads <= 2**31 - THREADS and fits(function, known)


def known_arguments(function: func.FuncOp, sizes: Mapping[str, Range]) -> dict[SSAValue, Range]:
    """The ranges of the arguments that are these sizes."""
    arguments = [a for a in function.body.block.args if isinstance(a.type, IndexType)]
    named = zip(arguments, names_in(function, "sizes"), strict=True) if sizes else ()
    return {argument: sizes[name] for argument, name in named if name in sizes}


class KernelPrinter(Variables):
    """Prints one function. A method that prints statements returns their lines, not indented."""

    def __init__(self, function: func.FuncOp, name: str, sizes: Mapping[str, Range]):
        known = known_arguments(function, sizes)
        super().__init__(function, "int" if small(function, known) else "long long", known)
        self.name, self.entry = name, function.body.block

    def lines(self) -> list[str]:
        """The whole function."""
        parameters = [self.parameter(a) for a in self.entry.args]
        line = f"{self.name}({', '.join(parameters)}) {{"
        if len(line) > LONGEST_HEAD:
            line = f"{self.name}(\n    " + ",\n    ".join(parameters) + ") {"
        first = [f'extern "C" __global__ void __launch_bounds__({THREADS})', line]
        return [*first, *c.indented(self.narrowed() + self.block(self.entry)), "}"]

    def narrowed(self) -> list[str]:
        """The sizes as numbers of 32 bits, where all indices are."""
        lines: list[str] = []
        for argument in self.entry.args if self.index == "int" else ():
            if isinstance(argument.type, IndexType) and argument.first_use:
                name = self.names.fresh(f"{argument.name_hint or 'a'}_int")
                lines.append(f"const int {name} = {self.texts[argument].text};")
                self.texts[argument] = Expr(name)
        return lines

    def parameter(self, argument: SSAValue) -> str:
        """A buffer or a size; the size has the same type in all kernels, for one way to launch."""
        name = self.names.fresh(argument.name_hint or "a")
        self.texts[argument] = Expr(name)
        if isinstance(argument.type, IndexType):
            return f"long long {name}"
        if not isa(argument.type, MemRefType):
            raise failure(self.function, f"an argument of type {argument.type}")
        const = "" if argument in self.written else "const "
        return f"{const}{self.stored(argument.type.element_type)} *__restrict__ {name}"

    def stored(self, type: Attribute) -> str:
        """The C type of an element in memory, where an index has 64 bits."""
        return "long long" if isinstance(type, IndexType) else self.ctype(type)

    def block(self, block: Block) -> list[str]:
        """The statements of a block, its terminator left out."""
        return [line for op in block.ops for line in self.statement(op)]

    def statement(self, op: Operation) -> list[str]:
        """One operation: none, one or several lines."""
        match op:
            case loops.ParallelOp() if op.parent_op() is self.function and not op.is_ordered:
                return self.parallel(op)
            case scf.ForOp():
                return self.loop(op)
            case scf.IfOp():
                return self.branch(op)
            case memref.StoreOp():
                target = self.element(op.memref, op.indices)
                return [f"{target.text} = {self.texts[op.value].text};"]
            case scf.YieldOp() | loops.EndOp() | func.ReturnOp():
                return []
            case _:
                value = self.expression(op)
                return self.bind(op.results[0], value)

    def parallel(self, op: loops.ParallelOp) -> list[str]:
        """The number of the thread, the end of those that are too many, and the indices."""
        if any(self.ranges.of(size)[1] < 1 for size in op.sizes):
            return []
        block, sizes = op.body.block, [self.size(s) for s in op.sizes]
        total = self.product(sizes)
        one = len(sizes) == 1
        thread = self.names.fresh((block.args[0].name_hint or "i") if one else "id")
        wide = "" if self.index == "int" else "(long long)"
        lines = [
            f"const {self.index} {thread} = {wide}blockIdx.x * blockDim.x + threadIdx.x;",
            f"if ({thread} >= {total.text}) return;",
        ]
        for position, index in enumerate(block.args):
            digit = self.digit(Expr(thread), sizes, position)
            if one:
                self.texts[index] = digit
            elif index.first_use:
                lines += self.named(index, digit)
        return lines + self.block(block)

    def size(self, size: SSAValue) -> Expr:
        """A size of the parallel loop, as a number where it is known."""
        low, high = self.ranges.of(size)
        return c.integer(low, self.index) if low == high else self.texts[size]

    def product(self, sizes: Sequence[Expr]) -> Expr:
        """The product of sizes, the known ones multiplied out."""
        known = pymath.prod(int(s.text) for s in sizes if s.literal)
        result: Expr | None = None
        for size in sizes:
            if not size.literal:
                result = c.infix(result, "*", c.PRODUCT, size) if result else size
        if result is None:
            return c.integer(known, self.index)
        return (
            result if known == 1 else c.infix(result, "*", c.PRODUCT, c.integer(known, self.index))
        )

    def digit(self, thread: Expr, sizes: Sequence[Expr], position: int) -> Expr:
        """One index of the thread: its number over the later sizes, modulo its own."""
        later = self.product(sizes[position + 1 :])
        if later.text != "1":
            thread = c.infix(thread, "/", c.PRODUCT, later)
        return c.infix(thread, "%", c.PRODUCT, sizes[position]) if position else thread

    def loop(self, op: scf.ForOp) -> list[str]:
        """`for`, with a variable for each value that the loop carries."""
        index, *carried = op.body.block.args
        lines: list[str] = []
        for argument, result, start in zip(carried, op.res, op.iter_args, strict=True):
            variable = self.accumulator(result, start)
            if variable is None:
                variable = self.names.fresh(argument.name_hint or result.name_hint or "sum")
                start = self.texts[start].text
                lines.append(f"{self.ctype(result.type)} {variable} = {start};")
            self.set_variable(variable, argument, result)
        with self.names.scope():
            i = self.names.fresh(index.name_hint or "i")
            self.texts[index] = Expr(i)
            low, high, step = (self.texts[v] for v in (op.lb, op.ub, op.step))
            advance = f"++{i}" if step.text == "1" else f"{i} += {step.text}"
            until = c.infix(Expr(i), "<", c.LESS, high).text
            head = f"for ({self.ctype(index.type)} {i} = {low.text}; {until}; {advance}) {{"
            body = self.block(op.body.block) + self.assign(op.res, yielded(op.body))
        return [*lines, head, *c.indented(body), "}"]

    def branch(self, op: scf.IfOp) -> list[str]:
        """`if`, or `a ? b : c` where both sides are one short expression."""
        lines: list[str] = []
        for result in op.output:
            variable = self.accumulator(result)
            if variable is None:
                variable = self.names.fresh(result.name_hint or "t")
                lines.append(f"{self.ctype(result.type)} {variable};")
            self.set_variable(variable, result)
        sides = [self.side(region, op.output) for region in (op.true_region, op.false_region)]
        chosen = self.choice(op, sides)
        if chosen is not None:
            if lines:
                self.names.forget(self.texts[op.output[0]].text)
            return self.bind(op.output[0], chosen)
        then, other = (c.indented(body + assignments) for body, _, assignments in sides)
        lines += [f"if ({self.texts[op.cond].text}) {{", *then]
        return [*lines, *(["} else {", *other] if other else []), "}"]

    def side(
        self, region: Region, targets: Sequence[SSAValue]
    ) -> tuple[list[str], list[Expr], list[str]]:
        """The statements of one side of a branch, its values, and how they are assigned."""
        if not region.blocks:
            return [], [], []
        with self.names.scope():
            body = self.block(region.block)
            values = [self.texts[v] for v in yielded(region)]
            return body, values, self.assign(targets, yielded(region))

    def choice(
        self, op: scf.IfOp, sides: Sequence[tuple[list[str], list[Expr], list[str]]]
    ) -> Expr | None:
        """A branch as an expression: both sides without statements, neither doing nothing."""
        (then, first, do), (other, second, do_other) = sides
        if then or other or len(op.output) != 1 or not do or not do_other:
            return None
        ctype = self.ctype(op.output[0].type)
        chosen = c.choice(self.texts[op.cond], first[0], second[0], ctype)
        return chosen if len(chosen.text) <= LONGEST_INLINED_TEXT else None


def print_cuda(module: ModuleOp, sizes: Mapping[str, Range] | None = None) -> str:
    """CUDA C for a scheduled module: the helpers, then a kernel for each function.

    It is right for `sizes` in these ranges alone; where they are small, so are indices.
    """
    names = kernel_names(module)
    printers = [KernelPrinter(f, names[f.sym_name.data], sizes or {}) for f in functions(module)]
    kernels = ["\n".join(p.lines()) for p in printers]
    needed = {h for p in printers for h in p.helpers}
    order = list(HELPERS)
    helpers = [helper(*h) for h in sorted(needed, key=lambda h: (order.index(h[0]), h[1]))]
    return "\n".join(f"{text}\n" for text in [*helpers, *kernels])


@dataclass(frozen=True)
class CudaTarget(Target):
    """`-t cuda`: the CUDA C text of a scheduled module."""

    name = "cuda"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Write the text."""
        output.write(print_cuda(module))

"""`batch`: one more leading index for some arguments, and for all that depends on them.

    tix.program @y (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[N], f64>) {
      %y = tix.define "y" (%i) : !tix.tensor<[N - K + 1], f64> {
        %0 = tix.sum (%k) in (%k >= 0, %k <= K - 1) {
          %1 = tix.read %w[%k]
          %2 = tix.read %x[%i + %k]
          %3 = tix.mul %1, %2
          tix.yield %3
        }
        tix.yield %0
      }
      tix.return %y
    }

becomes, with `batch{arguments=x}`,

    tix.program @y (%w = "w" : !tix.tensor<[K], f64>, %x = "x" : !tix.tensor<[B, N], f64>) {
      %y = tix.define "y" (%b, %i) : !tix.tensor<[B, N - K + 1], f64> {
        %0 = tix.sum (%k) in (%k >= 0, %k <= K - 1) {
          %1 = tix.read %w[%k]
          %2 = tix.read %x[%b, %i + %k]
          %3 = tix.mul %1, %2
          tix.yield %3
        }
        tix.yield %0
      }
      tix.return %y
    }

A definition `t[α] = E(α, T)` becomes `t'[b, α] = E(α, T'[b, :])` if E reads a tensor that has the
index, and stays `t' = t` if it reads none. By induction over the definitions `t'[b, :]` is `t` for
the slices b of the arguments, and so are the results: `f'(x, w)[b] = f(x[b], w)`.

An argument and its new version have the same shape. So an argument that is updated with values that
have the index gets it too, and the new version of an argument that has it gets it whatever it reads
(`batched_tensors`).

A reduction that reads no tensor with the index would be computed again for every b. It becomes a
definition of its own, without the index, where `outline-reductions` could make it one.

The size of the index is `B`, its name `b`, or the next ones that are free. Solved sums stay solved,
bounded ones bounded.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType
from tadc.dialects.tix.attributes import shape_map
from tadc.dialects.tix.types import index_range
from tadc.passes.analysis.activity import varied
from tadc.passes.analysis.properties import axes_apart
from tadc.passes.analysis.stage_checks import require_no_views
from tadc.passes.derive.outline_reductions import outline_reductions
from tadc.passes.index_sets.paths import Path
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import (
    ProgramBuilder,
    arguments_of,
    copy_definition,
    fresh_name,
    index_names,
    tensor_names,
    type_of,
)


@dataclass(frozen=True)
class BatchPass(ProgramPass):
    """`batch{arguments=x,y results=z}`: these arguments get the index, by default all.

    So do these results, whatever they depend on.
    """

    name = "batch"
    requires = (axes_apart,)
    arguments: tuple[str, ...] = ()
    results: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for system in op.ops:
            if isinstance(system, tix.SolveOp | tix.DeterminantOp):
                reason = "programs with linear systems between them get no index"
                raise PassFailure(system.location, reason, "batch the program that they invert")
        super().apply(ctx, op)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        require_no_views(program)
        sizes = [name for name, v in program.arguments.items() if type_of(v).is_size]
        for name in self.arguments:
            if name not in program.arguments:
                raise PassFailure(program.location, f"no argument is named {name}")
            if name in sizes:
                raise PassFailure(program.location, f"{name} is a size, which has no index")
        every = tuple(name for name in program.arguments if name not in sizes)
        return batch(program, self.arguments or every, self.results)


def batch(
    program: tix.ProgramOp, names: Collection[str], results: Collection[str] = ()
) -> tix.ProgramOp:
    """The program in which these arguments, all that depends on them and these results have it."""
    program = _with_invariants(program, batched_tensors(program, names, results))
    batched = batched_tensors(program, names, results)
    taken = _names(program)
    size, index = Affine.of(fresh_name("B", taken)), fresh_name("b", taken)
    arguments = [
        (name, _longer(type, size) if program.arguments[name] in batched else type, place)
        for name, type, place in arguments_of(program)
    ]
    builder = ProgramBuilder(arguments)
    cloner = _Batcher(BodyBuilder(builder.block, program.location), batched)
    cloner.values.update(zip(program.body.block.args, builder.block.args, strict=True))
    for op in program.definitions:
        if op.result in batched:
            new = _define(builder, cloner, op, index, size)
        else:
            new = copy_definition(builder, cloner, op)
        cloner.values[op.result] = new
    return builder.finish(program, [cloner.value(v) for v in program.returned])


def batched_tensors(
    program: tix.ProgramOp, names: Collection[str], results: Collection[str] = ()
) -> set[SSAValue]:
    """The tensors that have the index once these arguments and results have it.

    The least set that holds these, what reads a tensor in it, and of an argument and its
    new version either both or none.
    """
    returned = dict(zip(program.result_names, program.returned, strict=True))
    versions = [
        {program.arguments[name], value}
        for name, value in returned.items()
        if name in program.arguments
    ]
    found: set[SSAValue] = set()
    wanted = {program.arguments[name] for name in names} | {returned[name] for name in results}
    while wanted - found:
        found = varied(program, found | wanted)
        wanted = set[SSAValue]().union(*(pair for pair in versions if pair & found))
    return found


def _with_invariants(program: tix.ProgramOp, batched: Collection[SSAValue]) -> tix.ProgramOp:
    """The program in which reductions that do not depend on the index have names.

    Those inside of other ones belong to them.
    """

    def is_invariant(op: Operation) -> bool:
        reads = (o for o in op.walk() if isinstance(o, tix.ReadOp | tix.AtOp))
        return isinstance(op, tix.ReductionOp) and all(r.tensor not in batched for r in reads)

    def is_named(op: tix.ReductionOp, definition: tix.DefineOp) -> bool:
        around = Path.to(op, definition).reductions
        return (
            definition.result in batched and is_invariant(op) and not any(map(is_invariant, around))
        )

    return outline_reductions(program, is_named)


def _names(program: tix.ProgramOp) -> set[str]:
    """All names in a program: of tensors, functions, sizes and indices."""
    forms = [form for tensor in tensor_names(program) for form in type_of(tensor).shape]
    forms += [form for size in program.derived for form, _ in size.bounds]
    blocks = [region.block for op in program.walk() for region in op.regions]
    return {
        *tensor_names(program).values(),
        *tix.functions_of(program),
        *(size.data.name for size in program.derived),
        *(name for form in forms for name in form.sizes),
        *(v.name_hint for block in blocks for v in block.args if v.name_hint),
    }


def _longer(type: TensorType, size: Affine) -> TensorType:
    """The type with a dimension of this size in front."""
    element = type.element
    if isinstance(element, tix.IndexRange) and element.is_sorted:
        element = index_range(element.end)  # each slice is in order, not one after the other
    return TensorType(shape_map([size, *type.shape]), element)


def _define(
    builder: ProgramBuilder, cloner: _Batcher, op: tix.DefineOp, index: str, size: Affine
) -> SSAValue:
    """Append the definition with the index in front of its own."""

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner.index = Affine.of(own[0])
        return cloner.copy_definition(op, e, own[1:])

    type, names = _longer(op.type, size), [index, *index_names(op.result)]
    return builder.define(op.label.data, type, names, op.location, body)


class _Batcher(Cloner):
    """Copies a body; what is read of tensors in `batched` is read at `index` too."""

    index: Affine

    def __init__(self, builder: BodyBuilder, batched: Collection[SSAValue]):
        super().__init__(builder)
        self.batched = batched

    def copy(self, op: Operation) -> None:
        if not (isinstance(op, tix.ReadOp | tix.AtOp) and op.tensor in self.batched):
            return super().copy(op)
        self.builder.location = op.location
        tensor, forms = self.value(op.tensor), [self.index, *map(self.form, op.forms)]
        if isinstance(op, tix.AtOp):
            self.indices[op.result] = self.builder.at(tensor, forms, op.is_clamped)
        else:
            self.values[op.result] = self.builder.read(tensor, forms)

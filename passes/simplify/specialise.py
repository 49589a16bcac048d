"""`specialise`: sizes become numbers, or another size plus a number, wherever they stand.

    %y = tix.define "y" (%i) : !tix.tensor<[N - K + 1], f64> {
      %0 = tix.sum (%k) in (%k >= 0, %k <= K - 1) {
        %1 = tix.read %x[%i + %k]
        tix.yield %1
      }
      tix.yield %0
    }

becomes, with `specialise{sizes="K=3"}`,

    %y = tix.define "y" (%i) : !tix.tensor<[N - 2], f64> {
      %0 = tix.sum (%k) in (%k >= 0, %k <= 2) {
        %1 = tix.read %x[%i + %k]
        tix.yield %1
      }
      tix.yield %0
    }

The same substitution, N := n, or N := M + n, in every affine form, is made in types, reads, index
sets, conditions, indices as real numbers and the bounds of derived sizes; a derived size whose
bounds are numbers is a number too. Constraints without variables then hold or they do not: those
that hold are left out, sums over no point are their identity, and a condition that is decided is
the branch that it takes.

Of other sizes it may be known what they are at least and at most: `least="N=65"` leaves out
`N >= 1`, what is to be done where `N == 1`, and bounds that follow from others, as `k < N` from
`k < 5`. What they are at most, the program then says: `tix.program @f most {N = 127}`.

For arguments of such sizes the program means what it meant. On exit it has none of these sizes; a
bounded program stays bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import PassFailedException

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, DerivedSizeAttr, TensorType, Variable
from tadc.dialects.tix.attributes import shape_map
from tadc.passes.analysis.properties import axes_apart
from tadc.passes.analysis.redundant import without_redundant
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.analysis.stage_checks import require_no_views
from tadc.passes.index_sets.space import feasible
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.program_pass import ProgramPass
from tadc.passes.rewriting.programs import ProgramBuilder, arguments_of, index_names
from tadc.passes.rewriting.written_sizes import parse_sizes, parse_values

EVERY_SIZE: Mapping[str, int] = {}
"""The least values of sizes of which nothing is known."""


@dataclass(frozen=True)
class SpecialisePass(ProgramPass):
    """`specialise{sizes="N=3","K=L+8" least="M=65" most="M=127"}`: values of sizes; some may not
    be there.

    A derived size may be among them where nothing says that it is another number.
    """

    name = "specialise"
    requires = (axes_apart,)
    sizes: tuple[str, ...] = ()
    least: tuple[str, ...] = ()
    most: tuple[str, ...] = ()

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        least, most = parse_sizes(self.least), parse_sizes(self.most)
        return specialise(program, parse_values(self.sizes), least, most)


def specialise(
    program: tix.ProgramOp,
    sizes: Mapping[str, int | Affine],
    least: Mapping[str, int] = EVERY_SIZE,
    most: Mapping[str, int] | None = None,
) -> tix.ProgramOp:
    """The program where sizes have these values, and others are the `least` or more, and `most` or
    less: itself if nothing changes.

    Raises `PassFailedException` for a derived size that the other ones contradict.
    """
    known = SizeBounds(None, least, most or {})
    is_same = not any(_is_simpler(known, op) for op in program.definitions)
    if is_same and not sizes and not most:
        return program
    require_no_views(program)
    numbers, derived = _substituted(program, sizes)
    arguments = [(n, _specialised(t, numbers), place) for n, t, place in arguments_of(program)]
    builder = ProgramBuilder(arguments)
    cloner = _Specialiser(BodyBuilder(builder.block, program.location))
    cloner.known = known
    cloner.indices.update(numbers)
    cloner.values.update(zip(program.body.block.args, builder.block.args, strict=True))
    for op in program.definitions:
        cloner.values[op.result] = _define(builder, cloner, op)
    made = builder.finish(program, [cloner.value(v) for v in program.returned])
    made.derived = ArrayAttr(derived)
    largest = program.largest_sizes | dict(most or {})
    made.most = tix.size_limits({n: size for n, size in largest.items() if n not in sizes})
    return made


def _substituted(
    program: tix.ProgramOp, sizes: Mapping[str, int | Affine]
) -> tuple[dict[Variable, Affine], list[DerivedSizeAttr]]:
    """All sizes that have values now, and what is left of the derived sizes."""
    numbers: dict[Variable, Affine] = {
        s: Affine(constant=n) if isinstance(n, int) else n for s, n in sizes.items()
    }
    left: list[DerivedSizeAttr] = []
    for size in program.derived:
        name = size.data.name
        bounds = [(form.substitute(numbers), divisor) for form, divisor in size.bounds]
        size = DerivedSizeAttr.of(name, bounds)
        if not any(form.terms for form, _ in bounds):
            number = size.evaluate({})
            if sizes.get(name, number) != number:
                raise PassFailedException(f"the size {name} is {number}, not {sizes[name]}")
            numbers[name] = Affine(constant=number)
        elif name not in sizes:
            left.append(size)
    return numbers, left


def _specialised(type: TensorType, numbers: Mapping[Variable, Affine]) -> TensorType:
    shape = [form.substitute(numbers) for form in type.shape]
    element = type.element
    if isinstance(element, tix.IndexRange) and element.end is not None:
        element = element.with_end(element.end.substitute(numbers))
    return TensorType(shape_map(shape), element)


def _define(builder: ProgramBuilder, cloner: _Specialiser, op: tix.DefineOp) -> SSAValue:
    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        cloner.shape = dict(zip(own, type.shape, strict=True))
        return cloner.copy_definition(op, e, own)

    type = _specialised(op.type, cloner.indices)
    return builder.define(op.label.data, type, index_names(op.result), op.location, body)


def _is_simpler(known: SizeBounds, op: tix.DefineOp) -> bool:
    """True if these sizes decide constraints of a definition, or make them follow from others."""
    shape = dict(zip(op.indices, op.shape, strict=True))
    return any(
        any(known.decided(c) is not None for c in constraints)
        or len(without_redundant(constraints, shape, known)) < len(constraints)
        for constraints in _conjunctions(op)
    )


def _conjunctions(definition: tix.DefineOp) -> Iterator[Sequence[Constraint]]:
    """The constraints of each reduction, and of each case of a condition."""
    for op in definition.walk():
        if isinstance(op, tix.ReductionOp):
            yield op.constraints
        elif isinstance(op, tix.IfOp):
            yield from op.condition


class _Specialiser(Cloner):
    """Copies with numbers in the place of sizes, which it finds among its indices."""

    known: SizeBounds
    shape: Mapping[SSAValue, Affine]
    """The sizes of the indices of the definition at hand."""

    def constraints(self, old: Sequence[Constraint]) -> list[Constraint]:
        """The constraints that are not true for all indices and all sizes that are left, and do not
        follow from others for these."""
        return without_redundant(super().constraints(old), self.shape, self.known)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        """Over no point, a reduction is its identity."""
        if not self._may_hold(self.constraints(op.constraints)):
            return self.builder.constant(op.IDENTITY)
        return super().copy_reduction(op)

    def copy_if(self, op: tix.IfOp) -> SSAValue:
        """`A and true` is A, `A or false` is A; of what is decided one branch is left."""
        disjuncts = [self.constraints(disjunct) for disjunct in op.condition]
        disjuncts = [disjunct for disjunct in disjuncts if self._may_hold(disjunct)]
        if not disjuncts:
            return self.inner(self.builder).copy_body(op.otherwise)
        if not all(disjuncts):
            return self.inner(self.builder).copy_body(op.then)
        return self.builder.choose(disjuncts, self._branch(op, 0), self._branch(op, 1))

    def _may_hold(self, left: Sequence[Constraint]) -> bool:
        return all(self.known.decided(c) is None for c in left) and feasible(left)

    def _branch(self, op: tix.IfOp, region: int) -> Body:
        return lambda e, _: self.inner(e).copy_body(op.regions[region])

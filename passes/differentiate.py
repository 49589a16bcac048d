"""`differentiate`: reverse-mode derivatives of a program, in gather form.

The derivative program takes the arguments of the program and one adjoint `df` per result `f`, and
returns one gradient `dx` per argument `x` that is asked for. For each read `x[A α + a]` in a
definition `f[α] = E`, with α extended by the indices of the sums around the read (paper, 5.2), the
gradient gains (paper, eq. 38, with offsets)

    dx[β] += sum over { α : A α + a = β, α in the index set of the read }  df[α] · ∂E/∂(read)

so every element of `dx` is a sum over exactly the points that read it. The equations stay as they
are; `solve-index-kernels` solves them.

    %f = tix.define "f" (%i) : !tix.tensor<[4], f64> {
      %0 = tix.read %x[2 * %i]
      %1 = tix.exp %0
      tix.yield %1
    }

becomes (the forward value is read, not computed again)

    %dx = tix.define "dx" (%p) : !tix.tensor<[8], f64> {
      %2 = tix.sum (%i) in (%p == 2 * %i, %i >= 0, %i <= 3) {
        %3 = tix.read %df[%i]
        %4 = tix.read %f[%i]
        %5 = tix.mul %3, %4
        tix.yield %5
      }
      tix.yield %2
    }

The index set of a read collects, from outside in: the ranges of the definition, the sets of the
sums, the conditions (a branch of `tix.if` is cut into disjoint convex pieces, each its own sum),
and `0 <= e - m q < m` for every `q = e // m` that they or the read use.

On entry sums need no order of bounds; on exit sums may hold equations in their own indices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Block, BlockArgument, Region, SSAValue
from xdsl.passes import ModulePass

from dialects import tix
from dialects.tix import Affine, Constraint, Key, between
from passes.adjoints import Adjoint, LocalReverse, adjoint_element, count_ties
from passes.conditions import Piece
from passes.emitter import Body, Emitter, Scope
from passes.failure import PassFailure
from passes.nested import Nested
from passes.programs import (
    ProgramBuilder,
    arguments_of,
    copy_definition,
    fresh_name,
    rewrite_programs,
    type_of,
)
from passes.regions import Path, elements


@dataclass(frozen=True)
class DifferentiatePass(ModulePass):
    """`differentiate{wrt=a,b}`: gradients of these arguments, of all of them by default.

    With `unit_adjoint=true` the adjoints of the results are 1 instead of arguments: the gradient of
    a scalar. With `keep_values=true` the results of the program come first, before the gradients.
    """

    name = "differentiate"
    wrt: tuple[str, ...] = ()
    unit_adjoint: bool = False
    keep_values: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_programs(op, self.differentiate)

    def differentiate(self, program: tix.ProgramOp) -> tix.ProgramOp:
        """The derivative program of `program`."""
        unknown = [name for name in self.wrt if name not in program.arguments]
        if unknown:
            raise PassFailure(program.location, f"no argument is named {unknown[0]}")
        reverse = _Reverse(program, self.unit_adjoint)
        arguments = program.arguments
        wrt = self.wrt or tuple(arguments)
        gradients = [reverse.gradient(name, arguments[name]) for name in wrt]
        names = [_gradient_name(g, name, program) for g, name in zip(gradients, wrt, strict=True)]
        if not self.keep_values:
            return reverse.builder.finish(program, gradients, names)
        values = map(reverse.tensors.value, program.returned)
        return reverse.builder.finish(
            program, [*values, *gradients], [*program.result_names, *names]
        )


def _gradient_name(gradient: SSAValue, argument: str, program: tix.ProgramOp) -> str:
    """`dx`, or what it is called where that is taken.

    The adjoint of an argument that is updated is taken by design: the gradient is a new version.
    """
    assert isinstance(gradient.owner, tix.DefineOp)
    return f"d{argument}" if argument in program.result_names else gradient.owner.label.data


Contribution = Callable[[Emitter, list[Affine]], SSAValue]
"""Emits what one read adds to the adjoint of its tensor, at the element given by the forms."""


class _Reverse:
    """One sweep over the definitions, last first; gathers what each read contributes."""

    def __init__(self, program: tix.ProgramOp, unit_adjoint: bool):
        self.program = program
        results = {v: v.owner for v in program.returned if isinstance(v.owner, tix.DefineOp)}
        named = zip(adjoint_names(program), results.values(), strict=True)
        seeds = [(name, op.type, op.location) for name, op in named if not unit_adjoint]
        self.builder = ProgramBuilder([*arguments_of(program), *seeds])
        arguments = program.body.block.args
        self.tensors = Scope(Emitter(self.builder.block, program.location))
        self.tensors.values.update(zip(arguments, self.builder.block.args, strict=False))
        values = self.builder.block.args[len(arguments) :]
        self.seeds: dict[SSAValue, Adjoint] = (
            dict.fromkeys(results, 1.0) if unit_adjoint else dict(zip(results, values, strict=True))
        )
        self.contributions: dict[SSAValue, list[tuple[tix.ReadOp, Contribution]]] = {}
        self._reserve = {f"d{name}" for name in program.arguments}
        self._copy_forward()
        self._sweep()

    def _copy_forward(self) -> None:
        for op in self.program.definitions:
            label = self._label(op.label.data)
            self.tensors.values[op.result] = copy_definition(self.builder, self.tensors, op, label)

    def _label(self, wanted: str) -> str:
        """A label that leaves the names of the gradients free."""
        self.builder.labels |= self._reserve
        label = self.builder.fresh_label(wanted)
        self.builder.labels -= self._reserve - set(self.builder.argument_names)
        return label

    def _sweep(self) -> None:
        for op in reversed(self.program.definitions):
            adjoint = self._adjoint_of(op)
            if adjoint is None:
                continue
            reverse = LocalReverse(
                *(op, self.tensors.value(op.result), adjoint, self._ties_of(op)),
                frozenset(elements(op)),
            )
            found: dict[Block, list[Piece]] = {}
            for read in op.walk():
                if isinstance(read, tix.ReadOp):
                    parts = _contributions(read, reverse, self.tensors, found)
                    self.contributions.setdefault(read.tensor, []).extend(
                        (read, part) for part in parts
                    )

    def _ties_of(self, op: tix.DefineOp) -> SSAValue | None:
        """Where a definition is an extremum: a definition of how many terms share its adjoint."""
        if not any(isinstance(v.owner, tix.ExtremumOp) for v in elements(op)):
            return None

        def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
            element = e.read(self.tensors.value(op.result), [Affine.of(v) for v in own])
            return _ties(self.tensors.inner(e, op.indices, own), tix.yielded(op.body), element)

        names = [v.name_hint for v in op.indices]
        label = self._label(f"{op.label.data}_ties")
        return self.builder.define(label, op.type, names, op.location, body)

    def _adjoint_of(self, op: tix.DefineOp) -> Adjoint | None:
        """The tensor of adjoints of a definition; None where no result depends on it."""
        seed = self.seeds.get(op.result)
        if op.result not in self.contributions:
            return seed
        label = self._label(f"d{op.label.data}")
        names = [v.name_hint for v in op.indices]
        return self._gather(label, op.result, names, op.location, seed)

    def gradient(self, name: str, argument: BlockArgument) -> SSAValue:
        """Define `d<name>`."""
        label = self.builder.fresh_label(f"d{name}")
        names = _index_names(type_of(argument).rank, self.contributions.get(argument, []))
        return self._gather(label, argument, names, argument.location, None)

    def _gather(
        self,
        label: str,
        tensor: SSAValue,
        names: Sequence[str | None],
        location: LocationAttr,
        seed: Adjoint | None,
    ) -> SSAValue:
        parts = self.contributions.get(tensor, [])

        def body(e: Emitter, own: list[SSAValue]) -> SSAValue:
            element = [Affine.of(v) for v in own]
            total = e.constant(0) if seed is None else adjoint_element(e, seed, element)
            for read, part in parts:
                e.location = read.location
                total = e.add(total, part(e, element))
            return total

        return self.builder.define(label, type_of(tensor), names, location, body)


def _ties(scope: Scope, value: SSAValue, element: SSAValue) -> SSAValue:
    """How many terms of the extremum that `value` is are equal to the element."""

    def branch(region: Region) -> Body:
        return lambda e, _: _ties(scope.inner(e, [], []), tix.yielded(region), element)

    op, e = value.owner, scope.emitter
    if isinstance(op, tix.ExtremumOp | tix.IfOp | tix.WhereOp):
        scope.require(op)
    match op:
        case tix.ExtremumOp():
            return count_ties(scope, op, element)
        case tix.IfOp():
            pieces = [scope.constraints(piece) for piece in op.condition]
            return e.choose(pieces, branch(op.then), branch(op.otherwise))
        case tix.WhereOp():
            sides = scope.value(op.lhs), scope.value(op.rhs)
            return e.where(op.comparison, *sides, branch(op.then), branch(op.otherwise))
        case _:
            return e.constant(1)


def adjoint_names(program: tix.ProgramOp) -> list[str]:
    """The names of the adjoint arguments, one per result: `df` for `f`, unless it is taken."""
    names: list[str] = []
    for result in dict(zip(program.returned, program.result_names, strict=True)).values():
        names.append(fresh_name(f"d{result}", [*program.arguments, *names]))
    return names


def _index_names(rank: int, parts: Iterable[tuple[tix.ReadOp, Contribution]]) -> list[str | None]:
    """Names for the indices of a gradient: the user's own, where a dimension is read by one."""
    names: list[str | None] = [None] * rank
    spare = iter("pqrstuvwxyz")
    for read, _ in parts:
        for d, form in enumerate(read.forms):
            index = form.single_index
            hint = None if index is None else index.name_hint
            if names[d] is None and hint not in names:
                names[d] = hint
    return [n if n is not None else next(c for c in spare if c not in names) for n in names]


# --- the index set of a read ----------------------------------------------------------------------


def _quotients(read: tix.ReadOp, path: Path, pieces: Sequence[Piece]) -> list[tix.FloorDivOp]:
    """Local quotients that the read, or a condition or sum on the way to it, uses."""
    conditions = [*path.ranges, *(c for piece in pieces for c in piece)]
    pending = [v for f in [*read.forms, *(c.form for c in conditions)] for v in f.indices]
    found: dict[tix.FloorDivOp, None] = {}
    while pending:
        op = pending.pop().owner
        if isinstance(op, tix.FloorDivOp) and op not in found:
            found[op] = None
            pending += op.form.indices
    return list(found)


def _definition_of(quotient: tix.FloorDivOp) -> list[Constraint]:
    """`0 <= e - m q < m`."""
    m = quotient.divisor.data
    return between(0, quotient.form - Affine.of(quotient.result) * m, m)


def _contributions(
    read: tix.ReadOp, reverse: LocalReverse, tensors: Scope, found: dict[Block, list[Piece]]
) -> list[Contribution]:
    """One sum per convex piece of the index set of the read; `found` keeps those of blocks."""
    path = Path.to(read, reverse.definition)
    pieces = path.pieces(found)
    quotients = _quotients(read, path, pieces)
    # the last unknowns are the first choice for what stays a summation index
    unknowns = [*(q.result for q in quotients), *path.indices]
    local = [c for q in quotients for c in _definition_of(q)]
    domains = [[*path.ranges, *piece, *local] for piece in pieces]

    def contribution(domain: list[Constraint]) -> Contribution:
        def emit(e: Emitter, element: list[Affine]) -> SSAValue:
            def renamed(own: list[SSAValue]) -> dict[Key, Affine]:
                return {a: Affine.of(b) for a, b in zip(unknowns, own, strict=True)}

            def constraints(own: list[SSAValue]) -> list[Constraint]:
                indices = renamed(own)
                equations = [
                    Constraint(form.substitute(indices) - beta, equality=True)
                    for form, beta in zip(read.forms, element, strict=True)
                ]
                return [*equations, *(c.substitute(indices) for c in domain)]

            def body(inner: Emitter, own: list[SSAValue]) -> SSAValue:
                indices = Nested[Key, Affine](renamed(own))
                scope = Scope(inner, tensors.values.new_child(), indices)
                return reverse.at(read.result, path, scope)

            return e.sum([v.name_hint for v in unknowns], constraints, body)

        return emit

    return [contribution(domain) for domain in domains]

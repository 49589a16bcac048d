"""The inverse modes: `J⁻¹ ẏ` and `J⁻ᵀ x̄` of a program that updates its state, lump by lump.

With a lump's `J = [A B; 0 I]` in the order (outs, others) by (ins, others), its inverse is
`[A⁻¹ -A⁻¹B; 0 I]` (Pearlmutter and Siskind, section 2, equation (2.6h)):

    inverse of forward mode, last lump first       ins_dot = A⁻¹ (outs_dot - B others_dot)
    inverse of reverse mode, first lump first      d_outs = A⁻ᵀ d_ins,  d_others -= Bᵀ d_outs

`B` times a vector is forward mode through the lump with 0 for the tangents of `ins`, `Bᵀ` times one
is reverse mode, so that `B` is never formed; nor is `A` where it is a diagonal,

    p[i] = p[i] * s[i] + t[i]      p_dot[i] = (p_1_dot[i] - (p[i] * s_dot[i] + t_dot[i])) / s[i]

or a diagonal D plus a part O with `(D⁻¹O)^depth = 0`, where `x = D⁻¹ (b - O x)` is solved exactly
by `depth` steps from `x = 0`; nor where it has one element `a` in each row and column, as its
inverse is then `Aᵀ` times `1 / a²` by rows. Elsewhere the program returns `A` and the right-hand
side, and takes the solution as an argument: a `tix.solve` goes between.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from dialects import tix
from dialects.tix import Affine, TensorType
from dialects.tix.linear import Axis, SolveOp
from passes.differentiation.extended_program import ExtendedProgram
from passes.differentiation.forward_sweep import ForwardSweep, Seed, stored
from passes.differentiation.names import adjoint_names, tangent_names
from passes.differentiation.reverse_scalars import Negated
from passes.differentiation.reverse_sweep import ReverseSweep
from passes.inversion.classify import Diagonal, DiagonalPlusNilpotent, Monomial, structures
from passes.inversion.lump_matrix import Axes, LumpMatrix
from passes.inversion.lumps import lumps, name_of, state_of
from passes.rewriting.builder import Body, BodyBuilder
from passes.rewriting.programs import label_of, location_of, tensor_names, type_of


@dataclass
class InverseProgram:
    """A derivative program, and the linear systems that are solved while it runs, in order."""

    program: tix.ProgramOp
    systems: list[Operation] = field(default_factory=list[Operation])


def inverse_jvp(program: tix.ProgramOp, keep_pivots: bool) -> InverseProgram:
    """The program of `J⁻¹ ẏ`; with `keep_pivots` it also returns what it divides by."""
    return _InverseForward(program, tangent_names).derived(keep_pivots)


def inverse_vjp(program: tix.ProgramOp, keep_pivots: bool) -> InverseProgram:
    """The program of `J⁻ᵀ x̄`; with `keep_pivots` it also returns what it divides by."""
    return _InverseReverse(program, lambda p, _: adjoint_names(p)).derived(keep_pivots)


Names = Callable[[tix.ProgramOp, Sequence[str]], list[str]]


class _Inverse(ABC):
    """What both inverse modes share: the program in the making, its lumps and systems."""

    def __init__(self, program: tix.ProgramOp, names: Names):
        self.program = program
        self.state = state_of(program)
        self.names = names(program, list(self.state))
        seeds = zip(self.names, self.state.values(), strict=True)
        self.new = ExtendedProgram(program, seeds, self.names)
        self.labels, self.tensors = self.new.labels, self.new.tensors
        found = lumps(program)
        self.steps = [
            LumpMatrix(lump, kind, self.labels, self.tensors)
            for lump, kind in zip(found, structures(found), strict=True)
        ]
        self.word = tensor_names(program)
        """The label of each definition, the name of each argument."""
        self.pivots: list[SSAValue] = []
        self.returned: dict[str, SSAValue] = {}
        self.systems: list[Operation] = []

    def derived(self, keep_pivots: bool) -> InverseProgram:
        """The whole program."""
        results = self.results()
        labels = [label_of(v) for v in self.pivots] if keep_pivots else []
        pivots = self.pivots if keep_pivots else []
        made = self.new.builder.finish(
            self.program,
            [*results, *pivots, *self.returned.values()],
            [*self.names, *labels, *self.returned],
        )
        return InverseProgram(made, self.systems)

    @abstractmethod
    def results(self) -> list[SSAValue]:
        """Define the derivative of each tensor of the state."""

    def define(
        self, name: str, like: SSAValue, names: Sequence[str | None], at: SSAValue, body: Body
    ) -> SSAValue:
        """Define a tensor of the type of `like`, at the place of `at`."""
        return self.labels.builder.define(
            self.labels.fresh(name), type_of(like), names, location_of(at), body
        )

    def divisor(
        self, step: LumpMatrix, e: BodyBuilder, element: Sequence[Affine], k: int = 0
    ) -> SSAValue:
        """An element of the diagonal, or the square of the only one in a row of `outs[k]`."""
        slope = step.divisors[k]
        if not isinstance(slope, SSAValue):
            return e.constant(slope)
        if slope not in self.pivots:
            self.pivots.append(slope)
        return e.read(slope, element)

    def solved(
        self, step: LumpMatrix, rhs: Sequence[SSAValue], sizes: Sequence[Sequence[Affine]], t: bool
    ) -> list[SSAValue]:
        """The solutions of the lump's system, or of the transposed one, of these sizes."""
        given = [*step.matrices, *rhs]
        self.returned.update({label_of(v): v for v in given})
        unknown = step.lump.outs if t else step.lump.ins
        solutions: list[SSAValue] = []
        names: list[str] = []
        for tensor, shape in zip(unknown, sizes, strict=True):
            name = self.labels.fresh(f"{self.word[tensor]}_solution")
            type = TensorType.of(shape, tix.ELEMENT_TYPES[type_of(tensor).dtype])
            solutions.append(self.new.builder.add_argument(name, type, step.lump.location))
            names.append(name)
        matrices, right = map(label_of, step.matrices), map(label_of, rhs)
        system = SolveOp(
            *(names, list(matrices), list(right), step.form),
            transposed=t,
            row_axes=[
                _axis(v, axes) for v, axes in zip(step.lump.outs, step.out_axes, strict=True)
            ],
            column_axes=[
                # after a signed permutation, columns are numbered as rows
                _axis(step.lump.outs[0] if axes.place else v, axes)
                for v, axes in zip(step.lump.ins, step.in_axes, strict=True)
            ],
        )
        system.location = step.lump.location
        self.systems.append(system)
        return solutions

    def gathered(
        self, name: str, like: SSAValue, sizes: Sequence[Affine], element: Body
    ) -> SSAValue:
        """Define a right-hand side: its dimensions are those of a system."""
        type = TensorType.of(sizes, tix.ELEMENT_TYPES[type_of(like).dtype])
        names: list[str | None] = [None] * len(sizes)
        return self.labels.builder.define(
            self.labels.fresh(name), type, names, location_of(like), element
        )

    def copied(self, tensor: SSAValue, name: str) -> SSAValue:
        """The tensor, or a definition of its elements where it is an argument."""
        if isinstance(tensor.owner, tix.DefineOp):
            return tensor
        return self.define(name, tensor, [None] * type_of(tensor).rank, tensor, _elements(tensor))


class _InverseForward(_Inverse):
    """`J⁻¹ ẏ`: from the tangents of the results to those of the arguments."""

    def results(self) -> list[SSAValue]:
        known = ForwardSweep(self.labels, self.tensors)
        known.seed(self.program.returned, self.new.added)
        for step in reversed(self.steps):
            for op in step.lump.derived:
                if op.result not in known.tangents:
                    known.visit(op)
            known.seed(step.lump.ins, self._unknown(step, known))
        tangents = [known.defined[v] for v in self.state.values()]
        return [self.copied(t, name) for t, name in zip(tangents, self.names, strict=True)]

    def _unknown(self, step: LumpMatrix, known: ForwardSweep) -> list[SSAValue]:
        """The tangents of `ins`, given those of `outs` and `others`."""
        match step.structure:
            case Diagonal():
                return [self._divided(step, known)]
            case DiagonalPlusNilpotent(depth=depth):
                tangent = None
                for _ in range(depth):
                    tangent = self._divided(step, known, tangent)
                assert tangent is not None
                return [tangent]
            case Monomial():
                return self._exchanged(step, known)
            case _:
                return self._by_matrix(step, known)

    def _inside(
        self, step: LumpMatrix, known: ForwardSweep, tangent: SSAValue | None = None
    ) -> ForwardSweep:
        """Forward mode through the lump, with this tangent of its only `in`, or with 0."""
        tangents = {t: known.tangents[t] for t in step.lump.others if t in known.tangents}
        sweep = ForwardSweep(self.labels, self.tensors, tangents=tangents)
        if tangent is not None:
            sweep.tangents[step.lump.ins[0]] = stored(tangent)
        return step.visit_inside(sweep)

    def _divided(
        self, step: LumpMatrix, known: ForwardSweep, tangent: SSAValue | None = None
    ) -> SSAValue:
        """`D⁻¹ (out_dot - B others_dot - O tangent)`."""
        (op,), (tensor,) = step.definitions, step.lump.ins
        sweep = self._inside(step, known, tangent)
        aside = _aside(step) if tangent is not None else _every_read
        rest = known.tangents[op.result]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            assert isinstance(step.structure, Diagonal | DiagonalPlusNilpotent)
            element = step.structure.place.preimage([Affine.of(v) for v in own])
            numerator = _minus(e, rest(e, element, ()), sweep, op, element, aside)
            return e.div(numerator, self.divisor(step, e, element))

        names = (
            [v.name_hint for v in op.indices] if _is_identity(step) else [None] * len(op.indices)
        )
        return self.define(f"{self.word[tensor]}_dot", tensor, names, op.result, body)

    def _exchanged(self, step: LumpMatrix, known: ForwardSweep) -> list[SSAValue]:
        """`Aᵀ ((outs_dot - B others_dot) / a²)`, for one element `a` in each row and column."""
        inside = self._inside(step, known)
        sweep = ReverseSweep(self.labels, self.tensors)
        for k, op in enumerate(step.definitions):
            sweep.seeds[op.result] = self._by_square(step, k, inside, known.tangents[op.result])
        for op in reversed(step.lump.definitions):
            sweep.visit(op)
        return [
            sweep.gather(
                *(self.labels.fresh(f"{self.word[v]}_dot"), v, sweep.index_names(v)),
                location_of(v),
            )
            for v in step.lump.ins
        ]

    def _by_square(self, step: LumpMatrix, k: int, sweep: ForwardSweep, rest: Seed) -> SSAValue:
        op = step.definitions[k]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = [Affine.of(v) for v in own]
            numerator = _minus(e, rest(e, element, ()), sweep, op, element, _every_read)
            return e.div(numerator, self.divisor(step, e, element, k))

        names = [v.name_hint for v in op.indices]
        return self.define(f"{op.label.data}_rhs", op.result, names, op.result, body)

    def _by_matrix(self, step: LumpMatrix, known: ForwardSweep) -> list[SSAValue]:
        sweep = self._inside(step, known)
        rhs = [
            self._right(step, k, sweep, known.tangents[op.result])
            for k, op in enumerate(step.definitions)
        ]
        sizes = [step.column_sizes(j) for j in range(len(step.lump.ins))]
        solutions = self.solved(step, rhs, sizes, t=False)
        return [
            self.define(
                *(f"{self.word[tensor]}_dot", tensor, [None] * type_of(tensor).rank, tensor),
                _elements(solution, axes.split),
            )
            for tensor, axes, solution in zip(step.lump.ins, step.in_axes, solutions, strict=True)
        ]

    def _right(self, step: LumpMatrix, k: int, sweep: ForwardSweep, rest: Seed) -> SSAValue:
        """`outs_dot[k] - B others_dot`, with the dimensions of the system."""
        op, axes = step.definitions[k], step.out_axes[k]

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = axes.join([Affine.of(v) for v in own])
            return _minus(e, rest(e, element, ()), sweep, op, element, _every_read)

        return self.gathered(f"{op.label.data}_rhs", op.result, step.row_sizes(k), body)


class _InverseReverse(_Inverse):
    """`J⁻ᵀ x̄`: from the adjoints of the arguments to those of the results.

    The sweep holds, of the state between two lumps, the adjoints so far as seeds, and what lumps
    have contributed to them since.
    """

    def results(self) -> list[SSAValue]:
        sweep = ReverseSweep(self.labels, self.tensors)
        sweep.seeds.update(zip(self.state.values(), self.new.added, strict=True))
        waiting: dict[tix.DefineOp, None] = {}
        for step in self.steps:
            if any(t in step.lump.ins for op in waiting for t in _sources(op)):
                self._visit(sweep, waiting)
            self._step(step, sweep)
            waiting.update(dict.fromkeys(step.lump.derived))
        self._visit(sweep, waiting)
        adjoints = [self._total(sweep, v, self.word[v]) for v in self.program.returned]
        return [self.copied(a, name) for a, name in zip(adjoints, self.names, strict=True)]

    def _visit(self, sweep: ReverseSweep, waiting: dict[tix.DefineOp, None]) -> None:
        """Hand on what was contributed to derived tensors, last one first."""
        for op in reversed([op for op in self.program.definitions if op in waiting]):
            sweep.visit(op)
        waiting.clear()

    def _total(self, sweep: ReverseSweep, tensor: SSAValue, name: str) -> SSAValue:
        """The adjoint of a tensor of the state."""
        seed = sweep.seeds.get(tensor)
        if isinstance(seed, SSAValue) and not sweep.has_contributions(tensor):
            return seed
        names = sweep.index_names(tensor)
        return sweep.gather(self.labels.fresh(f"d{name}"), tensor, names, location_of(tensor))

    def _step(self, step: LumpMatrix, sweep: ReverseSweep) -> None:
        ins = [self._total(sweep, v, self.word[v]) for v in step.lump.ins]
        for tensor in step.lump.ins:
            sweep.forget(tensor)
        outs = self._unknown(step, ins)
        sweep.seeds.update((v, Negated(d)) for v, d in zip(step.lump.outs, outs, strict=True))
        for op in reversed(step.lump.definitions):
            sweep.visit(op)
        for tensor in step.lump.ins:
            sweep.forget(tensor)
        sweep.seeds.update(zip(step.lump.outs, outs, strict=True))

    def _unknown(self, step: LumpMatrix, ins: Sequence[SSAValue]) -> list[SSAValue]:
        """The adjoints of `outs`, given those of `ins`."""
        match step.structure:
            case Diagonal():
                return [self._divided(step, ins[0])]
            case DiagonalPlusNilpotent(depth=depth):
                adjoint = self._divided(step, ins[0])
                for _ in range(depth - 1):
                    adjoint = self._divided(step, self._rest(step, ins[0], adjoint))
                return [adjoint]
            case Monomial():
                return self._exchanged(step, ins)
            case _:
                return self._by_matrix(step, ins)

    def _divided(self, step: LumpMatrix, adjoint: SSAValue) -> SSAValue:
        """`D⁻ᵀ` times an adjoint of `in`."""
        (op,) = step.definitions
        assert isinstance(step.structure, Diagonal | DiagonalPlusNilpotent)
        place = step.structure.place

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            element = [Affine.of(v) for v in own]
            return e.div(e.read(adjoint, place.image(element)), self.divisor(step, e, element))

        names = [v.name_hint for v in op.indices]
        return self.define(f"d{op.label.data}", op.result, names, op.result, body)

    def _rest(self, step: LumpMatrix, total: SSAValue, adjoint: SSAValue) -> SSAValue:
        """`d_in - Oᵀ d_out`."""
        (op,), (tensor,) = step.definitions, step.lump.ins
        sweep = ReverseSweep(self.labels, self.tensors)
        sweep.seeds[op.result] = Negated(adjoint)
        sweep.seeds[tensor] = total
        sweep.visit(op, _aside(step))
        for other in reversed(step.lump.definitions):
            if other is not op:
                sweep.visit(other)
        return self._total(sweep, tensor, f"{self.word[tensor]}_rest")

    def _exchanged(self, step: LumpMatrix, ins: Sequence[SSAValue]) -> list[SSAValue]:
        """`(A d_ins) / a²`, for one element `a` in each row and column."""
        sweep = ForwardSweep(self.labels, self.tensors)
        sweep.seed(step.lump.ins, ins)
        step.visit_inside(sweep)

        def divided(k: int, op: tix.DefineOp) -> SSAValue:
            def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
                element = [Affine.of(v) for v in own]
                return e.div(sweep.element(e, op, element), self.divisor(step, e, element, k))

            names = [v.name_hint for v in op.indices]
            return self.define(f"d{op.label.data}", op.result, names, op.result, body)

        return [divided(k, op) for k, op in enumerate(step.definitions)]

    def _by_matrix(self, step: LumpMatrix, ins: Sequence[SSAValue]) -> list[SSAValue]:
        rhs = [
            self.gathered(
                *(f"d{self.word[tensor]}_rhs", tensor, step.column_sizes(j)),
                _elements(adjoint, step.in_axes[j].join),
            )
            for j, (tensor, adjoint) in enumerate(zip(step.lump.ins, ins, strict=True))
        ]
        sizes = [step.row_sizes(k) for k in range(len(step.lump.outs))]
        solutions = self.solved(step, rhs, sizes, t=True)
        return [
            self.define(
                *(f"d{op.label.data}", op.result, [v.name_hint for v in op.indices], op.result),
                _elements(solution, axes.split),
            )
            for op, axes, solution in zip(step.definitions, step.out_axes, solutions, strict=True)
        ]


def _minus(
    e: BodyBuilder,
    rest: SSAValue,
    sweep: ForwardSweep,
    op: tix.DefineOp,
    element: Sequence[Affine],
    counted: Callable[[tix.ReadOp], bool],
) -> SSAValue:
    """`rest` less the tangent of an element of `op`."""
    return rest if sweep.vanishes(op) else e.sub(rest, sweep.element(e, op, element, (), counted))


def _every_read(read: tix.ReadOp) -> bool:
    return True


def _aside(step: LumpMatrix) -> Callable[[tix.ReadOp], bool]:
    """The reads that do not belong to the diagonal."""
    return lambda read: not step.on_diagonal(read)


def _elements(
    tensor: SSAValue, at: Callable[[Sequence[Affine]], Sequence[Affine]] = lambda element: element
) -> Body:
    """A body that reads a tensor at a place for each element."""
    return lambda e, own: e.read(tensor, at([Affine.of(v) for v in own]))


def _is_identity(step: LumpMatrix) -> bool:
    found = step.structure
    place = None if not isinstance(found, Diagonal | DiagonalPlusNilpotent) else found.place
    return place is not None and place.is_identity


def _axis(tensor: SSAValue, axes: Axes) -> Axis:
    return Axis(name_of(tensor), (*axes.batch, *axes.rest))


def _sources(op: tix.DefineOp) -> list[SSAValue]:
    return [r.tensor for r in op.walk() if isinstance(r, tix.ReadOp)]

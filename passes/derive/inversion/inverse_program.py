"""Programs of the inverse modes in the making: what `inverse_forward` and `inverse_reverse` share.

With a lump's `J = [A B; 0 I]` in the order (outs, others) by (ins, others), its inverse is
`[A⁻¹ -A⁻¹B; 0 I]` (Pearlmutter and Siskind, section 2, equation (2.6h)). So each lump asks for one
solution with `A` or `Aᵀ`, and `B` times a vector is forward mode through the lump with 0 for the
tangents of `ins`, `Bᵀ` times one is reverse mode: `B` is never formed. The structure of `A` says
how to solve (`passes/derive/inversion/structures.py`):

    diagonal D                       x = D⁻¹ b, element by element
    D + O with (D⁻¹O)^depth = 0      x = D⁻¹ (b - O x), exact after `depth` steps from x = 0
    one element a in each row        x = Aᵀ (b / a²), as A Aᵀ is the diagonal of the a²
      and in each column
    any other                        the program returns A and b, and takes x as an argument:
                                     a `tix.solve` goes between
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, TensorType
from tadc.dialects.tix.linear import Axis, SolveOp
from tadc.passes.derive.differentiation.extended_program import ExtendedProgram
from tadc.passes.derive.inversion.classify import classify_all
from tadc.passes.derive.inversion.lump_matrix import Axes, LumpMatrix
from tadc.passes.derive.inversion.lumps import lumps
from tadc.passes.derive.inversion.state import name_of, state_of
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.programs import label_of, location_of, tensor_names, type_of


@dataclass
class InverseProgram:
    """A derivative program, and the linear systems that are solved while it runs, in order."""

    program: tix.ProgramOp
    systems: list[Operation] = field(default_factory=list[Operation])


class InverseBuilder:
    """The program of an inverse mode in the making, with the matrices of its lumps and its systems.

    It starts as a copy of `program`. `names` are those of the derivatives of the state: of the
    `seeds`, which are new arguments, and of the results, which are new versions of them.

    Raises `PassFailure` where the program has no inverse modes.
    """

    def __init__(self, program: tix.ProgramOp, names: Sequence[str]):
        self.program = program
        self.state = list(state_of(program).values())
        self.names = names
        new = ExtendedProgram(program, zip(names, self.state, strict=True), names)
        self.seeds = new.added
        self.labels, self.tensors, self._builder = new.labels, new.tensors, new.builder
        found = lumps(program)
        self.matrices = [
            LumpMatrix(lump, structure, self.labels, self.tensors)
            for lump, structure in zip(found, classify_all(found), strict=True)
        ]
        self.names_of = tensor_names(program)
        """The label of each definition of `program`, the name of each argument."""
        self._pivots: dict[SSAValue, None] = {}
        self._shared: dict[SSAValue, None] = {}
        self._systems: list[Operation] = []

    def finish(self, derivatives: Sequence[SSAValue], keep_pivots: bool) -> InverseProgram:
        """The program with these derivatives of the state as its first results.

        With `keep_pivots` what it divides by comes next, as pivots; what systems need comes last.
        """
        results = map(self._copied, derivatives, self.names)
        pivots = list(self._pivots) if keep_pivots else []
        more = [*pivots, *self._shared]
        made = self._builder.finish(
            self.program,
            [*results, *more],
            [*self.names, *map(label_of, more)],
            pivots=list(map(label_of, pivots)),
        )
        return InverseProgram(made, self._systems)

    def _copied(self, tensor: SSAValue, name: str) -> SSAValue:
        """The tensor, or a definition of its elements where it is an argument."""
        if isinstance(tensor.owner, tix.DefineOp):
            return tensor
        return self.define(name, tensor, elements_of(tensor))

    def define(
        self,
        name: str,
        like: SSAValue,
        body: Body,
        names: Sequence[str | None] | None = None,
        location: LocationAttr | None = None,
    ) -> SSAValue:
        """Define a tensor of the type of `like`, by default in its place."""
        type = type_of(like)
        return self.labels.builder.define(
            label=self.labels.fresh(name),
            type=type,
            names=[None] * type.rank if names is None else names,
            location=location_of(like) if location is None else location,
            body=body,
        )

    def divisor(
        self, matrix: LumpMatrix, e: BodyBuilder, element: Sequence[Affine], k: int = 0
    ) -> SSAValue:
        """Emit an element of the diagonal, or the square of the only one in a row of `outs[k]`."""
        slope = matrix.divisors[k]
        if not isinstance(slope, SSAValue):
            return e.constant(slope)
        self._pivots[slope] = None
        return e.read(slope, element)

    # --- linear systems ---------------------------------------------------------------------------

    def right_hand_side(
        self, name: str, like: SSAValue, sizes: Sequence[Affine], element: Body
    ) -> SSAValue:
        """Define a right-hand side: its dimensions are those of a system."""
        return self.labels.builder.define(
            label=self.labels.fresh(name),
            type=TensorType.of(sizes, tix.ELEMENT_TYPES[type_of(like).dtype]),
            names=[None] * len(sizes),
            location=location_of(like),
            body=element,
        )

    def solve(
        self, matrix: LumpMatrix, rhs: Sequence[SSAValue], transposed: bool = False
    ) -> list[SSAValue]:
        """The solutions of `A x = rhs`, or of `Aᵀ x = rhs`: new arguments, as a system gives them.

        They have the dimensions of the system: `Axes.split` finds an element of the tensor there.
        """
        lump, blocks = matrix.lump, matrix.matrices
        self._shared.update(dict.fromkeys([*blocks, *rhs]))
        unknown, sizes_of = (
            (lump.outs, matrix.row_sizes) if transposed else (lump.ins, matrix.column_sizes)
        )
        solutions: dict[str, SSAValue] = {}
        for n, tensor in enumerate(unknown):
            name = self.labels.fresh(f"{self.names_of[tensor]}_solution")
            type = TensorType.of(sizes_of(n), tix.ELEMENT_TYPES[type_of(tensor).dtype])
            solutions[name] = self._builder.add_argument(name, type, lump.location)
        system = SolveOp(
            solutions=list(solutions),
            matrices=list(map(label_of, blocks)),
            rhs=list(map(label_of, rhs)),
            form=matrix.form,
            transposed=transposed,
            row_axes=_row_axes(matrix),
            column_axes=_column_axes(matrix),
        )
        system.location = lump.location
        self._systems.append(system)
        return list(solutions.values())


def _row_axes(matrix: LumpMatrix) -> list[Axis]:
    return list(map(_axis, matrix.lump.outs, matrix.out_axes))


def _column_axes(matrix: LumpMatrix) -> list[Axis]:
    # after a signed permutation, columns are numbered as rows
    lump = matrix.lump
    return [
        _axis(lump.outs[0] if axes.permutation else v, axes)
        for v, axes in zip(lump.ins, matrix.in_axes, strict=True)
    ]


def _axis(tensor: SSAValue, axes: Axes) -> Axis:
    return Axis(name_of(tensor), (*axes.batch, *axes.rest))


def elements_of(
    tensor: SSAValue, at: Callable[[Sequence[Affine]], Sequence[Affine]] = lambda element: element
) -> Body:
    """A body that reads, for each element, the one of `tensor` that `at` gives."""
    return lambda e, own: e.read(tensor, at([Affine.of(v) for v in own]))


def index_names(op: tix.DefineOp) -> list[str | None]:
    """The names of the indices of a definition, for another one that has the same."""
    return [v.name_hint for v in op.indices]

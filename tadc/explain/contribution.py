"""One contribution to a gradient: the equations of a read, and their solution in integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Variable
from tadc.errors import Span
from tadc.explain.guards import Reasons
from tadc.explain.notation import Notation
from tadc.explain.records import Equations, Guard, Range, Record, Solution
from tadc.passes.derive.solve_index_kernels import Derivation, System
from tadc.passes.rewriting.programs import definition_around, fresh_name


@dataclass
class Contribution:
    """The sum that one read, in one convex part of its index set, adds to a gradient."""

    span: Span | None
    """The place of the read in the text."""
    element: Mapping[Variable, str]
    """The names of the indices of the gradient."""
    op: tix.ReductionOp
    """The sum at the stage `derivative`."""
    bounded: tix.ReductionOp | None
    """The sum at the stage `bounded`; None where it is no longer one sum."""

    def __post_init__(self) -> None:
        self.notation = Notation(self.element)
        taken = [*self.element.values()]
        for index in self.op.indices:
            taken.append(_primed(index.name_hint or "q", taken))
            self.notation.names[index] = taken[-1]
        self.system = System.of(self.op.indices, self.op.constraints)

    @property
    def own(self) -> list[str]:
        """The names of the indices of the sum: those of the statement that reads."""
        return [self.notation.name(index) for index in self.op.indices]

    def record(self) -> Record:
        """The explanation of it, by what the passes say."""
        if not self.op.indices:
            guards = [Guard(self.notation.constraint(c)) for c in self.op.constraints]
            return Record(self.span, [], [], None, None, guards, [])
        conditions = [c for c in self.op.constraints if c in self.system.rest]
        shown = [self.notation.constraint(c) for c in conditions]
        record = partial(Record, self.span, self.own, shown)
        if not self.system.equations:
            return record(None, None, *self._bounds(self.own, Reasons(self.notation)))
        derivation = self.system.solve()
        if derivation.empty:
            return record(self._equations(), None, [], [])
        quotients = self._quotient_names(len(derivation.quotients))
        free = self._free_names(derivation)
        solution = self._solution(derivation, quotients, free)
        reasons = Reasons.of(self.notation, derivation, quotients, free)
        guards = self._guards(derivation)
        around, ranges = self._bounds(free, reasons)
        return record(self._equations(), solution, [*guards, *around], ranges)

    def _equations(self) -> Equations:
        """The equations `A ξ = b`: a row of A is what they hold of own indices, b all else."""
        own = [Affine({v: f[v] for v in self.op.indices}) for f in self.system.equations]
        return Equations(
            self.own,
            [[f[v] for v in self.op.indices] for f in self.system.equations],
            [self.notation.form(form) for form in own],
            [
                self.notation.form(form - equation)
                for form, equation in zip(own, self.system.equations, strict=True)
            ],
        )

    # --- their solution ---

    def _solution(
        self, derivation: Derivation, quotients: Sequence[str], free: Sequence[str]
    ) -> Solution:
        rows = zip(quotients, derivation.quotients, strict=True)
        exact = [f"{name} = {self.notation.factor(row)} / {d}" for name, (row, d) in rows]
        indices = derivation.indices([*map(Affine.of, quotients)], [*map(Affine.of, free)])
        values = [(self.notation.name(x), self.notation.form(f)) for x, f in indices.items()]
        told = [f"{x} = {value}" for x, value in values if x != value]
        return Solution(exact, told, derivation.null_space, free, len(self.own))

    def _quotient_names(self, count: int) -> list[str]:
        names: list[str] = []
        taken = [*self.notation.names.values()]
        for _ in range(count):
            names.append(fresh_name("t", [*taken, *names]))
        return names

    def _free_names(self, derivation: Derivation) -> list[str]:
        names: list[str] = []
        for index in derivation.kept:
            names.append(fresh_name("z" if index is None else self.notation.name(index), names))
        return names

    def _guards(self, derivation: Derivation) -> Iterator[Guard]:
        for equation in derivation.zero:
            reason = "a row past the rank of A: it holds no unknown (the cokernel, a delta)"
            yield Guard(self.notation.constraint(equation), reason)
        for row, divisor in derivation.quotients:
            reason = f"an elementary divisor is {divisor}: no integers otherwise"
            yield Guard(f"{self.notation.factor(row)} % {divisor} == 0", reason)

    # --- bounds ---

    def _bounds(
        self, free: Sequence[str], reasons: Reasons
    ) -> tuple[Sequence[Guard], Sequence[Range] | None]:
        """The guards around the sum, and the range of every index with where it comes from."""
        if self.bounded is not None:
            self._name_bounded(self.bounded)
            if {self.notation.name(v) for v in self.bounded.indices} == set(free):
                return reasons.guards(self.bounded), reasons.ranges(self.bounded)
        return [], None

    def _name_bounded(self, op: tix.ReductionOp) -> None:
        """Give indices at the stage `bounded` the names of those that they are."""
        names = self.notation.names
        names |= dict(zip(definition_around(op).indices, self.element.values(), strict=True))
        hints = {v.name_hint: names[v] for v in self.op.indices}
        used = [*self.element.values()]
        for index in op.indices:
            wanted = hints.get(index.name_hint) or index.name_hint or "z"
            used.append(fresh_name(wanted, used))
            names[index] = used[-1]


def _primed(name: str, taken: Sequence[str]) -> str:
    """The name with as many primes as it takes to differ from those."""
    while name in taken:
        name += "'"
    return name

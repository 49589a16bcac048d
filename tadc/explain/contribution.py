"""One contribution to a gradient: the equations of a read, and their solution in integers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialects import tix
from dialects.tix import Affine, Variable
from passes.rewriting.programs import definition_around, fresh_name
from passes.solve_index_kernels import Derivation, System
from tadc.errors import Span, underlined
from tadc.explain.guards import Reasons
from tadc.explain.notation import Notation, wrapped


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

    def text(self) -> Iterator[str]:
        """The explanation, line by line."""
        if self.span:
            yield f"  {self.span.excerpt}, line {self.span.line}"
            yield from (f"  {line}" for line in underlined(self.span))
        if not self.op.indices:
            yield "    read once"
            yield from (f"    guard  {self.notation.constraint(c)}" for c in self.op.constraints)
            return
        yield from self._set()
        if not self.system.equations:
            yield "    no equation: every point of the set contributes"
            yield from self._bounds(self.own, Reasons(self.notation))
            return
        yield from self._equations()
        derivation = self.system.solve()
        if derivation.empty:
            yield "    no integers solve these equations for any element: nothing is added"
            return
        yield from self._solution(derivation)

    # --- the equations ---

    def _set(self) -> Iterator[str]:
        yield f"    read at the points ({', '.join(self.own)}) of the set"
        conditions = [c for c in self.op.constraints if c in self.system.rest]
        yield from wrapped([self.notation.constraint(c) for c in conditions])

    def _equations(self) -> Iterator[str]:
        """The equations `A ξ = b`: a row of A is what they hold of own indices, b all else."""
        yield f"    those that read this element solve A ({', '.join(self.own)}) = b with A, b ="
        matrix = [[str(f[v]) for v in self.op.indices] for f in self.system.equations]
        widths = [max(map(len, column)) for column in zip(*matrix, strict=True)]
        for row, equation in zip(matrix, self.system.equations, strict=True):
            cells = " ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
            own = Affine({v: equation[v] for v in self.op.indices})
            yield f"      [ {cells} ]   {self.notation.form(own - equation)}"

    # --- their solution ---

    def _solution(self, derivation: Derivation) -> Iterator[str]:
        quotients = self._quotient_names(len(derivation.quotients))
        free = self._free_names(derivation)
        yield "    solved in integers, by the Smith normal form of A (eqs. 41-45)"
        for name, (row, divisor) in zip(quotients, derivation.quotients, strict=True):
            yield f"      {name} = {self.notation.factor(row)} / {divisor}"
        indices = derivation.indices([*map(Affine.of, quotients)], [*map(Affine.of, free)])
        values = [(self.notation.name(x), self.notation.form(f)) for x, f in indices.items()]
        yield from wrapped([f"{x} = {value}" for x, value in values if x != value])
        yield from self._null_space(derivation, free)
        yield from self._guards(derivation)
        yield from self._bounds(free, Reasons.of(self.notation, derivation, quotients, free))

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

    def _null_space(self, derivation: Derivation, free: Sequence[str]) -> Iterator[str]:
        unknowns, rank = len(self.own), len(self.own) - len(free)
        if not free:
            yield f"      as many independent equations as unknowns, {rank}: one point, no sum"
            return
        basis = " ".join(f"({', '.join(map(str, v))})" for v in derivation.null_space)
        yield f"      {unknowns} unknowns, rank {rank}: the null space of A, with the basis"
        yield f"      {basis}, is summed over: {', '.join(free)}"

    def _guards(self, derivation: Derivation) -> Iterator[str]:
        for equation in derivation.zero:
            yield f"    guard  {self.notation.constraint(equation)}"
            yield "           a row past the rank of A: it holds no unknown (the cokernel, a delta)"
        for row, divisor in derivation.quotients:
            yield f"    guard  {self.notation.factor(row)} % {divisor} == 0"
            yield f"           an elementary divisor is {divisor}: no integers otherwise"

    # --- bounds ---

    def _bounds(self, free: Sequence[str], reasons: Reasons) -> Iterator[str]:
        """The bounds of every summation index, and where each comes from."""
        if self.bounded is not None:
            self._name_bounded(self.bounded)
            if {self.notation.name(v) for v in self.bounded.indices} == set(free):
                yield from reasons.text(self.bounded)
                return
        yield "    bounds and guards: in the last line; further equations were found and solved"

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

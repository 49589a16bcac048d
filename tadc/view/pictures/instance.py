"""`Instance`: a contribution at given sizes, where indices of elements are numbers too."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint, FloorDivOp, Variable
from tadc.dialects.tix.affine import factors_of
from tadc.dialects.tix.constraints import show_constraint
from tadc.explain.contribution import Contribution
from tadc.once import cached_property
from tadc.passes.derive.solve_index_kernels import Derivation, Exact
from tadc.passes.polyhedral.matrix import Row, negate
from tadc.passes.rewriting.programs import definition_around, fresh_name
from tadc.view.pictures.geometry import has_point

TENSOR = re.compile(r"(\w+)\s*\[")
"""The name of the tensor in the text of a read."""


class Values(dict[Variable, int]):
    """The numbers that sizes and indices are; products of sizes and quotients follow."""

    def __missing__(self, variable: Variable) -> int:
        if isinstance(variable, SSAValue):
            quotient = variable.owner
            assert isinstance(quotient, FloorDivOp), f"no value of {variable}"
            return quotient.form.evaluate(self) // quotient.divisor.data
        if variable in (factors := factors_of(variable)):
            raise KeyError(variable)
        result = 1
        for factor in factors:
            result *= self[factor]
        return result

    def row(self, form: Affine, columns: Sequence[Variable]) -> Row:
        """The form over these columns, which have no number here."""
        mine = Affine({v: form[v] for v in columns})
        return (*(form[v] for v in columns), (form - mine).evaluate(self))


def is_named(index: SSAValue) -> bool:
    """True for an index of the text, False for a quotient that a condition or a read needs."""
    return index.name_hint is not None


@dataclass(frozen=True)
class Instance:
    """A contribution to a gradient at these sizes, derived ones included."""

    link: str | None
    """The name of the read that it comes from, None for one that the text does not have."""
    contribution: Contribution
    sizes: Mapping[str, int]

    # --- the element ---

    @cached_property
    def indices(self) -> list[SSAValue]:
        """The indices of the element."""
        return definition_around(self.contribution.op).indices

    @cached_property
    def of(self) -> str:
        """The gradient."""
        return definition_around(self.contribution.op).label.data

    @cached_property
    def element_names(self) -> list[str]:
        """The names of the indices of the element."""
        return [*self.contribution.element.values()]

    @cached_property
    def shape(self) -> list[int]:
        """The number of values of each index of the element."""
        values = Values({**self.sizes})
        shape = definition_around(self.contribution.op).shape
        return [max(0, form.evaluate(values)) for form in shape]

    def values(self, element: Sequence[int]) -> Values:
        """The numbers of sizes and of the indices of this element."""
        return Values({**self.sizes, **dict(zip(self.indices, element, strict=True))})

    def text(self, element: Sequence[int]) -> str:
        """The element of the argument, as `x[12]`."""
        span = self.contribution.span
        found = TENSOR.search(span.excerpt) if span else None
        name = found[1] if found else self.of
        return f"{name}[{', '.join(map(str, element))}]" if element else name

    def heading(self, element: Sequence[int]) -> str:
        """The element of the gradient, and the read: `dx[12] from x[2*i + 3*k]`."""
        inside = f"[{', '.join(map(str, element))}]" if element else ""
        span = self.contribution.span
        return f"{self.of}{inside} from {span.excerpt}" if span else f"{self.of}{inside}"

    # --- the index set and the equations of the read ---

    @cached_property
    def own(self) -> list[SSAValue]:
        """The indices of the sum: those of the statement that reads."""
        return self.contribution.op.indices

    @cached_property
    def names(self) -> list[str]:
        """The names of these indices."""
        return self.contribution.own

    @cached_property
    def equations(self) -> list[Constraint]:
        """The equations of the read: what its indices have to be at an element."""
        equations = self.contribution.system.equations
        return [Constraint(f, equality=True) for f in equations if self._speaks_of_element(f)]

    @cached_property
    def conditions(self) -> list[Constraint]:
        """The conditions on the points of the set, whatever element they read."""
        equations = self.contribution.system.equations
        defining = [f for f in equations if not self._speaks_of_element(f)]
        inequalities = [c for c in self.contribution.system.rest if self._holds_own(c.form)]
        return [*inequalities, *(Constraint(form, equality=True) for form in defining)]

    def _speaks_of_element(self, form: Affine) -> bool:
        return any(v not in self.own for v in form.indices)

    def _holds_own(self, form: Affine) -> bool:
        return any(form[v] for v in self.own)

    def rows(
        self, constraints: Sequence[Constraint], columns: Sequence[Variable], values: Values
    ) -> list[Row]:
        """The constraints as rows over these columns, two for an equation."""
        rows: list[Row] = []
        for c in constraints:
            row = values.row(c.form, columns)
            rows += (row, negate(row)) if c.equality else (row,)
        return rows

    @cached_property
    def solved(self) -> Solved | None:
        """The solution of all equations; None where no integers solve them for any element."""
        derivation = self.contribution.system.solve()
        return None if derivation.empty else Solved(derivation, self.contribution, self.sizes)

    def is_read(self, element: Sequence[int]) -> bool:
        """True if a point of the set reads the element."""
        values = self.values(element)
        if self.solved is None or not self.solved.allows(values):
            return False
        rows = self.rows([*self.conditions, *self.equations], self.own, values)
        return has_point(rows) if self.own else True


class Solved:
    """The points that read an element, `ξ = P + Q t + K z`, with names for t and z."""

    def __init__(
        self, derivation: Derivation, contribution: Contribution, sizes: Mapping[str, int]
    ):
        self.derivation = derivation
        self.notation = contribution.notation
        self._sizes = sizes
        taken = {*sizes, *self.notation.names.values()}
        self.free: list[str] = []
        """The names of the new indices: those of the indices that they equal, or z."""
        for index in derivation.kept:
            wanted = "z" if index is None else self.notation.name(index)
            self.free.append(fresh_name(wanted, {*sizes, *self.free}))
        quotients: list[str] = []
        for _ in derivation.quotients:
            quotients.append(fresh_name("t", {*taken, *self.free, *quotients}))
        self._quotients = [
            Exact(t, *row) for t, row in zip(quotients, derivation.quotients, strict=True)
        ]
        self.indices = derivation.indices(
            [*map(Affine.of, quotients)], [*map(Affine.of, self.free)]
        )
        """The indices of the read, over those of the element, the quotients and the new ones."""
        self.rest = derivation.rest(self.indices, self._quotients)
        """The conditions of the set on an element and on the new indices."""

    @property
    def quotient_names(self) -> list[Variable]:
        """The names of the exact quotients."""
        return [q.t for q in self._quotients]

    @property
    def guards(self) -> list[Affine]:
        """The forms that are zero, or divisible, where the element is read."""
        return [*(c.form for c in self.derivation.zero), *(q.row for q in self._quotients)]

    @property
    def forms(self) -> list[Affine]:
        """Everything that depends on the element."""
        return [*self.indices.values(), *(c.form for c in self.rest), *self.guards]

    @property
    def is_new(self) -> bool:
        """True if the only new index is one that numbers the solutions."""
        return self.derivation.kept == [None]

    def excludes(self, values: Values) -> str:
        """The guard that excludes an element, as text; empty where all guards hold."""
        for guard in (c for c in (*self.derivation.zero, *self._conditions) if c.equality):
            if guard.form.evaluate(values):
                return self.notation.constraint(guard)
        for q in self._quotients:
            if q.row.evaluate(values) % q.divisor:
                return f"{self.notation.factor(q.row)} % {q.divisor} == 0"
        return ""

    def allows(self, values: Values) -> bool:
        """True if an element meets all conditions that hold no new index."""
        meets = all(c.equality or c.form.evaluate(values) >= 0 for c in self._conditions)
        return meets and not self.excludes(values)

    @cached_property
    def _conditions(self) -> list[Constraint]:
        return [c for c in self.rest if not any(c.form[v] for v in self.free)]

    @cached_property
    def bounds(self) -> list[tuple[Constraint, str]]:
        """The inequalities in new indices, each with the condition of the set it comes from."""
        before = self.derivation.system.rest
        return [
            (after, self.notation.constraint(c))
            for c, after in zip(before, self.rest, strict=True)
            if any(after.form[v] for v in self.free)
        ]

    def bound_text(self, bound: tuple[Constraint, str]) -> str:
        """A bound and where it comes from: `3*z >= p, from i >= 0`."""
        text = show_constraint(bound[0], self.notation.name, lambda v: v not in self._sizes)
        text = text.replace(" * ", "*")
        return text if text == bound[1] else f"{text}, from {bound[1]}"

    def point(self, values: Values, z: Sequence[int]) -> dict[Variable, int]:
        """The indices of the read at an element that no guard excludes, and at new indices."""
        known = Values({**values, **dict(zip(self.free, z, strict=True))})
        for q in self._quotients:
            known[q.t] = q.row.evaluate(values) // q.divisor
        return {index: form.evaluate(known) for index, form in self.indices.items()}

    def text(self) -> str:
        """The solution: `i = 3*z - p, k = p - 2*z`, without indices that stay themselves."""
        values = [(self.notation.name(x), self.notation.form(f)) for x, f in self.indices.items()]
        quotients = [
            f"{q.t} = {self.notation.factor(q.row)} / {q.divisor}" for q in self._quotients
        ]
        return ", ".join([*(f"{x} = {value}" for x, value in values if x != value), *quotients])

"""Texts of indices, affine forms and constraints in an explanation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tadc.dialects.tix import Affine, Constraint, FloorDivOp, Variable
from tadc.dialects.tix.affine import show
from tadc.dialects.tix.constraints import show_constraint
from tadc.passes.index_sets.disjuncts import tightened

LONGEST_LINE = 96
"""Characters of the longest line, if no word is longer."""


class Notation:
    """Names of indices, and the text of what is made of them."""

    def __init__(self, names: Mapping[Variable, str]):
        self.names = dict(names)

    def name(self, variable: Variable) -> str:
        """The name of an index or size; the formula of a quotient."""
        if isinstance(variable, str):
            return variable
        if variable in self.names:
            return self.names[variable]
        if isinstance(variable.owner, FloorDivOp):
            return f"({self.form(variable.owner.form)}) // {variable.owner.divisor.data}"
        return variable.name_hint or "q"

    def form(self, form: Affine) -> str:
        """An affine form, as `2*i + 1`."""
        return show(form, self.name).replace(" * ", "*")

    def factor(self, form: Affine) -> str:
        """An affine form that stands in a product: in parentheses, if it has several terms."""
        text = self.form(form)
        return f"({text})" if len(form.terms) + bool(form.constant) > 1 else text

    def quotient(self, form: Affine, divisor: int) -> str:
        """An affine form divided by a positive number and rounded down, as `(p + 2) // 3`."""
        return self.form(form) if divisor == 1 else f"{self.factor(form)} // {divisor}"

    def constraint(self, constraint: Constraint) -> str:
        """A condition, as `i + k <= N - 1`."""
        return show_constraint(constraint, self.name).replace(" * ", "*")

    def key(self, constraint: Constraint) -> Affine:
        """A form over names: inequalities with the same one are the same, at whatever stage."""
        form = tightened(Constraint(constraint.form)).form
        return form.substitute({v: Affine.of(self.name(v)) for v in form.terms})


def wrapped(words: Sequence[str]) -> list[str]:
    """The words with commas between them, in indented lines."""
    lines = ["     "]
    for n, word in enumerate(words):
        word += "," if n + 1 < len(words) else ""
        if len(lines[-1]) + len(word) > LONGEST_LINE:
            lines.append("     ")
        lines[-1] += f" {word}"
    return [line for line in lines if line.strip()]

"""`expand-powers`: powers by small indices become products.

    %0 = tix.index_to_real (%m)                %0 = tix.index_to_real (%m)
    %1 = tix.pow %x, %0                        %2 = tix.mul %x, %x
                                 becomes       %1 = tix.where %0 lt 0.5 { 1.0 } else {
                                                 tix.where %0 lt 1.5 { %x } else { %2 } }

for m in range(3). A power takes a logarithm and an exponential, all products that the exponent can
ask for a multiplication each; where the sum over m is written out, just those of one of them are
left. Exponents are forms that lie between two numbers of at most 16 for all indices around; others
stay powers. Products are rounded as those of powers by numbers are: four times for x**16.

Takes any bounded program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.dialects.tix import elementwise as ew
from tadc.passes.analysis.index_values import form_of
from tadc.passes.analysis.properties import calls_expanded
from tadc.passes.index_sets.context import ContextCloner
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.program_pass import LocalPass
from tadc.passes.rewriting.programs import copy_changed, copy_program

LARGEST_POWER = 16
"""Exponents up to this, and down to its negative, are multiplied out."""


@dataclass(frozen=True)
class ExpandPowersPass(LocalPass):
    """`expand-powers`: no options."""

    name = "expand-powers"
    requires = (calls_expanded,)

    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        return expand_powers(program)


def expand_powers(program: tix.ProgramOp) -> tix.ProgramOp:
    """The program with products instead of powers by small indices; itself where it has none."""
    powers = [op for d in program.definitions for op in d.walk() if _is_by_index(op)]
    if not powers:
        return program
    return copy_program(program, _Multiplier, lambda b, c, op: copy_changed(b, c, op, powers))


def _is_by_index(op: Operation) -> TypeGuard[ew.PowOp]:
    """True of a power whose exponent is a form of indices, and no number."""
    form = form_of(op.rhs) if isinstance(op, ew.PowOp) else None
    return form is not None and bool(form.indices)


class _Multiplier(ContextCloner):
    """Copies a body, with products instead of powers."""

    def copy(self, op: Operation) -> None:
        if not _is_by_index(op) or (exponents := self._exponents(op)) is None:
            return super().copy(op)
        self.builder.location = op.location
        x, n = map(self.value, op.operands)
        powers = _powers(self.builder, x, exponents)
        self.values[op.result] = _chosen(self.builder, n, exponents, powers)

    def copy_reduction(self, op: tix.ReductionOp) -> SSAValue:
        def domain(own: list[SSAValue]) -> list[Constraint]:
            return self.inner(self.builder, op.indices, own).constraints(op.constraints)

        def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
            cloner = self.inner(e, op.indices, own)
            cloner.assume(cloner.constraints(op.constraints))
            return cloner.copy_body(op.body)

        return self.builder.reduce(type(op), [v.name_hint for v in op.indices], domain, body)

    def _exponents(self, op: ew.PowOp) -> range | None:
        """The range of exponents that a power can have; None where they may be large."""
        form = form_of(op.rhs)
        assert form is not None
        exponent = self.form(form)
        low, high = self._least(exponent), self._least(-exponent)
        return None if low is None or high is None else range(low, -high + 1)

    def _least(self, form: Affine) -> int | None:
        """The largest known lower bound of a form; None if not within `LARGEST_POWER` of 0."""
        bounds = range(LARGEST_POWER, -LARGEST_POWER - 1, -1)
        return next((n for n in bounds if self.holds(Constraint(form - n))), None)


def _powers(e: BodyBuilder, x: SSAValue, exponents: range) -> dict[int, SSAValue]:
    """The powers of x, each the product of two of half the exponent."""
    one = e.constant(1.0)
    found = {0: one, 1: x}
    for n in range(2, max(abs(exponents[0]), abs(exponents[-1])) + 1):
        found[n] = e.mul(found[n // 2], found[n - n // 2])
    return {n: found[n] if n >= 0 else e.div(one, found[-n]) for n in exponents}


def _chosen(
    e: BodyBuilder, n: SSAValue, exponents: Sequence[int], powers: dict[int, SSAValue]
) -> SSAValue:
    """Select the power by exponent n, with comparisons of n to each exponent in turn."""
    first, *others = exponents
    if not others:
        return powers[first]
    end = e.constant(first + 0.5)
    return e.where(
        "lt",
        n,
        end,
        lambda inner, _: powers[first],
        lambda inner, _: _chosen(inner, n, others, powers),
    )

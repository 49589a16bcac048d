"""The names of adjoints `dx` and tangents `x_dot`, and labels that leave these free."""

from __future__ import annotations

from collections.abc import Iterable

from tadc.dialects import tix
from tadc.passes.rewriting.programs import ProgramBuilder, fresh_name


class Labels:
    """Fresh labels for a program in the making, which leave some names free for its results."""

    def __init__(self, builder: ProgramBuilder, reserved: Iterable[str] = ()):
        self.builder = builder
        self._reserved = set(reserved)

    def fresh(self, wanted: str) -> str:
        """`wanted`, or the first of `wanted_1, wanted_2, ...` that is free and not reserved."""
        label, number = wanted, 0
        while label in self.builder.labels or label in self._reserved:
            number += 1
            label = f"{wanted}_{number}"
        return label


def adjoint_names(program: tix.ProgramOp) -> list[str]:
    """The names of the adjoint arguments, one per result: `df` for `f`, unless it is taken."""
    names: list[str] = []
    taken = [*program.arguments, *tix.functions_of(program)]
    for result in dict(zip(program.returned, program.result_names, strict=True)).values():
        names.append(fresh_name(f"d{result}", [*taken, *names]))
    return names


def tangent_names(program: tix.ProgramOp, of: Iterable[str]) -> list[str]:
    """The names of the tangents `x_dot` of these arguments or results, unless they are taken."""
    names: list[str] = []
    taken = [*program.arguments, *tix.functions_of(program)]
    for name in of:
        names.append(fresh_name(f"{name}_dot", [*taken, *names]))
    return names

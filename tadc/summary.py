"""`Summary`: what a call needs to know of a program - types, sizes and costs, but no operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from tadc.cost import Cost, cost_of
from tadc.dialects.tix import DerivedSizeAttr, ProgramOp, TensorType
from tadc.dialects.tix.types import ELEMENT_TYPES
from tadc.passes.analysis.compared_sizes import compared_sizes, size_differences
from tadc.passes.rewriting.programs import accesses_of, label_of, type_of
from tadc.sizes import shape_of


class Typed(NamedTuple):
    """An argument or a result, by the name that callers know."""

    name: str
    type: TensorType


class Definition(NamedTuple):
    """A definition by its label, with the type of its tensor and the cost of an element."""

    label: str
    type: TensorType
    cost: Cost


@dataclass(frozen=True)
class Summary:
    """The tensors of a program in order; it can be pickled."""

    inputs: tuple[Typed, ...]
    derived: tuple[DerivedSizeAttr, ...]
    definitions: tuple[Definition, ...]
    results: tuple[Typed, ...]
    result_labels: tuple[str, ...]
    """The labels of the definitions that are results."""
    read: frozenset[str]
    """The names of the arguments that definitions read."""
    compared_sizes: tuple[tuple[str, str | int], ...]
    """Pairs of sizes, none of them derived, or of a size and a number, of which one ends a range
    where the other one may."""
    size_differences: tuple[tuple[str, str, int], ...]
    """Sizes N and M, none of them derived, and a number c, for each length N - M + c."""

    @staticmethod
    def of(program: ProgramOp) -> Summary:
        """The summary of a program; takes time linear in its length."""
        returned = zip(program.result_names, program.returned, strict=True)
        read = {r.tensor for d in program.definitions for r in accesses_of(d)}
        return Summary(
            tuple(Typed(name, type_of(v)) for name, v in program.arguments.items()),
            tuple(program.derived),
            tuple(Definition(d.label.data, d.type, cost_of(d)) for d in program.definitions),
            tuple(Typed(name, type_of(v)) for name, v in returned),
            tuple(label_of(v) for v in program.returned),
            frozenset(name for name, v in program.arguments.items() if v in read),
            compared_sizes(program),
            size_differences(program),
        )

    @property
    def arguments(self) -> Mapping[str, Typed]:
        """The arguments by name, in order."""
        return {t.name: t for t in self.inputs}

    def with_precision(self, precision: str) -> Summary:
        """This program where tensors of undeclared precision are `precision`, f32 or f64."""

        def typed(t: Typed) -> Typed:
            return Typed(t.name, _typed(t.type, precision))

        return replace(
            self,
            inputs=tuple(map(typed, self.inputs)),
            results=tuple(map(typed, self.results)),
            definitions=tuple(
                Definition(d.label, _typed(d.type, precision), d.cost) for d in self.definitions
            ),
        )

    def size_names(self) -> list[str]:
        """The sizes that callers choose, in order of first use in the arguments."""
        derived = {d.data.name for d in self.derived}
        forms = (form for t in self.inputs for form in t.type.shape)
        names = dict.fromkeys(s for form in forms for s in form.sizes)
        return [name for name in names if name not in derived]

    def with_derived(self, sizes: Mapping[str, int]) -> Mapping[str, int]:
        """The sizes, and the derived ones that follow from them."""
        found = dict(sizes)
        for size in self.derived:
            if size.data.name not in found and size.needs <= found.keys():
                found[size.data.name] = size.evaluate(found)
        return found

    def work(self, sizes: Mapping[str, int]) -> Sequence[int]:
        """About how many operations each definition takes."""
        return [prod(shape_of(d.type, sizes)) * d.cost.at(sizes) for d in self.definitions]

    def total_work(self, sizes: Mapping[str, int]) -> int:
        """About how many operations one evaluation takes."""
        return sum(self.work(sizes))


def _typed(type: TensorType, precision: str) -> TensorType:
    if type.dtype != "real":
        return type
    return TensorType.of(type.shape, ELEMENT_TYPES[precision])

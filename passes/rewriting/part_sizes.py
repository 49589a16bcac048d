"""Lengths of parts of tensors, the elements that have one remainder along an index, as sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dialects import tix
from dialects.tix import Affine, DerivedSizeAttr
from passes.rewriting.programs import fresh_name, type_of


class PartSizes:
    """The lengths of parts; those that are no affine forms become derived sizes.

    None of these has a name that is `taken`: calls have sizes that are numbers in the program.
    """

    def __init__(self, program: tix.ProgramOp, taken: Iterable[str]):
        tensors = [*program.arguments.values(), *(d.result for d in program.definitions)]
        self.names = {s for t in tensors for form in type_of(t).shape for s in form.sizes}
        self.names |= {d.data.name for d in program.derived} | set(taken)
        self.found: dict[tuple[Affine, int], str] = {}

    def of(self, size: Affine, modulus: int, residue: int, name: str) -> Affine:
        """⌈(size - residue) / modulus⌉; a derived size is called like `name`."""
        form = size + (modulus - 1 - residue)
        if not any(c % modulus for c in form.terms.values()):
            return form // modulus
        if (form, modulus) not in self.found:
            self.found[form, modulus] = fresh_name(name, self.names)
            self.names.add(self.found[form, modulus])
        return Affine.of(self.found[form, modulus])

    @property
    def derived(self) -> list[DerivedSizeAttr]:
        """The derived sizes."""
        return [DerivedSizeAttr.of(name, [bound]) for bound, name in self.found.items()]


def with_derived_sizes(program: tix.ProgramOp, sizes: Mapping[str, int]) -> dict[str, int]:
    """The given sizes of a program, and those that it derives from them."""
    found = dict(sizes)
    for derived in program.derived:
        if derived.needs <= found.keys():
            found.setdefault(derived.data.name, derived.evaluate(found))
    return found

"""Lengths of parts of tensors as sizes: the elements with one remainder along an index, or those in
one range of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tadc.dialects import tix
from tadc.dialects.tix import Affine, DerivedSizeAttr
from tadc.passes.rewriting.programs import fresh_name, type_of


class PartSizes:
    """The lengths of parts; those that are no affine forms become derived sizes.

    None of these has a name that is `taken`: calls have sizes that are numbers in the program.
    """

    def __init__(self, program: tix.ProgramOp, taken: Iterable[str]):
        tensors = [*program.arguments.values(), *(d.result for d in program.definitions)]
        self.names = {s for t in tensors for form in type_of(t).shape for s in form.sizes}
        self.names |= {d.data.name for d in program.derived} | set(taken)
        self.found: dict[tuple[tuple[Affine, int], ...], str] = {}

    def of(self, size: Affine, modulus: int, residue: int, name: str) -> Affine:
        """⌈(size - residue) / modulus⌉; a derived size is called like `name`."""
        form = size + (modulus - 1 - residue)
        if not any(c % modulus for c in form.terms.values()):
            return form // modulus
        return self._derived([(form, modulus)], name)

    def between(self, begin: Affine, ends: Sequence[Affine], name: str) -> Affine:
        """The least of `ends` - begin, 0 where that is negative; a derived size is called like
        `name`."""
        forms = [end - begin for end in ends]
        least = [f for f in forms if all(is_never_negative(g - f) for g in forms)][:1]
        if least and is_never_negative(least[0]):
            return least[0]
        return self._derived([(form, 1) for form in least or forms], name)

    def _derived(self, bounds: Sequence[tuple[Affine, int]], name: str) -> Affine:
        """The derived size with these bounds."""
        key = tuple(bounds)
        if key not in self.found:
            self.found[key] = fresh_name(name, self.names)
            self.names.add(self.found[key])
        return Affine.of(self.found[key])

    @property
    def derived(self) -> list[DerivedSizeAttr]:
        """The derived sizes."""
        return [DerivedSizeAttr.of(name, bounds) for bounds, name in self.found.items()]


def is_never_negative(form: Affine) -> bool:
    """True if a form of sizes is 0 or more for all of them, as these are not negative."""
    return form.constant >= 0 and all(n > 0 for n in form.terms.values())


def with_derived_sizes(program: tix.ProgramOp, sizes: Mapping[str, int]) -> dict[str, int]:
    """The given sizes of a program, and those that it derives from them."""
    found = dict(sizes)
    for derived in program.derived:
        if derived.needs <= found.keys():
            found.setdefault(derived.data.name, derived.evaluate(found))
    return found

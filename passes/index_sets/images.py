"""The values that several index forms take together, as the index set of a tensor.

    e[p - k, j]  and  w[p - k]       over p and k      take the values  u = p - k,  0 <= u < N

What depends on p and k by these forms alone is a tensor over u. `passes/polyhedral/images.py` finds
such coordinates among forms that run from 0 to a size.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Variable
from tadc.passes.polyhedral.images import coordinates

Dimension = tuple[Affine, Affine]
"""A form, and the size below which it stays; it is at least 0."""


@dataclass(frozen=True)
class Image:
    """The index set of a tensor by the coordinates of its elements."""

    dimensions: tuple[Dimension, ...]
    """The form of each coordinate with its size."""
    variables: tuple[SSAValue, ...]
    """The variables of the forms."""
    section: tuple[tuple[int, ...], ...]
    """For each variable its coefficients of the coordinates in one point that has them."""

    @staticmethod
    def of(
        forms: Iterable[Affine], candidates: Iterable[Dimension], inner: Iterable[SSAValue] = ()
    ) -> Image | None:
        """The image of `forms`, apart from their terms in `inner`, by some of the candidates."""
        forms, candidates, inner = list(forms), list(candidates), set(inner)
        variables = tuple(dict.fromkeys(v for f in forms for v in f.indices if v not in inner))
        rows = dict.fromkeys(tuple(f[v] for v in variables) for f in forms)
        choices = [tuple(form[v] for v in variables) for form, _ in candidates]
        found = coordinates([row for row in rows if any(row)], choices, len(variables))
        if found is None:
            return None
        numbers, section = found
        return Image(tuple(candidates[n] for n in numbers), variables, section)

    @property
    def forms(self) -> list[Affine]:
        """The form of each coordinate."""
        return [form for form, _ in self.dimensions]

    @property
    def sizes(self) -> list[Affine]:
        """The size of each dimension."""
        return [size for _, size in self.dimensions]

    def point(self, coordinates: Sequence[SSAValue]) -> dict[Variable, Affine]:
        """Values of the variables at which the forms are these indices.

        Forms `B v + b` are `u` at `v = P (u - b)`, where P is the section: `B P = 1`.
        """
        zero: dict[Variable, Affine] = dict.fromkeys(self.variables, Affine())
        pairs = zip(coordinates, self.forms, strict=True)
        shifted = [Affine.of(u) - form.substitute(zero) for u, form in pairs]
        return {
            v: Affine.sum(form * c for form, c in zip(shifted, row, strict=True))
            for v, row in zip(self.variables, self.section, strict=True)
        }

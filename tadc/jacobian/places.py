"""The places of the entries of a Jacobian in words: comments above the program that computes them.

# entries of y by x
#   dy_dx[i] = d y[i] / d x[i - 1]
#   dy_dx_1[i, k] = d y[i] / d x[2 * i + k]
"""

from __future__ import annotations

from collections.abc import Sequence

from tadc.dialects.tix import Affine, Variable
from tadc.language.printing.affine import ATOM, PRODUCT, Part, Text, total
from tadc.passes.index_sets.band_flow import Flow
from tadc.passes.index_sets.bands import Band
from tadc.program import Tensor

LETTERS = "kljinmpqrstabcdefgh"
"""Names of indices that have none."""


def places_text(
    bands: Sequence[tuple[str, Sequence[Flow]]], wrt: str, tensors: Sequence[Tensor]
) -> str:
    """Comment lines: which entry an element of each tensor is, of results with these bands."""
    left = iter(tensors)
    lines: list[str] = []
    for result, flows in bands:
        own = [next(left) for _ in flows or [None]]
        if flows:
            pairs = zip(own, flows, strict=True)
            lines += [_line(tensor.name, result, wrt, flow.band) for tensor, flow in pairs]
        else:
            lines.append(f"# {own[0].name}: no element of {result} depends on {wrt}")
    return "".join(f"{line}\n" for line in lines)


def _line(tensor: str, result: str, wrt: str, band: Band) -> str:
    forms = _Forms(band)
    places = [forms.names[offset.index] for offset in band.dimensions]
    row = [forms.names[v] for v in band.indices]
    column = [forms.text(form) for form in band.element]
    return (
        f"# {_element(tensor, [*row, *places])}: the derivative of {_element(result, row)} "
        f"by {_element(wrt, column)}"
    )


def _element(tensor: str, indices: Sequence[str]) -> str:
    return f"{tensor}[{', '.join(indices)}]" if indices else tensor


class _Forms:
    """The forms of a band as text, in the indices of the row and the place along each dimension.

    An offset is the sum of the least one, `-low` or a quotient, and of its place: these have its
    index and its name.
    """

    def __init__(self, band: Band):
        taken = {v.name_hint for v in band.indices}
        free = (letter for letter in LETTERS if letter not in taken)
        self.names: dict[Variable, str] = {
            v: v.name_hint or next(free)
            for v in [*band.indices, *(offset.index for offset in band.dimensions)]
        }
        self._offsets: dict[Variable, Affine] = {}
        self._quotients: dict[Variable, Text] = {}
        for offset in band.offsets:
            place = Affine() if offset.is_fixed else Affine.of(offset.index)
            if offset.divisor == 1:
                self._offsets[offset.index] = place - offset.low.substitute(self._offsets)
            else:
                above = self._total(-offset.low + (offset.divisor - 1)).within(PRODUCT)
                least = Text(f"{above} // {offset.divisor}", PRODUCT)
                self._quotients[offset.index] = least

    def text(self, form: Affine) -> str:
        return self._total(form).text

    def _total(self, form: Affine) -> Text:
        form = form.substitute(self._offsets)
        atoms = {v: Text(name, ATOM) for v, name in self.names.items()} | self._quotients
        atoms |= {size: Text(size, ATOM) for size in form.sizes}
        return total([Part(form[v], atom) for v, atom in atoms.items() if form[v]], form.constant)

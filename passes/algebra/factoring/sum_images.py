"""The tensor that a partial sum is: the coordinates of its elements.

    sum[k, j](e[p - k, j])     of the sum over j the element u = p - k, with 0 <= u < N

A partial sum depends on indices outside of it through the forms in which its reads and its bounds
use them. Forms that dimensions are read by come first, then the indices themselves; where all
indices take fewer values than the forms do together, these are the coordinates:

    sum[i](x[8*g + c, i] - m[g])     g and c, 8 of each, in place of 64 rows of x for each of 8 g

A quotient by a number needs no coordinate of its own where its index is one:

    sum[t](w[j % 2, t] * x[r, j // 2 + t])     r and j, as j % 2 is j - 2*(j // 2)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from math import prod

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.quick import QuickOperation, operands_of
from tadc.dialects.tix import Affine
from tadc.passes.algebra.factoring.sum_places import SumPlace
from tadc.passes.index_sets.images import Dimension, Image


def image_of(
    place: SumPlace,
    operations: Sequence[Operation],
    bounds: Sequence[Affine],
    inner: Set[SSAValue],
) -> Image | None:
    """The tensor of what these operations make, summed over the `inner` indices in their bounds."""
    forms = [*forms_in(operations), *bounds]
    known = inner | quotients_known(forms, inner)
    found = _image(place, operations, bounds, inner)
    return found or (_image(place, operations, bounds, known) if known != inner else None)


def quotients_known(forms: Sequence[Affine], inner: Set[SSAValue]) -> Set[SSAValue]:
    """The quotients by numbers of indices that forms have, too, apart from inner ones."""
    used = {v for form in forms for v in form.indices}
    quotients = (v.owner for v in used if isinstance(v.owner, tix.FloorDivOp))
    return {q.result for q in quotients if used - inner >= {*q.form.indices}}


def _image(
    place: SumPlace,
    operations: Sequence[Operation],
    bounds: Sequence[Affine],
    inner: Set[SSAValue],
) -> Image | None:
    """The tensor, where what is an inner index, or known, is none of its coordinates."""
    forms = [*forms_in(operations), *bounds]
    reads = [op for op in operations if isinstance(op, tix.ReadOp)]
    largest_first = sorted(reads, key=lambda op: -prod(map(place.length, op.shape)))
    found = [d for op in largest_first for d in _coordinates(place, op, bounds, inner)]
    image = Image.of(forms, [*found, *_boxed(place, bounds, inner)], inner)
    if image is None or all(form.single_index is not None for form in image.forms):
        return image
    by_indices = Image.of(forms, _boxed(place, forms, inner), inner)
    images = filter(None, [image, by_indices])
    return min(images, key=lambda image: prod(map(place.length, image.sizes)))


def _boxed(place: SumPlace, forms: Iterable[Affine], inner: Set[SSAValue]) -> Iterator[Dimension]:
    """The indices of forms that are not inner ones, with their sizes."""
    around = (v for form in forms for v in form.indices if v not in inner)
    boxes = place.spans
    return ((Affine.of(v), boxes[v]) for v in dict.fromkeys(around) if v in boxes)


def _coordinates(
    place: SumPlace, op: tix.ReadOp, bounds: Sequence[Affine], inner: Set[SSAValue]
) -> Iterator[Dimension]:
    """Forms that may be coordinates, with their sizes, in the order of dimensions of a read.

    An index that bounds an inner one stands where that does: neighbours stay neighbours.
    """
    for form, size in zip(op.forms, op.tensor_type.shape, strict=True):
        others = [v for v in form.indices if v not in inner]
        if len(others) == 1 and others[0] in place.spans:
            yield Affine.of(others[0]), place.spans[others[0]]
        elif others and len(others) == len(form.indices):
            yield form, size
        elif not others:
            moving = (b for b in bounds if any(b[v] for v in form.indices))
            yield from _boxed(place, moving, inner)


def forms_in(operations: Iterable[Operation]) -> list[Affine]:
    """The forms in which operations use indices."""
    found: list[Affine] = []
    for op in operations:
        if isinstance(op, tix.ReadOp):
            found += op.forms
        elif isinstance(op, tix.IndexToRealOp):
            found.append(op.form)
    return found


def operations_of(value: SSAValue) -> list[Operation]:
    """The operations that make a value, within its definition."""
    found: dict[Operation, None] = {}
    pending = [value]
    while pending:
        op = pending.pop().owner
        if isinstance(op, QuickOperation) and not isinstance(op, tix.DefineOp) and op not in found:
            found[op] = None
            pending += operands_of(op)
    return list(found)

"""Operations and reads that vectors compute under masks, in which lanes may be left out."""

from __future__ import annotations

from dialects import tix
from dialects.tix import Affine, Variable
from passes.rewriting.programs import definition_around

UNDER_MASKS = (
    tix.UnaryOp,
    tix.BinaryOp,
    tix.ConstantOp,
    tix.YieldOp,
    tix.WhereOp,
    tix.IfOp,
)
"""Operations that are computed for all lanes under a mask; choices among them have their own."""

MASKED_STEPS = (1, -1, 2, 3, 4)
"""The distances of elements in neighbouring lanes of which a mask can leave some out."""


def is_there(op: tix.ReadOp) -> bool:
    """True if a read is inside of the tensor at all points of its definition, whatever conditions
    are around it: each dimension is as long as the range of the index that it is read at, or longer
    than the number."""
    around = definition_around(op)
    sizes: dict[Variable | None, Affine] = dict(zip(around.indices, around.shape, strict=True))
    places = zip(op.forms, op.shape, strict=True)
    return all(
        sizes.get(form.single_index) == size
        or (not form.terms and not size.terms and 0 <= form.constant < size.constant)
        for form, size in places
    )

"""Lumps whose matrix must be singular: a row or a column without entries, or one on a diagonal.

    p[i] = p[2 * (i // 2)]                  no result depends on p[1]
    p[i] = p[i] if i > 0 else 1.0           p[0] does not depend on p
    p[i] = sum[j in range(i)](p[j])         triangular, without p[0] in p[0]

Dependences contain every entry that may differ from 0. So where no dependence meets an element, for
sizes of which only is known that they are at least 1, the entry is 0 for all of them. Tried are the
corners of the index sets, and every element of small tensors of known size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain as chained
from itertools import islice, product

from xdsl.ir import SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, Variable
from passes.index_sets.dependence import Dependence
from passes.index_sets.sets import index_set
from passes.index_sets.space import Space, feasible
from passes.inversion.lumps import LOST, Lump, name_of
from passes.inversion.structures import Banded, Structure, Triangular
from passes.rewriting.failure import PassFailure
from passes.rewriting.programs import type_of

ELEMENTS = 64
"""How many elements of a tensor are tried."""
CHAINS = 16
"""With how many dependences all elements are tried, and not only the corners."""

Pairs = Sequence[Sequence[Sequence[Dependence]]]


def require_regular(lump: Lump, pairs: Pairs, structure: Structure) -> None:
    """Raise `PassFailure` where the matrix is seen to be singular.

    `pairs[k][j]` are the dependences of `outs[k]` on `ins[j]`.
    """
    for out, row in zip(lump.outs, pairs, strict=True):
        _require_rows(out, list(chained.from_iterable(row)))
    for tensor, column in zip(lump.ins, zip(*pairs, strict=True), strict=True):
        _require_columns(lump, tensor, list(chained.from_iterable(column)))
    if isinstance(structure, Triangular) or (
        isinstance(structure, Banded) and 0 in (structure.lower, structure.upper)
    ):
        _require_diagonal(lump, pairs[0][0], structure)


def _require_rows(out: SSAValue, chains: Sequence[Dependence]) -> None:
    op = _definition(out)
    if any(_is_everywhere(chain, op) for chain in chains):
        return
    for element in _elements(out, chains):
        at = dict[Variable, Affine](zip(op.indices, element, strict=True))
        if not any(feasible(chain.substitute(at).constraints) for chain in chains):
            reason = (
                f"the Jacobian must be singular: {_text(out, element)} gets a value here that does "
                "not depend on what is updated"
            )
            raise PassFailure(op.location, reason, LOST)


def _require_columns(lump: Lump, tensor: SSAValue, chains: Sequence[Dependence]) -> None:
    if any(_is_identity(chain, _definition(out)) for chain in chains for out in lump.outs):
        return
    for element in _elements(tensor, chains):
        if not any(_meets(chain, element) for chain in chains):
            reason = (
                f"the Jacobian must be singular: the value that {_text(tensor, element)} has "
                "before is lost here, no result depends on it"
            )
            raise PassFailure(lump.location, reason, LOST)


def _require_diagonal(
    lump: Lump, chains: Sequence[Dependence], structure: Triangular | Banded
) -> None:
    (out,) = lump.outs
    op = _definition(out)
    if structure.place.is_identity and any(_is_identity(chain, op) for chain in chains):
        return
    for element in _elements(out, chains):
        at = dict[Variable, Affine](zip(op.indices, element, strict=True))
        old = structure.place.image(element)
        if not any(_meets(chain.substitute(at), old) for chain in chains):
            reason = (
                "the Jacobian must be singular: it is triangular, and 0 on the diagonal, since "
                f"{_text(out, element)} does not depend on {_text(lump.ins[0], old)}"
            )
            raise PassFailure(op.location, reason, LOST)


def _meets(chain: Dependence, element: Sequence[Affine]) -> bool:
    """May a dependence be one on this element?"""
    pairs = zip(chain.element, element, strict=True)
    equal = [Constraint(form - x, equality=True) for form, x in pairs]
    return feasible([*chain.constraints, *equal])


def _is_everywhere(chain: Dependence, op: tix.DefineOp) -> bool:
    """Is a dependence without further indices there for all elements of a definition?"""
    if any(v not in op.indices for c in chain.constraints for v in c.form.indices):
        return False
    known = index_set(op)
    rest = [c for c in chain.constraints if c not in known]
    if not rest:
        return True
    space = Space([], [*known, *rest])
    rows = [*space.rows(known), *space.sizes_not_negative()]
    return all(space.implied(c, rows) for c in rest)


def _is_identity(chain: Dependence, op: tix.DefineOp) -> bool:
    """Is it a read of every element, each in its own place?"""
    same = tuple(map(Affine.of, op.indices)) == chain.element
    shapes = op.type.shape == type_of(chain.reads[-1].tensor).shape
    return same and shapes and _is_everywhere(chain, op)


def _elements(tensor: SSAValue, chains: Sequence[Dependence]) -> Iterator[tuple[Affine, ...]]:
    """Elements that are there whenever all sizes are at least 1; none if that is not sure."""
    shape = type_of(tensor).shape
    if not all(_is_positive(size) for size in shape):
        return iter(())
    few = len(chains) <= CHAINS and all(not size.terms for size in shape)
    if few and _count(shape) <= ELEMENTS:
        choices = [[Affine(constant=n) for n in range(size.constant)] for size in shape]
    else:
        choices = [list(dict.fromkeys([Affine(), size - 1])) for size in shape]
    return islice(product(*choices), ELEMENTS)


def _is_positive(size: Affine) -> bool:
    coefficients = size.terms.values()
    return all(c >= 0 for c in coefficients) and size.constant + sum(coefficients) > 0


def _count(shape: Sequence[Affine]) -> int:
    total = 1
    for size in shape:
        total *= size.constant
    return total


def _definition(tensor: SSAValue) -> tix.DefineOp:
    assert isinstance(tensor.owner, tix.DefineOp)
    return tensor.owner


def _text(tensor: SSAValue, element: Sequence[Affine]) -> str:
    """`p[0, N - 1]`."""
    places = [repr(form).removeprefix("Affine(").removesuffix(")") for form in element]
    return name_of(tensor) + (f"[{', '.join(places)}]" if places else "")

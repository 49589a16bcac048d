"""Refusal of programs whose Jacobian must be singular, whatever their arguments are.

There are four ways to see it, each with its own words:

    p[i] = sign(p[i])                       no result depends on the old p (`require_used`)
    s = sum[i](p[i]), p[i] = s * i          N elements depend on N through one (`require_width`)
    p[i] = p[i] - p[i]                      a divisor is the number 0 (`require_nonzero`)
    p[i] = p[2 * (i // 2)]                  a column without entries (`require_entries`),
    p[i] = p[i] if i > 0 else 1.0             a row,
    p[i] = sum[j in range(i)](p[j])           or a triangle without an entry on its diagonal

The last one looks at sparsity patterns, which contain every entry that may differ from 0. So where
no dependence meets an element, for sizes of which only is known that they are at least 1, the entry
is 0 for all of them. Tried are the corners of the index sets, and every element of small tensors of
known size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain as chained
from itertools import islice, product
from math import prod

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.analysis.element_counts import count, difference, is_positive, show
from tadc.passes.derive.inversion.sparsity import SparsityPattern
from tadc.passes.derive.inversion.state import ActiveReads, name_of
from tadc.passes.derive.inversion.structures import Banded, Structure, Triangular
from tadc.passes.index_sets.dependence import Dependence
from tadc.passes.index_sets.sets import index_set
from tadc.passes.index_sets.space import Space, feasible
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.programs import location_of, type_of

MOST_ELEMENTS_TRIED = 64
"""Elements of a tensor that are looked at, one by one."""
MOST_DEPENDENCES_FOR_ALL_ELEMENTS = 16
"""With more dependences than these, only the corners of a tensor are looked at."""


def _singular(location: LocationAttr, reason: str) -> PassFailure:
    """The error that refuses a program."""
    hint = "there is no inverse; an update p[i] += ... by other tensors than p always keeps one"
    return PassFailure(location, f"the Jacobian must be singular: {reason}", hint)


# --- a whole program ------------------------------------------------------------------------------


def require_used(program: tix.ProgramOp, state: Mapping[str, SSAValue], reads: ActiveReads) -> None:
    """Raise `PassFailure` where no result depends on some tensor of the state, or one on none."""
    useful: set[SSAValue] = set(program.returned)
    for op in reversed(list(reads)):
        if op.result in useful:
            useful.update(reads[op])
    active = {*state.values(), *(op.result for op in reads)}
    for (name, argument), result in zip(state.items(), program.returned, strict=True):
        if not count([argument]):
            continue
        if argument not in useful:
            raise _singular(
                _first_version(program, name, result),
                f"the value that {name} has before is lost here, no result depends on it",
            )
        if result not in active:
            raise _singular(
                location_of(result),
                f"{name} gets a value here that does not depend on what is updated",
            )


def _first_version(program: tix.ProgramOp, name: str, last: SSAValue) -> LocationAttr:
    """The place where an argument gets its first new value: labels of versions are `p_1`, ..."""
    versions = (op.location for op in program.definitions if name_of(op.result) == name)
    return next(versions, location_of(last))


def require_width(
    program: tix.ProgramOp, state: Iterable[SSAValue], cut: Sequence[SSAValue]
) -> None:
    """Raise `PassFailure` where a cut has fewer elements than the state, for all sizes.

    All that results depend on goes through the tensors of the cut, which are in the order of the
    text.
    """
    state = list(state)
    width, narrow = count(state), count(cut)
    if not is_positive(difference(width, narrow)):
        return
    inner = [v for v in cut if v not in state]
    raise _singular(
        location_of(inner[0]) if inner else program.location,
        f"the results depend on {_listed(state)}, {show(width)} elements, through {show(narrow)} "
        f"alone, those of {_listed(cut)}",
    )


def _listed(tensors: Iterable[SSAValue]) -> str:
    *first, last = dict.fromkeys(map(name_of, tensors))
    return f"{', '.join(first)} and {last}" if first else last


# --- the matrix of a lump -------------------------------------------------------------------------


def require_nonzero(divisor: float, location: LocationAttr) -> None:
    """Raise `PassFailure` where each element of a lump would be divided by the number 0."""
    if divisor == 0:
        raise _singular(location, "the derivative of this value by the one that it replaces is 0")


def require_entries(pattern: SparsityPattern, structure: Structure) -> None:
    """Raise `PassFailure` where a row or column has no entry, or the diagonal of a triangle one."""
    for out, row in zip(pattern.outs, pattern.blocks, strict=True):
        _require_rows(out, list(chained.from_iterable(row)))
    for tensor, column in zip(pattern.ins, zip(*pattern.blocks, strict=True), strict=True):
        _require_columns(pattern, tensor, list(chained.from_iterable(column)))
    if isinstance(structure, Triangular) or (
        isinstance(structure, Banded) and 0 in (structure.lower, structure.upper)
    ):
        _require_diagonal(pattern, structure)


def _require_rows(out: tix.DefineOp, chains: Sequence[Dependence]) -> None:
    if any(_is_everywhere(chain, out) for chain in chains):
        return
    for element in _elements(out.result, chains):
        at = dict[Variable, Affine](zip(out.indices, element, strict=True))
        if not any(feasible(chain.substitute(at).constraints) for chain in chains):
            raise _singular(
                out.location,
                f"{_text(out.result, element)} gets a value here that does not depend on what is "
                "updated",
            )


def _require_columns(
    pattern: SparsityPattern, tensor: SSAValue, chains: Sequence[Dependence]
) -> None:
    if any(_is_identity(chain, out) for chain in chains for out in pattern.outs):
        return
    for element in _elements(tensor, chains):
        if not any(_meets(chain, element) for chain in chains):
            raise _singular(
                pattern.location,
                f"the value that {_text(tensor, element)} has before is lost here, no result "
                "depends on it",
            )


def _require_diagonal(pattern: SparsityPattern, structure: Triangular | Banded) -> None:
    (out,), (tensor,), chains = pattern.outs, pattern.ins, pattern.blocks[0][0]
    if structure.permutation.is_identity and any(_is_identity(chain, out) for chain in chains):
        return
    for element in _elements(out.result, chains):
        at = dict[Variable, Affine](zip(out.indices, element, strict=True))
        old = structure.permutation.image(element)
        if not any(_meets(chain.substitute(at), old) for chain in chains):
            raise _singular(
                out.location,
                "it is triangular, and 0 on the diagonal, since "
                f"{_text(out.result, element)} does not depend on {_text(tensor, old)}",
            )


def _meets(chain: Dependence, element: Sequence[Affine]) -> bool:
    """True if a dependence may be one on this element."""
    pairs = zip(chain.element, element, strict=True)
    equal = [Constraint(form - x, equality=True) for form, x in pairs]
    return feasible([*chain.constraints, *equal])


def _is_everywhere(chain: Dependence, op: tix.DefineOp) -> bool:
    """True if a dependence holds for all elements of a definition, without further indices."""
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
    """True if each element of a definition reads the one with its own indices."""
    same = tuple(map(Affine.of, op.indices)) == chain.element
    shapes = op.type.shape == type_of(chain.reads[-1].tensor).shape
    return same and shapes and _is_everywhere(chain, op)


def _elements(tensor: SSAValue, chains: Sequence[Dependence]) -> Iterator[tuple[Affine, ...]]:
    """Elements that are there whenever all sizes are at least 1; none if that is not sure."""
    shape = type_of(tensor).shape
    if not all(_is_positive(size) for size in shape):
        return iter(())
    few = len(chains) <= MOST_DEPENDENCES_FOR_ALL_ELEMENTS and all(not size.terms for size in shape)
    if few and prod(size.constant for size in shape) <= MOST_ELEMENTS_TRIED:
        choices = [[Affine(constant=n) for n in range(size.constant)] for size in shape]
    else:
        choices = [list(dict.fromkeys([Affine(), size - 1])) for size in shape]
    return islice(product(*choices), MOST_ELEMENTS_TRIED)


def _is_positive(size: Affine) -> bool:
    coefficients = size.terms.values()
    return all(c >= 0 for c in coefficients) and size.constant + sum(coefficients) > 0


def _text(tensor: SSAValue, element: Sequence[Affine]) -> str:
    """`p[0, N - 1]`."""
    indices = [repr(form).removeprefix("Affine(").removesuffix(")") for form in element]
    return name_of(tensor) + (f"[{', '.join(indices)}]" if indices else "")

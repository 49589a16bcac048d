"""Matrices with one entry in each row and in each column, whatever the permutation is.

The pairs (α, β) of all dependences form a one-to-one relation if no two of them agree in one
element and differ in the other one: each of these cases is a system of inequalities that has to be
empty.

    z[i] = z[i + 1] if i < N - 1 else z[0]    (i, i + 1) for i < N - 1, (N - 1, 0)

Between tensors of equal total size, a matrix that is regular has an entry in every row and column.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.passes.derive.inversion.one_to_one import fresh_indices, renamed
from tadc.passes.derive.inversion.sparsity import SparsityPattern
from tadc.passes.index_sets.dependence import Dependence
from tadc.passes.index_sets.space import feasible

MOST_DEPENDENCES_COMPARED = 8
"""Every two of them are compared, by up to one system of inequalities for each dimension."""


def is_monomial(pattern: SparsityPattern) -> bool:
    """True if each row and each column has at most one entry; False proves nothing."""
    entries = [
        (k, j, chain)
        for k, row in enumerate(pattern.blocks)
        for j, chains in enumerate(row)
        for chain in chains
    ]
    if len(entries) > MOST_DEPENDENCES_COMPARED:
        return False
    indices = [op.indices for op in pattern.outs]
    return not any(
        (k == m and _shares_row(a, b, j == n, indices[k]))
        or (j == n and _shares_column(a, b, k == m, indices[k], indices[m]))
        for (k, j, a), (m, n, b) in product(entries, entries)
    )


def _shares_row(a: Dependence, b: Dependence, same: bool, indices: Sequence[SSAValue]) -> bool:
    """True if an α may be in both, with different β; β of different tensors always differ."""
    # (α, β) of `a` and (α, β') of `b` with the same α, as both are in the same indices, all others
    # apart
    b = renamed(b, indices)
    both = [*a.constraints, *b.constraints]
    if not same:
        return feasible(both)
    pairs = zip(a.element, b.element, strict=True)
    # β' > β in some dimension; β' < β is found when `a` and `b` come in the other order
    return any(feasible([*both, Constraint(y - x - 1)]) for x, y in pairs)


def _shares_column(
    a: Dependence,
    b: Dependence,
    same: bool,
    indices: Sequence[SSAValue],
    others: Sequence[SSAValue],
) -> bool:
    """True if a β may be in both, with different α; α of different tensors always differ."""
    # (α, β) of `a` and (α', β') of `b` with β = β'
    fresh, b = _with_fresh_element(b, others)
    pairs = zip(a.element, b.element, strict=True)
    equal = [Constraint(x - y, equality=True) for x, y in pairs]
    both = [*a.constraints, *b.constraints, *equal]
    if not same:
        return feasible(both)
    here = [Affine.of(v) for v in indices]
    # α' > α in some dimension
    return any(feasible([*both, Constraint(y - x - 1)]) for x, y in zip(here, fresh, strict=True))


def _with_fresh_element(
    chain: Dependence, indices: Sequence[SSAValue]
) -> tuple[list[Affine], Dependence]:
    """New indices α' for α, and the chain in these, with all other indices new as well."""
    chain = renamed(chain, indices)
    moved = {v: Affine.of(w) for v, w in zip(indices, fresh_indices(len(indices)), strict=True)}
    return list(moved.values()), chain.substitute(dict[Variable, Affine](moved.items()))

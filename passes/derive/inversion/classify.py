"""The structure of the matrix A of a lump: how to solve with it without forming it, where possible.

A has a row for each element of `outs` and a column for each element of `ins`. Which entries may
differ from 0 is known exactly from the reads (`passes/index_sets/dependence.py`), with symbolic
sizes. From the most special structure on, with α an element of the only `out`, β one of the only
`in`, and a signed permutation P between the two, the identity if there is no other:

    p[i] -= q[i]**3 * p[i]                   Diagonal       β = P(α) always
    p[i, j] = 2 * p[j, N - 1 - i]              P(i, j) = (j, N - 1 - i)
    z[i] *= exp(z[i - 1]) if i % 2 else 1    DiagonalPlusNilpotent   A = D P + O with O nilpotent
    z[i] += 0.1 * z[i - 1] if i > 0 else 0   Banded         -upper <= α - P⁻¹(β) <= lower
    z[i] += sum[j in range(i)](z[j])         Triangular     α >= P⁻¹(β)
    z[b, i] = sum[j](w[i, j] * z[b, j])      Blocks         one small matrix for each b
    z[i] = z[i + 1] if i < N - 1 else z[0]   Monomial       one β for each α, one α for each β
    z[i] = sum[j](w[i, j] * z[j])            Dense

All claims are proved, for all sizes; what cannot be proved is not claimed, so that there may be a
more special structure than the one that is found.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from xdsl.ir import SSAValue

from tadc.passes.analysis import equivalence
from tadc.passes.derive.inversion.batches import blocks
from tadc.passes.derive.inversion.lumps import Lump
from tadc.passes.derive.inversion.monomial import is_monomial
from tadc.passes.derive.inversion.one_to_one import Pair
from tadc.passes.derive.inversion.singularity import require_entries
from tadc.passes.derive.inversion.sparsity import SparsityPattern, sparsity_pattern
from tadc.passes.derive.inversion.structures import Dense, Monomial, Structure
from tadc.passes.index_sets.dependence import differentiable_reads


def classify_all(lumps: Sequence[Lump]) -> list[Structure]:
    """The structure of each of the lumps of one program; equivalent ones are analysed once.

    Raises `PassFailure` where a matrix must be singular.
    """
    known: dict[Hashable, Structure] = {}
    result: list[Structure] = []
    for lump in lumps:
        key = _key(lump)
        if key not in known:
            known[key] = classify(lump)
        result.append(known[key])
    return result


def classify(lump: Lump) -> Structure:
    """The most special structure of the matrix of `lump.outs` by `lump.ins` that is proved.

    Raises `PassFailure` where the matrix must be singular: where some element gets a value that
    does not depend on the state, or where that of an element of the state is lost.
    """
    pattern = sparsity_pattern(lump.definitions, lump.out_definitions, lump.ins)
    if pattern is None:
        return Dense()
    found = _of_pair(lump, pattern) or blocks(pattern)
    found = found or (Monomial() if is_monomial(pattern) else Dense())
    require_entries(pattern, found)
    return found


def _of_pair(lump: Lump, pattern: SparsityPattern) -> Structure | None:
    """A structure of lumps in which one tensor takes the place of one other, if it is one."""
    if len(pattern.outs) != 1 or len(pattern.ins) != 1:
        return None
    (out,), (tensor,), ((chains,),) = pattern.outs, pattern.ins, pattern.blocks
    pair = Pair(out, tensor, chains, _pure(lump))
    return pair.diagonal() or pair.diagonal_plus_nilpotent() or pair.ordered()


def _pure(lump: Lump) -> set[SSAValue]:
    """The temporaries of a lump that depend on `ins` and on nothing else that is active."""
    impure = set(lump.others)
    results: set[SSAValue] = {op.result for op in lump.definitions}
    for op in lump.definitions:
        if any(read.tensor in impure for read in differentiable_reads(op)):
            impure.add(op.result)
    return results - impure


def _key(lump: Lump) -> Hashable:
    """A key that lumps share if they differ only in names, places and the constants they read."""
    parts = [equivalence.canonical_form(op) for op in lump.definitions]
    roles: dict[SSAValue, Hashable] = {
        **dict.fromkeys(lump.others, "other"),
        **{v: ("in", n) for n, v in enumerate(lump.ins)},
        **{op.result: ("temporary", n) for n, op in enumerate(lump.definitions)},
    }
    outs = tuple(roles[v] for v in lump.outs)
    return outs, tuple((p.key, tuple(roles.get(v) for v in p.tensors)) for p in parts)

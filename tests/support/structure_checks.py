"""Checks of structures of lumps against numeric Jacobians, entry by entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product

import numpy as np
from xdsl.ir import SSAValue

import tadc
from tadc.dialects.tix import Affine, DefineOp, ProgramOp, Variable
from tadc.passes.derive.inversion import structures
from tadc.passes.derive.inversion.classify import classify
from tadc.passes.derive.inversion.lumps import Lump, lumps
from tadc.passes.index_sets.dependence import Dependence, dependences, differentiable_reads
from tadc.passes.rewriting.failure import PassFailure
from tests.support.lump_programs import jacobian, part, program, values_of

Array = np.ndarray
Index = tuple[int, ...]


def check_structures(source: str, sizes: Mapping[str, int]) -> None:
    """Numeric Jacobians are 0 where dependences and structures say so."""
    whole = program(source)
    rng = np.random.default_rng(3)
    arguments = {
        t.name: rng.uniform(0.4, 1.2, [eval(str(s), dict(sizes)) for s in t.shape])
        for t in tadc.compile(source).args
    }
    values = values_of(whole, arguments)
    for lump in lumps(whole):
        numbers = lump_matrix(whole, lump, values)
        matrix = abs(numbers) > 1e-6
        assert not (matrix & ~dependence_mask(lump, values, sizes)).any(), "a dependence is missing"
        try:
            found = classify(lump)
        except PassFailure as failure:
            assert "must be singular" in failure.reason
            assert np.linalg.matrix_rank(numbers, 1e-7) < len(numbers)
            return
        assert not (matrix & ~mask(found, lump, values, sizes)).any(), found


def lump_matrix(whole: ProgramOp, lump: Lump, values: Mapping[SSAValue, Array]) -> Array:
    """The matrix A: the tensors that are born by those that die."""
    inside = {op.result for op in lump.definitions}
    arguments = [t for t in values if t not in inside]
    function = part(arguments, lump.definitions, lump.outs)
    arrays = {f"a{n}": values[t] for n, t in enumerate(arguments)}
    return jacobian(function, arrays, [f"a{arguments.index(t)}" for t in lump.ins])


def dependence_mask(
    lump: Lump,
    values: Mapping[SSAValue, Array],
    sizes: Mapping[str, int],
    skip: Sequence[int] = (),
) -> Array:
    """The elements that are read according to `dependences`, but for reads of the first `out`."""
    assert isinstance(lump.outs[0].owner, DefineOp)
    reads = differentiable_reads(lump.outs[0].owner)
    skipped = [reads[n] for n in skip]
    found = dependences(lump.definitions, lump.ins)
    rows: list[list[Array]] = []
    for out in lump.outs:
        row: list[Array] = []
        for tensor in lump.ins:
            block = np.zeros((*values[out].shape, *values[tensor].shape), bool)
            chains = found[out].get(tensor, [])
            if chains is None:
                block[...] = True
            for chain in (c for c in chains or [] if c.reads[0] not in skipped):
                for point in points(chain, out, values, sizes):
                    block[point] = True
            row.append(block.reshape(values[out].size, values[tensor].size))
        rows.append(row)
    return np.block(rows)


def points(
    chain: Dependence, out: SSAValue, values: Mapping[SSAValue, Array], sizes: Mapping[str, int]
) -> set[Index]:
    """The pairs of elements of a dependence: every point of its index set, by brute force."""
    assert isinstance(out.owner, DefineOp)
    known: dict[Variable, int] = dict(sizes.items())
    forms = [*chain.element, *(c.form for c in chain.constraints)]
    inner = list(dict.fromkeys(v for f in forms for v in f.indices if v not in out.owner.indices))
    found: set[Index] = set()
    for alpha in np.ndindex(values[out].shape):
        here = known | dict(zip(out.owner.indices, alpha, strict=True))
        for local in product(range(-1, 8), repeat=len(inner)):
            at = here | dict(zip(inner, local, strict=True))
            tests = ((c.form.evaluate(at), c.equality) for c in chain.constraints)
            if all(value == 0 if equality else value >= 0 for value, equality in tests):
                found.add((*alpha, *(form.evaluate(at) for form in chain.element)))
    return found


def mask(
    found: structures.Structure,
    lump: Lump,
    values: Mapping[SSAValue, Array],
    sizes: Mapping[str, int],
) -> Array:
    """The entries that a structure allows to differ from 0."""
    if isinstance(found, structures.Dense):
        return np.ones((sum(values[t].size for t in lump.outs),) * 2, bool)
    if isinstance(found, structures.Monomial):
        permutation = dependence_mask(lump, values, sizes)
        assert all((permutation.sum(axis) == 1).all() for axis in (0, 1)), "no permutation"
        return permutation
    if isinstance(found, structures.Blocks):
        rows = [
            [
                pairs(values[out], values[tensor], lambda a, b, x=x, y=y: at(a, x) == at(b, y))
                for tensor, y in zip(lump.ins, found.in_dims, strict=True)
            ]
            for out, x in zip(lump.outs, found.out_dims, strict=True)
        ]
        return np.block(rows)
    known: dict[Variable, int] = dict(sizes.items())

    def allowed(alpha: Index, beta: Index) -> bool:
        forms = found.permutation.preimage([Affine(constant=n) for n in beta])
        return is_allowed(found, alpha, tuple(form.evaluate(known) for form in forms))

    diagonal = pairs(values[lump.outs[0]], values[lump.ins[0]], allowed)
    if not isinstance(found, structures.DiagonalPlusNilpotent):
        return diagonal
    aside = dependence_mask(lump, values, sizes, skip=found.reads)
    relation = (aside @ diagonal.T).astype(int)
    assert not np.linalg.matrix_power(relation, found.depth).any(), "not nilpotent"
    return diagonal | aside


def is_allowed(found: structures.Structure, alpha: Index, gamma: Index) -> bool:
    match found:
        case structures.Banded():
            offset = alpha[found.rest] - gamma[found.rest]
            inside = -found.upper <= offset <= found.lower
            return inside and at(alpha, found.batch) == at(gamma, found.batch)
        case structures.Triangular():
            a, b = at(alpha, found.rest), at(gamma, found.rest)
            ordered = a >= b if found.lower else a <= b
            return ordered and at(alpha, found.batch) == at(gamma, found.batch)
        case _:
            return alpha == gamma


def pairs(out: Array, tensor: Array, allowed: Callable[[Index, Index], bool]) -> Array:
    """A matrix of what is said of pairs of elements."""
    rows = [[allowed(a, b) for b in np.ndindex(tensor.shape)] for a in np.ndindex(out.shape)]
    return np.array(rows, bool)


def at(point: Index, dims: Index) -> Index:
    return tuple(point[d] for d in dims)

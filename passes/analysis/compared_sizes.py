"""Sizes that a program compares: ends of the same range, of which the smaller one counts.

    y[i] = sum[k](a[i, k] * b[k])       a: real[N, K], b: real[L]: k runs below K and below L
                                        a: real[N, K], b: real[96]: k runs below K and below 96

Where they are equal, as they mostly are, one of the two bounds is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from dialects import tix
from dialects.tix import Affine, Constraint, Variable, between


def compared_sizes(program: tix.ProgramOp) -> tuple[tuple[str, str | int], ...]:
    """Pairs of sizes, or of a size and a number, that differ between two bounds of the same index,
    in order of first use.

    Derived sizes are not among them. Takes time linear in the length of the program, and quadratic
    in the number of bounds of an index.
    """
    derived = {d.data.name for d in program.derived}
    found: dict[tuple[str, str | int], None] = {}
    for op in program.definitions:
        ends: dict[Variable, dict[Affine, None]] = {}
        for constraint in _constraints(op):
            for v in constraint.form.indices:
                if constraint.form[v] == -1:
                    ends.setdefault(v, {})[constraint.form + Affine.of(v)] = None
        named = (forms for forms in ends.values() if any(form.sizes for form in forms))
        pairs = (pair for forms in named for pair in combinations(forms, 2))
        for a, b in pairs:
            names = _apart(a - b)
            if names and derived.isdisjoint(names):
                found[names] = None
    return tuple(found)


def _constraints(op: tix.DefineOp) -> Iterator[Constraint]:
    """All that bounds indices: ranges and conditions."""
    for index, size in zip(op.indices, op.shape, strict=True):
        yield from between(0, Affine.of(index), size)
    for inner in op.walk():
        if isinstance(inner, tix.ReductionOp):
            yield from inner.constraints
        elif isinstance(inner, tix.IfOp):
            yield from (c for disjunct in inner.condition for c in disjunct)


def _apart(difference: Affine) -> tuple[str, str | int] | None:
    """The sizes N and M if a difference is N - M, the size N and the number n if it is N - n."""
    terms = {c: v for v, c in difference.terms.items() if isinstance(v, str)}
    if len(terms) != len(difference.terms):
        return None
    if terms.keys() == {1, -1} and not difference.constant:
        first, second = sorted(terms.values())
        return first, second
    if terms.keys() in ({1}, {-1}):
        ((sign, name),) = terms.items()
        return name, -sign * difference.constant
    return None

"""Pairs of sizes that a program compares: two ends of one range, or a length and its windows.

    y[i] = sum[k](a[i, k] * b[k])       a: real[N, K], b: real[L]: k runs below K and below L
                                        a: real[N, K], b: real[96]: k runs below K and below 96

Where they are equal, as they mostly are, one of the two bounds is enough.

    y[i in range(28)] = sum[u](pad(x[2*i + u - 1]) * w[u])      x: real[X]: X may be 56

A number in the shape of a tensor, or such a number times the step of a window, is mostly the length
of what these windows lie in, too: then it is known which of them reach beyond its ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint, Variable, between
from tadc.passes.rewriting.programs import reads_of, type_of


def compared_sizes(program: tix.ProgramOp) -> tuple[tuple[str, str | int], ...]:
    """Pairs of sizes, or of a size and a number, that differ between two bounds of the same index,
    or that may be equal as windows of one tensor have results of the other's length.

    They come in order of first use. Derived sizes are not among them. Takes time linear in the
    length of the program, and quadratic in the number of bounds of an index.
    """
    shapes = [type_of(v).shape for v in program.arguments.values()]
    if not any(size.terms for shape in shapes for size in shape):
        return ()  # all sizes are numbers
    derived = {d.data.name for d in program.derived}
    found: dict[tuple[str, str | int], None] = {}
    for op in program.definitions:
        ends: dict[Variable, dict[Affine, None]] = {}
        for constraint in _constraints(op):
            for v in constraint.form.indices:
                if constraint.form[v] == -1:
                    index, last = _of_quotient(v, constraint.form + Affine.of(v))
                    ends.setdefault(index, {})[last] = None
        named = (forms for forms in ends.values() if any(form.sizes for form in forms))
        pairs = (pair for forms in named for pair in combinations(forms, 2))
        for a, b in pairs:
            names = _apart(a - b)
            if names and derived.isdisjoint(names):
                found[names] = None
        found |= {pair: None for pair in _likely_lengths(op) if pair[0] not in derived}
    return tuple(found)


def size_differences(program: tix.ProgramOp) -> tuple[tuple[str, str, int], ...]:
    """Sizes N and M, and a number c, for each length N - M + c of a dimension: N - M + 1 windows of
    M elements lie in N of them.

    They come in order of first use, without derived sizes. Takes linear time.
    """
    derived = {d.data.name for d in program.derived}
    values = *program.arguments.values(), *(op.result for op in program.definitions)
    forms = (form for v in values for form in type_of(v).shape)
    found: dict[tuple[str, str, int], None] = {}
    for form in forms:
        names = {c: v for v, c in form.terms.items() if isinstance(v, str) and v not in derived}
        if names.keys() == {1, -1} and len(form.terms) == 2:
            found[names[1], names[-1], form.constant] = None
    return tuple(found)


def _likely_lengths(op: tix.DefineOp) -> Iterator[tuple[str, int]]:
    """The sizes that windows move in, or over, each with the numbers that it may well be."""
    reads = reads_of(op)
    places = [place for read in reads for place in zip(read.forms, read.shape, strict=True)]
    lengths: dict[Variable, Affine] = {
        **{v: n for form, n in places if (v := form.single_index) is not None},
        **dict(zip(op.indices, op.shape, strict=True)),
    }
    for form, size in places:
        own = [(1, size), *((abs(form[v]), lengths[v]) for v in form.indices if v in lengths)]
        numbers = [step * n.constant for step, n in own if not n.terms]
        sizes = [name for step, n in own for name in n.sizes if n == Affine.of(name) and step == 1]
        yield from product(sizes, numbers) if len(form.indices) > 1 else ()


def _constraints(op: tix.DefineOp) -> Iterator[Constraint]:
    """All that bounds indices: ranges and conditions."""
    for index, size in zip(op.indices, op.shape, strict=True):
        yield from between(0, Affine.of(index), size)
    for inner in op.walk():
        if isinstance(inner, tix.ReductionOp):
            yield from inner.constraints
        elif isinstance(inner, tix.IfOp):
            yield from (c for disjunct in inner.condition for c in disjunct)


def _of_quotient(v: Variable, last: Affine) -> tuple[Variable, Affine]:
    """The index and its last value, where a quotient of it has this one: `p // 64 <= 23` says that
    p is at most 1535. Else the same index and value."""
    owner = v.owner if isinstance(v, SSAValue) else None
    if not isinstance(owner, tix.FloorDivOp):
        return v, last
    index, divisor = owner.form.single_index, owner.divisor.data
    return (v, last) if index is None else (index, last * divisor + divisor - 1)


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

"""Definitions whose merged indices are one for each dimension again, as bands need them.

    z[ij, k] as [I * J, K] = x[ij, k + 1]         rows of z are not its outermost index

    z[i, j, k] = x[i, j, k + 1]                   the same elements

`merge-axes` makes one index of several where these only count through memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from xdsl.ir import Operation, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine
from tadc.dialects.tix.affine import product
from tadc.passes.rewriting.builder import BodyBuilder
from tadc.passes.rewriting.cloner import Cloner
from tadc.passes.rewriting.programs import forms_of

Shape = Sequence[Affine]


def with_all_axes(op: tix.DefineOp) -> tix.DefineOp | None:
    """A copy with an index for each dimension of its type, added in front of it.

    The definition itself where nothing is merged; None where merged indices are used otherwise than
    as one dimension of what is read.
    """
    if op.view is None:
        return op
    groups = _groups(op.type.shape, op.shape)
    if groups is None:
        return None
    merged = {v: g for v, g in zip(op.indices, groups, strict=True) if len(g) > 1}
    sizes = {v: [op.type.shape[n] for n in g] for v, g in merged.items()}
    if not all(_is_split(inner, sizes) for inner in op.body.walk()):
        return None
    names = [name for v in op.indices for name in _names(v, len(merged.get(v, [0])))]

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        splitter = _Splitter(e)
        splitter.sizes, splitter.parts = sizes, {}
        for v, group in zip(op.indices, groups, strict=True):
            if v in merged:
                splitter.parts[v] = [Affine.of(own[n]) for n in group]
            else:
                splitter.indices[v] = Affine.of(own[group[0]])
        return splitter.copy_body(op.body)

    assert op.parent is not None
    region = BodyBuilder(op.parent, op.location).region(names, body)
    made = tix.DefineOp(op.label.data, op.type, region)
    made.location = op.location
    op.parent.insert_op_before(made, op)
    return made


def _names(index: SSAValue, count: int) -> Iterator[str | None]:
    """The names of the indices that one becomes: `i` and `j` for `ij`."""
    hint = index.name_hint
    letters = hint if hint is not None and len(hint) == count and hint.isalpha() else None
    for n in range(count):
        yield letters[n] if letters else hint


def _groups(shape: Shape, seen: Shape) -> list[list[int]] | None:
    """The dimensions of `shape` that are merged to each one of `seen`; None if none are."""
    groups: list[list[int]] = []
    left = [*range(len(shape))]
    for size in seen:
        group = [left.pop(0)] if left else []
        while group and left and reduce(product, (shape[n] for n in group)) != size:
            group.append(left.pop(0))
        if not group or reduce(product, (shape[n] for n in group)) != size:
            return None
        groups.append(group)
    return None if left else groups


def _is_split(op: Operation, merged: Mapping[SSAValue, Shape]) -> bool:
    """True if an operation uses merged indices only as subscripts of dimensions merged alike."""
    if not isinstance(op, tix.ReadOp):
        return not any(form[v] for form in forms_of(op) for v in merged)
    used = [form for form in op.forms if any(form[v] for v in merged)]
    if not used:
        return True
    groups = _groups(op.tensor_type.shape, op.shape)
    return groups is not None and all(
        _is_part(form, [op.tensor_type.shape[n] for n in group], merged)
        for form, group in zip(op.forms, groups, strict=True)
    )


def _is_part(form: Affine, sizes: Shape, merged: Mapping[SSAValue, Shape]) -> bool:
    """True if a subscript is a merged index with these inner sizes, or an unmerged dimension's."""
    index = form.single_index
    if index is not None and index in merged:
        return len(sizes) == len(merged[index]) and [*sizes[1:]] == [*merged[index][1:]]
    return len(sizes) == 1 and not any(form[v] for v in merged)


class _Splitter(Cloner):
    """Copies reads with several indices in the place of a merged one."""

    sizes: Mapping[SSAValue, Shape]
    parts: dict[SSAValue, list[Affine]]

    def copy_read(self, op: tix.ReadOp) -> SSAValue:
        if not any(form[v] for form in op.forms for v in self.parts):
            return super().copy_read(op)
        forms: list[Affine] = []
        for form in op.forms:
            index = form.single_index
            split = None if index is None else self.parts.get(index)
            forms += [self.form(form)] if split is None else split
        return self.builder.read(self.value(op.tensor), forms)

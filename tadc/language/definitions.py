"""Definitions: `f[i, j in range(3)] = E`."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Block, Region, SSAValue

from dialects.tix import Affine, Constraint, ReadOp, ReductionOp, YieldOp, between, real
from dialects.tix.affine import set_over
from dialects.tix.types import ElementType
from tadc.errors import RankError, SizeError, TadcSyntaxError, UnsupportedError
from tadc.language.accesses import used
from tadc.language.bounds import definition_bounds, index_items
from tadc.language.describe import Describer
from tadc.language.ranges import Statement, infer
from tadc.language.scope import Declaration, Frame, Names, Scope, Tensor
from tadc.language.values import scalar


@dataclass
class Definition:
    """A definition that is read, with its ranges known but for the names of open sizes."""

    tensor: Tensor
    body: Region


def target_name(node: ast.Assign, names: Names) -> tuple[ast.Name, ast.expr | None]:
    """The name that is defined, and what stands in the brackets."""
    if len(node.targets) > 1:
        raise names.fail(TadcSyntaxError, node, "one line defines one tensor", "use one = only")
    match node.targets[0]:
        case ast.Name() as name:
            return name, None
        case ast.Subscript(value=ast.Name() as name, slice=slice):
            return name, slice
        case other:
            message = "this cannot be defined"
            raise names.fail(TadcSyntaxError, other, message, "write f[i, j] = ... or s = ...")


def define(node: ast.Assign, names: Names) -> Definition:
    """Read a definition and find its ranges."""
    name, brackets = target_name(node, names)
    _check_new(name, names)
    block = Block()
    frame = Frame(block)
    around = Scope(names, block, {}, frame)
    entries = index_items(brackets, around) if brackets is not None else []
    own = around.new_indices([index for index, _ in entries], block)
    given = {
        own[index.id]: names.shapes.derive(definition_bounds(call, around), index.id.upper())
        for index, call in entries
        if call is not None
    }
    declared = names.declarations.get(name.id)
    pinned = _pin(name, declared, list(own.values()), given, names) if declared else []
    scope = around.inside(block, own)
    scope.insert(YieldOp(scalar(node.value, scope)), node)
    _check_new(name, names)  # the value may have read it, as an argument
    body = Region(block)
    found = _infer(body, given, pinned, frame, names)
    shape = [(given | found)[index] for index in own.values()]
    element = declared.element if declared else _promoted(body, names)
    tensor = Tensor(name.id, names.placeholder(), shape, element, name, argument=False)
    return Definition(names.add(tensor), body)


def _check_new(name: ast.Name, names: Names) -> None:
    names.check_new(name, "a tensor")
    if name.id in names.tensors:
        raise names.fail(
            UnsupportedError,
            name,
            f"{name.id} exists already, and updates are not supported yet",
            "define a tensor with another name",
            argument=name.id,
        )


def _pin(
    name: ast.Name,
    declared: Declaration,
    own: Sequence[SSAValue],
    given: dict[SSAValue, Affine],
    names: Names,
) -> list[SSAValue]:
    """Give the indices the ranges of the declaration."""
    if len(declared.shape) != len(own):
        raise names.fail(
            RankError,
            name,
            f"{name.id} is declared with {len(declared.shape)} dimensions, but has {len(own)} here",
            "declare and define it alike",
        )
    for index, size in zip(own, declared.shape, strict=True):
        if not names.shapes.unify(size, given.setdefault(index, size)):
            raise names.fail(
                SizeError,
                name,
                f"the ranges of {name.id} are not those of its declaration",
                "leave one of the two out",
            )
    return list(own)


def _infer(
    body: Region,
    given: dict[SSAValue, Affine],
    pinned: list[SSAValue],
    frame: Frame,
    names: Names,
) -> dict[SSAValue, Affine]:
    """Find the open ranges; those of reductions are put into them."""
    reductions = {op: frame.reductions[op] for op, _ in used(body) if isinstance(op, ReductionOp)}
    own = [index for index in body.block.args if index not in given]
    inner = [index for ranges in reductions.values() for index, r in ranges.items() if r is None]
    tensors = {tensor.value: tensor for tensor in names.tensors.values()}
    statement = Statement(
        body,
        given,
        [*own, *inner],
        lambda value: tensors[value].shape,
        {op: op.constraints for op, ranges in reductions.items() if None in ranges.values()},
        pinned,
    )
    describer = Describer(lambda value: tensors[value].name, names.source, names.shapes.derived)
    found = infer(statement, names.shapes, describer)
    for op, ranges in reductions.items():
        _complete(op, ranges, found)
    return found


def _complete(
    op: ReductionOp,
    ranges: dict[SSAValue, list[Constraint] | None],
    found: dict[SSAValue, Affine],
) -> None:
    constraints: list[Constraint] = []
    for index, given in ranges.items():
        constraints += between(0, Affine.of(index), found[index]) if given is None else given
    op.domain = set_over(constraints, [*op.outer, *op.own])


def _promoted(body: Region, names: Names) -> ElementType:
    """The element type of a definition is the widest of what it reads."""
    tensors = {tensor.value: tensor for tensor in names.tensors.values()}
    elements = {tensors[op.tensor].element for op, _ in used(body) if isinstance(op, ReadOp)}
    if f64 in elements or not elements:
        return f64
    return real if real in elements else f32

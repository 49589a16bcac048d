"""Definitions and updates: `f[i, j in range(3)] = E`, `p[i] += E`.

An update makes a new version of a tensor, in its shape; what it reads is the version before.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Region, SSAValue

from tadc.dialects.tix import Affine, Constraint, ReductionOp, YieldOp, between
from tadc.dialects.tix.attributes import set_over
from tadc.errors import RankError, SizeError, TadcSyntaxError
from tadc.language.boundaries import leave_out_unneeded
from tadc.language.describe import Describer
from tadc.language.hints import place_hint
from tadc.language.precisions import tensors_read
from tadc.language.ranges import infer
from tadc.language.reads import Ranges, used
from tadc.language.scope import Declaration, Frame, Scope, SymbolTable, Tensor
from tadc.language.source import items
from tadc.language.statement import Statement
from tadc.language.values import scalar
from tadc.language.written_ranges import definition_bounds, index_items, is_index


@dataclass
class Definition:
    """A definition that is read, with its ranges known but for the names of open sizes."""

    tensor: Tensor
    body: Region
    before: SSAValue | None
    """The version that it updates."""
    reads: frozenset[SSAValue]
    """The tensors that its text reads, also in branches that are never taken."""


def target_name(
    node: ast.Assign | ast.AugAssign, names: SymbolTable
) -> tuple[ast.Name, ast.expr | None]:
    """The name that is defined or updated, and what stands in the brackets."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) > 1:
        raise names.fail(TadcSyntaxError, node, "one line defines one tensor", "use one = only")
    match targets[0]:
        case ast.Name() as name:
            return name, None
        case ast.Subscript(value=ast.Name() as name, slice=slice):
            return name, slice
        case ast.Tuple() as several:
            message = "one line defines one tensor"
            raise names.fail(TadcSyntaxError, several, message, "give each a line of its own")
        case other:
            message = "this cannot be defined"
            raise names.fail(TadcSyntaxError, other, message, "write f[i, j] = ... or s = ...")


def define(node: ast.Assign | ast.AugAssign, names: SymbolTable) -> Definition:
    """Read a definition, or an update of a tensor that exists, and find its ranges."""
    name, brackets = target_name(node, names)
    names.check_new(name, "a tensor")
    names.defining = name.id
    block = Block()
    frame = Frame(block)
    around = Scope(names, block, {}, frame)
    entries = _indices(node, name, brackets, around) if brackets is not None else []
    own = around.new_indices([index for index, _ in entries], block)
    given = {
        own[index.id]: names.shapes.derive(definition_bounds(call, around), index.id.upper())
        for index, call in entries
        if call is not None
    }
    scope = around.inside(block, own)
    scope.insert(YieldOp(scalar(_value(node, names), scope)), node)
    # a value that reads a declared tensor makes it an argument, which is updated here
    old = names.tensors.get(name.id)
    model = old or names.declarations.get(name.id)
    pinned = _pin(name, model, list(own.values()), given, names) if model else []
    body = Region(block)
    found = _infer(body, given, pinned, old.value if old else None, frame, names)
    shape = [(given | found)[index] for index in own.values()]
    element = model.element if model else None
    tensor = Tensor(name.id, names.placeholder(), shape, element, name, argument=False)
    before = old.value if old else None
    return Definition(names.add(tensor), body, before, tensors_read(body))


def _indices(
    node: ast.Assign | ast.AugAssign, name: ast.Name, brackets: ast.expr, scope: Scope
) -> list[tuple[ast.Name, ast.Call | None]]:
    places = items(brackets)
    for item in places:
        if not is_index(item):
            raise scope.fail(TadcSyntaxError, item, *place_hint(item, places, node, name.id))
    return index_items(places, scope)


_UPDATES = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def _value(node: ast.Assign | ast.AugAssign, names: SymbolTable) -> ast.expr:
    """The value of an element: `p[i] + E` for `p[i] += E`."""
    if isinstance(node, ast.Assign):
        return node.value
    if not isinstance(node.op, _UPDATES):
        message = "this update is not part of the language"
        raise names.fail(TadcSyntaxError, node, message, "updates are +=, -=, *= and /=")
    target = node.target
    if isinstance(target, ast.Subscript):
        for item in items(target.slice):
            if not isinstance(item, ast.Name):
                message = "an update runs over all elements of its tensor"
                example = f"{ast.unparse(target.value)}[i] += E"
                hint = f"write {example}; a condition in E can leave elements as they are"
                raise names.fail(TadcSyntaxError, item, message, hint)
    return ast.copy_location(ast.BinOp(target, node.op, node.value), node)


def _pin(
    name: ast.Name,
    model: Declaration | Tensor,
    own: Sequence[SSAValue],
    given: dict[SSAValue, Affine],
    names: SymbolTable,
) -> list[SSAValue]:
    """Give the indices the ranges of the declaration, or of the version before."""
    declared = isinstance(model, Declaration)
    if len(model.shape) != len(own):
        known = "is declared with" if declared else "had"
        raise names.fail(
            RankError,
            name,
            f"{name.id} {known} {_dimensions(model.shape)}, but has {len(own)} here",
            "declare, define and update it alike",
        )
    for index, size in zip(own, model.shape, strict=True):
        if not names.shapes.unify(size, given.setdefault(index, size)):
            before = "its declaration" if declared else "the version before"
            raise names.fail(
                SizeError,
                name,
                f"the ranges of {name.id} are not those of {before}",
                "leave out the ranges here",
            )
    return list(own)


def _dimensions(shape: Sequence[Affine]) -> str:
    return "1 dimension" if len(shape) == 1 else f"{len(shape)} dimensions"


def _infer(
    body: Region,
    given: dict[SSAValue, Affine],
    pinned: list[SSAValue],
    old: SSAValue | None,
    frame: Frame,
    names: SymbolTable,
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
        frame.beyond.dimensions,
        old,
    )
    shapes = {t.name: t.shape for t in names.arguments.values()}
    describer = Describer(
        lambda value: tensors[value].name,
        names.source,
        names.shapes.derived,
        lambda size: names.shapes.name(size, shapes),
    )
    found = infer(statement, names.shapes, describer)
    for op, ranges in reductions.items():
        _complete(op, ranges, found)
    ranges = Ranges(given | found, names.shapes.resolve)
    leave_out_unneeded(body, frame.beyond, ranges, statement.shape_of, names)
    return found


def _complete(
    op: ReductionOp,
    ranges: dict[SSAValue, list[Constraint] | None],
    found: dict[SSAValue, Affine],
) -> None:
    constraints: list[Constraint] = []
    for index, given in ranges.items():
        constraints += between(0, Affine.of(index), found[index]) if given is None else given
    op.domain = set_over(constraints, [*op.free_indices, *op.indices])

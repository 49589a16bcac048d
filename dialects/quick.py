"""Operations that are quick to make and to ask: passes do little else.

xDSL asks the definition of an operation for all that it does with it: which of the operands is the
left one, whether a property has a default value, which class counts as a subclass. For the
operations of our dialects the definition gives the answers once, when it is made. So

    @operation
    class AddOp(QuickOperation): ...

is what `@irdl_op_definition class AddOp(IRDLOperation)` is, several times quicker. `make` makes
operations of other dialects in the same way, and `append` puts them into blocks.
docs/decisions/0075-quick-operations.md says which fields of xDSL this relies on.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from abc import ABC, ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Self, TypeVar

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import UNKNOWN_LOC, IndexType, IntegerAttr
from xdsl.ir import (
    Attribute,
    Block,
    BlockArgument,
    Operation,
    OpResult,
    Region,
    SSAValue,
    SSAValues,
    Use,
)
from xdsl.irdl import IRDLOperation, OptPropertyDef, irdl_op_definition
from xdsl.irdl.operations import (
    BeforeVariadicSingleAccessor,
    OptionalPropertyAccessor,
    PropertyAccessor,
    UniqueVariadicAccessor,
    VarIRConstruct,
)

OpT = TypeVar("OpT", bound=Operation)
ClassT = TypeVar("ClassT", bound="type[object]")
KindT = TypeVar("KindT", bound="type[IRDLOperation]")


class _OfBases(ABCMeta):
    """Classes whose instances are those of them and of their subclasses.

    `ABCMeta` also looks for subclasses that were registered, which takes three times as long.
    """

    __instancecheck__ = type.__instancecheck__


def _quickly(**parts: str | property) -> Callable[[ClassT], ClassT]:
    """Let Python itself give these parts of an object, each by the name of its field, and tell
    objects apart: in sets and maps, functions of xDSL do the same."""
    quick: dict[str, object] = {"__eq__": object.__eq__, "__hash__": object.__hash__}
    for name, part in parts.items():
        quick[name] = property(attrgetter(part)) if isinstance(part, str) else part

    def define(kind: ClassT) -> ClassT:
        for name, value in quick.items():
            setattr(kind, name, value)
        return kind

    return define


@_quickly()
class QuickOperation(IRDLOperation, ABC, metaclass=_OfBases):
    """An operation of our dialects. Its class is defined by `operation`."""

    def __init__(
        self,
        operands: Sequence[SSAValue] = (),
        result_types: Sequence[Attribute] = (),
        properties: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
    ):
        """All operands, results and regions in a row; properties in the place of defaults."""
        _fill(self, operands, result_types, properties, regions)

    def walk(self, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
        if reverse or region_first:
            return super().walk(reverse=reverse, region_first=region_first)
        return walk(self)

    def clone(
        self,
        value_mapper: dict[SSAValue, SSAValue] | None = None,
        block_mapper: dict[Block, Block] | None = None,
        *,
        clone_name_hints: bool = True,
        clone_operands: bool = True,
    ) -> Self:
        """A copy of an operation, made by the function `clone` where nothing special is asked."""
        if block_mapper is None and clone_name_hints and clone_operands:
            return clone(self, value_mapper)
        return super().clone(
            value_mapper,
            block_mapper,
            clone_name_hints=clone_name_hints,
            clone_operands=clone_operands,
        )


_valid_name: Callable[[str | None], str | None] = lru_cache(OpResult.extract_valid_name)


def _set_name(value: SSAValue, name: str | None) -> None:
    value._name = _valid_name(name)


NAME = property(attrgetter("_name"), _set_name)
"""The name of a value: few are checked, as most values share theirs with others."""


@_quickly(type="_type", owner="op", name_hint=NAME)
class _Result(OpResult[Attribute]):
    """The result of an operation."""

    def __init__(self, type: Attribute, op: Operation, index: int):
        self._type, self.op, self.index = type, op, index


@_quickly(type="_type", owner="block", name_hint=NAME)
class _Argument(BlockArgument[Attribute]):
    """An argument of a block."""

    def __init__(self, type: Attribute, block: Block, index: int):
        self._type, self.block, self.index, self.location = type, block, index, UNKNOWN_LOC


@_quickly()
class _Region(Region):
    """The region of one block."""

    def __init__(self, block: Block):
        assert block.parent is None
        self._first_block = self._last_block = block
        block.parent = self

    def walk(self, *, reverse: bool = False, region_first: bool = False) -> Iterator[Operation]:
        if reverse or region_first:
            return super().walk(reverse=reverse, region_first=region_first)
        found: list[Operation] = []
        _collect((self,), found)
        return iter(found)


INDEX = IndexType()
"""The type of indices, which takes longer to make than an operation."""

operands_of: Callable[[Operation], tuple[SSAValue, ...]] = attrgetter("_operands")
"""The operands of an operation, without the view of them that `op.operands` is."""

block_in: Callable[[Region], Block] = attrgetter("_first_block")
"""The one block of a region."""

arguments_in: Callable[[Region], tuple[SSAValue, ...]] = attrgetter("_first_block._args")
"""The arguments of the one block of a region."""


def block_with(types: Iterable[Attribute]) -> Block:
    """An empty block with arguments of these types."""
    block = Block()
    block._args = tuple([_Argument(kind, block, n) for n, kind in enumerate(types)])
    return block


def region_with(block: Block) -> Region:
    """The region of a block, which holds no operation around it."""
    return _Region(block)


def make(
    kind: type[OpT],
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] | None = None,
    regions: Sequence[Region] = (),
) -> OpT:
    """An operation of any dialect, of exactly these parts and of default values."""
    op = kind.__new__(kind)
    _fill(op, operands, result_types, properties, regions)
    return op


def _fill(
    op: Operation,
    operands: Sequence[SSAValue],
    result_types: Sequence[Attribute],
    properties: Mapping[str, Attribute] | None,
    regions: Sequence[Region],
) -> None:
    """Do what `Operation.__init__` does; fields that are left out have the values of the class."""
    if operands:
        op._operands = SSAValues(operands)
        uses: list[Use] = []
        for n, value in enumerate(operands):
            first = value.first_use  # each is the first of the uses of its value
            value.first_use = use = Use(op, n, None, first)
            if first is not None:
                first._prev_use = use
            uses.append(use)
        op._operand_uses = tuple(uses)
    if result_types:
        op.results = SSAValues([_Result(kind, op, n) for n, kind in enumerate(result_types)])
    defaults = _defaults(type(op))
    op.properties = {**defaults, **properties} if properties else dict(defaults)
    op.attributes = {}
    op.location = UNKNOWN_LOC
    for region in regions:
        op.add_region(region)


@cache
def _defaults(kind: type[Operation]) -> Mapping[str, Attribute]:
    """The properties that an operation has where it is given none of these names."""
    if not issubclass(kind, IRDLOperation):
        return {}
    definition = kind.get_irdl_definition()
    return {
        name: property.default_value
        for name, property in definition.properties.items()
        if property.default_value is not None and not isinstance(property, OptPropertyDef)
    }


def clone(op: OpT, values: dict[SSAValue, SSAValue] | None = None) -> OpT:
    """A copy of an operation with all inside it, none of which has successors.

    Operands are those that `values` has for the old ones, which gets the new values inside, too.
    """
    values = {} if values is None else values
    operands = [values.get(v, v) for v in op._operands]
    copy = make(type(op), operands, [r.type for r in op.results], op.properties)
    copy.attributes, copy.location = dict(op.attributes), op.location
    _match(op.results, copy.results, values)
    for region in op.regions:
        blocks = [_cloned(block, values) for block in _blocks(region)]
        copy.add_region(region_with(*blocks) if len(blocks) == 1 else Region(blocks))
    return copy


def _cloned(block: Block, values: dict[SSAValue, SSAValue]) -> Block:
    copy = block_with([v.type for v in block.args])
    _match(block.args, copy.args, values)
    for old, new in zip(block.args, copy.args, strict=True):
        new.location = old.location
    for op in ops_in(block):
        append(copy, clone(op, values))
    return copy


def _match(
    old: Sequence[SSAValue], new: Sequence[SSAValue], values: dict[SSAValue, SSAValue]
) -> None:
    """Let new values stand for old ones, by their names, too."""
    for before, after in zip(old, new, strict=True):
        values[before], after._name = after, before._name


def append(block: Block, op: Operation) -> None:
    """Put a new operation, which holds no block around this one, at the end of a block."""
    assert op.parent is None
    op.parent, last = block, block._last_op
    if last is None:
        block._first_op = op
    else:
        last._next_op, op._prev_op = op, last
    block._last_op = op


def walk(op: Operation) -> Iterator[Operation]:
    """An operation, and those of its regions in order, as they are now: half the time of generators
    within each other, as most are asked for all."""
    found = [op]
    _collect(op.regions, found)
    return iter(found)


def _collect(regions: Iterable[Region], found: list[Operation]) -> None:
    for region in regions:
        block = region._first_block
        while block is not None:
            op = block._first_op
            while op is not None:
                found.append(op)
                if op.regions:
                    _collect(op.regions, found)
                op = op._next_op
            block = block._next_block


def constant_integer(value: SSAValue) -> int | None:
    """The value, where it is an integer constant."""
    owner = value.owner
    attr = owner.properties["value"] if type(owner) is ConstantOp else None
    return attr.value.data if isinstance(attr, IntegerAttr) else None


def ops_in(block: Block) -> Iterator[Operation]:
    """The operations in a block, in order, without the view of them that `block.ops` is."""
    following = block._first_op
    while (op := following) is not None:
        following = op._next_op  # likewise
        yield op


def _blocks(region: Region) -> Iterator[Block]:
    following = region._first_block
    while (block := following) is not None:
        following = block._next_block
        yield block


def dissolve(op: Operation) -> None:
    """Let go of an operation without a block around it, and of all inside it.

    None of them may be used any more, and none uses values from outside.

    As all of them refer to each other, they would wait for Python's collector of garbage, which
    looks at all objects that there are to find them.
    """
    for inner in walk(op):
        for use in inner._operand_uses:
            use._prev_use = None
        for region in inner.regions:
            for block in _blocks(region):
                vars(block).clear()
            vars(region).clear()
        vars(inner).clear()


# --- definitions ----------------------------------------------------------------------------------


def operation(kind: KindT) -> KindT:
    """Define an operation, as `irdl_op_definition` does, with quick access to its parts."""
    kind = irdl_op_definition(kind)
    for name, accessor in list(vars(kind).items()):
        if (quick := _quick(accessor)) is not None:
            setattr(kind, name, quick)
    return kind


def _setter(accessor: Any) -> Callable[[Operation, Any], None]:
    return accessor.__set__


_item = tuple[Any, ...].__getitem__  # that of `SSAValues` is written in Python


def _quick(accessor: object) -> property | None:
    """A property that gives what an accessor of xDSL gives, where this is of a simple kind."""
    match accessor:
        case BeforeVariadicSingleAccessor(VarIRConstruct.OPERAND, n):
            return property(lambda op: _item(op._operands, n))
        case BeforeVariadicSingleAccessor(VarIRConstruct.RESULT, n):
            return property(lambda op: _item(op.results, n))
        case BeforeVariadicSingleAccessor(VarIRConstruct.REGION, n):
            return property(lambda op: op.regions[n])
        case UniqueVariadicAccessor(VarIRConstruct.OPERAND, n, count):
            end = n - count + 1 or None
            return property(lambda op: op._operands[n:end])
        case PropertyAccessor(name):
            return property(lambda op: op.properties[name], _setter(accessor))
        case OptionalPropertyAccessor(name, None):
            return property(lambda op: op.properties.get(name), _setter(accessor))
        case _:
            return None

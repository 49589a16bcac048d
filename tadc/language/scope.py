"""Meanings of names while a program is read, and the blocks that operations go to."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from tadc.dialects.tix import (
    Affine,
    AtOp,
    Constraint,
    FloorDivOp,
    IfOp,
    IndexRange,
    ReadOp,
    ReductionOp,
    SizeType,
    TensorType,
    Variable,
    real,
)
from tadc.dialects.tix.types import ElementType, index_range
from tadc.errors import RankError, TadcError, TadcSyntaxError, UnknownNameError
from tadc.language.names import FUNCTIONS, REDUCTIONS, RESERVED
from tadc.language.sizes import Sizes
from tadc.language.source import Source

OpT = TypeVar("OpT", bound=Operation)


@dataclass(eq=False)
class Tensor:
    """A tensor that can be read. `value` stands for it until the program is put together."""

    name: str
    value: SSAValue
    shape: list[Affine]
    element: ElementType | None
    """The type that is declared, or that arguments have without; None for others' definitions."""
    node: ast.expr
    """The declaration, definition or first use of the tensor."""
    argument: bool


@dataclass
class Declaration:
    """`name: element[shape]`."""

    name: str
    element: ElementType
    shape: list[Affine]
    node: ast.Name


@dataclass
class SymbolTable:
    """The names of a whole program."""

    source: Source
    declarations: dict[str, Declaration] = field(default_factory=dict[str, Declaration])
    sizes: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    indices: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    defined: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    tensors: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    """The tensor of each name on the line that is read: the last version of an updated one."""
    arguments: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    defining: str | None = None
    """The name that the line defines or updates."""
    updated: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    """Names of tensors that are there before their first `+=`, `-=`, `*=` or `/=`."""
    index_tensors: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    """Names that are read in an index, undeclared: index tensors, by their first use."""
    functions: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The functions that users defined, with the names of their arguments."""
    called: dict[str, ast.Name] = field(default_factory=dict[str, ast.Name])
    """The first call of each of these functions that is called."""
    parameters: Mapping[str, SSAValue] = field(default_factory=dict[str, SSAValue])
    """In the formula of a function, the scalars that it may read."""
    shapes: Sizes = field(default_factory=Sizes)
    placeholders: Block = field(default_factory=Block)
    """Holds the values that stand for tensors while the program is read."""

    def fail(
        self,
        kind: type[TadcError],
        node: ast.AST,
        message: str,
        hint: str | None = None,
        *,
        index: str | None = None,
        size: str | None = None,
        argument: str | None = None,
    ) -> TadcError:
        """The error about a part of the text, with the facts that concern it."""
        return kind(
            message, self.source.span(node), hint, index=index, size=size, argument=argument
        )

    def check_new(self, node: ast.Name, role: str) -> None:
        """The name can be given to a `role` ("a tensor", "an index", "a size")."""
        if node.id in RESERVED:
            raise self.fail(
                TadcSyntaxError,
                node,
                f"{node.id} is a word of the language and cannot name {role}",
                "choose another name",
            )

    def call(self, node: ast.Name) -> None:
        """Take note that a function is called; its name must be that of nothing else."""
        name = node.id
        known = [self.indices, self.sizes, self.declarations, self.defined, self.updated]
        if any(name in names for names in [*known, self.tensors]):
            kind = "an index" if name in self.indices else "a size" if name in self.sizes else None
            message = f"{name} is both a function and {kind or 'a tensor'}"
            raise self.fail(TadcSyntaxError, node, message, "rename one of the two")
        self.called.setdefault(name, node)

    def add(self, tensor: Tensor) -> Tensor:
        self.tensors[tensor.name] = tensor
        if tensor.argument:
            self.arguments[tensor.name] = tensor
        return tensor

    def placeholder(self, type: Attribute = real) -> BlockArgument:
        return self.placeholders.insert_arg(type, len(self.placeholders.args))

    def tensor(self, node: ast.Name, rank: int) -> Tensor:
        """The tensor that is read under this name; an undeclared one becomes an argument."""
        tensor = self.tensors.get(node.id) or self._first_use(node, rank)
        if len(tensor.shape) != rank:
            raise self._wrong_rank(tensor, node, rank)
        return tensor

    def _first_use(self, node: ast.Name, rank: int) -> Tensor:
        self._check_readable(node)
        declared = self.declarations.get(node.id)
        if declared:
            return self.add_argument(node.id, declared.shape, declared.element, declared.node)
        undeclared = index_range(self.shapes.open()) if node.id in self.index_tensors else real
        shape = [self.shapes.open() for _ in range(rank)]
        return self.add_argument(node.id, shape, undeclared, node)

    def add_argument(
        self, name: str, shape: Sequence[Affine], element: ElementType, node: ast.expr
    ) -> Tensor:
        """An argument of the program."""
        known = isinstance(element, IndexRange | SizeType)
        value = self.placeholder(TensorType.of(shape, element) if known else real)
        return self.add(Tensor(name, value, list(shape), element, node, argument=True))

    def is_index_tensor(self, name: str) -> bool:
        """True for a tensor of integers, which may stand in indices."""
        declared = self.declarations.get(name)
        if declared is None:
            return name in self.index_tensors
        return isinstance(declared.element, IndexRange)

    def _check_readable(self, node: ast.Name) -> None:
        name = node.id
        if name in FUNCTIONS or name in REDUCTIONS or name in self.called:
            raise self.fail(
                TadcSyntaxError, node, f"{name} is a function, not a tensor", f"write {name}(...)"
            )
        self.check_new(node, "a tensor")
        if name in self.indices:
            raise self.fail(
                UnknownNameError,
                node,
                f"{name} is an index elsewhere, but not here",
                f"use {name} inside its own sum or definition, or rename one of the two",
                index=name,
            )
        if name in self.sizes:
            raise self.fail(TadcSyntaxError, node, f"{name} is a size, not a tensor")
        if name in self.defined and name not in self.declarations:
            message = f"{name} is read before it is defined"
            hint = f"declare {name} if it is an argument, or define it on an earlier line"
            if name == self.defining:
                message = f"the definition of {name} reads {name}: it cannot read itself yet"
                hint = f"there are no recurrences; declare {name} if it is an argument to update: "
                hint += "the line reads its old elements then"
            raise self.fail(UnknownNameError, node, message, hint)

    def _wrong_rank(self, tensor: Tensor, node: ast.Name, rank: int) -> TadcError:
        known = len(tensor.shape)
        declared = tensor.name in self.declarations or not tensor.argument
        where = "" if declared else f" on line {self.source.span(tensor.node).line}"
        return RankError(
            f"{tensor.name} has {_count(known)}{where}, but {_count(rank)} here",
            self.source.span(node),
            f"write {tensor.name}[{', '.join('ijklmn'[n % 6] for n in range(known))}]"
            if known
            else f"write {tensor.name} without brackets",
            argument=tensor.name,
        )


def _count(n: int) -> str:
    return "no index" if n == 0 else "1 index" if n == 1 else f"{n} indices"


@dataclass(frozen=True)
class Need:
    """A form that must not be negative where an element is read: a quotient by a size is taken for
    -1, or for 1."""

    form: Affine
    divisor: Affine
    node: ast.BinOp
    dimension: int
    """The dimension of the read whose index the quotient is in."""


@dataclass
class Beyond:
    """The reads of a definition at indices that may lie beyond borders (`boundaries`)."""

    dimensions: set[tuple[ReadOp, int]] = field(default_factory=set[tuple[ReadOp, int]])
    """Their dimensions that tell nothing of ranges, as there is an element for every index."""
    choices: list[IfOp] = field(default_factory=list[IfOp])
    """The choices between them, inner ones first."""
    needs: list[tuple[ReadOp, Need]] = field(default_factory=list[tuple[ReadOp, Need]])


@dataclass
class Frame:
    """State that all scopes of one definition share."""

    outermost: Block
    divisions: dict[tuple[Affine, int], SSAValue] = field(
        default_factory=dict[tuple[Affine, int], SSAValue]
    )
    depths: dict[Block, int] = field(default_factory=dict[Block, int])
    reductions: dict[ReductionOp, dict[SSAValue, list[Constraint] | None]] = field(
        default_factory=dict[ReductionOp, dict[SSAValue, "list[Constraint] | None"]]
    )
    """The range of each index of each reduction, as far as the text gives it."""
    elements: dict[tuple[SSAValue, tuple[Affine, ...]], list[AtOp]] = field(
        default_factory=dict[tuple[SSAValue, "tuple[Affine, ...]"], "list[AtOp]"]
    )
    """The elements of index tensors that are read, by tensor and place."""
    beyond: Beyond = field(default_factory=Beyond)


@dataclass
class Scope:
    """The place of an expression: indices that it may use, and the block that it is computed in."""

    names: SymbolTable
    block: Block
    indices: Mapping[str, SSAValue]
    frame: Frame
    around: tuple[Block, ...] = ()
    """The blocks that the block is in, the innermost first."""

    @property
    def source(self) -> Source:
        return self.names.source

    def fail(
        self, kind: type[TadcError], node: ast.AST, message: str, hint: str | None = None
    ) -> TadcError:
        return self.names.fail(kind, node, message, hint)

    def insert(self, op: OpT, node: ast.AST) -> OpT:
        op.location = self.source.location(node)
        self.block.add_op(op)
        return op

    def inside(self, block: Block, indices: Mapping[str, SSAValue] | None = None) -> Scope:
        self.frame.depths[block] = self.frame.depths.get(self.block, 0) + 1
        around = (self.block, *self.around)
        return Scope(self.names, block, {**self.indices, **(indices or {})}, self.frame, around)

    def key(self, node: ast.Name) -> Variable | None:
        """The index or size of this name."""
        if node.id in self.indices:
            return self.indices[node.id]
        return node.id if node.id in self.names.sizes else None

    def new_indices(self, nodes: Sequence[ast.Name], block: Block) -> dict[str, SSAValue]:
        """Indices as arguments of `block`."""
        found: dict[str, SSAValue] = {}
        for node in nodes:
            if node.id in found or node.id in self.indices:
                raise self.fail(
                    TadcSyntaxError,
                    node,
                    f"{node.id} is an index here already",
                    "give every index its own name",
                )
            value = block.insert_arg(IndexType(), len(block.args))
            value.location = self.source.location(node)
            if SSAValue.is_valid_name(node.id) and SSAValue.extract_valid_name(node.id):
                value.name_hint = (
                    node.id
                )  # α too, which the text of IR leaves out: printing needs it
            found[node.id] = value
        return found

    def floor_division(self, form: Affine, divisor: int, node: ast.AST) -> Affine:
        """`form // divisor`, computed once, in the innermost block that its indices need."""
        divisions, key = self.frame.divisions, (form, divisor)
        if key not in divisions:
            op = FloorDivOp(form, divisor)
            op.location = self.source.location(node)
            self._innermost(form.indices).add_op(op)
            divisions[key] = op.result
        return Affine.of(divisions[key])

    def element(self, tensor: SSAValue, forms: Sequence[Affine], node: ast.AST) -> Affine:
        """An element of an index tensor, read in this block unless one around has it."""
        known = self.frame.elements.setdefault((tensor, tuple(forms)), [])
        op = next((op for op in known if op.parent in (self.block, *self.around)), None)
        if op is None:
            op = self.insert(AtOp(tensor, forms), node)
            known.append(op)
        return Affine.of(op.result)

    def _innermost(self, indices: Sequence[SSAValue]) -> Block:
        blocks = [v.block if isinstance(v, BlockArgument) else v.owner.parent for v in indices]
        depths = self.frame.depths
        return max(
            (b for b in blocks if isinstance(b, Block)),
            key=lambda b: depths.get(b, 0),
            default=self.frame.outermost,
        )


Divide = Callable[[Affine, int, ast.AST], Affine]
"""A function that gives the form for `form // divisor`."""

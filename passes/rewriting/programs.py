"""Whole programs: making a new one out of an old one, and facts about tensors that passes share."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeVar

from xdsl.dialects.builtin import LocationAttr, ModuleOp, StringAttr
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from tadc.dialects import tix
from tadc.dialects.quick import block_in, block_with, clone, dissolve, ops_in
from tadc.dialects.tix import Affine, TensorType
from tadc.passes.rewriting.builder import Body, BodyBuilder
from tadc.passes.rewriting.cloner import Cloner

Kind = TypeVar("Kind", bound=Cloner)
"""A kind of cloners."""


def rewrite_programs(module: ModuleOp, rewrite: Callable[[tix.ProgramOp], tix.ProgramOp]) -> None:
    """Replace every program of `module` by what `rewrite` makes of it."""
    for program in list(module.ops):
        if isinstance(program, tix.ProgramOp):
            new = rewrite(program)
            if new is not program:
                new.location = program.location
                module.body.block.insert_op_before(new, program)
                program.detach()
                dissolve(program)


def fresh_name(wanted: str, taken: Iterable[str]) -> str:
    """`wanted`, or the first of `wanted_1, wanted_2, ...` that is not taken."""
    taken = taken if isinstance(taken, Set) else set(taken)
    if wanted not in taken:
        return wanted
    return next(n for k in range(1, len(taken) + 2) if (n := f"{wanted}_{k}") not in taken)


def set_hint(value: SSAValue, name: str) -> None:
    """Name a value in the IR, where the IR can write the name (it knows ASCII only).

    Numbers at its end are left out: the printer of xDSL puts them there, and looks no further.
    """
    value.name_hint = re.sub(r"(_\d+)+$", "", name) if is_hint(name) else None


def is_hint(name: str) -> bool:
    """True if the IR can write the name; of `_2` nothing is left without its suffix."""
    valid = name.isascii() and SSAValue.is_valid_name(name)
    return bool(valid and SSAValue.extract_valid_name(name))


class ProgramBuilder:
    """A program in the making: arguments first, then definitions, then `finish`."""

    def __init__(self, arguments: Sequence[tuple[str, TensorType, LocationAttr]]):
        self.block = block_with([type for _, type, _ in arguments])
        self.argument_names = [name for name, _, _ in arguments]
        for value, (name, _, location) in zip(self.block.args, arguments, strict=True):
            set_hint(value, name)
            value.location = location
        self.labels = set(self.argument_names)

    def add_argument(self, name: str, type: TensorType, location: LocationAttr) -> SSAValue:
        """Append an argument behind the others; the name must be new."""
        value = self.block.insert_arg(type, len(self.block.args))
        set_hint(value, name)
        value.location = location
        self.argument_names.append(name)
        self.labels.add(name)
        return value

    def define(
        self,
        label: str,
        type: TensorType,
        names: Sequence[str | None],
        location: LocationAttr,
        body: Body,
        view: Sequence[Affine] | None = None,
    ) -> SSAValue:
        """Append `label[names] = body` and give the tensor; the label must be new.

        The indices run over the shape `view`, by default over that of the type.
        """
        region = BodyBuilder(self.block, location).region(names, body)
        op = tix.DefineOp(label, type, region, view)
        op.location = location
        return self.append(op)

    def define_like(self, tensor: SSAValue, label: str, body: Body) -> SSAValue:
        """Append `label[...] = body` with the type, the index names and the place of `tensor`."""
        names, place = index_names(tensor), location_of(tensor)
        return self.define(label, type_of(tensor), names, place, body, view_of(tensor))

    def append(self, op: tix.DefineOp) -> SSAValue:
        """Append a definition and give its tensor; the label must be new."""
        set_hint(op.result, op.label.data)
        self.labels.add(op.label.data)
        self.block.add_op(op)
        return op.result

    def fresh_label(self, wanted: str) -> str:
        """A label that no definition has or will be given."""
        label = fresh_name(wanted, self.labels)
        self.labels.add(label)
        return label

    def finish(
        self,
        old: tix.ProgramOp,
        results: Sequence[SSAValue],
        names: Sequence[str] | None = None,
        suffix: str = "",
        pivots: Sequence[str] | None = None,
    ) -> tix.ProgramOp:
        """The program with these results, and with the name, what is known of sizes and of the
        processor, and the functions of `old`.

        The results have these names, by default those that the results of `old` have. Pivots are by
        default those of `old` that are results still.
        """
        names = old.result_names if names is None else names
        if pivots is None:
            pivots = [name for name in old.pivots if name in names]
        functions = [op.clone() for op in tix.functions_of(old).values()]
        if self.block.first_op is not None:
            self.block.insert_ops_before(functions, self.block.first_op)
        self.block.add_op(tix.ReturnOp(results, names, pivots))
        name, body = old.sym_name.data + suffix, Region(self.block)
        known = list(old.derived), old.largest_sizes, old.registers
        return tix.ProgramOp(name, self.argument_names, body, *known)


def arguments_of(program: tix.ProgramOp) -> list[tuple[str, TensorType, LocationAttr]]:
    """Name, type and location of every argument."""
    return [(name, type_of(v), v.location) for name, v in program.arguments.items()]


def label_of(tensor: SSAValue) -> str:
    """The label of the definition that a tensor is."""
    assert isinstance(tensor.owner, tix.DefineOp)
    return tensor.owner.label.data


def tensor_names(program: tix.ProgramOp) -> dict[SSAValue, str]:
    """The name of every tensor: of an argument, or the label of a definition."""
    names: dict[SSAValue, str] = {v: name for name, v in program.arguments.items()}
    names.update((op.result, op.label.data) for op in program.definitions)
    return names


def type_of(tensor: SSAValue) -> TensorType:
    type = tensor.type
    assert isinstance(type, TensorType)
    return type


def location_of(tensor: SSAValue) -> LocationAttr:
    """The place of a definition, or of an argument in the text."""
    owner = tensor.owner
    if isinstance(owner, tix.DefineOp):
        return owner.location
    assert isinstance(tensor, BlockArgument)
    return tensor.location


def index_names(tensor: SSAValue) -> list[str | None]:
    """The names of the indices of a definition; an argument has none."""
    if isinstance(tensor.owner, tix.DefineOp):
        return [v.name_hint for v in tensor.owner.indices]
    return [None] * type_of(tensor).rank


def view_of(tensor: SSAValue) -> Sequence[Affine] | None:
    """The shape that the indices of a definition run over, where that is none of its type."""
    op = tensor.owner
    return op.shape if isinstance(op, tix.DefineOp) and op.view is not None else None


def definition_around(op: Operation) -> tix.DefineOp:
    """The definition that an operation of a body stands in."""
    parent = op.parent_op()
    while not isinstance(parent, tix.DefineOp):
        assert parent is not None, f"{op.name} stands in no definition"
        parent = parent.parent_op()
    return parent


def reductions_around(op: Operation) -> Iterator[tix.ReductionOp]:
    """The reductions of a body that an operation stands in, the innermost first."""
    parent = op.parent_op()
    while parent is not None and not isinstance(parent, tix.DefineOp):
        if isinstance(parent, tix.ReductionOp):
            yield parent
        parent = parent.parent_op()


def forms_of(op: Operation) -> list[Affine]:
    """The indices, and bounds on indices, of an operation in a body."""
    match op:
        case tix.ReadOp() | tix.AtOp():
            return op.forms
        case tix.IndexToRealOp() | tix.FloorDivOp():
            return [op.form]
        case tix.ReductionOp():
            return [c.form for c in op.constraints]
        case tix.IfOp():
            return [c.form for disjunct in op.condition for c in disjunct]
        case _:
            return []


def reads_of(op: tix.DefineOp) -> list[tix.ReadOp]:
    """All reads in a definition, in order."""
    found: list[tix.ReadOp] = []
    _collect(op.body.block, tix.ReadOp, found)
    return found


def accesses_of(op: tix.DefineOp) -> list[tix.ReadOp | tix.AtOp]:
    """All reads in a definition, those of indices too, in order."""
    found: list[tix.ReadOp | tix.AtOp] = []
    _collect(block_in(op.body), (tix.ReadOp, tix.AtOp), found)
    return found


def _collect(block: Block, kinds: Any, found: list[Any]) -> None:
    # several times faster than `walk`, and asked of every definition by most passes
    for op in ops_in(block):
        if isinstance(op, kinds):
            found.append(op)
        for region in op.regions:
            _collect(block_in(region), kinds, found)


def has_reductions(program: tix.ProgramOp) -> bool:
    """True if any definition reduces over indices of its own."""
    return any(isinstance(op, tix.ReductionOp) for d in program.definitions for op in d.walk())


def exchange(op: tix.DefineOp, tensors: Mapping[SSAValue, SSAValue]) -> None:
    """Let a definition read other tensors, of the same types."""
    for read in accesses_of(op):
        if (new := tensors.get(read.tensor)) is not None:
            read.operands[0] = new


def copy_definition(
    builder: ProgramBuilder, cloner: Cloner, op: tix.DefineOp, label: str | None = None
) -> SSAValue:
    """Append a copy of `op`, copied by a cloner of the same kind as `cloner`."""
    if type(cloner) is Cloner and not cloner.indices:  # all stays as it is, in other tensors
        copy = clone(op, {r.tensor: cloner.value(r.tensor) for r in accesses_of(op)})
        copy.properties["label"] = StringAttr(label or op.label.data)
        return builder.append(copy)

    def body(e: BodyBuilder, own: list[SSAValue]) -> SSAValue:
        return cloner.copy_definition(op, e, own)

    return builder.define_like(op.result, label or op.label.data, body)


def copy_changed(
    builder: ProgramBuilder, cloner: Cloner, op: tix.DefineOp, changed: Container[Operation]
) -> SSAValue:
    """Append a copy of `op`, by this cloner where one of the `changed` operations is in it, else
    as it is."""
    if not any(inner in changed for inner in op.walk()):
        cloner = Cloner(cloner.builder, cloner.values)
    return copy_definition(builder, cloner, op)


def rewrite_definition(op: tix.DefineOp, body: Body) -> tix.DefineOp:
    """Put a definition with another body in the place of `op`; what read that reads the new one."""
    assert op.parent is not None
    names = [v.name_hint for v in op.indices]
    region = BodyBuilder(op.parent, op.location).region(names, body)
    new = tix.DefineOp(op.label.data, op.type, region, view_of(op.result))
    new.location = op.location
    set_hint(new.result, op.label.data)
    Rewriter.replace_op(op, new)
    return new


def start_copy(
    kind: Callable[[BodyBuilder], Kind], *versions: tix.ProgramOp
) -> tuple[ProgramBuilder, Kind]:
    """A program in the making with the arguments of another, and a cloner that knows these.

    All versions of the other have the same arguments, and the same labels, which are taken.
    """
    program = versions[0]
    builder = ProgramBuilder(arguments_of(program))
    builder.labels |= {d.label.data for d in program.definitions}
    cloner = kind(BodyBuilder(builder.block, program.location))
    for version in versions:
        cloner.values.update(zip(version.body.block.args, builder.block.args, strict=True))
    return builder, cloner


def choose_definitions(
    versions: Sequence[tix.ProgramOp], choose: Callable[[Sequence[tix.DefineOp]], tix.DefineOp]
) -> tix.ProgramOp:
    """A program of which each definition is the one that is chosen from those of all versions."""
    program = versions[0]
    builder, cloner = start_copy(Cloner, *versions)
    for ways in zip(*(v.definitions for v in versions), strict=True):
        tensor = copy_definition(builder, cloner, choose(ways))
        cloner.values.update((op.result, tensor) for op in ways)
    return builder.finish(program, [cloner.value(v) for v in program.returned])


def copy_program(
    program: tix.ProgramOp,
    kind: type[Cloner] = Cloner,
    define: Callable[[ProgramBuilder, Cloner, tix.DefineOp], SSAValue] = copy_definition,
) -> tix.ProgramOp:
    """Copy definition by definition, with cloners of this kind, which map old tensors to new ones.

    `define` appends the new definition and gives its tensor.
    """
    builder, cloner = start_copy(kind, program)
    for op in program.definitions:
        cloner.values[op.result] = define(builder, cloner, op)
    return builder.finish(program, [cloner.value(v) for v in program.returned])

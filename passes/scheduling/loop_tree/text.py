"""The tree of loops as text, a line for each node.

    m[n, p], y[n, c_1, p]:                        the definitions, with the names of their loops
      parallel n
        parallel p by 64
          vector p by 64 in 16
            for p by 64 mask
              begin max m.1[c]                    the first reduction of m
              for c
                add m.1
              keep and store m
              for c_1
                store y

Each loop has a name of its own; definitions that share it have different indices of this name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Constraint, Variable
from tadc.dialects.tix.affine import show
from tadc.dialects.tix.constraints import show_constraint
from tadc.passes.rewriting.programs import definition_around
from tadc.passes.scheduling.loop_tree.nodes import (
    Add,
    AtMost,
    Begin,
    Buffer,
    ByReciprocals,
    Carry,
    Combine,
    Exceeds,
    For,
    If,
    Interleave,
    Join,
    Lazy,
    Mark,
    Node,
    Seq,
    Storage,
    Store,
    nodes_in,
)
from tadc.passes.scheduling.scans import Scan


def tree_text(tree: Node) -> str:
    """The lines of a tree."""
    names = _Names()
    for node in nodes_in(tree):
        if isinstance(node, For):
            names.give(node.axis.indices)
        elif isinstance(node, Begin):
            for index in node.of.indices:
                names.give([index])
    heads = (f"{op.label.data}{names.listed(op.indices)}" for op in dict.fromkeys(_members(tree)))
    return "\n".join([f"{', '.join(heads)}:", *(f"  {line}" for line in _lines(tree, names))])


def _members(tree: Node) -> Iterator[tix.DefineOp]:
    """The definitions whose elements a tree computes."""
    for node in nodes_in(tree):
        match node:
            case Store(op):
                yield op
            case Interleave([op, *_]):
                yield op
            case Buffer(op, storage=Storage.RESULT):
                yield definition_around(op)
            case _:
                pass


def _lines(node: Node, names: _Names) -> Iterator[str]:
    match node:
        case Seq(parts):
            for part in parts:
                yield from _lines(part, names)
        case For():
            yield _loop(node, names)
            yield from (f"  {line}" for line in _lines(node.body, names))
        case If(tests, body, otherwise):
            yield f"if {' and '.join(_test(test, names) for test in tests)}"
            yield from (f"  {line}" for line in _lines(body, names))
            if otherwise:
                yield "else"
                yield from (f"  {line}" for line in _lines(otherwise, names))
        case Lazy(op):
            yield f"where it is needed {_number(op)}"
            yield from (f"  {line}" for line in _lines(node.body, names))
        case ByReciprocals(op):
            yield f"by reciprocals {op.label.data}"
            yield from (f"  {line}" for line in _lines(node.body, names))
        case Buffer(op, axis, storage=storage):
            where = "" if storage is Storage.STACK else f" {storage.value}"
            yield f"buffer {_number(op)}{names.listed(axis.indices)}{where}"
            yield from (f"  {line}" for line in _lines(node.body, names))
        case Join(op):
            yield f"join {_number(op)}"
        case Combine(op):
            yield f"combine lanes of {_number(op)}"
        case Begin(op):
            yield f"begin {op.name.removeprefix('tix.')} {_number(op)}{names.listed(op.indices)}"
        case Add(op):
            yield f"add {_number(op)}"
        case Carry(of):
            scan = of if isinstance(of, Scan) else of.scan
            yield f"carry {_number(scan.op)}"
        case Store(op, is_stored, is_kept, is_streaming):
            verbs = [*(["keep"] if is_kept else []), *(["store"] if is_stored else [])]
            past = " past the caches" if is_streaming else ""
            yield f"{' and '.join(verbs)} {op.label.data}{past}"
        case Interleave(ops):
            yield f"interleave {len(ops)} phases of {ops[0].label.data}"


def _loop(node: For, names: _Names) -> str:
    words = [node.mark.value, names.of[node.axis.indices[0]]]
    if node.step > 1:
        words.append(f"by {node.step}")
    if node.mark is Mark.VECTOR:
        words.append(f"in {node.lanes}")
    words += ["backwards"] if node.backwards else []
    words += [f"from {node.first}"] if node.first else []
    words += [f"to {node.end}"] if node.end is not None else []
    if node.limit:
        words.append(f"if {_limit(node.limit, names)}")
    if node.undivided:
        words.append(f"unless {_limit(node.undivided, names)}")
    return " ".join([*words, *filter(None, [node.tail.value])])


def _limit(limit: AtMost, names: _Names) -> str:
    sizes = " * ".join(show(size, names.variable) for size in limit.sizes)
    return f"{sizes} <= {limit.number}"


def _test(test: Constraint | Exceeds, names: _Names) -> str:
    match test:
        case Exceeds(shapes):
            return f"{len(shapes)} tensors exceed the largest cache"
        case Constraint():
            return show_constraint(test, names.variable)


def _number(op: tix.ReductionOp) -> str:
    """The definition of a reduction, and its number there."""
    around = definition_around(op)
    every = [o for o in around.walk() if isinstance(o, tix.ReductionOp)]
    return f"{around.label.data}.{every.index(op) + 1}"


@dataclass
class _Names:
    """Names of loops: those of their first indices, with numbers where several are alike."""

    of: dict[SSAValue, str] = field(default_factory=dict["SSAValue", str])

    def give(self, indices: Sequence[SSAValue]) -> None:
        """Give the indices of a loop one name, if they have none."""
        if indices[0] in self.of:
            return
        hint, taken = indices[0].name_hint or "i", {*self.of.values()}
        numbered = (f"{hint}_{n}" for n in range(1, len(taken) + 2))
        name = hint if hint not in taken else next(n for n in numbered if n not in taken)
        self.of.update(dict.fromkeys(indices, name))

    def variable(self, variable: Variable) -> str:
        """The name of an index, or a size."""
        return variable if isinstance(variable, str) else self.of[variable]

    def listed(self, indices: Sequence[SSAValue]) -> str:
        """The names of indices in brackets; nothing where there are none."""
        return f"[{', '.join(self.of[v] for v in indices)}]" if indices else ""

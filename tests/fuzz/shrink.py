"""Make what fails smaller while it fails in the same way.

Programs shrink as trees of Python: statements go, an expression gives way to a part of it or to a
number, a dimension goes from a tensor everywhere, numbers and sizes become smaller. Other text
shrinks by leaving out pieces, large ones first.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

Shapes = Mapping[str, Sequence[int]]
SECONDS = 60.0
"""To spend on one failure."""


@dataclass(frozen=True)
class Candidate:
    """A program and the shapes of its arguments."""

    source: str
    shapes: Shapes


def shrink_program(
    source: str, shapes: Shapes, fails: Callable[[Candidate], bool], seconds: float = SECONDS
) -> Candidate:
    """A small program for which `fails` still holds."""
    best, end = Candidate(source, shapes), monotonic() + seconds
    improved = True
    while improved and monotonic() < end:
        improved = False
        for candidate in _smaller(best):
            if monotonic() > end:
                break
            if _size(candidate) < _size(best) and fails(candidate):
                best, improved = candidate, True
                break
    return best


def _size(c: Candidate) -> tuple[int, int, int]:
    nodes = sum(1 for _ in ast.walk(_parse(c.source)))
    elements = sum(n for shape in c.shapes.values() for n in shape)
    numbers = sum(
        abs(n.value)
        for n in ast.walk(_parse(c.source))
        if isinstance(n, ast.Constant) and isinstance(n.value, int)
    )
    return nodes, elements + numbers, len(c.source)


def _parse(source: str) -> ast.Module:
    return ast.parse(source.replace("[]", "[()]"))


def _text(tree: ast.Module) -> str:
    return ast.unparse(ast.fix_missing_locations(tree)).replace("[()]", "[]") + "\n"


def _smaller(c: Candidate) -> Iterator[Candidate]:
    """Programs one step smaller, the boldest steps first."""
    tree = _parse(c.source)
    yield from _without_statements(tree, c.shapes)
    yield from _without_dimensions(tree, c.shapes)
    yield from _smaller_expressions(tree, c.shapes)
    yield from _smaller_sizes(tree, c.shapes)


def _candidate(tree: ast.Module, shapes: Shapes) -> Candidate:
    """The program with the shapes of what it still reads."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return Candidate(_text(tree), {n: s for n, s in shapes.items() if n in names})


def _without_statements(tree: ast.Module, shapes: Shapes) -> Iterator[Candidate]:
    for n in range(len(tree.body)):
        body = [*tree.body[:n], *tree.body[n + 1 :]]
        if body:
            yield _candidate(ast.Module(copy.deepcopy(body), []), shapes)


# --- dimensions -----------------------------------------------------------------------------------


def _without_dimensions(tree: ast.Module, shapes: Shapes) -> Iterator[Candidate]:
    """A dimension leaves a tensor: its declaration, its definition and every read."""
    ranks = {n: len(s) for n, s in shapes.items()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            ranks[ast.unparse(node.targets[0].value)] = len(_elements(node.targets[0].slice))
    for name, rank in ranks.items():
        for dimension in range(rank):
            changed = copy.deepcopy(tree)
            _drop_dimension(changed, name, dimension)
            fewer = dict(shapes)
            if name in fewer:
                shape = fewer[name]
                fewer[name] = [*shape[:dimension], *shape[dimension + 1 :]]
            yield _candidate(changed, fewer)


def _drop_dimension(tree: ast.Module, name: str, dimension: int) -> None:
    for statement in tree.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id), annotation=ast.Subscript() as type) if (
                id == name
            ):
                rest = _elements(type.slice)
                type.slice = _tuple([*rest[:dimension], *rest[dimension + 1 :]])
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id)) as target]) if id == name:
                head = _elements(target.slice)[dimension]
                index = head.left if isinstance(head, ast.Compare) else head
                _Put({ast.unparse(index): ast.Constant(0)}).visit(statement.value)
    _DropDimension(name, dimension).visit(tree)


class _DropDimension(ast.NodeTransformer):
    def __init__(self, name: str, dimension: int):
        self.name, self.dimension = name, dimension

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.value, ast.Name) and node.value.id == self.name):
            return node
        rest = _elements(node.slice)
        rest = [*rest[: self.dimension], *rest[self.dimension + 1 :]]
        return ast.Subscript(node.value, _tuple(rest), node.ctx) if rest else node.value


class _Put(ast.NodeTransformer):
    """Names become expressions."""

    def __init__(self, values: Mapping[str, ast.expr]):
        self.values = values

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return self.values.get(node.id, node)


def _tuple(elements: Sequence[ast.expr]) -> ast.expr:
    return elements[0] if len(elements) == 1 else ast.Tuple(list(elements))


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


# --- expressions ----------------------------------------------------------------------------------


def _smaller_expressions(tree: ast.Module, shapes: Shapes) -> Iterator[Candidate]:
    """One expression gives way to a part of it, or to a number."""
    count = sum(1 for _ in _places(tree))
    for n in range(count):
        original = _nth(_places(tree), n)[2]
        for k in range(len(_replacements(original))):
            changed = copy.deepcopy(tree)
            owner, where, node = _nth(_places(changed), n)
            _set(owner, where, _replacements(node)[k])
            yield _candidate(changed, shapes)


Place = tuple[ast.AST, tuple[str, int | None], ast.expr]


def _places(tree: ast.Module) -> Iterator[Place]:
    """Every expression that stands for a value, an index or a condition, outermost first."""
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            for head in _heads(statement.targets[0]):
                yield from _below(head)
            yield statement, ("value", None), statement.value
            yield from _below(statement.value)


def _heads(target: ast.expr) -> list[ast.expr]:
    return _elements(target.slice) if isinstance(target, ast.Subscript) else []


def _below(node: ast.AST) -> Iterator[Place]:
    for name, value in ast.iter_fields(node):
        for n, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.expr):
                yield node, (name, n if isinstance(value, list) else None), child
                yield from _below(child)


def _set(owner: ast.AST, where: tuple[str, int | None], node: ast.expr) -> None:
    name, n = where
    if n is None:
        setattr(owner, name, node)
    else:
        getattr(owner, name)[n] = node


def _nth(places: Iterator[Place], n: int) -> Place:
    return next(place for k, place in enumerate(places) if k == n)


def _replacements(node: ast.expr) -> list[ast.expr]:
    """Simpler expressions for one: a number, then its parts."""
    match node:
        case ast.Constant(value=int(n)) if not isinstance(node.value, bool):
            return [ast.Constant(m) for m in dict.fromkeys((0, 1, n // 2, n - 1)) if 0 <= m < n]
        case ast.Constant():
            return [ast.Constant(1)]
        case ast.Name():
            return [ast.Constant(1), ast.Constant(0)]
        case ast.Call(func=ast.Subscript() as reduction, args=[body]):
            return [*_without_heads(node, reduction, body), ast.Constant(1)]
        case _:
            parts = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
            return [ast.Constant(1), ast.Constant(0), *parts]


def _without_heads(node: ast.expr, reduction: ast.Subscript, body: ast.expr) -> Iterator[ast.expr]:
    """A reduction over fewer indices: one of them becomes a number."""
    heads = _elements(reduction.slice)
    for n, head in enumerate(heads):
        index = ast.unparse(head.left if isinstance(head, ast.Compare) else head)
        for value in (0, 1):
            inner = _Put({index: ast.Constant(value)}).visit(copy.deepcopy(body))
            rest = [*heads[:n], *heads[n + 1 :]]
            if not rest:
                yield inner
                continue
            slice = rest[0] if len(rest) == 1 else ast.Tuple(rest)
            yield ast.Call(ast.Subscript(reduction.value, slice), [inner], [])


# --- sizes ----------------------------------------------------------------------------------------


def _smaller_sizes(tree: ast.Module, shapes: Shapes) -> Iterator[Candidate]:
    """A dimension of an argument becomes smaller, in its declaration too."""
    for name, shape in shapes.items():
        for dimension, size in enumerate(shape):
            for smaller in dict.fromkeys((1, size // 2, size - 1)):
                if not 0 < smaller < size:
                    continue
                changed = copy.deepcopy(tree)
                _declare(changed, name, dimension, smaller)
                new = [*shape[:dimension], smaller, *shape[dimension + 1 :]]
                yield _candidate(changed, {**shapes, name: new})


def _declare(tree: ast.Module, name: str, dimension: int, size: int) -> None:
    for statement in tree.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id), annotation=ast.Subscript() as type) if (
                id == name
            ):
                elements = _elements(type.slice)
                if isinstance(elements[dimension], ast.Constant):
                    elements[dimension] = ast.Constant(size)
                    type.slice = elements[0] if len(elements) == 1 else ast.Tuple(elements)


# --- text -----------------------------------------------------------------------------------------


def shrink_text(text: str, fails: Callable[[str], bool], seconds: float = SECONDS) -> str:
    """A short text for which `fails` still holds: pieces are left out, halves first."""
    end, length = monotonic() + seconds, max(1, len(text) // 2)
    while length and monotonic() < end:
        start, shorter = 0, False
        while start < len(text) and monotonic() < end:
            candidate = text[:start] + text[start + length :]
            if fails(candidate):
                text, shorter = candidate, True
            else:
                start += length
        length = length if shorter and length == 1 else length // 2
    return text

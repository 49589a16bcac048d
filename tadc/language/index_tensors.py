"""Index tensors: arguments of integers, whose elements stand in indices.

    idx: range(V)[N]
    y[i, k] = w[idx[i], k]

Without the declaration `idx` is an index tensor too, as it stands in an index. Its elements are
in the range of the first dimension in which one of them stands alone: here, the rows of `w`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from tadc.dialects.tix import Affine, IndexRange
from tadc.dialects.tix.types import ElementType, given_size
from tadc.errors import RangeError, TadcSyntaxError
from tadc.language.names import FUNCTIONS, REDUCTIONS
from tadc.language.scope import SymbolTable, Tensor
from tadc.language.source import items


def find_index_tensors(
    definitions: Iterable[ast.Assign | ast.AugAssign], names: SymbolTable
) -> None:
    """Take note of the names that are read in an index, and which nothing declares or defines.

    Raises `TadcSyntaxError` where a line defines or updates an index tensor.
    """
    known = {*names.declarations, *names.defined, *names.updated, *FUNCTIONS, *REDUCTIONS}
    for definition in definitions:
        for name in _read_in_indices(definition.value):
            if name.id not in known:
                names.index_tensors.setdefault(name.id, name)
    _check_only_read(names)


def _read_in_indices(value: ast.expr) -> Iterator[ast.Name]:
    """The names with brackets that stand inside of brackets: `idx` of `x[idx[i] + 1]`."""
    heads = {n.func for n in ast.walk(value) if isinstance(n, ast.Call)}
    for outer in ast.walk(value):
        if isinstance(outer, ast.Subscript) and outer not in heads:
            for item in items(outer.slice):
                for inner in ast.walk(item):
                    if isinstance(inner, ast.Subscript) and isinstance(inner.value, ast.Name):
                        yield inner.value


def _check_only_read(names: SymbolTable) -> None:
    for name, node in [*names.defined.items(), *names.updated.items()]:
        if names.is_index_tensor(name):
            message = f"{name} is an index tensor, which no line can define or update"
            hint = "index tensors are arguments; a tensor of real numbers takes another name"
            raise names.fail(TadcSyntaxError, node, message, hint)


def tell_range(node: ast.expr, size: Affine, names: SymbolTable) -> None:
    """Let an element that is a whole index have the range of that dimension, if it has none yet."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        tensor = names.tensors.get(node.value.id)
        if tensor and (end := _untold_end(tensor, names)) is not None:
            names.shapes.unify(size, end)


def check_ranges_told(arguments: Iterable[Tensor], names: SymbolTable) -> None:
    """Raise `RangeError` where nothing tells the range of an index tensor's elements."""
    for tensor in arguments:
        if _untold_end(tensor, names) is not None:
            shape = ", ".join("NMLKJI"[n % 6] for n in range(len(tensor.shape)))
            raise RangeError(
                f"the range of the elements of {tensor.name} cannot be inferred: "
                "none stands alone in a dimension",
                names.source.span(tensor.node),
                f"declare it: {tensor.name}: range(V)[{shape}], or int[{shape}] for any integers",
                argument=tensor.name,
            )


def add_sizes_to_give(names: SymbolTable) -> None:
    """Add an argument for each size of a range that the shape of no argument tells.

    So is B of `seg: range(B)[N]`, the number of segments, in a program of segment sums.
    """
    told = {s for t in names.arguments.values() for form in t.shape for s in form.sizes}
    ends = [t.element.end for t in names.arguments.values() if isinstance(t.element, IndexRange)]
    ranges = {s for end in ends if end is not None for s in end.sizes}
    for size, node in names.sizes.items():
        if size in ranges - told:
            names.add_argument(size, [Affine.of(size)], given_size, node)


def with_sizes(element: ElementType, resolve: Callable[[Affine], Affine]) -> ElementType:
    """An element type in which the size of a range has its name."""
    if isinstance(element, IndexRange) and element.end is not None:
        return element.with_end(resolve(element.end))
    return element


def _untold_end(tensor: Tensor, names: SymbolTable) -> Affine | None:
    """The end of the range of an undeclared index tensor, where nothing tells it yet."""
    element = tensor.element
    if not isinstance(element, IndexRange) or element.end is None:
        return None
    is_own = names.shapes.is_open(element.end) and tensor.name in names.index_tensors
    return element.end if is_own and names.shapes.resolve(element.end) == element.end else None

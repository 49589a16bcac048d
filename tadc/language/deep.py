"""Programs of many thousand terms: how Python reads them, and where nesting is too deep."""

from __future__ import annotations

import ast
import sys
import threading

_DEPTH = 20_000
_STACK = 256 << 20
_LOCK = threading.Lock()


def parse_deep(text: str) -> ast.Module:
    """`ast.parse` on a stack of its own: a sum of n terms is a tree of depth n to Python.

    Raises RecursionError or MemoryError where even that is too small.
    """
    found: list[ast.Module | Exception] = []

    def run() -> None:
        try:
            found.append(ast.parse(text))
        except Exception as error:
            found.append(error)

    with _LOCK:
        limit, size = sys.getrecursionlimit(), threading.stack_size(_STACK)
        try:
            thread = threading.Thread(target=run)
            sys.setrecursionlimit(max(limit, _DEPTH))
            thread.start()
            thread.join()
        finally:
            threading.stack_size(size)
            sys.setrecursionlimit(limit)
    result = found[0]
    if isinstance(result, Exception):
        raise result
    return result


def innermost(tree: ast.AST) -> ast.AST:
    """The first expression at the greatest depth; the terms of a sum are at the same depth."""
    deepest, place = -1, tree
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > deepest and hasattr(node, "lineno"):
            deepest, place = depth, node
        chained = node.left if isinstance(node, ast.BinOp) else None
        for child in reversed(list(ast.iter_child_nodes(node))):
            flat = child is chained and isinstance(child, ast.BinOp)
            stack.append((child, depth if flat else depth + 1))
    return place

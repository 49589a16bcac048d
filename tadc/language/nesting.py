"""The place where a program is nested most deeply."""

from __future__ import annotations

import ast


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

"""Programs evaluated by Python itself: shares no code with tadc.

A definition is rewritten, by the `ast` module, into a Python expression that computes one element:
sums become generator expressions, accesses become checked reads. Then Python runs it.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Arrays = Mapping[str, np.ndarray]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in ("sqrt", "exp", "log", "log10", "log1p", "expm1")},
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: getattr(math, name) for name in ("atan2", "sinh", "cosh", "tanh", "erf", "prod")},
    **{"abs": abs, "min": min, "max": max, "sum": sum, "range": range},
    "sign": lambda x: (x > 0) - (x < 0),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "relu": lambda x: max(x, 0.0),
}


def reference(source: str, arguments: Arrays) -> list[np.ndarray]:
    """The results of a program; implicit ranges only for indices that stand alone somewhere."""
    python = source.replace("[]", "[()]")  # `s: f64[]` is all that Python's grammar lacks
    return PythonProgram(ast.parse(python), arguments).run()


class PythonProgram:
    def __init__(self, tree: ast.Module, arguments: Arrays):
        self.statements = tree.body
        # in the order of declarations, or else of first use
        names = sorted(
            (node for node in ast.walk(tree) if isinstance(node, ast.Name)),
            key=lambda node: (node.lineno, node.col_offset),
        )
        self.arguments = dict.fromkeys(node.id for node in names if node.id in arguments)
        self.tensors = {name: np.asarray(array) for name, array in arguments.items()}
        self.sizes: dict[str, int] = {}
        self.defined: dict[str, None] = {}
        self.updated: set[str] = set()
        self.read: set[str] = set()

    def run(self) -> list[np.ndarray]:
        for statement in self.statements:
            match statement:
                case ast.AnnAssign(target=ast.Name(name), annotation=annotation):
                    self._bind_sizes(name, annotation)
                case ast.Assign(targets=[target], value=value):
                    self._define(target, value)
                case ast.AugAssign(target=target, op=op, value=value):
                    old = ast.parse(ast.unparse(target), mode="eval").body
                    self._define(target, ast.BinOp(old, op, value))
                case ast.Return(value=value):
                    names = value.elts if isinstance(value, ast.Tuple) else [value]
                    return [self.tensors[ast.unparse(name)] for name in names]
                case _:
                    raise SyntaxError(ast.unparse(statement))
        updated = [name for name in self.arguments if name in self.updated]
        unread = [n for n in self.defined if n not in self.updated and n not in self.read]
        return [self.tensors[name] for name in (*updated, *unread)]

    def _bind_sizes(self, name: str, annotation: ast.expr) -> None:
        assert isinstance(annotation, ast.Subscript)
        shape = self.tensors[name].shape
        for form, size in zip(_elements(annotation.slice), shape, strict=True):
            if isinstance(form, ast.Name):
                self.sizes.setdefault(form.id, size)
            if all(n.id in self.sizes for n in ast.walk(form) if isinstance(n, ast.Name)):
                assert eval(ast.unparse(form), dict(self.sizes)) == size, f"shape of {name}"

    def _define(self, target: ast.expr, value: ast.expr) -> None:
        name, heads = target, []
        if isinstance(target, ast.Subscript):
            name, heads = target.value, _elements(target.slice)
        assert isinstance(name, ast.Name)
        if name.id in self.tensors and name.id not in self.defined:
            self.updated.add(name.id)
        self.defined.setdefault(name.id)
        read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
        self.read = (self.read | read) - {name.id}  # of this version nothing is read yet
        translate = _Translate(self)
        if name.id in self.tensors:
            sizes = zip(heads, self.tensors[name.id].shape, strict=True)
            ranges = {ast.unparse(h): ast.parse(f"range({n})", mode="eval").body for h, n in sizes}
        else:
            ranges = dict(translate.head(h, value) for h in heads)
        shape = [len(eval(ast.unparse(r), self._scope())) for r in ranges.values()]
        code = compile(ast.unparse(translate.visit(value)), "<definition>", "eval")
        old = self.tensors.get(name.id)
        result = np.empty(shape, self._dtype() if old is None else old.dtype)
        for point in itertools.product(*map(range, shape)):
            scope = self._scope() | dict(zip(ranges, point, strict=True))
            result[point] = eval(code, scope)
        self.tensors[name.id] = result

    def _dtype(self) -> np.dtype:
        return np.result_type(*(t.dtype for t in self.tensors.values()))

    def _scope(self) -> dict[str, Any]:
        return FUNCTIONS | self.sizes | {"READ": self._read, "PAD": self._pad}

    def _read(self, name: str, element: tuple[int, ...]) -> float:
        tensor = self.tensors[name]
        inside = all(0 <= e < n for e, n in zip(element, tensor.shape, strict=True))
        assert inside, f"{name}{list(element)} of shape {tensor.shape}"
        return float(tensor[element])

    def _pad(self, name: str, element: tuple[int, ...], otherwise: float = 0.0) -> float:
        shape = self.tensors[name].shape
        inside = all(0 <= e < n for e, n in zip(element, shape, strict=True))
        return self._read(name, element) if inside else otherwise


class _Translate(ast.NodeTransformer):
    """From the language to Python."""

    def __init__(self, program: PythonProgram):
        self.program = program

    def head(self, head: ast.expr, body: ast.AST) -> tuple[str, ast.expr]:
        """The name of an index and its range: `i in range(3)`, or `i` where it stands alone."""
        if isinstance(head, ast.Compare):
            assert isinstance(head.left, ast.Name)
            return head.left.id, head.comparators[0]
        assert isinstance(head, ast.Name)
        for node in ast.walk(body):
            if isinstance(node, ast.Subscript) and self._is_tensor(node.value):
                for dimension, element in enumerate(_elements(node.slice)):
                    if isinstance(element, ast.Name) and element.id == head.id:
                        size = self.program.tensors[ast.unparse(node.value)].shape[dimension]
                        return head.id, ast.parse(f"range({size})", mode="eval").body
        raise SyntaxError(f"no range for {head.id}")

    def _is_tensor(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.program.tensors

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Subscript):
            return self._reduction(node.func, node.args[0])
        if isinstance(node.func, ast.Name) and node.func.id == "pad":
            read = self.visit(node.args[0])
            rest = [self.visit(a) for a in node.args[1:]]
            return ast.Call(ast.Name("PAD"), [*read.args, *rest], [])
        return ast.Call(node.func, [self.visit(a) for a in node.args], [])

    def _reduction(self, function: ast.Subscript, body: ast.expr) -> ast.expr:
        heads = [self.head(h, body) for h in _elements(function.slice)]
        loops = [ast.comprehension(ast.Name(n), r, [], 0) for n, r in heads]
        return ast.Call(function.value, [ast.GeneratorExp(self.visit(body), loops)], [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        return self._read_of(node.value, _elements(node.slice))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._read_of(node, []) if self._is_tensor(node) else node

    def _read_of(self, tensor: ast.expr, elements: Sequence[ast.expr]) -> ast.expr:
        name = ast.Constant(ast.unparse(tensor))
        return ast.Call(ast.Name("READ"), [name, ast.Tuple(list(elements))], [])


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def finite_differences(
    evaluate: Callable[[dict[str, np.ndarray]], Sequence[np.ndarray]],
    arguments: Arrays,
    adjoints: Sequence[np.ndarray],
    name: str,
    step: float = 3e-6,
) -> np.ndarray:
    """The derivative of `sum(adjoint * result)` by argument `name`: central differences."""

    def value(x: np.ndarray) -> float:
        results = evaluate({**arguments, name: x})
        return sum(float(np.vdot(a, r)) for a, r in zip(adjoints, results, strict=True))

    x = np.asarray(arguments[name], np.float64)
    result = np.empty_like(x)
    for element in np.ndindex(x.shape):
        high, low = x.copy(), x.copy()
        high[element] += step
        low[element] -= step
        result[element] = (value(high) - value(low)) / (high[element] - low[element])
    return result

"""What random programs mean: Python evaluates their text, the interpreter what the parser made.

Sums have explicit ranges here, so that the meaning of the text is Python's own: `range`, `min`,
`max`, `//`, `%`, comparisons and their chains.
"""

import ast
import random

import numpy as np
import pytest

from tadc.dialects.tix import ProgramOp
from tadc.interpreter.tensor_index import evaluate
from tadc.language import parse, print_program
from tests.support.campaign import seeds

X = np.arange(1.0, 8.0)


class TextEvaluator:
    """The value of an expression of the language, straight from its syntax tree."""

    def __init__(self, tensors):
        self.tensors = tensors

    def value(self, node, env):
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return env[node.id]
            case ast.UnaryOp(op=ast.USub()):
                return -self.value(node.operand, env)
            case ast.UnaryOp(op=ast.Not()):
                return not self.value(node.operand, env)
            case ast.BinOp() | ast.Compare():
                return self.python(node, env)
            case ast.BoolOp():
                parts = [self.value(v, env) for v in node.values]
                return all(parts) if isinstance(node.op, ast.And) else any(parts)
            case ast.IfExp():
                return self.value(node.body if self.value(node.test, env) else node.orelse, env)
            case ast.Subscript():
                return self.tensors[node.value.id][self.inside(node, env)]
            case ast.Call(func=ast.Subscript() as head):
                return self.sum(head.slice, node.args[0], env)
            case ast.Call(func=ast.Name(id="pad")):
                position = self.inside(node.args[0], env)
                size = len(self.tensors[node.args[0].value.id])
                outside = self.value(node.args[1], env) if len(node.args) > 1 else 0
                return self.value(node.args[0], env) if 0 <= position < size else outside
            case ast.Call(func=ast.Name() as name):
                arguments = [self.value(a, env) for a in node.args]
                return {"min": min, "max": max, "range": range}[name.id](*arguments)
        raise AssertionError(ast.dump(node))

    def inside(self, node, env):
        return self.value(node.slice, env)

    def python(self, node, env):
        """Operators, with the operands evaluated first."""
        operands = [node.left, *node.comparators] if isinstance(node, ast.Compare) else None
        operands = operands or [node.left, node.right]
        values = {f"v{n}": self.value(o, env) for n, o in enumerate(operands)}
        names = [ast.Name(name, ast.Load()) for name in values]
        if isinstance(node, ast.Compare):
            bare = ast.Compare(names[0], node.ops, names[1:])
        else:
            bare = ast.BinOp(names[0], node.op, names[1])
        return eval(compile(ast.fix_missing_locations(ast.Expression(bare)), "", "eval"), values)

    def sum(self, indices, body, env):
        items = indices.elts if isinstance(indices, ast.Tuple) else [indices]
        if not items:
            return self.value(body, env)
        first, rest = items[0], ast.Tuple(items[1:], ast.Load())
        values = self.value(first.comparators[0], env)
        return sum(self.sum(rest, body, env | {first.left.id: v}) for v in values)


class Writer:
    """Writes random programs; nothing in them leaves its tensor."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def one(self, *choices):
        return self.random.choice(choices)

    def form(self, indices, depth=2):
        """An affine form of indices."""
        r = self.random
        if not depth or r.random() < 0.3:
            return self.one(*indices, f"{self.one(*indices)} + {r.randrange(-3, 9)}")
        inner = self.form(indices, depth - 1)
        return self.one(
            f"{inner} + {self.form(indices, depth - 1)}",
            f"{inner} - ({self.form(indices, depth - 1)})",
            f"{r.randrange(-2, 4)}*({inner})",
            f"({inner}) // {r.randrange(1, 5)}",
            f"({inner}) % {r.randrange(1, 5)}",
            f"-({inner})",
        )

    def condition(self, indices, depth=1):
        if depth and self.random.random() < 0.5:
            inner = self.condition(indices, depth - 1)
            return self.one(
                f"({inner}) and ({self.condition(indices, depth - 1)})",
                f"({inner}) or ({self.condition(indices, depth - 1)})",
                f"not ({inner})",
            )
        sign = self.one("<", "<=", "==", "!=", ">", ">=")
        text = f"{self.form(indices, 1)} {sign} {self.form(indices, 1)}"
        return self.one(text, f"{text} {self.one('<', '>=')} {self.form(indices, 0)}")

    def bound(self, indices, word):
        parts = [self.form(indices) for _ in range(self.one(1, 1, 2, 3))]
        parts.append(self.one("0", "-1") if word == "max" else self.one("3", "5"))
        return f"{word}({', '.join(parts)})"

    def value(self, indices, depth=3):
        r = self.random
        if not depth or r.random() < 0.15:
            return self.one(f"pad(x[{self.form(indices)}])", f"({self.form(indices)})", "0.5", "2")
        left, right = self.value(indices, depth - 1), self.value(indices, depth - 1)
        kind = r.randrange(8)
        if kind == 0:
            return f"({left} if {self.condition(indices)} else {right})"
        if kind in (1, 2):
            self.count += 1
            k = f"k{self.count}"
            low, high = self.bound(indices, "max"), self.bound(indices, "min")
            ranges = f"{k} in range({low}, {high})"
            inner = [*indices, k]
            if r.random() < 0.3:
                ranges += f", l{self.count} in range({k}, {self.one('4', f'({k} + 7) // 2')})"
                inner.append(f"l{self.count}")
            return f"sum[{ranges}]({self.value(inner, depth - 1)})"
        if kind == 3:
            return f"pad(x[{self.form(indices)}], {left})"
        return self.one(
            f"({left}) + {right}",
            f"({left}) - ({right})",
            f"({left})*({right})",
            f"-({left})",
            f"max({left}, {right})",
        )


def program(text):
    op = parse(text).body.block.first_op
    assert isinstance(op, ProgramOp)
    op.verify()
    return op


@pytest.mark.parametrize("seed", seeds(56, of=150))
def test_python_and_the_parser_agree(seed):
    text = Writer(seed).value(["i", "j"])
    source = f"x: f64[7]\ny[i in range(4), j in range(3)] = {text}\n"
    parsed = program(source)
    evaluator = TextEvaluator({"x": X})
    tree = ast.parse(text, mode="eval").body
    expected = [[evaluator.value(tree, {"i": i, "j": j}) for j in range(3)] for i in range(4)]
    (result,) = evaluate(parsed, {"x": X})
    np.testing.assert_allclose(result, expected, rtol=1e-12)

    printed = print_program(parsed)
    again = program(printed)
    assert print_program(again) == printed
    (result,) = evaluate(again, {"x": X})
    np.testing.assert_allclose(result, expected, rtol=1e-12)

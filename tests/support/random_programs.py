"""Random valid programs, as text, with arguments: what every stage is tested on.

    program = random_program(random.Random(seed))
    evaluate(parse(program.source), program.arguments)

A program is generated together with the points at which each expression is evaluated, so that
the range of every index expression is known exactly: constants are added until it starts at 0,
and the argument is made as large as it ends. Values stay moderate and derivatives smooth.
`tests.interpreter.source_reference` evaluates the text independently.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tests.interpreter.index_forms import Form, Scope, constant, linear
from tests.interpreter.range_text import Range, RangeText
from tests.interpreter.source_reference import finite_differences, reference

EVERYTHING = dict.fromkeys(("kinks", "pads", "reductions", "updates", "value_conditions"), True)
"""The options for all that the language has."""

__all__ = ["EVERYTHING", "Options", "Program", "finite_differences", "random_program", "reference"]

MAX_ELEMENTS = 64
"""Of an argument: derivatives are checked element by element."""


@dataclass(frozen=True)
class Options:
    """What may occur in a program."""

    definitions: int | None = None
    """How many; None: 1 to 3."""
    max_rank: int = 3
    depth: int = 3
    points: int = 600
    """Of a definition with its sums."""
    sums: bool = True
    conditions: bool = True
    divisions: bool = True
    """`//` and `%`, in indices and in conditions."""
    index_values: bool = True
    kinks: bool = False
    """abs, sign, relu, max and min, away from where they have no derivative."""
    value_conditions: bool = False
    """`a if b > 0 and i < 2 else c`, likewise."""
    reductions: bool = False
    """max, min and prod."""
    updates: bool = False
    """Of definitions and of arguments."""
    pads: bool = False
    empty: bool = True
    """Sizes may be 0."""
    declarations: Sequence[str] = ("concrete", "symbolic", "none")
    """Sizes are numbers, names (where a size occurs twice, the same name), or not declared."""
    inferred: bool = True
    """Ranges may be left out where the language infers them."""
    dtype: str = "f64"


@dataclass
class Program:
    source: str
    arguments: dict[str, np.ndarray]
    shapes: dict[str, tuple[int, ...]]
    """Of the definitions, in order."""


def random_program(rng: random.Random, **options: object) -> Program:
    """A program with the given `Options`, the same for the same state of `rng`."""
    return _Generator(rng, replace(Options(), **options)).program()


class _Generator:
    """Definitions are generated in order; sizes of arguments grow while they are read."""

    def __init__(self, rng: random.Random, options: Options):
        self.rng = rng
        self.options = options
        self.dtype = {"f32": np.float32, "f64": np.float64}[options.dtype]
        self.sizes: dict[str, list[int]] = {}
        """Arguments: the least sizes that the accesses allow."""
        self.defined: dict[str, tuple[int, ...]] = {}
        self.ranges: list[Range] = []
        self.reads = 0

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    # --- programs ---------------------------------------------------------------------------------

    def program(self) -> Program:
        if self.options.empty and self.chance(0.02):
            return self.empty_program()
        count = self.options.definitions or self.rng.choice([1, 1, 1, 2, 2, 3])
        lines: list[str] = []
        for n in range(count):
            lines.append(self.definition("fgh"[n % 3] * (1 + n // 3)))
            while self.options.updates and self.chance(0.4):
                lines.append(self.update())
        if self.options.updates and self.chance(0.5):
            self.sizes = {name: [max(n, 1) for n in size] for name, size in self.sizes.items()}
            updated = list(self.sizes)[:2]
            lines += [self.new_version(name, self.sizes[name], "0.5") for name in updated]
        self.sizes = {name: [max(n, 1) for n in size] for name, size in self.sizes.items()}
        values = np.random.default_rng(self.rng.getrandbits(32))
        arguments = {
            name: values.uniform(-1, 1, size).astype(self.dtype)
            for name, size in self.sizes.items()
        }
        o, text = self.options, RangeText(self.rng, {**self.sizes, **self.defined})
        declarations = text.declarations(self.sizes, o.declarations, o.dtype)
        heads = lambda m: text.head(self.ranges[int(m[1])], o.inferred)
        body = re.sub(r"@(\d+)@", heads, "\n".join(lines))
        source = "\n".join([*declarations, body]) + "\n"
        return Program(source, arguments, dict(self.defined))

    def empty_program(self) -> Program:
        """Sizes of 0 in arguments; everywhere else arguments have elements."""
        n, m = self.rng.choice([(0, 3), (2, 0), (0, 0)])
        declaration = self.rng.choice([f"x: {self.options.dtype}[{n}, M]\n", ""])
        lines = ("f[i, j] = sin(x[i, j]) * 2", "g = sum[i, j](x[i, j]**2)")
        count = self.options.definitions or 2
        shapes = dict([("f", (n, m)), ("g", ())][:count])
        source = declaration + "\n".join(lines[:count]) + "\n"
        return Program(source, {"x": np.zeros((n, m), self.dtype)}, shapes)

    def definition(self, name: str) -> str:
        rank = self.rng.choice([r for r in (0, 1, 1, 2, 2, 2, 3) if r <= self.options.max_rank])
        scope = Scope((), np.zeros((1, 0), np.int64))
        heads: list[str] = []
        for index in "ijkl"[:rank]:
            size = self.rng.randint(1, (6, 6, 4, 3)[rank])
            scope, head = self.fixed_range(scope, index, size, defines=(name, len(heads)))
            heads.append(head)
        self.reads = 0
        value = self.expression(scope, self.options.depth)
        if not self.reads:
            value = f"{value} * {self.read(scope)}"
        self.defined[name] = tuple(self.ranges[int(h.strip("@"))].size for h in heads)
        return f"{name}[{', '.join(heads)}] = {value}" if rank else f"{name} = {value}"

    def update(self) -> str:
        """A new version of a definition, which reads the version before in any order."""
        name = self.rng.choice(list(self.defined))
        factor = self.expression(Scope((), np.zeros((1, 0), np.int64)), self.options.depth - 1)
        return self.new_version(name, self.defined[name], factor)

    def new_version(self, name: str, shape: Sequence[int], factor: str) -> str:
        """Indices of an update stand alone in the tensor: elsewhere they would have to agree."""
        target = _access_by(name, "ijkl"[: len(shape)])
        places = [
            self.rng.choice([i, f"{n - 1} - {i}"]) for i, n in zip("ijkl", shape, strict=False)
        ]
        old = _access_by(name, places)
        forms = ("{t} {s} ({f}) * sin({o})", "{t} {s} {f}", "{t} /= 2 + sin({f})")
        if name in self.defined:  # an argument may not be declared: then = would define it
            forms += ("{t} = {o} * 0.5 + ({f}) * {t}",)
        form = self.rng.choice(forms)
        return form.format(t=target, s=self.rng.choice(["+=", "-=", "*="]), f=factor, o=old)

    def fixed_range(
        self, scope: Scope, name: str, size: int, defines: tuple[str, int] | None = None
    ) -> tuple[Scope, str]:
        """An index in `range(size)`; its text is settled at the end.

        Where the size is 0, accesses are in range as if it were not.
        """
        written = 0 if self.options.empty and self.chance(0.015) else size
        self.ranges.append(Range(name, written, defines=defines))
        zeros = np.zeros(scope.count, np.int64)
        return scope.extend(name, zeros, zeros + size), f"@{len(self.ranges) - 1}@"

    # --- expressions ------------------------------------------------------------------------------

    def expression(self, scope: Scope, depth: int) -> str:
        """An expression in parentheses where it needs them."""
        if depth <= 0 or not scope.count:
            return self.leaf(scope)
        o = self.options
        kinds: list[tuple[Callable[[Scope, int], str], float]] = [
            (self.binary, 4),
            (self.unary, 3),
            (self.sum, 3 * o.sums),
            (self.condition, 1.5 * (o.conditions and bool(scope.names))),
            (self.kink, 2 * o.kinks),
            (self.reduction, 2 * o.reductions),
            (self.value_condition, 2 * o.value_conditions),
            (lambda scope, _: self.leaf(scope), 0.7),
        ]
        makers, weights = zip(*kinds, strict=True)
        return self.rng.choices(makers, weights)[0](scope, depth - 1)

    def leaf(self, scope: Scope) -> str:
        if scope.names and self.options.index_values and self.chance(0.08):
            return f"({self.index_form(scope).text}) * 0.25"
        if self.chance(0.08):
            return self.rng.choice(["0.5", "2", "-1.5", "0.25"])
        return self.read(scope)

    def binary(self, scope: Scope, depth: int) -> str:
        forms = (
            "({a} + {b})",
            "({a} - {b})",
            "({a}) * ({b})",
            "({a}) * ({b})",
            "({a} - {a} * ({b}))",
        )
        rare = ("({a}) / (1 + ({b})**2)", "atan2({a}, 2 + ({b})**2)", "(2 + sin({a}))**tanh({b})")
        return self.fill(self.rng.choice(rare if self.chance(0.2) else forms), scope, depth)

    def fill(self, form: str, scope: Scope, depth: int) -> str:
        """`form` with expressions for the letters that it holds."""
        letters = [letter for letter in "ab" if "{" + letter in form]
        return form.format(**{letter: self.expression(scope, depth) for letter in letters})

    def unary(self, scope: Scope, depth: int) -> str:
        forms = (
            *("({a})**2", "({a})**2", "(-({a}))", "sin({a})", "cos({a})", "tanh({a})"),
            *("exp(sin({a}))", "exp(tanh({a}))", "log(1 + ({a})**2)", "sqrt(1 + ({a})**2)"),
            *("log10(2 + ({a})**2)", "log1p(({a})**2)", "expm1(sin({a}))", "tan(sin({a}))"),
            *("asin(0.5 * sin({a}))", "acos(0.5 * tanh({a}))", "atan({a})", "sinh(sin({a}))"),
            *("cosh(tanh({a}))", "erf({a})", "sigmoid({a})", "sin({a})**3", "({a})**0"),
            *("(2 + cos({a}))**-1", "(2 + cos({a}))**0.5", "(1 + ({a})**2)**-2"),
        )
        return self.fill(self.rng.choice(forms), scope, depth)

    def kink(self, scope: Scope, depth: int) -> str:
        """One side is always at least 0.5 away from the other."""
        forms = ("abs(sin({a}) {c})", "sign(sin({a}) {c}) * ({b})", "relu(sin({a}) {c})")
        forms += ("max(sin({a}), tanh({b}) {d})", "min(sin({a}), tanh({b}) {d})")
        c, d = self.rng.choice([("+ 1.5", "+ 2.5"), ("- 1.5", "- 2.5")])
        return self.fill(self.rng.choice(forms).replace("{c}", c).replace("{d}", d), scope, depth)

    def reduction(self, scope: Scope, depth: int) -> str:
        """A product with factors that may be 0, or an extremum of at least one term."""
        if self.chance(0.4):
            factor = self.rng.choice(["sin({})", "1 + 0.5 * tanh({})", "({}) * 0.5"])
            return self.reduced("prod", lambda text: factor.format(text), scope, depth)
        name = next(n for n in "pqrstuvw" if n not in scope.names)
        size = self.rng.choice([1, 2, 3, 4])
        if scope.count * size > self.options.points:
            return self.leaf(scope)
        empty, self.options = self.options, replace(self.options, empty=False)
        inner, head = self.fixed_range(scope, name, size)
        self.options = empty
        word = self.rng.choice(["max", "min"])
        return f"{word}[{head}]({self.expression(inner, depth)})"

    def value_condition(self, scope: Scope, depth: int) -> str:
        """A comparison that is at least 0.5 away from being equal, with one of indices or none.

        What stands behind `and`, and the first value, is read where the condition on indices holds.
        """
        sign, number = self.rng.choice([(">", "+ 1.5"), (">", "- 1.5"), ("<=", "+ 1.5")])
        compare = lambda place: f"sin({self.expression(place, depth - 1)}) {number} {sign} 0"
        if not scope.names or self.chance(0.4):
            test = self.rng.choice(["{}", "{}", "not {}", "-3 < {}"]).format(compare(scope))
            then, other = scope, scope
        else:
            text, mask = self.atom(scope)
            if self.chance(0.5):
                test, then, other = f"{text} and {compare(scope.where(mask))}", mask, None
            else:
                test, then, other = f"{text} or {compare(scope.where(~mask))}", None, ~mask
            then = scope if then is None else scope.where(then)
            other = scope if other is None else scope.where(other)
        return (
            f"(({self.expression(then, depth)}) if {test} else ({self.expression(other, depth)}))"
        )

    def sum(self, scope: Scope, depth: int) -> str:
        return self.reduced("sum", str, scope, depth)

    def reduced(self, word: str, term: Callable[[str], str], scope: Scope, depth: int) -> str:
        inner, heads = scope, []
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            name = next(n for n in "pqrstuvw" if n not in inner.names)
            new, head = self.sum_range(scope, inner, name)
            if new.count > self.options.points:
                break
            inner = new
            heads.append(head)
        if not heads:
            return self.leaf(scope)
        return f"{word}[{', '.join(heads)}]({term(self.expression(inner, depth))})"

    def sum_range(self, outer: Scope, inner: Scope, name: str) -> tuple[Scope, str]:
        """A range of `name`; its bounds depend on the indices of `outer`, which `inner` extends."""
        if not outer.names or self.chance(0.5):
            if self.chance(0.7):
                return self.fixed_range(inner, name, self.rng.choice([1, 2, 2, 3, 3, 4]))
            low = self.rng.randint(-2, 2)
            high = low + self.rng.randint(1, 3)
            first, end = (constant(n, inner.count) for n in (low, high))
            return self.explicit_range(inner, name, first, end)
        visible = Scope(outer.names, inner.points[:, : len(outer.names)])
        low, high = self.bound(visible, "max", 0), self.bound(visible, "min", 2)
        for _ in range(3):  # mostly not empty everywhere
            if np.any(low.values < high.values):
                break
            low, high = self.bound(visible, "max", 0), self.bound(visible, "min", 3)
        return self.explicit_range(inner, name, low, high)

    def explicit_range(self, scope: Scope, name: str, low: Form, high: Form) -> tuple[Scope, str]:
        self.ranges.append(Range(name, 0, hidden=True))
        first = "" if low.text == "0" else f"{low.text}, "
        return scope.extend(name, low.values, high.values), f"{name} in range({first}{high.text})"

    def bound(self, scope: Scope, choice: str, near: int) -> Form:
        """An affine form, a number, or the `choice` (max or min) of both."""
        number = constant(near + self.rng.randint(0, 2), scope.count)
        if self.chance(0.3):
            return number
        form = self.affine(scope, (1, 1, 1, -1, 2), 2).plus(self.rng.randint(-1, 2))
        if self.chance(0.4):
            return form
        function = {"max": np.maximum, "min": np.minimum}[choice]
        text = f"{choice}({number.text}, {form.text})"
        return Form(text, function(number.values, form.values))

    def condition(self, scope: Scope, depth: int) -> str:
        text, mask = self.atom(scope)
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2])):
            other, other_mask = self.atom(scope)
            if self.chance(0.5):
                text, mask = f"({text} and {other})", mask & other_mask
            else:
                text, mask = f"({text} or {other})", mask | other_mask
        then = self.expression(scope.where(mask), depth)
        other = "0" if self.chance(0.3) else self.expression(scope.where(~mask), depth)
        return f"(({then}) if {text} else ({other}))"

    def atom(self, scope: Scope) -> tuple[str, np.ndarray]:
        form = self.affine(scope, (1, 1, -1, 2, -3), 2)
        if self.options.divisions and self.chance(0.3):
            form = self.division(form)
        comparisons = {"==": np.equal, "!=": np.not_equal}
        value = int(self.rng.choice(form.values))
        if "%" not in form.text:  # a remainder is compared with one that it can be
            comparisons |= {"<": np.less, "<=": np.less_equal}
            comparisons |= {">": np.greater, ">=": np.greater_equal}
            value += self.rng.randint(-1, 1)
        sign = self.rng.choice(list(comparisons))
        return f"{form.text} {sign} {value}", comparisons[sign](form.values, value)

    # --- accesses ---------------------------------------------------------------------------------

    def read(self, scope: Scope) -> str:
        self.reads += 1
        if self.defined and self.chance(0.35) and (text := self.read_defined(scope)):
            return text
        for attempt in range(6):
            name, rank = self.argument()
            forms = self.subscript(scope, rank, simple=attempt > 3)
            if self.options.pads and rank and self.chance(0.15):
                return self.padded(name, scope, forms)
            forms = [f.plus(self.slack() - f.low) for f in forms] if scope.count else forms
            sizes = [max(n, f.high + 1) for n, f in zip(self.sizes[name], forms, strict=True)]
            if int(np.prod(sizes)) <= MAX_ELEMENTS:
                self.sizes[name] = sizes
                self.note(name, scope, forms)
                return _access(name, forms)
        return "1"

    def slack(self) -> int:
        """How many first elements no access touches."""
        return int(self.chance(0.06))

    def argument(self) -> tuple[str, int]:
        """An argument that exists, or a new one."""
        if len(self.sizes) < 5 and self.chance(0.5 if self.sizes else 1):
            name = "xyzab"[len(self.sizes)]
            self.sizes[name] = [0] * self.rng.choice([0, 1, 1, 2, 2, 3])
            return name, len(self.sizes[name])
        name = self.rng.choice(list(self.sizes))
        return name, len(self.sizes[name])

    def padded(self, name: str, scope: Scope, forms: list[Form]) -> str:
        """Positions are shifted so that some may lie outside."""
        forms = [f.plus(self.rng.randint(-2, 1)) for f in forms]
        self.sizes[name] = [max(n, 1) for n in self.sizes[name]]
        self.note(name, scope, forms, hidden=True)
        return f"pad({_access(name, forms)}{self.rng.choice(['', ', 0.5'])})"

    def read_defined(self, scope: Scope) -> str | None:
        """An access to an earlier definition, whose shape is given."""
        name = self.rng.choice(list(self.defined))
        shape = self.defined[name]
        for _ in range(8):
            forms = self.subscript(scope, len(shape))
            forms = [f if f.index else f.plus(-f.low) for f in forms]
            if all(f.low >= 0 and f.high < n for f, n in zip(forms, shape, strict=True)):
                self.note(name, scope, forms)
                return _access(name, forms)
        return None

    def note(self, name: str, scope: Scope, forms: list[Form], hidden: bool = False) -> None:
        """Remember where indices stand alone: their ranges may be inferred there."""
        for dimension, form in enumerate(forms):
            ranges = [r for r in self.ranges if r.name == form.index]
            if ranges:
                ranges[-1].alone.append((name, dimension))
                ranges[-1].hidden |= hidden or scope.conditional

    def subscript(self, scope: Scope, rank: int, simple: bool = False) -> list[Form]:
        if simple or not scope.names:
            return [constant(0, scope.count)] * rank
        names = self.rng.sample(scope.names, len(scope.names))
        if rank == 2 and len(names) > 1 and self.chance(0.12):  # coupled: a sheared lattice
            i, j = (scope.index(n) for n in names[:2])
            return [linear([(1, i), (a, j)], scope.count) for a in (1, -1)]
        if self.chance(0.15):  # a diagonal
            return [scope.index(names[0]) for _ in range(rank)]
        if self.chance(0.3):  # distinct indices
            return [scope.index(names[n % len(names)]) for n in range(rank)]
        return [self.index_form(scope) for _ in range(rank)]

    def index_form(self, scope: Scope) -> Form:
        kind = self.rng.random()
        if kind < 0.4:
            return scope.index(self.rng.choice(scope.names))
        if kind < 0.48:
            return constant(0, scope.count)
        form = self.affine(scope, (1, 1, 1, -1, -1, 2, 3, -2, 4), 3)
        if not (self.options.divisions and self.chance(0.15)):
            return form
        more = self.terms(scope, (1, -1, 2), 1) if self.chance(0.3) else []
        return linear([(1, self.division(form)), *more], scope.count)

    def affine(self, scope: Scope, coefficients: Sequence[int], most: int) -> Form:
        return linear(self.terms(scope, coefficients, most), scope.count)

    def terms(self, scope: Scope, coefficients: Sequence[int], most: int) -> list[tuple[int, Form]]:
        names = self.rng.sample(scope.names, min(len(scope.names), self.rng.randint(1, most)))
        return [(self.rng.choice(coefficients), scope.index(n)) for n in names]

    def division(self, form: Form) -> Form:
        divisor = self.rng.randint(2, 3)
        operator = self.rng.choice(["//", "%"])
        values = form.values // divisor if operator == "//" else form.values % divisor
        text = f"({form.text})" if not form.index else form.text
        return Form(f"({text} {operator} {divisor})", values)


def _access_by(name: str, indices: Sequence[str]) -> str:
    return f"{name}[{', '.join(indices)}]" if indices else name


def _access(name: str, forms: Sequence[Form]) -> str:
    return f"{name}[{', '.join(f.text for f in forms)}]" if forms else name

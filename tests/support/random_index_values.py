"""Random values and conditions over indices and elements of index tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.support.random_index_forms import (
    SIZES,
    Atom,
    IndexForms,
    Lin,
    Value,
    bracketed,
)

SMOOTH = ("sin({})", "exp(-({})**2)", "tanh({})", "({})**2", "1 / (2 + ({})**2)")


class IndexValues(IndexForms):
    """Random expressions, each in the language and in Python."""

    def condition(self, scope: Sequence[Atom], depth: int = 1, values: bool = True) -> Value:
        atoms = self.atoms(scope, 1)
        any_integers = [
            f"{n}[{', '.join(str(p) for p in at)}]"
            for n, t in self.indices.items()
            if t.end is None
            for at in [[self.position(atoms, s) for s in t.shape]]
            if all(at)
        ]
        kind = self.rng.random()
        if depth and kind < 0.3:
            word = self.rng.choice(["and", "and", "or"])
            left = self.condition(scope, depth - 1, values)
            right = self.condition(scope, depth - 1, values)
            joined = (f"({a}) {word} ({b})" for a, b in zip(left, right, strict=True))
            return Value(*joined)
        if depth and kind < 0.35:
            inner = self.condition(scope, depth - 1, values)
            return Value(f"not ({inner.text})", f"not ({inner.python})")
        if values and self.kinks and kind < 0.45:
            inner = self.leaf(scope)
            return Value(f"{inner.text} > 0.1", f"{inner.python} > 0.1")
        if not atoms and not any_integers:
            text = f"{self.rng.choice(SIZES)} {self.rng.choice(['>', '<='])} 2"
            return Value(text, text)
        pool = atoms + [Atom(t, Lin()) for t in any_integers] * 3
        if kind < 0.55:
            low = self.rng.choice([0, -1, 1])
            text = f"{low} <= {self.compared(pool)} < {low + self.rng.choice([1, 2, 3])}"
            return Value(text, text)
        if kind < 0.6:
            d = self.rng.choice([2, 3])
            text = f"({self.compared(pool)}) % {d} == {self.rng.randrange(d)}"
            return Value(text, text)
        op = self.rng.choice(["==", "==", "==", "==", "!=", "<", "<=", ">", ">="])
        text = f"{self.compared(pool)} {op} {self.compared(pool)}"
        return Value(text, text)

    def value(self, scope: Sequence[Atom], depth: int) -> Value:
        self.nodes += 1
        if depth == 0 or self.nodes > 9:
            return self.leaf(scope)
        kind = self.rng.random()
        if kind < 0.4 and len(scope) < 4:
            return self.reduction(scope, depth)
        if kind < 0.62:
            left, right = self.value(scope, depth - 1), self.value(scope, depth - 1)
            op = self.rng.choice(["+", "-", "*", "*"])
            return Value(*(f"({a} {op} {b})" for a, b in zip(left, right, strict=True)))
        if kind < 0.74:
            inner = self.value(scope, depth - 1)
            shape = self.rng.choice(
                ["sin({})", "exp(-({})**2)", "tanh({})", "({})**2", "1 / (2 + ({})**2)"]
            )
            return Value(shape.format(inner.text), shape.format(inner.python))
        if kind < 0.88:
            a, b = self.value(scope, depth - 1), self.value(scope, depth - 1)
            c = self.condition(scope)
            return Value(
                f"({a.text} if {c.text} else {b.text})",
                f"({a.python} if {c.python} else {b.python})",
            )
        return self.leaf(scope)

    def reduction(self, scope: Sequence[Atom], depth: int) -> Value:
        index = "klmnors"[self.names % 7]
        self.names += 1
        bound = self.size()
        text = f"range({bound})"
        kind = self.rng.random()
        if kind < 0.1:
            bound = Lin({}, self.rng.choice([1, 2, 3]))
            text = f"range({bound})"
        elif kind < 0.18:
            ends = self.atoms(scope, 1)
            if ends:
                atom = self.rng.choice(ends)
                text, bound = self.rng.choice(
                    [
                        (f"range({atom.text})", atom.end + -1),
                        (f"range({atom.text} + 1)", atom.end),
                        (f"range({atom.text}, {atom.end})", atom.end),
                    ]
                )
        inside = [*scope, Atom(index, bound)]
        condition: Value | None = None
        if self.chance(0.6):
            keys = [k for k in (self.key(n, index, bound, inside) for n in self.indices) if k]
            if keys and self.chance(0.7):
                other = self.compared(self.atoms(scope, 1) or [Atom("0", Lin({}, 1))])
                key = self.rng.choice(keys)
                both = f"{key} == {other}" if self.chance(0.5) else f"{other} == {key}"
                condition = Value(both, both)
                if self.chance(0.25):
                    more = self.condition(inside, 0)
                    condition = Value(f"{both} and ({more.text})", f"{both} and ({more.python})")
            else:
                condition = self.condition(inside)
        body = self.value(inside, depth - 1)
        word = self.rng.choice(["sum"] * 6 + (["max", "min", "prod"] if self.kinks else ["prod"]))
        between = f", {condition.text}" if condition else ""
        python = f"({body.python}) for {index} in {text}"
        if condition:
            python += f" if {condition.python}"
        found = f"{word}[{index} in {text}{between}]({body.text})"
        call = f"{word.upper() if word != 'sum' else 'sum'}({python})"
        if word == "max":
            return Value(f"max({found}, -9)", f"max({call}, -9)")
        if word == "min":
            return Value(f"min({found}, 9)", f"min({call}, 9)")
        return Value(found, call)

    def key(self, name: str, index: str, bound: Lin, atoms: Sequence[Atom]) -> str | None:
        """An element of an index tensor at a place that the index runs over."""
        shape = self.indices[name].shape
        at = [index if s == bound else self.position(atoms, s) for s in shape]
        return f"{name}[{', '.join(map(str, at))}]" if index in at and all(at) else None

    def leaf(self, scope: Sequence[Atom]) -> Value:
        atoms = self.atoms(scope)
        kind = self.rng.random()
        if kind < 0.08 and atoms:
            atom = self.rng.choice(atoms)
            return Value(f"0.1*{bracketed(atom.text)}", f"0.1*{bracketed(atom.text)}")
        if kind < 0.12:
            n = self.rng.choice(["0.5", "1.5", "-0.25"])
            return Value(n, n)
        if kind < 0.3 and self.defined:
            name = self.rng.choice(list(self.defined))
            shape = self.defined[name]
            at = [self.position(atoms, s) for s in shape]
            if all(at):
                text = f"{name}[{', '.join(map(str, at))}]" if at else name
                return Value(text, call_text("READ", name, map(str, at)))
        if kind < 0.42:
            return self.outside(atoms)
        forms = [self.form(atoms) for _ in range(self.rng.choice([1, 1, 1, 2]))]
        shape = tuple(f.end for f in forms)
        name = self.real(shape)
        at = [f.text for f in forms]
        return Value(f"{name}[{', '.join(at)}]", call_text("READ", name, at))

    def outside(self, atoms: Sequence[Atom]) -> Value:
        """A read that may be outside: a pad or the nearest element."""
        shape = (self.size() + self.rng.choice([0, 0, 1]),)
        at = self.compared(atoms) if atoms else str(self.rng.choice([0, 1, 2]))
        anything = [n for n, t in self.indices.items() if t.end is None]
        if anything and self.chance(0.5):
            t = self.indices[anything[0]]
            inner = [self.position(atoms, s) for s in t.shape]
            if all(inner):
                at = f"{anything[0]}[{', '.join(map(str, inner))}]"
        name = self.real(shape)
        if self.chance(0.3) and self.count(shape[0]):
            return Value(f"{name}[clamp({at})]", call_text("CLAMP", name, [at]))
        other = self.rng.choice([0, 0, 1.5])
        text = f"pad({name}[{at}], {other})" if other else f"pad({name}[{at}])"
        return Value(text, f"PAD(T, '{name}', {other}, {at})")


def call_text(what: str, name: str, at: Iterable[str]) -> str:
    return f"{what}(T, {', '.join([repr(name), *at])})"

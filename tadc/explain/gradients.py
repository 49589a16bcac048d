"""How a derivative comes about: for each read, its equations, their solution, guards and bounds.

Everything shown is what the passes say: the sums come from the program at the stages `derivative`
and `bounded`, the solution from `solve-index-kernels`. Equation numbers are those of
arXiv:1711.01348.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp
from xdsl.ir import BlockArgument, SSAValue

from dialects import tix
from dialects.tix import Affine, Constraint, FloorDivOp, Variable
from dialects.tix.affine import show
from dialects.tix.constraints import show_constraint
from passes.outline_reductions import OutlineReductionsPass
from passes.polyhedral.diophantine import Quotient, Solution
from passes.rewriting.programs import fresh_name
from passes.solve_index_kernels import System, form_of, free_columns, name_of
from tadc.errors import underlined
from tadc.function import Function
from tadc.support.ir_text import context

Place = tuple[int, int]
_Row: TypeAlias = tuple[frozenset[tuple[str, int]], int]
"""Coefficients by name, and the constant."""

HEAD = """\
A read x[A i + a] in f[i] adds to dx[p] the adjoint df[i] times the derivative of f[i] by this read,
summed over the points i of its index set with A i = b = p - a (arXiv:1711.01348, eq. 38)."""


def explain(function: Function, *wrt: str) -> str:
    """The derivative of `function` by these arguments (all by default), read by read, as text."""
    derivative = function.derivative(*wrt)
    forward = _program(_lifted(function))
    known = {d.label.data for d in forward.definitions}
    reads = {_place(op.location) for d in forward.definitions for op in d.walk() if _is_read(op)}
    begun, ended = (_program(function.module_at(stage, wrt)) for stage in ("derivative", "bounded"))
    after = {d.label.data: d for d in ended.definitions}
    lines = [HEAD, ""]
    for definition in begun.definitions:
        label = definition.label.data
        if label in known:
            continue
        names = _element_names(definition)
        sums = [op for op in _outermost(definition) if _place(op.location) in reads]
        lines += [f"{_element(label, names.values())}: {_count(len(sums))}", ""]
        for op in sums:
            partners = _alike(op, sums)
            bounded = _alike(op, list(_outermost(after[label]))) if label in after else []
            matched = bounded[partners.index(op)] if len(bounded) == len(partners) else None
            read = _Contribution(function, definition, names, op, matched)
            lines += [*read.text(), ""]
        lines += _printed(derivative, label)
    return "\n".join(lines).rstrip("\n")


def _lifted(function: Function) -> ModuleOp:
    """The program with names for the sums that adjoints need, as it is differentiated."""
    module = function.program.module.clone()
    OutlineReductionsPass().apply(context(), module)
    return module


def _program(module: ModuleOp) -> tix.ProgramOp:
    return next(op for op in module.ops if isinstance(op, tix.ProgramOp))


def _is_read(op: object) -> bool:
    return isinstance(op, tix.ReadOp)


def _place(location: LocationAttr) -> Place | None:
    if not isinstance(location, FileLineColLoc):
        return None
    return location.line.data, location.column.data


def _outermost(definition: tix.DefineOp) -> Iterator[tix.ReductionOp]:
    """The reductions of a definition that stand in no other one."""
    for op in definition.walk():
        if isinstance(op, tix.ReductionOp) and not _inside_another(op):
            yield op


def _inside_another(op: tix.ReductionOp) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, tix.ReductionOp):
        around = around.parent_op()
    return around is not None


def _alike(op: tix.ReductionOp, others: Sequence[tix.ReductionOp]) -> list[tix.ReductionOp]:
    """Those that come from the same read."""
    return [other for other in others if _place(other.location) == _place(op.location)]


def _count(reads: int) -> str:
    match reads:
        case 0:
            return "nothing that counts reads it, so it is 0"
        case 1:
            return "the contribution of one read"
        case _:
            return f"the sum of {reads} contributions, one for each read and piece of its set"


def _printed(derivative: Function, label: str) -> list[str]:
    """The line of the derivative program that came out, where the definition is still there."""
    lines = [n for n in str(derivative).split("\n") if n.startswith((f"{label}[", f"{label} ="))]
    return ["in the end", *(f"    {line}" for line in lines), ""] if lines else []


def _element_names(definition: tix.DefineOp) -> dict[Variable, str]:
    names: dict[Variable, str] = {}
    for index in definition.indices:
        names[index] = fresh_name(index.name_hint or "p", names.values())
    return names


def _element(label: str, names: Iterable[str]) -> str:
    inside = ", ".join(names)
    return f"{label}[{inside}]" if inside else label


# --- one read -------------------------------------------------------------------------------------


@dataclass
class _Contribution:
    """What one read, in one convex piece of its index set, adds to a gradient."""

    function: Function
    definition: tix.DefineOp
    names: dict[Variable, str]
    """Of the indices of the gradient."""
    op: tix.ReductionOp
    """At the stage `derivative`."""
    bounded: tix.ReductionOp | None
    """The same at the stage `bounded`."""

    def __post_init__(self) -> None:
        taken = list(self.names.values())
        self.labels: dict[Variable, str] = dict(self.names)
        for index in self.op.indices:
            name = index.name_hint or "q"
            while name in taken:
                name += "'"
            taken.append(name)
            self.labels[index] = name
        self.system = System.of(self.op.indices, self.op.constraints)
        self.taken = taken

    def name(self, key: Variable) -> str:
        if isinstance(key, str):
            return key
        if key in self.labels:
            return self.labels[key]
        if isinstance(key.owner, FloorDivOp):
            return f"({self.form(key.owner.form)}) // {key.owner.divisor.data}"
        return key.name_hint or "q"

    def form(self, form: Affine) -> str:
        return show(form, self.name).replace(" * ", "*")

    def constraint(self, constraint: Constraint) -> str:
        return show_constraint(constraint, self.name).replace(" * ", "*")

    def text(self) -> Iterator[str]:
        """The explanation, line by line."""
        text = self.function.program.text
        span = text.span_at(self.op.location)
        if span:
            yield f"  {span.excerpt}, line {span.line}"
            yield from (f"  {line}" for line in underlined(span))
        yield from self._equations()
        if not self.op.indices:
            yield from self._guards_of_one_point()
            return
        if not self.system.equations:
            yield "    no equation: every point of the set contributes"
            yield from self._bounds([self.labels[v] for v in self.op.indices], {}, [])
            return
        solution = self.system.solve()
        if solution.empty:
            yield "    no integers solve these equations for any element: nothing is added"
            return
        yield from self._solution(solution)

    # --- the equations ---

    def _equations(self) -> Iterator[str]:
        own = [self.labels[v] for v in self.op.indices]
        if not own:
            yield "    read once"
            return
        yield f"    read at the points ({', '.join(own)}) of the set"
        conditions = [c for c in self.op.constraints if c not in self._equalities()]
        yield from self._wrapped([self.constraint(c) for c in conditions])
        if not self.system.equations:
            return
        yield f"    those that read this element solve A ({', '.join(own)}) = b with A, b ="
        matrix = [[str(f[v]) for v in self.op.indices] for f in self.system.equations]
        right = [self.form(-(f - self._own_part(f))) for f in self.system.equations]
        widths = [max(len(row[n]) for row in matrix) for n in range(len(own))]
        for row, b in zip(matrix, right, strict=True):
            cells = " ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True))
            yield f"      [ {cells} ]   {b}"

    def _equalities(self) -> list[Constraint]:
        return [c for c in self.op.constraints if c not in self.system.rest]

    def _own_part(self, form: Affine) -> Affine:
        return Affine({v: form[v] for v in self.op.indices})

    def _wrapped(self, words: Sequence[str]) -> Iterator[str]:
        line = "     "
        for n, word in enumerate(words):
            word += "," if n + 1 < len(words) else ""
            if len(line) + len(word) > 96:
                yield line
                line = "     "
            line += f" {word}"
        if line.strip():
            yield line

    # --- their solution ---

    def _solution(self, solution: Solution) -> Iterator[str]:
        system = self.system
        quotients = self._quotient_names(len(solution.quotients))
        free = self._free_names(solution)
        indices = system.indices(
            solution,
            [Affine.of(q) for q in quotients],
            {c: Affine.of(name) for c, name in free.items()},
        )
        yield "    solved in integers, by the Smith normal form of A (eqs. 41-45)"
        for name, quotient in zip(quotients, solution.quotients, strict=True):
            row = form_of(quotient.row, system.parameters)
            yield f"      {name} = {self._factor(row)} / {quotient.modulus}"
        equal = [f"{self.labels[x]} = {self.form(f)}" for x, f in indices.items()]
        yield from self._wrapped([e for e in equal if e.split(" = ")[0] != e.split(" = ")[1]])
        yield from self._null_space(solution, list(free.values()))
        yield from self._guards(solution)
        cleared = dict(zip(quotients, solution.quotients, strict=True))
        sources: dict[_Row, str] = {}
        for c in system.rest:
            solved = self._cleared(c.substitute(indices), cleared)
            sources.setdefault(self._row(solved), self.constraint(c))
        zero = [Constraint(form_of(row, system.parameters), True) for row in solution.zero]
        yield from self._bounds(list(free.values()), sources, zero)

    def _factor(self, form: Affine) -> str:
        text = self.form(form)
        return f"({text})" if len(form.terms) + bool(form.constant) > 1 else text

    def _quotient_names(self, count: int) -> list[str]:
        names: list[str] = []
        for _ in range(count):
            names.append(fresh_name("t", [*self.taken, *names]))
        return names

    def _free_names(self, solution: Solution) -> dict[int, str]:
        names: dict[int, str] = {}
        for column in free_columns(solution):
            pivot = solution.pivots[column]
            same = name_of(solution, column, self.op.indices) != "z"
            wanted = self.labels[self.op.indices[pivot]] if same else "z"
            names[column] = fresh_name(wanted, names.values())
        return names

    def _null_space(self, solution: Solution, names: Sequence[str]) -> Iterator[str]:
        rank = len(self.op.indices) - len(names)
        if not names:
            yield f"      as many independent equations as unknowns, {rank}: one point, no sum"
            return
        vectors = [[row[c] for row in solution.basis] for c in free_columns(solution)]
        basis = " ".join(f"({', '.join(map(str, v))})" for v in vectors)
        unknowns = len(self.op.indices)
        yield f"      {unknowns} unknowns, rank {rank}: the null space of A, with the basis"
        yield f"      {basis}, is summed over: {', '.join(names)}"

    def _guards(self, solution: Solution) -> Iterator[str]:
        parameters = self.system.parameters
        for row in solution.zero:
            equation = Constraint(form_of(row, parameters), equality=True)
            yield f"    guard  {self.constraint(equation)}"
            yield "           a row past the rank of A: it holds no unknown (the cokernel, a delta)"
        for quotient in solution.quotients:
            row = self._factor(form_of(quotient.row, parameters))
            yield f"    guard  {row} % {quotient.modulus} == 0"
            yield f"           an elementary divisor is {quotient.modulus}: no integers otherwise"

    def _cleared(self, constraint: Constraint, quotients: Mapping[str, Quotient]) -> Constraint:
        """Without exact quotients: multiplied by their divisors."""
        for name, quotient in quotients.items():
            c = constraint.form[name]
            if c:
                row = form_of(quotient.row, self.system.parameters)
                rest = constraint.form - Affine({name: c})
                form = rest * quotient.modulus + row * c
                constraint = Constraint(form, constraint.equality)
        return constraint

    # --- bounds ---

    def _row(self, constraint: Constraint) -> _Row:
        """An inequality over names, in lowest terms; the constant is rounded."""
        form = constraint.form
        form = form // (gcd(*form.terms.values()) or 1)
        return frozenset((self.name(k), c) for k, c in form.terms.items()), form.constant

    def _bounds(
        self, free: Sequence[str], sources: Mapping[_Row, str], zero: Sequence[Constraint]
    ) -> Iterator[str]:
        """The bounds of every summation index, and where each comes from."""
        if self.bounded is not None:
            self._name_bounded(self.bounded)
        if self.bounded is None or {self.labels[v] for v in self.bounded.indices} != set(free):
            yield "    bounds and guards: in the last line; further equations were found and solved"
            return
        for guard in self._conditions_around(self.bounded):
            if not self._is_exactness(guard) and not self._is_known(guard, zero):
                yield f"    guard  {self.constraint(guard)}{self._reason(guard, sources)}"
        for n, index in enumerate(self.bounded.indices):
            rows = [c for c in self.bounded.constraints if _last(c, self.bounded.indices) == n]
            yield f"    sum over {self.labels[index]}, bounded by (Fourier-Motzkin, eq. 45)"
            for c in rows:
                yield f"      {self.constraint(c)}{self._reason(c, sources)}"

    def _guards_of_one_point(self) -> Iterator[str]:
        for c in self.op.constraints:
            yield f"    guard  {self.constraint(c)}"

    def _is_exactness(self, guard: Constraint) -> bool:
        """Does it say that a quotient is exact?"""
        return guard.equality and any(isinstance(v.owner, FloorDivOp) for v in guard.form.indices)

    def _is_known(self, guard: Constraint, known: Sequence[Constraint]) -> bool:
        row, negated = self._row(guard), self._row(Constraint(-guard.form, True))
        return guard.equality and any(self._row(c) in (row, negated) for c in known)

    def _reason(self, constraint: Constraint, sources: Mapping[_Row, str]) -> str:
        source = sources.get(self._row(constraint))
        if source is None:
            return "" if not sources else "   follows from several of the set"
        return "" if source == self.constraint(constraint) else f"   from {source}"

    def _name_bounded(self, op: tix.ReductionOp) -> None:
        """Indices at the stage `bounded` get the names of those that they are."""
        definition = op.parent_op()
        while not isinstance(definition, tix.DefineOp):
            assert definition is not None
            definition = definition.parent_op()
        new = dict(zip(definition.indices, self.definition.indices, strict=True))
        self.labels |= {index: self.labels[old] for index, old in new.items()}
        hints = {v.name_hint: self.labels[v] for v in self.op.indices}
        used: list[str] = list(self.names.values())
        for index in op.indices:
            name = fresh_name(hints.get(index.name_hint) or index.name_hint or "z", used)
            used.append(name)
            self.labels[index] = name

    def _conditions_around(self, op: tix.ReductionOp) -> list[Constraint]:
        around, block = op.parent_op(), op.parent
        found: list[Constraint] = []
        while isinstance(around, tix.IfOp):
            if block is around.then.block and len(around.condition) == 1:
                found = [*around.condition[0], *found]
            around, block = around.parent_op(), around.parent
        return found


def _last(constraint: Constraint, own: Sequence[SSAValue | BlockArgument]) -> int:
    return max((n for n, v in enumerate(own) if constraint.form[v]), default=-1)

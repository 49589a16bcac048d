"""Random index systems: the loops that the compiler makes of them against brute force and isl.

    python -m tests.passes.polyhedral.random_systems --count 10000 --seed 0

A system is a sum over up to six own indices: equations with small and large coefficients, boxes,
further inequalities, bounds in outer indices and sizes, and divisions, both of outer indices and of
own ones. It goes through the passes that every derivative goes through, as text of the IR whose
body reads the element with the own indices as its position. Walking through the loops has to meet
every point of the set exactly once, for every element and several values of the sizes.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any
from unittest.mock import patch

import islpy as isl
import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Constraint
from tadc.passes.derive.infer_ranges import InferRangesPass
from tadc.passes.derive.solve_index_kernels import SolveIndexKernelsPass
from tadc.passes.index_sets.disjuncts import negate
from tadc.passes.index_sets.sets import quotient_constraints
from tadc.passes.simplify.simplify_sums import SimplifySumsPass
from tadc.support.ir_text import context, parse_module
from tests.support.loop_walk import walk

PASSES = (SolveIndexKernelsPass(), InferRangesPass(), SimplifySumsPass())
Form = Mapping[str, int]
"""Coefficients by name, that of the constant with the name 1."""
Point = tuple[int, ...]


@dataclass(frozen=True)
class Quotient:
    """`name = form // divisor`."""

    name: str
    form: Form
    divisor: int


@dataclass
class System:
    """Points are the values of `own` and of `inner`, the quotients of own indices."""

    sizes: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """The values to try of each size."""
    outer: dict[str, Form] = field(default_factory=dict[str, Form])
    """The size of each outer index."""
    outer_quotients: list[Quotient] = field(default_factory=list[Quotient])
    own: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """The least and the greatest value of each own index."""
    inner: list[Quotient] = field(default_factory=list[Quotient])
    inequalities: list[Form] = field(default_factory=list[Form])
    equations: list[Form] = field(default_factory=list[Form])

    @property
    def unknowns(self) -> list[str]:
        return [q.name for q in self.inner] + [*self.own]

    def constraints(self) -> list[tuple[Form, bool]]:
        """Forms that are zero (True) or not negative (False), boxes and divisions included."""
        boxes = [f for v, (a, b) in self.own.items() for f in ({v: 1, "1": -a}, {v: -1, "1": b})]
        divisions = [f for q in self.inner for f in _division(q)]
        equal = [(form, True) for form in self.equations]
        return equal + [(form, False) for form in (*boxes, *self.inequalities, *divisions)]

    def text(self) -> str:
        """The program `result[outer] = sum over the set of tensor[unknowns]`."""
        tensor = ", ".join(["9"] * len(self.unknowns))
        element = ", ".join(_text(size) for size in self.outer.values())
        outer, own = (", ".join(f"%{v}" for v in names) for names in (self.outer, self.unknowns))
        limits = ", ".join(
            f"{_text(form)} {'==' if zero else '>='} 0" for form, zero in self.constraints()
        )
        lines = [
            f'tix.program @s (%tensor = "tensor" : !tix.tensor<[{tensor}], f64>,',
            f'    %sizes = "sizes" : !tix.tensor<[{", ".join(self.sizes)}], f64>) {{',
            f'  %result = tix.define "result" ({outer}) : !tix.tensor<[{element}], f64> {{',
            *(
                f"    %{q.name} = tix.floordiv ({_text(q.form)}) by {q.divisor}"
                for q in self.outer_quotients
            ),
            f"    %total = tix.sum ({own}) in ({limits}) {{",
            f"      %element = tix.read %tensor[{own}]",
            "      tix.yield %element",
            "    }",
            "    tix.yield %total",
            "  }",
            "  tix.return %result",
            "}",
        ]
        return "\n".join(lines)

    def values(self) -> Iterator[dict[str, int]]:
        for sizes in product(*self.sizes.values()):
            yield dict(zip(self.sizes, sizes, strict=True))

    def elements(self, sizes: Mapping[str, int]) -> Iterator[Point]:
        yield from product(*(range(_value(size, sizes)) for size in self.outer.values()))

    def known(self, sizes: Mapping[str, int], element: Point) -> dict[str, int]:
        """The value of everything but the unknowns."""
        known = {**sizes, **dict(zip(self.outer, element, strict=True)), "1": 1}
        for q in self.outer_quotients:
            known[q.name] = _value(q.form, known) // q.divisor
        return known


def _division(q: Quotient) -> list[Form]:
    """`0 <= form - divisor * name < divisor`."""
    rest = {**q.form, q.name: -q.divisor}
    negated = {k: -c for k, c in rest.items()}
    return [rest, {**negated, "1": negated.get("1", 0) + q.divisor - 1}]


def _value(form: Form, values: Mapping[str, int]) -> int:
    return sum(c * (1 if k == "1" else values[k]) for k, c in form.items())


def _text(form: Form) -> str:
    parts = [
        str(c) if k == "1" else f"{c} * {k if k.isupper() else '%' + k}" for k, c in form.items()
    ]
    return " + ".join(parts).replace("+ -", "- ") or "0"


# --- generation -----------------------------------------------------------------------------------


def random_system(rng: random.Random, most: int = 6) -> System:
    """A system of up to `most` own indices, the same for the same state of `rng`."""
    s = System()
    for name in "NM"[: rng.choice([0, 0, 1, 1, 2])]:
        s.sizes[name] = rng.sample(range(6), 2)
    for name in "pqr"[: rng.choice([0, 1, 1, 1, 2, 2, 3])]:
        s.outer[name] = _outer_size(rng, s)
    if s.outer and rng.random() < 0.25:
        divisor = rng.choice([2, 2, 3, 4, 5])
        form = _form(rng, [*s.outer, *s.sizes], 1, 3)
        s.outer_quotients.append(Quotient("t", {**form, "1": rng.randint(-3, 3)}, divisor))
    count = rng.choice([n for n in (1, 2, 2, 3, 3, 4, 4, 5, 6) if n <= most])
    reach = {1: 9, 2: 6, 3: 4, 4: 3, 5: 2, 6: 2}[count]
    for name in "ijklmn"[:count]:
        low = rng.choice([0, 0, 0, rng.randint(-4, 4)])
        s.own[name] = low, low + rng.randint(0, reach)
    if rng.random() < 0.25:
        form = _form(rng, [*s.own, *rng.sample(sorted(s.outer), min(1, len(s.outer)))], 1, 3)
        s.inner.append(Quotient("u", {**form, "1": rng.randint(-3, 3)}, rng.choice([2, 2, 3, 5])))
    around = _somewhere(rng, s)
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        s.inequalities.append(_inequality(rng, s, around))
    for _ in range(rng.choice([0, 1, 1, 1, 2, 2, 3, 4])):
        s.equations.append(_equation(rng, s, around))
    return s


def _outer_size(rng: random.Random, s: System) -> Form:
    if s.sizes and rng.random() < 0.4:
        return {rng.choice(list(s.sizes)): 1} | ({"1": 1} if rng.random() < 0.3 else {})
    return {"1": rng.randint(1, 6)}


def _form(rng: random.Random, names: Sequence[str], least: int, most: int, big: int = 3) -> Form:
    """Between `least` and `most` of the names, with coefficients that are not zero."""
    chosen = rng.sample(names, min(len(names), rng.randint(least, most)))
    return {v: rng.choice([-1, 1]) * rng.choice([1, 1, rng.randint(1, big)]) for v in chosen}


def _somewhere(rng: random.Random, s: System) -> dict[str, int]:
    """Values of everything, such that what is generated for them has a point."""
    sizes = {name: rng.choice(values) for name, values in s.sizes.items()}
    element = tuple(rng.randrange(max(1, _value(size, sizes))) for size in s.outer.values())
    values = s.known(sizes, element)
    values |= {v: rng.randint(a, b) for v, (a, b) in s.own.items()}
    return values | {q.name: _value(q.form, values) // q.divisor for q in s.inner}


def _inequality(rng: random.Random, s: System, around: Mapping[str, int]) -> Form:
    """LoopNest like those of a sum, `v <= w + c`, and arbitrary ones."""
    others = [*s.outer, *s.sizes, *(q.name for q in s.outer_quotients)]
    if rng.random() < 0.6:
        v = rng.choice(s.unknowns)
        form = {v: rng.choice([-1, 1]), **_form(rng, [*others, *s.own], 0, 1, 2)}
    else:
        form = {**_form(rng, s.unknowns, 1, 3), **_form(rng, others, 0, 2)}
    return {**form, "1": rng.randint(0, 3) - _value(form, around)}


def _equation(rng: random.Random, s: System, around: Mapping[str, int]) -> Form:
    others = [*s.outer, *s.sizes, *(q.name for q in s.outer_quotients)]
    big = rng.choice([1, 2, 3, 3, 6, 12])
    form = {**_form(rng, s.unknowns, 1, 4, big), **_form(rng, others, 0, 2, rng.choice([1, 1, 4]))}
    if rng.random() < 0.08:
        large = rng.choice([10**6, 2**40, 10**12 + 39])
        form = {k: c * rng.choice([1, large, large + rng.randint(-2, 2)]) for k, c in form.items()}
    elif rng.random() < 0.15:
        common = rng.randint(2, 4)
        form = {k: c * common if k in s.unknowns else c for k, c in form.items()}
    return {**form, "1": -_value(form, around) + (rng.random() < 0.1)}


# --- oracles --------------------------------------------------------------------------------------


def brute_force(s: System, sizes: Mapping[str, int]) -> dict[Point, list[Point]]:
    """The points for each element, by trying every point of the boxes."""
    grid = np.array(list(product(*(range(a, b + 1) for a, b in s.own.values()))), dtype=object)
    found: dict[Point, list[Point]] = {}
    for element in s.elements(sizes):
        values: dict[str, Any] = {**s.known(sizes, element)}
        values |= {v: grid[:, n] for n, v in enumerate(s.own)}
        for q in s.inner:
            values[q.name] = sum(c * values[k] for k, c in q.form.items()) // q.divisor
        keep = np.ones(len(grid), bool)
        for form, zero in s.constraints():
            total = sum(c * values[k] for k, c in form.items())
            keep &= np.asarray(total == 0 if zero else total >= 0, bool)
        columns = [np.broadcast_to(np.asarray(values[v]), len(grid))[keep] for v in s.unknowns]
        found[element] = sorted(zip(*(c.tolist() for c in columns), strict=True))
    return found


def isl_points(s: System, sizes: Mapping[str, int]) -> dict[Point, list[Point]]:
    """The points for each element, by isl."""
    names = [*s.outer, *s.unknowns]
    exists = [q.name for q in s.outer_quotients]
    conditions = [f"0 <= {p} < {_isl(size, sizes)}" for p, size in s.outer.items()]
    conditions += [f"{_isl(f, sizes)} >= 0" for q in s.outer_quotients for f in _division(q)]
    conditions += [f"{_isl(f, sizes)} {'=' if zero else '>='} 0" for f, zero in s.constraints()]
    inside = " and ".join(conditions)
    inside = f"exists {', '.join(exists)} : {inside}" if exists else inside
    found: dict[Point, list[Point]] = {element: [] for element in s.elements(sizes)}

    def visit(point: isl.Point) -> None:
        values = [
            point.get_coordinate_val(isl.dim_type.set, n).to_python() for n in range(len(names))
        ]
        found[tuple(values[: len(s.outer)])].append(tuple(values[len(s.outer) :]))

    isl.Set(f"{{ [{', '.join(names)}] : {inside} }}").foreach_point(visit)
    return {element: sorted(points) for element, points in found.items()}


def _isl(form: Form, sizes: Mapping[str, int]) -> str:
    parts = [f"{c * sizes.get(k, 1)}" + ("" if k in sizes or k == "1" else f"*{k}")
             for k, c in form.items()]  # fmt: skip
    return " + ".join(parts) or "0"


def implied_bounds(definition: tix.DefineOp, sizes: Sequence[str]) -> list[Constraint]:
    """Guards and bounds that all other constraints known where they stand imply, by isl.

    A guard against the other guards and the sum; a bound of an index against the guards, the bounds
    of the indices around it and its own other bounds.
    """
    known = [*definition.constraints, *(Constraint(Affine.of(size)) for size in sizes)]
    guards: list[Constraint] = []
    sums: list[tix.SumOp] = []
    for op in definition.body.walk():
        match op:
            case tix.FloorDivOp():
                known += quotient_constraints(op)
            case tix.IfOp():
                guards += (c for piece in op.condition for c in piece)
            case tix.SumOp():
                sums.append(op)
            case _:
                pass
    found: list[Constraint] = []
    for op in sums:
        levels = [max(n for n, v in enumerate(op.indices) if c.form[v]) for c in op.constraints]
        bounds = list(zip(op.constraints, levels, strict=True))
        for guard in guards:
            others = [*(c for c in guards if c is not guard), *op.constraints]
            found += [guard] if _implied([*known, *others], guard) else []
        for bound, level in bounds:
            others = [c for c, other in bounds if c is not bound and other <= level]
            found += [bound] if _implied([*known, *guards, *others], bound) else []
    return found


def _implied(known: Sequence[Constraint], constraint: Constraint) -> bool:
    """True if no integers meet `known` and break the constraint."""
    names: dict[object, str] = {}

    def text(c: Constraint) -> str:
        terms = ((names.setdefault(k, f"v{len(names)}"), x) for k, x in c.form.terms.items())
        form = " + ".join([*(f"{x}*{name}" for name, x in terms), str(c.form.constant)])
        return f"{form} {'=' if c.equality else '>='} 0"

    for broken in negate(constraint):
        conditions = " and ".join(map(text, [*known, broken]))
        if not isl.Set(f"{{ [{', '.join(names.values())}] : {conditions} }}").is_empty():
            return False
    return True


# --- check ----------------------------------------------------------------------------------------


def derived(text: str, passes: Sequence[ModulePass] = PASSES) -> ModuleOp:
    """The module after the passes that solve, bound and simplify, with numbers of any length."""
    module = parse_module(text)
    module.verify()
    with patch("tadc.passes.index_sets.space.MOST_BITS_OF_A_NUMBER", 10_000):
        for step in passes:
            step.apply(context(), module)
            module.verify()
    return module


def definition_of(module: ModuleOp) -> tix.DefineOp:
    program = module.body.block.first_op
    assert isinstance(program, tix.ProgramOp)
    (definition,) = program.definitions
    return definition


@dataclass
class Count:
    """Counts of a walk through the loops of a system."""

    points: int = 0
    outermost_empty: int = 0
    inner_empty: int = 0
    implied_bounds: int = 0

    def add(self, other: Count) -> None:
        self.points += other.points
        self.outermost_empty += other.outermost_empty
        self.inner_empty += other.inner_empty
        self.implied_bounds += other.implied_bounds


def check(s: System) -> Count:
    """Every point exactly once, for all values of the sizes; raises AssertionError otherwise."""
    definition = definition_of(derived(s.text()))
    count = Count(implied_bounds=len(implied_bounds(definition, [*s.sizes])))
    for sizes in s.values():
        expected = brute_force(s, sizes)
        assert isl_points(s, sizes) == expected, "isl and brute force disagree"
        visited = walk(definition, sizes)
        assert visited.keys() == expected.keys()
        for element, visits in visited.items():
            assert sorted(visits.elements) == expected[element], f"{sizes} {element}"
            count.add(Count(len(visits.elements), visits.outermost_empty, visits.empty))
    return count


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--show", action="store_true", help="print the system of the first seed")
    options = parser.parse_args(arguments)
    if options.show:
        text = random_system(random.Random(options.seed)).text()
        print(text, derived(text), sep="\n\n")
    seeds = range(options.seed, options.seed + options.count)
    failures, total, seen = 0, Count(), Counter[str]()
    start = time.time()
    for done, seed in enumerate(seeds, 1):
        try:
            count = check(random_system(random.Random(seed)))
        except Exception as error:
            failures += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
            continue
        total.add(count)
        seen["with a bound that others imply"] += bool(count.implied_bounds)
        seen["with points"] += bool(count.points)
        seen["with an empty inner range"] += bool(count.inner_empty)
        seen["with an empty outermost range"] += bool(count.outermost_empty)
        if done % 500 == 0 or done == options.count:
            print(f"{done} systems, {time.time() - start:.0f} s, {failures} failures", flush=True)
    print(f"{total}; systems {dict(seen)}; {failures} failures of {options.count}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())

"""What `tadc derive --explain` says is so: its text is evaluated, point by point."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

import tadc
from tadc.errors import ArgumentError, UnknownNameError
from tadc.explain.gradients import explain
from tadc.passes.derive.differentiate import DifferentiatePass
from tests.support.random_programs import random_program

REACH = range(-9, 13)


@dataclass
class Block:
    """One contribution, as the text has it."""

    gradient: str
    element: list[str]
    points: list[str]
    conditions: list[str] = field(default_factory=list)
    matrix: list[list[int]] = field(default_factory=list)
    right: list[str] = field(default_factory=list)
    quotients: dict[str, tuple[str, int]] = field(default_factory=dict)
    solution: dict[str, str] = field(default_factory=dict)
    guards: list[str] = field(default_factory=list)
    free: list[str] = field(default_factory=list)
    bounds: list[str] = field(default_factory=list)
    nothing: bool = False
    complete: bool = True


def blocks(text: str) -> Iterator[Block]:
    """The contributions; primes become underscores, for Python."""
    gradient, element, block, part = "", [], None, ""
    for line in text.replace("'", "_").split("\n")[3:]:
        if found := re.match(r"(\w+)(?:\[(.*)\])?: ", line):
            gradient, element = found[1], found[2].split(", ") if found[2] else []
        elif line == "    read once":
            block = Block(gradient, element, [])
        elif found := re.match(r"    read at the points \((.*)\) of the set", line):
            block, part = Block(gradient, element, found[1].split(", ")), "set"
        elif block and not line:
            yield block
            block = None
        elif block:
            part = read_line(block, part, line.split("   from ")[0].split("   follows ")[0])


def read_line(block: Block, part: str, line: str) -> str:
    words = line.strip()
    if not line.startswith("      "):
        if words.startswith("guard"):
            block.guards.append(words.removeprefix("guard  "))
        block.nothing |= words.startswith("no integers solve")
        block.complete &= not words.startswith("bounds and guards")
        if found := re.match(r"sum over (\w+), bounded", words):
            block.free.append(found[1])
        parts = {"those": "equations", "no eq": "set", "solve": "solution", "sum o": "bounds"}
        return parts.get(words[:5], "")
    match part:
        case "set":
            block.conditions += words.rstrip(",").split(", ")
        case "equations":
            found = re.match(r"\[ (.*) \]   (.*)", words)
            assert found, line
            block.matrix.append([int(n) for n in found[1].split()])
            block.right.append(found[2])
        case "solution" if " = " in words:
            for equation in words.rstrip(",").split(", "):
                name, value = equation.split(" = ")
                if found := re.fullmatch(r"(.*) / (\d+)", value):
                    block.quotients[name] = found[1], int(found[2])
                else:
                    block.solution[name] = value
        case "bounds":
            block.bounds.append(words)
    return part


def expected(block: Block, element: Mapping[str, int]) -> list[tuple[int, ...]]:
    """By the equations, tried at every point."""
    right = [eval(b, dict(element)) for b in block.right]
    found = []
    for point in itertools.product(REACH, repeat=len(block.points)):
        if all(
            sum(c * x for c, x in zip(row, point, strict=True)) == b
            for row, b in zip(block.matrix, right, strict=True)
        ):
            scope = dict(element) | dict(zip(block.points, point, strict=True))
            if all(eval(c, scope) for c in block.conditions):
                found.append(point)
    return found


def claimed(block: Block, element: Mapping[str, int]) -> list[tuple[int, ...]]:
    """By the solution, the guards and the bounds."""
    if block.nothing or not all(eval(g, dict(element)) for g in block.guards):
        return []
    exact = {}
    for name, (row, divisor) in block.quotients.items():
        exact[name], rest = divmod(eval(row, dict(element)), divisor)
        assert rest == 0, "no guard says that this is a quotient"
    found = []
    for values in itertools.product(REACH, repeat=len(block.free)):
        scope = dict(element) | exact | dict(zip(block.free, values, strict=True))
        if all(eval(b, scope) for b in block.bounds):
            scope |= {name: eval(value, dict(scope)) for name, value in block.solution.items()}
            found.append(tuple(scope[name] for name in block.points))
    return found


def check(source: str) -> tuple[int, int]:
    """How many contributions were compared, and how many there are."""
    function = tadc.compile(source)
    shapes = {f"d{t.name}": t.shape for t in function.args}
    compared = count = 0
    for block in blocks(explain(function)):
        count += 1
        if not block.complete or not 0 < len(block.points) <= 3 or block.gradient not in shapes:
            continue
        compared += 1
        for position in itertools.product(*map(range, shapes[block.gradient])):
            element = dict(zip(block.element, position, strict=True))
            points = claimed(block, element)
            assert len(set(points)) == len(points), "a point is summed twice"
            assert sorted(points) == expected(block, element), (block, element)
    return compared, count


PROGRAMS = {
    "section 6": """a: f64[3, 5]
b: f64[4, 5]
c: f64[3, 3]
d: f64[8]
f[i, j] = exp(-sum[k]((a[i, k] + b[j, k])**2 * c[i, i] + d[i + k]**3))""",
    "coupled": "x: f64[20]\ny[i in range(4), j in range(3)] = x[2*i + 4*j]",
    "sheared": "x: f64[9, 9]\ny[i in range(4), j in range(4)] = x[i + j, i - j + 3]",
    "diagonal": "x: f64[4, 4]\ny[i] = x[i, i]",
    "strided": "x: f64[9]\nw: f64[3]\ny[i] = sum[k](w[k] * x[2*i + k])",
    "conditions": "x: f64[9]\ny[i in range(4), j in range(3)] = x[2*i] if i < j else 2*x[i + j]",
    "delta": "x: f64[5]\ny[i in range(5)] = sum[k](x[k] if k == i or k == 0 else 0)",
    "pad": "x: f64[5]\ny[i in range(5)] = pad(x[i - 1]) + x[i]",
    "quotient": "x: f64[4]\ny[i in range(8)] = x[i // 2] * x[i % 3]",
    "scalar": "x: f64[4]\ns: f64[]\ny[i] = x[i] * s",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_known_programs_are_explained_as_they_are(name: str):
    compared, count = check(PROGRAMS[name])
    assert compared == count > 0


def test_random_programs_are_explained_as_they_are():
    total = [0, 0]
    for seed in range(30):
        options = {"declarations": ("concrete",), "definitions": 1, "depth": 2, "max_rank": 2}
        source = random_program(random.Random(seed), **options, empty=False).source
        for n, found in enumerate(check(source)):
            total[n] += found
    assert total[0] > total[1] // 2 > 20


def test_the_text_shows_each_step():
    text = explain(tadc.compile(PROGRAMS["section 6"], file="paper.tad"), "d")
    assert "dd[p]: the contribution of one read" in text
    assert "  d[i + k], line 5\n      f[i, j] = exp(" in text
    assert "      [ 1 0 1 ]   p\n" in text
    assert "      i = p - k\n" in text
    assert "      (0, 1, 0) (-1, 0, 1), is summed over: j, k\n" in text
    assert "      k + 2 >= p   from i <= 2\n" in text
    assert text.endswith(
        "dd[p] = "
        + str(tadc.compile(PROGRAMS["section 6"]).derivative("d"))
        .split("dd[p] = ")[1]
        .split("\n")[0]
    )


@pytest.mark.parametrize(
    "name, line",
    [
        ("coupled", "    guard  p % 2 == 0\n           an elementary divisor is 2"),
        ("diagonal", "    guard  i == p\n           a row past the rank of A"),
        ("diagonal", "as many independent equations as unknowns, 1: one point, no sum"),
        ("scalar", "    no equation: every point of the set contributes"),
        ("conditions", "the sum of 2 contributions"),
        ("pad", "    guard  i <= 3   from"),
    ],
)
def test_guards_and_bounds_have_reasons(name: str, line: str):
    assert line in explain(tadc.compile(PROGRAMS[name]))


def test_one_element_is_read_once():
    text = explain(tadc.compile("x: f64[1, 2]\ny = sin(x[0, 1])"))
    assert "    read once\n    guard  p == 0\n    guard  q == 1\n" in text


def test_what_nothing_reads_is_zero():
    text = explain(tadc.compile("x: f64[3]\nz: f64[4]\ny[i] = x[i]"), "z")
    assert "dz[p]: nothing that counts reads it, so it is 0" in text


STENCIL = "x: f64[N]\ny[i in range(N - 2)] = x[i] * x[i + 1] + w * x[i + 2]"


def test_one_read_is_explained_alone():
    text = explain(tadc.compile(STENCIL), read="x[i+1]")
    assert re.search(r"^dx\[\w\]: 1 of 3 contributions$", text, re.MULTILINE)
    assert text.count(", line 2\n") == 1 and "  x[i + 1], line 2\n" in text
    assert "\nin the end\n    dx[" in text and "dw" not in text


def test_reads_of_one_tensor_are_explained_alone():
    f = tadc.compile(STENCIL)
    assert "dw: the contribution of one read" in explain(f, read="w")
    assert "\n    dx[" not in explain(f, read="w")
    assert explain(f, read="x") == explain(f, "x")


def test_a_read_that_is_not_there_is_an_error():
    f = tadc.compile(STENCIL)
    with pytest.raises(UnknownNameError, match="no contribution of a read 'x\\[i - 1\\]'"):
        explain(f, read="x[i - 1]")
    with pytest.raises(UnknownNameError, match=r"there are x\[i\], x\[i \+ 1\], x\[i \+ 2\]"):
        explain(f, "x", read="zzz")
    with pytest.raises(UnknownNameError, match="there is no argument 'q'"):
        explain(f, "q")
    with pytest.raises(ArgumentError, match="no argument to derive"):
        explain(tadc.compile("y = 2"))


def test_the_passes_run_once(monkeypatch: pytest.MonkeyPatch):
    runs: list[object] = []
    monkeypatch.setattr(DifferentiatePass, "apply", count(runs, DifferentiatePass.apply))
    explain(tadc.compile(STENCIL))
    assert len(runs) == 1


def count(runs: list[object], method):
    return lambda self, *arguments: runs.append(self) or method(self, *arguments)

"""Records of explanations: the ends of ranges say what the conditions say, for all elements."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import tadc
from tadc.explain.gradients import explanation
from tadc.explain.records import Range, Record
from tests.support.random_programs import random_program

PROGRAMS = (
    "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + 3*k])",
    "x: f64[N]\ny[i in range(N)] = sum[k in range(3), l in range(9)]"
    "(pad(x[2*i + k - l]) if k + 2*l <= 7 else 0)",
    "x: f64[12]\ny[i in range(4)] = sum[j in range(3)](x[2*i + 2*j + 1])",
    "x: f64[9]\ny[i] = sum[k in range(4)](x[i // 2 + k])",
)
VALUES = range(-30, 31)


def records(source: str) -> list[Record]:
    gradients = explanation(tadc.compile(source)).gradients
    return [record for gradient in gradients for record in gradient.records]


def ranges(source: str) -> Iterator[Range]:
    for record in records(source):
        yield from record.ranges or ()


def plain(text: str) -> str:
    """The text with names that Python has, too: `i'` is `i_`."""
    return text.replace("'", "_")


def assert_same_points(r: Range, rng: random.Random) -> None:
    conditions = [plain(c.text) for c in r.conditions]
    names = set(re.findall(r"[A-Za-z_]\w*", " ".join(conditions))) - {plain(r.index)}
    for _ in range(20):
        known = {name: rng.randint(-9, 9) for name in names}

        def value(text: str, index: int = 0, known: dict[str, int] = known) -> int:
            return eval(plain(text), {}, {**known, plain(r.index): index})

        low = max(value(bound.form) for bound in r.lower)
        high = min(value(bound.form) for bound in r.upper)
        inside = [z for z in VALUES if all(value(c, z) for c in conditions)]
        assert inside == [z for z in VALUES if low <= z < high], (r, known)


def test_the_ends_of_a_range_are_its_conditions():
    rng = random.Random(0)
    for source in PROGRAMS:
        found = list(ranges(source))
        assert found, source
        for r in found:
            assert_same_points(r, rng)


def test_the_ends_of_ranges_of_random_programs():
    rng = random.Random(1)
    sources = [random_program(random.Random(seed)).source for seed in range(20)]
    found = [r for source in sources for r in ranges(source)]
    assert len(found) > 20
    for r in found:
        assert_same_points(r, rng)


def test_the_record_of_a_read():
    record = records(PROGRAMS[0])[0]
    assert record.span and record.span.excerpt == "x[2*i + 3*k]"
    assert record.points == ["i", "k"]
    assert record.equations and record.equations.matrix == [[2, 3]]
    assert (record.equations.left, record.equations.right) == (["2*i + 3*k"], ["p"])
    assert record.solution and record.solution.free == ["z"]
    (r,) = record.ranges or ()
    assert {(b.form, b.origin) for b in r.lower} == {
        ("(p + 2) // 3", "i >= 0"),
        ("(p - K + 2) // 2", "k + 1 <= K"),
    }
    assert {(b.form, b.origin) for b in r.upper} == {
        ("(p + I + 2) // 3", "i + 1 <= I"),
        ("p // 2 + 1", "k >= 0"),
    }

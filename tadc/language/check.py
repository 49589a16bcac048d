"""The proof that no read leaves its tensor, for sizes that are known.

Intervals decide most programs. Where they do not, the points at which a read would be outside are
the integer points of a polyhedron: it is empty, or a point of it is the counterexample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint, ProgramOp, Variable
from tadc.language.describe import Describer
from tadc.language.empty_ranges import warn_of_empty_ranges
from tadc.language.reads import Access, Ranges, component, computed, reads, some_point
from tadc.language.source import Source
from tadc.passes.index_sets.space import Space
from tadc.passes.polyhedral.division import ceildiv

Interval = tuple[int, int]
"""Both ends inclusive; empty where the first is above the second."""


def check_ranges(
    program: ProgramOp, sizes: Mapping[str, int], source: Source | str | None = None
) -> None:
    """Raise `RangeError` where an element outside of its tensor would be read.

    `sizes` gives the named sizes; derived ones are computed. What needs a size that it lacks is
    not checked. `source` is the text of the program, which errors then show.
    """
    if isinstance(source, str):
        source = Source(source)
    known: dict[Variable, int] = {**sizes}
    for derived in program.derived:
        if all(s in known for form, _ in derived.bounds for s in form.sizes):
            known.setdefault(derived.data.name, derived.evaluate(known))
    values: dict[Variable, Affine] = {name: Affine({}, size) for name, size in known.items()}
    names: dict[SSAValue, str] = {value: name for name, value in program.arguments.items()}
    names |= {definition.result: definition.label.data for definition in program.definitions}
    describer = Describer(lambda tensor: names.get(tensor, "?"), source)
    for definition in program.definitions:
        shape = dict(zip(definition.indices, definition.type.shape, strict=True))
        ranges = Ranges(shape, lambda form: form.substitute(values))
        for access in reads(computed(definition.body)):
            check_access(access, access.read.tensor_type.shape, ranges, describer)
    if source and sizes:
        warn_of_empty_ranges(program, sizes, known, source)


def check_access(
    access: Access, shape: Sequence[Affine], ranges: Ranges, describer: Describer
) -> None:
    """Raise `RangeError` where the access leaves a tensor of this shape."""
    forms = [ranges.resolve(form) for form in access.read.forms]
    sizes = [ranges.resolve(size) for size in shape]
    for system in ranges.systems(access, *forms):
        box = _box(system)
        if any(low > high for low, high in box.values()):
            continue
        for dimension, (form, size) in enumerate(zip(forms, sizes, strict=True)):
            for outside in (Constraint(-form - 1), Constraint(form - size)):
                if _interval(outside.form, box)[1] >= 0:
                    point = _point(outside, system)
                    if point is not None and not _waits(access, ranges):
                        raise describer.leaves(access, dimension, form, size, point)


def _point(outside: Constraint, system: list[Constraint]) -> dict[Variable, int] | None:
    """A point of the system that is outside; None where there is none, or perhaps none.

    Only the constraints that are connected to the read tell where it leaves; the others tell
    whether it happens at all. Sizes that are not known may be 1 or more: what such a size can
    exclude is left to the call.
    """
    near = [outside, *component(system, outside.form)]
    found = some_point(near)
    if found is None:
        return None
    whole = [outside, *system]
    if any(c.form[size] < 0 or c.equality for c in whole for size in c.form.sizes):
        return None
    return None if some_point([_with_least_sizes(c) for c in whole]) is None else found


def _with_least_sizes(constraint: Constraint) -> Constraint:
    """The constraint for sizes of 1: more of them makes no difference where they are added."""
    form = constraint.form
    return constraint.substitute({size: Affine({}, 1) for size in form.sizes})


def _waits(access: Access, ranges: Ranges) -> bool:
    """True if a condition on sizes that are not known decides whether the read happens."""
    conditions = [c.form for op, _ in access.branches for p in op.condition for c in p]
    return any(ranges.resolve(form).sizes for form in conditions)


# --- intervals ---

_INFINITE = 1 << 200
"""The end of an interval without bound: beyond every index of a program."""


def _box(system: Sequence[Constraint]) -> dict[Variable, Interval]:
    """An interval for each index, from each constraint in turn; sizes that are open are at least 0.

    Two rounds meet nearly all programs, since bounds of inner indices follow those of outer ones.
    """
    box: dict[Variable, Interval] = {
        key: (0 if isinstance(key, str) else -_INFINITE, _INFINITE)
        for key in Space([], system).variables
    }
    halves = [Constraint(h) for c in system for h in _halves(c)]
    for _ in range(2):
        for constraint in halves:
            for key in constraint.form.terms:
                _narrow(box, constraint.form, key)
    return box


def _halves(constraint: Constraint) -> Iterator[Affine]:
    yield constraint.form
    if constraint.equality:
        yield -constraint.form


def _narrow(box: dict[Variable, Interval], form: Affine, key: Variable) -> None:
    """Use `c key + rest >= 0`, with the greatest value of the rest."""
    c = form[key]
    greatest = _interval(form - Affine({key: c}), box)[1]
    if greatest >= _INFINITE:
        return
    low, high = box[key]
    box[key] = (
        (max(low, ceildiv(-greatest, c)), high) if c > 0 else (low, min(high, greatest // -c))
    )


def _interval(form: Affine, box: Mapping[Variable, Interval]) -> Interval:
    low = high = form.constant
    for key, c in form.terms.items():
        first, last = box.get(key, (-_INFINITE, _INFINITE))
        low += c * (first if c > 0 else last)
        high += c * (last if c > 0 else first)
    return low, high

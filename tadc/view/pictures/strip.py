"""The range of the new sum at each element: a strip in the plane of both indices.

Horizontally runs an index p of the element, vertically the new index z, or an index of the read
where p determines it. The bounds of z are the sides of a polygon; at one p the highest lower one
and the lowest upper one count, the `max` and `min` of the derivative. Elements that a guard
excludes, such as every second one, are crosses on the axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil, floor

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine
from tadc.once import cached_property
from tadc.passes.polyhedral.division import lower_bound, upper_bound
from tadc.passes.polyhedral.matrix import Row
from tadc.view.pictures.geometry import MOST_POINTS, cut, edge, has_point, line_of, polygon
from tadc.view.pictures.instance import Instance, Solved, Values
from tadc.view.pictures.scene import Axis, Dot, Line, Scene, Tick, frame
from tadc.view.pictures.words import counted

MOST_TICKS = 200
"""The number of elements up to which each has a tick."""


def strip(instance: Instance, element: Sequence[int]) -> Scene | None:
    """The picture around an element; None where there is no strip.

    That is where the element has no index that the sum depends on, or where the range of each new
    index depends on another one. Takes the time of one evaluation of all bounds for each value of
    the index of the element.
    """
    solved = instance.solved
    if solved is None or not instance.own:
        return None
    shown = _shown(instance, solved)
    return None if shown is None else _Strip(instance, solved, element, *shown).scene()


def _shown(instance: Instance, solved: Solved) -> tuple[int, list[str]] | None:
    """The number of the index of the element, and the new index, if there is any.

    Preferred are those of which one bounds the other, then an index of the element in a guard. Of
    several new indices it is one that has its bounds for itself, while those of the others do not
    depend on this index of the element.
    """
    bounds = [c.form for c, _ in solved.bounds]
    mixed = [f for f in bounds if sum(bool(f[z]) for z in solved.free) > 1]
    alone = [z for z in solved.free if not any(f[z] for f in mixed)]

    def moves(form: Affine, p: SSAValue) -> bool:
        """True if the form depends on p, or may do so by a quotient."""
        return bool(form[p]) or any(v not in instance.indices for v in form.indices)

    others = {z: [f for f in bounds if not f[z]] for z in alone}
    choices = [([f for f in bounds if f[z]], others[z], [z]) for z in alone]
    choices += [(solved.guards, others[z], [z]) for z in alone]
    choices += [(solved.forms, [], solved.free)] if len(solved.free) < 2 else []
    for holding, not_holding, new in choices:
        for n, p in enumerate(instance.indices):
            if any(f[p] for f in holding) and not any(moves(f, p) for f in not_holding):
                return n, new
    return None


class _Strip:
    def __init__(
        self,
        instance: Instance,
        solved: Solved,
        element: Sequence[int],
        moving: int,
        new: Sequence[str],
    ):
        self.instance = instance
        self.solved = solved
        self.new = new
        self.bounds = [b for b in solved.bounds if any(b[0].form[z] for z in new)]
        self.element = [*element]
        self.moving = moving
        self.here = element[moving]
        self.name = instance.element_names[moving]
        self._index = instance.indices[moving]
        count = instance.shape[moving]
        self.possible = self._others_have_values()
        shown = range(count) if count <= MOST_POINTS else [self.here]
        self.columns = {p: self._column(p) for p in shown}
        self.polygon = polygon(self._rows())
        ends = (z for column in self.columns.values() if column for z in (column[0], column[-1]))
        heights = [*(v[1] for v in self.polygon), *ends]
        self.x = Axis(self.name, -1, count)
        self.y = Axis.around(self._vertical(), heights)

    def scene(self) -> Scene:
        """The picture."""
        reading = self.instance.text(self.element)
        return Scene(
            self.instance.link,
            self._title(reading),
            self._description(),
            self.x,
            self.y,
            self.polygon,
            dots=[*self._dots()],
            lines=[*self._lines()],
            ticks=[*self._ticks()],
            legend={"hit": f"reads {reading}", "inside": "reads other elements"},
            tick_legend={
                "guarded": f"{self.name} that a guard excludes",
                "unread": f"{self.name} that no point reads",
            },
            notes=[self.solved.text(), *(text for _, text in self._active())],
        )

    # --- points ---

    @cached_property
    def _follower(self) -> SSAValue:
        """The index of the read that p determines, for a sum without a new index."""
        for index in self.instance.own:
            form = self.solved.indices[index]
            if form[self._index] or any(form[t] for t in self.solved.quotient_names):
                return index
        return self.instance.own[0]

    def _vertical(self) -> str:
        if self.new:
            return self.new[0]
        return self.instance.contribution.notation.name(self._follower)

    def _values(self, p: int) -> Values:
        before, after = self.element[: self.moving], self.element[self.moving + 1 :]
        return self.instance.values([*before, p, *after])

    def _column(self, p: int) -> Sequence[int]:
        """The heights of the points at one value of p."""
        values = self._values(p)
        if not self.possible or not self.solved.allows(values):
            return ()
        if not self.new:
            return (self.solved.point(values, ())[self._follower],)
        rows = [values.row(c.form, self.new) for c, _ in self.bounds]
        low = max(lower_bound(row, 0, [0]) for row in rows if row[0] > 0)
        return range(low, min(upper_bound(row, 0, [0]) for row in rows if row[0] < 0) + 1)

    def _dots(self) -> Iterator[Dot]:
        if sum(map(len, self.columns.values())) > MOST_POINTS:
            return
        for p, heights in self.columns.items():
            for z in heights:
                if p == self.here:
                    yield Dot("hit", p, z, {self.name: p, **self._point(z)})
                else:
                    yield Dot("inside", p, z, {self.name: p, self.y.name: z})

    def _point(self, z: int) -> dict[str, int]:
        """The new index and, where it is the only one, the indices of the read."""
        new = dict(zip(self.new, (z,), strict=False))
        if len(new) < len(self.solved.free):
            return new
        old = self.solved.point(self._values(self.here), (*new.values(),))
        names = zip(self.instance.names, self.instance.own, strict=True)
        return {**new, **{name: old[index] for name, index in names}}

    def _others_have_values(self) -> bool:
        """True if there are values of the new indices that are not shown, which none here has."""
        others = [z for z in self.solved.free if z not in self.new]
        bounds = [c for c, _ in self.solved.bounds if c not in [b for b, _ in self.bounds]]
        rows = self.instance.rows(bounds, others, self._values(self.here))
        return not others or has_point(rows)

    # --- bounds ---

    def _rows(self) -> list[Row]:
        """The conditions of the set on p and z, and the range of p; empty where it is no polygon.

        It is none without z, and where a quotient of p is in a condition.
        """
        hidden = [z for z in self.solved.free if z not in self.new]
        rest = [c.form for c in self.solved.rest if not c.equality]
        forms = [form for form in rest if not any(form[z] for z in hidden)]
        affine = all(v in self.instance.indices for form in forms for v in form.indices)
        if not affine or not self.new:
            return []
        ends = [(1, 0, 0), (-1, 0, self.instance.shape[self.moving] - 1)]
        return [*map(self._row, forms), *ends]

    def _row(self, form: Affine) -> Row:
        """A form over p and z."""
        return self._values(self.here).row(form, [self._index, *self.new])

    def _lines(self) -> Iterator[Line]:
        yield self._at_the_element()
        active = [n for n, _ in self._active()]
        for n, bound in enumerate(self.bounds):
            side = edge(self._row(bound[0].form), self.polygon) if self.polygon else None
            if side:
                yield Line("bound", *side, self.solved.bound_text(bound), n in active)
        if not self.new:
            yield from self._equations()

    def _at_the_element(self) -> Line:
        ends = [(Fraction(self.here), Fraction(y)) for y in (self.y.least, self.y.most)]
        return Line("element", ends[0], ends[1], f"{self.name} = {self.here}")

    def _active(self) -> list[tuple[int, str]]:
        """The bounds that count at the element, the lower one first, by number and with a text."""
        values = self._values(self.here)
        if not self.new or not self.solved.allows(values):
            return []
        rows = [values.row(c.form, self.new) for c, _ in self.bounds]
        sides = {True: "from", False: "to"}
        found: list[tuple[int, str]] = []
        for lower, word in sides.items():
            some = [n for n, row in enumerate(rows) if (row[0] > 0) == lower]
            # a z + c >= 0 is z >= -c / a, or z <= -c / a where a is negative
            ends = {n: Fraction(-rows[n][1], rows[n][0]) for n in some}
            n = (max if lower else min)(ends, key=lambda n: ends[n])
            end = ceil(ends[n]) if lower else floor(ends[n])
            found.append(
                (n, f"{self.y.name} {word} {end}: {self.solved.bound_text(self.bounds[n])}")
            )
        return found

    def _equations(self) -> Iterator[Line]:
        """The equations of p and the index that it determines."""
        for equation in self.instance.equations:
            others = [v for v in self.instance.own if v is not self._follower]
            if not any(equation.form[v] for v in others):
                row = self._values(self.here).row(equation.form, [self._index, self._follower])
                part = cut(*line_of(row), frame(self.x, self.y)) if row[1] else None
                if part:
                    said = self.instance.contribution.notation.constraint(equation)
                    yield Line("equation", part.start, part.end, said)

    # --- words ---

    def _ticks(self) -> Iterator[Tick]:
        for p, heights in self.columns.items() if len(self.columns) <= MOST_TICKS else ():
            guard = self.solved.excludes(self._values(p))
            place = f"{self.name} = {p}"
            if guard:
                yield Tick("guarded", p, f"{place}: {guard} does not hold")
            elif heights:
                yield Tick("read", p, f"{place}: {counted(len(heights), 'point')}")
            else:
                yield Tick("unread", p, f"{place}: no point")

    def _title(self, reading: str) -> str:
        heights = self.columns[self.here]
        guard = self.solved.excludes(self._values(self.here))
        if guard:
            return f"{reading} is not read: {guard} does not hold"
        if not heights:
            return f"{reading} is not read"
        if len(heights) == 1:
            return f"{reading} is read for {self.y.name} = {heights[0]}"
        return f"{reading} is read for {self.y.name} from {heights[0]} to {heights[-1]}"

    def _description(self) -> str:
        read = [p for p, heights in self.columns.items() if heights]
        return f"Of {counted(len(self.columns), 'value')} of {self.name}, {len(read)} are read."

"""The points of a set in the plane of two of its indices, and those of them that read an element.

Figure 3 of arXiv:1711.01348: the range of the indices is a polygon, the equation of the read a
line, and the vector of the null space leads from one solution to the next, which z numbers. A set
of more indices is seen along the others: there is a point where the set has one above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tadc.dialects.tix import Constraint
from tadc.passes.polyhedral.division import ceildiv, floordiv
from tadc.view.pictures.geometry import (
    MOST_POINTS,
    Lattice,
    common_direction,
    cut,
    line_of,
    plane_points,
    polygon,
    shadow,
)
from tadc.view.pictures.instance import Instance, is_named
from tadc.view.pictures.scene import Arrow, Axis, Dot, DotKind, Line, Mark, Scene, frame
from tadc.view.pictures.words import counted, listed, row_text


def index_plane(instance: Instance, element: Sequence[int]) -> Scene | None:
    """The picture at an element; None where the sum has fewer than two indices.

    Takes a scan of the set and one of the points that read the element (`plane_points`).
    """
    return _IndexPlane(instance, element).scene() if len(instance.own) > 1 else None


class _IndexPlane:
    def __init__(self, instance: Instance, element: Sequence[int]):
        self.instance = instance
        self.element = element
        self.values = instance.values(element)
        self.shown = _shown(instance)
        columns = [*self.shown, *(n for n in range(len(instance.own)) if n not in self.shown)]
        self.others = [instance.names[n] for n in columns[2:]]
        own = [instance.own[n] for n in columns]
        rows = instance.rows(instance.conditions, own, self.values)
        read = instance.rows(instance.equations, own, self.values)
        self.shadow = shadow(rows) or [(0, 0, -1)]
        self.polygon = polygon(self.shadow)
        self.inside = plane_points(rows)
        solved = instance.solved
        self.solved = solved if solved and solved.allows(self.values) else None
        self.hits = plane_points([*rows, *read]) if self.solved else []
        corners = [*self.polygon, *(self.hits or ())]
        self.axes = [
            Axis.around(instance.names[n], [v[k] for v in corners])
            for k, n in enumerate(self.shown)
        ]
        # Equations that speak of the two indices alone are lines; rows come in opposite pairs.
        self.equations = {
            (*row[:2], row[-1]): c
            for row, c in zip(read[::2], instance.equations, strict=True)
            if any(row[:2]) and not any(row[2:-1])
        }
        null_space = self.solved.derivation.null_space if self.solved else []
        self.basis = [(v[self.shown[0]], v[self.shown[1]]) for v in null_space]

    def scene(self) -> Scene:
        """The picture."""
        hits, inside = {*(self.hits or ())}, {*(self.inside or ())}
        x, y = self.axes
        return Scene(
            self.instance.link,
            self._title(),
            self._description(),
            x,
            y,
            self.polygon,
            dots=[
                *(self._dot("inside", p) for p in self.inside or () if p not in hits),
                *(self._dot("outside", p) for p in self._outside() if p not in hits | inside),
                *(self._dot("hit", p) for p in self.hits or ()),
            ],
            lines=[*self._lines()],
            arrows=[*self._arrows()],
            marks=[*self._marks()],
            legend={
                "hit": f"reads {self.instance.text(self.element)}",
                "outside": "would, but is not in the set",
                "inside": "reads other elements",
            },
            notes=self._notes(),
        )

    # --- points ---

    def _dot(self, kind: DotKind, point: Lattice) -> Dot:
        names = [axis.name for axis in self.axes]
        label = self._number(point) if kind == "hit" else ""
        return Dot(kind, point[0], point[1], dict(zip(names, point, strict=True)), label)

    def _number(self, point: Lattice) -> str:
        """The value of z at a solution, where there is such an index."""
        if self.solved is None or not self.solved.is_new or not any(self.basis[0]):
            return ""
        n = 0 if self.basis[0][0] else 1
        return str((point[n] - self._origin()[n]) // self.basis[0][n])

    def _origin(self) -> Lattice:
        """The solution where all new indices are 0."""
        assert self.solved
        indices = self.solved.point(self.values, [0] * len(self.solved.free))
        return tuple(indices[self.instance.own[n]] for n in self.shown)

    def _outside(self) -> Iterator[Lattice]:
        """The solutions in the frame, where all of them are on one line.

        None where an index is a quotient: outside of its set it would be none of its dividend.
        """
        step = common_direction(self.basis)
        if step is None or not self.equations or not all(map(is_named, self.instance.own)):
            return
        (x, y), n = self._origin(), 0 if step[0] else 1
        start, axis = (x, y)[n], self.axes[n]
        if axis.most - axis.least > MOST_POINTS:
            return
        # `least <= start + m step <= most`, where the step along this axis is positive
        for m in range(
            ceildiv(axis.least - start, step[n]), floordiv(axis.most - start, step[n]) + 1
        ):
            point = x + m * step[0], y + m * step[1]
            if self._is_seen(point):
                yield point

    # --- lines ---

    def _lines(self) -> Iterator[Line]:
        for row, equation in self.equations.items():
            part = cut(*line_of(row), frame(*self.axes))
            if part:
                yield Line("equation", part.start, part.end, self._text(equation))

    def _arrows(self) -> Iterator[Arrow]:
        """The basis of the null space between two solutions, of which the set has one or both."""
        if not self.hits or not self.solved or not self.instance.equations:
            return
        hits = {*self.hits}
        for (dx, dy), name in zip(self.basis, self.solved.free, strict=True):
            pairs = [
                ((x + n * dx, y + n * dy), (x + n * dx + dx, y + n * dy + dy))
                for x, y in self.hits
                for n in (0, -1)
            ]
            seen = [pair for pair in pairs if (dx or dy) and all(map(self._is_seen, pair))]
            if seen:
                yield Arrow(*max(seen, key=lambda pair: len({*pair} & hits)), name)

    def _is_seen(self, point: Lattice) -> bool:
        return all(v in axis for v, axis in zip(point, self.axes, strict=True))

    def _marks(self) -> Iterator[Mark]:
        """The ends of the only line inside of the set: l and h of the paper's figure 3."""
        if len(self.equations) != 1:
            return
        (row,) = self.equations
        part = cut(*line_of(row), self.shadow)
        if part:
            names = [axis.name for axis in self.axes]
            yield Mark(part.start, "l", row_text(self.shadow[part.starts_by], names))
            yield Mark(part.end, "h", row_text(self.shadow[part.ends_by], names))

    # --- words ---

    def _title(self) -> str:
        names = f"({self.axes[0].name}, {self.axes[1].name})"
        places = f"{names}, seen along {', '.join(self.others)}," if self.others else names
        reading = self.instance.text(self.element)
        if self.hits is None or self.inside is None:
            return f"the set of points {places} of which some read {reading}"
        verb = "reads" if len(self.hits) == 1 else "read"
        return f"{len(self.hits)} of {counted(len(self.inside), 'point')} {places} {verb} {reading}"

    def _description(self) -> str:
        said = self._equations() or "no equation: every point of the set reads it"
        return f"{said}: {listed(self.hits)}" if self.hits else said

    def _notes(self) -> list[str]:
        solved = self.instance.solved
        return [self._equations(), *([solved.text()] if solved and self.instance.equations else [])]

    def _equations(self) -> str:
        """The equations of the read, and the element for which they are solved."""
        names = zip(self.instance.element_names, self.element, strict=True)
        here = ", ".join(f"{name} = {value}" for name, value in names)
        said = ", ".join(map(self._text, self.instance.equations))
        return f"{said} for {here}" if said else ""

    def _text(self, constraint: Constraint) -> str:
        return self.instance.contribution.notation.constraint(constraint)


def _shown(instance: Instance) -> tuple[int, int]:
    """The two indices that tell most, by their numbers.

    Both have names, stand in one equation of the read, and change along one line of solutions:
    the first such pair, or one for which as many of these hold, the first ones before the others.
    """
    solved = instance.solved
    null_space = solved.derivation.null_space if solved else []
    named = [*map(is_named, instance.own)]

    def worth(pair: tuple[int, int]) -> tuple[bool, bool, bool, int]:
        a, b = pair
        together = any(
            c.form[instance.own[a]] and c.form[instance.own[b]] for c in instance.equations
        )
        vectors = [(v[a], v[b]) for v in null_space]
        on_a_line = common_direction(vectors) is not None
        changing = any(v[0] for v in vectors) + any(v[1] for v in vectors)
        return named[a] and named[b], together, on_a_line, changing

    return max(combinations(range(len(instance.own)), 2), key=worth)

"""The values of two new indices of a sum: a polygon cut out by the range of the old ones.

Figure 4 (b) of arXiv:1711.01348: where the null space is a plane, a box of indices becomes a
parallelogram in its coordinates, so that the range of one new index depends on the other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from tadc.passes.polyhedral.matrix import Row
from tadc.view.pictures.geometry import Lattice, edge, plane_points, polygon, shadow
from tadc.view.pictures.instance import Instance, Solved
from tadc.view.pictures.scene import Axis, Dot, Line, Scene
from tadc.view.pictures.words import counted, listed, row_text


def solution_plane(instance: Instance, element: Sequence[int]) -> Scene | None:
    """The picture at an element; None where the solutions of its equations are no plane or more.

    Takes a scan of the points that read the element (`plane_points`).
    """
    solved, values = instance.solved, instance.values(element)
    if not instance.equations or solved is None or len(solved.free) < 2:
        return None
    if not solved.allows(values):
        return None
    shown = _shown(solved)
    names = [*shown, *(name for name in solved.free if name not in shown)]
    rows = [values.row(c.form, names) for c, _ in solved.bounds]
    flat = shadow(rows) or [(0, 0, -1)]
    vertices, points = polygon(flat), plane_points(rows)
    corners = [*vertices, *(points or ())]
    reading, pair = instance.text(element), f"({', '.join(shown)})"
    count = counted(len(points), "value") if points is not None else "values"
    others = f", seen along {', '.join(names[2:])}" if names[2:] else ""
    return Scene(
        instance.link,
        f"{reading} is read for {count} of {pair}{others}",
        f"{solved.text()}: {listed(points)}" if points else solved.text(),
        Axis.around(shown[0], [v[0] for v in corners]),
        Axis.around(shown[1], [v[1] for v in corners]),
        vertices,
        dots=[Dot("hit", p[0], p[1], _values(instance, element, names, p)) for p in points or ()],
        lines=[*_bounds(solved, rows, flat, names)],
        legend={"hit": f"reads {reading}"},
        notes=[solved.text()],
    )


def _shown(solved: Solved) -> tuple[str, str]:
    """The first two new indices of which one bounds the other, else the first two."""
    pairs = [*combinations(solved.free, 2)]
    forms = [c.form for c, _ in solved.bounds]
    return next((p for p in pairs if any(f[p[0]] and f[p[1]] for f in forms)), pairs[0])


def _values(
    instance: Instance, element: Sequence[int], names: Sequence[str], point: Lattice
) -> dict[str, int]:
    """The new indices at a point, and the old ones where they follow."""
    found = dict(zip(names, point, strict=False))
    if instance.solved is None or len(found) < len(names):
        return found
    z = [found[name] for name in instance.solved.free]
    old = instance.solved.point(instance.values(element), z)
    return {**found, **{n: old[v] for n, v in zip(instance.names, instance.own, strict=True)}}


def _bounds(
    solved: Solved, rows: Sequence[Row], flat: Sequence[Row], names: Sequence[str]
) -> Iterator[Line]:
    """The sides of the polygon; where it is no shadow, with the conditions that they come from."""
    vertices = polygon(flat)
    if len(names) > 2:
        said = {row: row_text(row, names[:2]) for row in flat}
    else:
        said = dict(zip(rows, map(solved.bound_text, solved.bounds), strict=True))
    for row, text in said.items():
        side = edge(row, vertices)
        if side:
            yield Line("bound", *side, text)

"""The pictures of a derivative: which there are, of which element, and their text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from tadc.dialects import tix
from tadc.explain.contribution import Contribution
from tadc.passes.rewriting.programs import definition_around
from tadc.view.pictures.index_plane import index_plane
from tadc.view.pictures.instance import Instance
from tadc.view.pictures.scene import Scene
from tadc.view.pictures.solution_plane import solution_plane
from tadc.view.pictures.strip import strip
from tadc.view.pictures.svg import sheet, svg

KINDS = {index_plane: "points", solution_plane: "points", strip: "strip"}
"""The kind of what each function draws, in the order in which they are shown."""

MOST_ELEMENTS_TRIED = 200
"""Elements that are tried to find one that something reads."""


def pictures(
    contributions: Sequence[tuple[str | None, Contribution]],
    sizes: Mapping[str, int],
    element: Mapping[str, int] | None = None,
) -> list[dict[str, Any]]:
    """The pictures of contributions, each with its link or None; JSON as it stands.

    Contributions are those of `tadc.explain.gradients.explanation`.

    `sizes` has a number for every size, derived ones included. `element` chooses the element of the
    gradients by names of indices; numbers outside of a gradient become the nearest inside. An index
    that it lacks is in the middle of its range, or near it where something reads the element.

    A picture is a dict of `link`, `of` (the gradient), `title`, `kind` ("points" or "strip"), `svg`
    and `elements`: for each index of the gradient `name`, `value`, `least` and `most`. Gradients
    without elements and reads at one place alone have none, nor has what depends on elements of
    index tensors: which points those select is data. Raises KeyError for a missing size.
    """
    return [
        {
            "link": instance.link,
            "of": instance.of,
            "title": scene.title,
            "kind": kind,
            "svg": svg(scene),
            "elements": _elements(instance, at),
        }
        for instance, at in _instances(contributions, sizes, element or {})
        for kind, scene in _scenes(instance, at)
    ]


def picture_file(
    contributions: Sequence[tuple[str | None, Contribution]],
    sizes: Mapping[str, int],
    element: Mapping[str, int] | None = None,
) -> str:
    """The pictures of `pictures` in one SVG, those of a contribution below its read."""
    rows: dict[str, list[Scene]] = {}
    for instance, at in _instances(contributions, sizes, element or {}):
        scenes = [scene for _, scene in _scenes(instance, at)]
        rows.setdefault(instance.heading(at), []).extend(scenes)
    return sheet(rows)


def _instances(
    contributions: Sequence[tuple[str | None, Contribution]],
    sizes: Mapping[str, int],
    chosen: Mapping[str, int],
) -> Iterator[tuple[Instance, list[int]]]:
    """The contributions to gradients that have elements, each with the one that is shown."""
    for link, contribution in contributions:
        instance = Instance(link, contribution, sizes)
        if all(instance.shape) and not _has_elements(contribution):
            yield instance, _element(instance, chosen)


def _has_elements(contribution: Contribution) -> bool:
    """True if elements of index tensors decide which points contribute."""
    definition = definition_around(contribution.op)
    return any(isinstance(op, tix.AtOp) for op in definition.walk())


def _scenes(instance: Instance, element: Sequence[int]) -> Iterator[tuple[str, Scene]]:
    for draw, kind in KINDS.items():
        scene = draw(instance, element)
        if scene:
            yield kind, scene


def _elements(instance: Instance, element: Sequence[int]) -> list[dict[str, Any]]:
    ranges = zip(instance.element_names, element, instance.shape, strict=True)
    return [
        {"name": name, "value": value, "least": 0, "most": count - 1}
        for name, value, count in ranges
    ]


def _element(instance: Instance, chosen: Mapping[str, int]) -> list[int]:
    """The element that pictures show."""
    ranges: list[Sequence[int]] = []
    for name, count in zip(instance.element_names, instance.shape, strict=True):
        if name in chosen:
            ranges.append((min(max(chosen[name], 0), count - 1),))
        else:
            middle = count // 2
            ranges.append(sorted(range(count), key=lambda n, middle=middle: abs(n - middle))[:9])
    tried = [list(e) for e in islice(product(*ranges), MOST_ELEMENTS_TRIED)]
    return next((e for e in tried if instance.is_read(e)), tried[0])

"""The text of a scene as SVG: lattice points, a polygon, lines and words, without any script.

Colours are variables of CSS with a fallback that reads on light and on dark ground; kinds differ by
shape as well, for prints and for who sees no colours:

    --tadc-ink      axes, numbers and words
    --tadc-area     the polygon of the set
    --tadc-point    points of the set
    --tadc-hit      points that read the element, and their line
    --tadc-bound    sides that bound the new sum
    --tadc-arrow    the basis of the null space

Everything that changes with a read has `data-link`; a point has its indices, as `data-i="3"`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from html import escape
from math import hypot
from textwrap import wrap

from tadc.view.pictures.geometry import Vertex
from tadc.view.pictures.scene import Arrow, Axis, Dot, DotKind, Line, Mark, Scene, TickKind

NAMESPACE = "http://www.w3.org/2000/svg"
INK = "var(--tadc-ink,#808080)"
AREA = "var(--tadc-area,#8080801f)"
POINT = "var(--tadc-point,#808080)"
HIT = "var(--tadc-hit,#d9442f)"
BOUND = "var(--tadc-bound,#2f9e5b)"
ARROW = "var(--tadc-arrow,#2f7fd9)"

WIDTH, HEIGHT = 360, 300
"""The most pixels of the plane between the axes, unless points would be too near to each other."""
NEAREST, FARTHEST = 5, 30
"""The least and the greatest distance of points, in pixels."""
WIDEST = 1000
"""The most pixels that this may take; then points are as near as it needs."""
LEFT, TOP, RIGHT, LINE = 36, 22, 26, 18
"""Margins, and the height of a line of words, in pixels."""
CHARACTER = 6.4
"""The width of a character in pixels, about."""
LONGEST_NOTE = 52
"""Characters of a line of words."""


def svg(scene: Scene) -> str:
    """The picture as one element `svg`, valid XML and valid inside of HTML.

    Equal scenes give equal text; its length is linear in the number of points, about 60 bytes each.
    """
    return "".join(_Drawing(scene).elements())


def sheet(headings: Mapping[str, Sequence[Scene]]) -> str:
    """Pictures side by side below headings, one below the other, as one element `svg`."""
    parts: list[str] = []
    width = bottom = 0.0
    for heading, scenes in headings.items():
        parts.append(_text(8, bottom + 20, heading, f' fill="{INK}" font-weight="bold"'))
        left, top = 0.0, bottom + 28
        for drawing in map(_Drawing, scenes):
            parts += drawing.elements(f' x="{_n(left)}" y="{_n(top)}"')
            left += drawing.width
            width, bottom = max(width, left), max(bottom, top + drawing.height)
    size = f'viewBox="0 0 {_n(width)} {_n(bottom)}" width="{_n(width)}" height="{_n(bottom)}"'
    font = 'font-family="system-ui,sans-serif" font-size="12"'
    title = _title("; ".join(headings))
    return f'<svg xmlns="{NAMESPACE}" role="img" {size} {font}>{title}{"".join(parts)}</svg>'


class _Drawing:
    def __init__(self, scene: Scene):
        self.scene = scene
        self.dx, self.dy = _distance(scene.x, WIDTH), _distance(scene.y, HEIGHT)
        self.right = LEFT + self.dx * (scene.x.most - scene.x.least)
        self.bottom = TOP + self.dy * (scene.y.most - scene.y.least)
        self.names = attribute_names(dict.fromkeys(n for d in scene.dots for n in d.values))
        self.words = [*self._words()]
        longest = max((len(text) for _, text in self.words), default=0)
        self.width = max(self.right + RIGHT, LEFT + 14 + CHARACTER * longest)
        self.below = self.bottom + LINE * 2 + (12 if scene.ticks else 0)
        self.height = self.below + LINE * len(self.words)

    def x(self, value: Fraction | int) -> float:
        """The pixel of a value of the horizontal axis."""
        return LEFT + self.dx * float(value - self.scene.x.least)

    def y(self, value: Fraction | int) -> float:
        """The pixel of a value of the vertical axis, which points up."""
        return self.bottom - self.dy * float(value - self.scene.y.least)

    def at(self, v: Vertex | tuple[int, int]) -> tuple[float, float]:
        """The pixels of a point."""
        return self.x(v[0]), self.y(v[1])

    def elements(self, place: str = "") -> Iterator[str]:
        """All elements in the order in which they are drawn."""
        width, height = _n(self.width), _n(self.height)
        yield (
            f'<svg xmlns="{NAMESPACE}" role="img" class="tadc-picture"{self._link}{place}'
            f' viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            ' font-family="system-ui,sans-serif" font-size="12">'
        )
        yield f"<title>{escape(self.scene.title)}</title>"
        yield f"<desc>{escape(self.scene.description)}</desc>"
        yield from self._area()
        yield from self._axes()
        yield from self._lines()
        yield from self._dots()
        yield from self._arrows()
        yield from self._marks()
        yield from self._ticks()
        yield from self._below()
        yield "</svg>"

    # --- the plane ---

    def _area(self) -> Iterator[str]:
        corners = " ".join(",".join(map(_n, self.at(v))) for v in self.scene.polygon)
        if corners:
            yield f'<polygon class="set" points="{corners}" fill="{AREA}" stroke="{POINT}"/>'

    def _axes(self) -> Iterator[str]:
        x, y = self.scene.x, self.scene.y
        path = f"M{LEFT} {TOP}V{_n(self.bottom)}H{_n(self.right)}"
        yield f'<g class="axes" fill="{INK}"><path d="{path}" fill="none" stroke="{INK}"/>'
        below = self.bottom + (26 if self.scene.ticks else 16)
        for value in _numbers(x, self.dx):
            yield _text(self.x(value), below, str(value), ' text-anchor="middle"')
        for value in _numbers(y, self.dy):
            yield _text(LEFT - 6, self.y(value) + 4, str(value), ' text-anchor="end"')
        yield _text(self.right + 6, self.bottom + 4, x.name, ' font-style="italic"')
        yield _text(LEFT, TOP - 8, y.name, ' font-style="italic" text-anchor="middle"')
        yield "</g>"

    def _lines(self) -> Iterator[str]:
        looks = {
            "equation": f' stroke="{HIT}" stroke-width="1.5"',
            "element": f' stroke="{HIT}" stroke-dasharray="2 3"',
            "bound": f' stroke="{BOUND}" stroke-width="1.5"',
        }
        for line in self.scene.lines:
            look = f' stroke="{BOUND}" stroke-width="4"' if line.active else looks[line.kind]
            yield self._line(line, look)

    def _line(self, line: Line, look: str) -> str:
        ends = [f"{_n(v)}" for v in (*self.at(line.start), *self.at(line.end))]
        places = " ".join(f'{n}="{v}"' for n, v in zip(("x1", "y1", "x2", "y2"), ends, strict=True))
        kind = f"{line.kind} active" if line.active else line.kind
        return f'<line class="{kind}" {places}{look}{self._link}>{_title(line.says)}</line>'

    @property
    def _link(self) -> str:
        return f' data-link="{escape(self.scene.link)}"' if self.scene.link else ""

    def _dots(self) -> Iterator[str]:
        for kind, look in LOOKS.items():
            dots = [dot for dot in self.scene.dots if dot.kind == kind]
            if dots:
                link = self._link if kind != "inside" else ""
                yield f'<g class="{kind}"{link} {look}>'
                yield from map(self._dot, dots)
                yield "</g>"

    def _dot(self, dot: Dot) -> str:
        x, y = self.at((dot.x, dot.y))
        data = "".join(f' {self.names[n]}="{v}"' for n, v in dot.values.items())
        circle = f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{RADII[dot.kind]}"{data}'
        if dot.kind != "hit":
            return f"{circle}/>"
        says = ", ".join(f"{n} = {v}" for n, v in dot.values.items())
        label = _text(x + 6, y - 6, dot.label, ' font-size="11"') if dot.label else ""
        return f"{circle}>{_title(says)}</circle>{label}"

    def _arrows(self) -> Iterator[str]:
        for arrow in self.scene.arrows:
            yield f'<g class="basis"{self._link} fill="{ARROW}" stroke="{ARROW}">'
            yield from self._arrow(arrow)
            yield "</g>"

    def _arrow(self, arrow: Arrow) -> Iterator[str]:
        """A line that ends before the point that it leads to, its head, and the name."""
        (x0, y0), (x1, y1) = self.at(arrow.start), self.at(arrow.end)
        length = hypot(x1 - x0, y1 - y0)
        ux, uy = (x1 - x0) / length, (y1 - y0) / length
        x1, y1 = x1 - 6 * ux, y1 - 6 * uy
        back = x1 - 9 * ux, y1 - 9 * uy
        head = [(x1, y1), *((back[0] - s * 4 * uy, back[1] + s * 4 * ux) for s in (1, -1))]
        shaft = f"M{_n(x0)} {_n(y0)}L{_n(back[0])} {_n(back[1])}"
        yield f'<path d="{shaft}" stroke-width="2"/>'
        yield f'<polygon points="{" ".join(f"{_n(x)},{_n(y)}" for x, y in head)}"/>'
        # beside the arrow, on the side that is up where it leads to the right
        beside = (x0 + x1) / 2 + 10 * uy, (y0 + y1) / 2 - 10 * ux
        look = ' stroke="none" font-style="italic" text-anchor="middle"'
        yield _text(beside[0], beside[1] + 4, arrow.name, look)

    def _marks(self) -> Iterator[str]:
        """The ends of the line, each a diamond with its name below the line, or to its right."""
        if not self.scene.marks:
            return
        line = next(line for line in self.scene.lines if line.kind == "equation")
        (x0, y0), (x1, y1) = self.at(line.start), self.at(line.end)
        length = hypot(x1 - x0, y1 - y0)
        beside = 15 * (y0 - y1) / length, 15 * (x1 - x0) / length
        for mark in self.scene.marks:
            yield f'<g class="end"{self._link} fill="{BOUND}">{self._mark(mark, *beside)}</g>'

    def _mark(self, mark: Mark, dx: float, dy: float) -> str:
        x, y = self.at(mark.at)
        diamond = DIAMOND.format(_n(x), _n(y - 8))
        look = ' font-style="italic" text-anchor="middle"'
        return f"{_title(mark.says)}{diamond}{_text(x + dx, y + dy + 4, mark.name, look)}"

    # --- below ---

    def _ticks(self) -> Iterator[str]:
        if self.scene.ticks:
            yield f'<g class="ticks" stroke="{INK}">'
            for tick in self.scene.ticks:
                symbol = TICKS[tick.kind](self.x(tick.at), self.bottom + 7)
                yield f'<g class="{tick.kind}">{_title(tick.says)}{symbol}</g>'
            yield "</g>"

    def _words(self) -> Iterator[tuple[str, str]]:
        """Lines of words, each with the symbol before it."""
        kinds = {dot.kind for dot in self.scene.dots}
        for kind, text in self.scene.legend.items():
            if kind in kinds:
                radius = RADII[kind]
                yield f'<circle cx="6" cy="-4" r="{radius}" {LOOKS[kind]}/>', text
        if self.scene.marks:
            yield DIAMOND.format(4, -12), "l and h: the ends of the line of solutions in the set"
        if self.scene.arrows:
            names = ", ".join(dict.fromkeys(arrow.name for arrow in self.scene.arrows))
            yield ARROW_SYMBOL, f"from one solution to the next: {names} grows by 1"
        if any(line.active for line in self.scene.lines):
            yield BOUND_SYMBOL, "bounds of the sum, thick: at this element"
        ticks = {tick.kind for tick in self.scene.ticks}
        for kind, text in self.scene.tick_legend.items():
            if kind in ticks:
                yield f'<g stroke="{INK}">{TICKS[kind](6, -4)}</g>', text
        for note in self.scene.notes:
            yield from (("", line) for line in wrap(note, LONGEST_NOTE))

    def _below(self) -> Iterator[str]:
        yield f'<g class="words" fill="{INK}">'
        for n, (symbol, text) in enumerate(self.words):
            at = f"translate({LEFT - 20} {_n(self.below + LINE * n)})"
            yield f'<g transform="{at}">{symbol}{_text(16, 0, text)}</g>'
        yield "</g>"


# --- symbols --------------------------------------------------------------------------------------

LOOKS: Mapping[DotKind, str] = {
    "inside": f'fill="{POINT}"',
    "outside": f'fill="none" stroke="{HIT}" stroke-width="1.5"',
    "hit": f'fill="{HIT}"',
}
RADII: Mapping[DotKind, str] = {"inside": "2", "outside": "4", "hit": "5"}


def _filled(x: float, y: float) -> str:
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="2.5" fill="{INK}"/>'


def _cross(x: float, y: float) -> str:
    return f'<path d="M{_n(x - 2.5)} {_n(y - 2.5)}l5 5m0 -5l-5 5"/>'


def _ring(x: float, y: float) -> str:
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="2.5" fill="none"/>'


DIAMOND = f'<path d="M{{}} {{}}l8 8l-8 8l-8 -8z" fill="none" stroke="{BOUND}"/>'
ARROW_SYMBOL = (
    f'<path d="M-1 -1L7 -6" stroke="{ARROW}" stroke-width="2"/>'
    f'<path d="M13 -9l-8 0l4 6z" fill="{ARROW}"/>'
)
BOUND_SYMBOL = f'<path d="M0 -4h12" stroke="{BOUND}" stroke-width="4"/>'

TICKS: Mapping[TickKind, Callable[[float, float], str]] = {
    "read": _filled,
    "guarded": _cross,
    "unread": _ring,
}


# --- text -----------------------------------------------------------------------------------------


def attribute_names(names: Iterable[str]) -> dict[str, str]:
    """An attribute for each name, `data-i` for i, in lower case and ASCII, no two the same."""
    found: dict[str, str] = {}
    for name in names:
        plain = "data-" + re.sub(r"[^a-z0-9_]", "-", name.lower())
        while plain in found.values():
            plain += "-"
        found[name] = plain
    return found


def _distance(axis: Axis, most: int) -> float:
    """Pixels between neighbours on an axis that should not take more than `most`."""
    count = axis.most - axis.least
    return min(max(NEAREST, min(FARTHEST, most // count)), WIDEST / count)


def _numbers(axis: Axis, distance: float) -> Sequence[int]:
    """The values that are written, far enough from each other."""
    steps = (digit * 10**power for power in range(20) for digit in (1, 2, 5))
    step = next(s for s in steps if s * distance >= 24)
    return range(-(-axis.least // step) * step, axis.most + 1, step)


def _text(x: float, y: float, text: str, look: str = "") -> str:
    return f'<text x="{_n(x)}" y="{_n(y)}"{look}>{escape(text)}</text>'


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _n(value: float) -> str:
    """A number of pixels, to a tenth of one."""
    return f"{value:.1f}".removesuffix(".0")

"""The pictures of README.md and pictures.md: index sets, and the elements that their points read.

    python docs/draw_pictures.py     draws docs/pictures/*.svg anew

A test compares the files with what is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tadc.view.view import view

FOLDER = Path(__file__).parent / "pictures"


@dataclass(frozen=True)
class Figure:
    """The pictures of a gradient, dx unless told; `names` are those of their files, in order."""

    names: tuple[str, ...]
    """Empty for a picture that no page shows."""
    program: str
    element: Mapping[str, int]
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    gradient: str = "dx"

    def draw(self) -> dict[str, str]:
        """The text of each file."""
        seen = view(self.program, parts=["pictures"], sizes=self.sizes, element=self.element)
        shown = [p["svg"] + "\n" for p in seen["pictures"] if p["of"] == self.gradient]
        return {f"{n}.svg": text for n, text in zip(self.names, shown, strict=True) if n}


PAPER = (Path(__file__).parents[1] / "examples" / "paper.tad").read_text(encoding="utf-8")
FIGURES = (
    Figure(("paper", "", "paper-strip"), PAPER, {"p": 4}, gradient="dd"),
    Figure(
        ("convolution", "convolution-strip"),
        "x: f64[N]\nw: f64[K]\ny[i] = sum[k](w[k] * x[2*i + 3*k])\n",
        {"p": 12},
        {"N": 30, "K": 5},
    ),
    # Figure 3 of arXiv:1711.01348: beta = alpha_1 - 2 alpha_2 is -1 where p is 6.
    Figure(
        ("figure-3", "figure-3-strip"),
        "x: f64[11]\nf[i in range(5), k in range(4)] = x[i - 2*k + 6]\n",
        {"p": 6},
    ),
    # Figure 4: beta = alpha_1 - 2 alpha_2 - 2 alpha_3 is 3 where p is 12, and 15 points have it.
    Figure(
        ("figure-4", "figure-4-solutions"),
        "x: f64[25]\nf[i in range(5), j in range(5), k in range(7)] = x[i - 2*j - 2*k + 20]\n",
        {"p": 12},
    ),
    Figure(("every-second",), "x: f64[N]\ny[i in range(9)] = x[2*i]**2\n", {"p": 8}, {"N": 18}),
)


def draw() -> dict[str, str]:
    """The text of all files, by name."""
    return {name: text for figure in FIGURES for name, text in figure.draw().items()}


if __name__ == "__main__":
    for file, content in draw().items():
        (FOLDER / file).write_text(content, encoding="utf-8")

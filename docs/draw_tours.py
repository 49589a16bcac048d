"""The drawings of docs/tours: how loops are planned, what a block is, and how loops become code.

    python docs/draw_tours.py     draws docs/tours/*.svg anew

A test compares the files with what is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent / "tours"

INKS = {
    "ink": ("#24292f", "#c9d1d9"),
    "quiet": ("#57606a", "#8b949e"),
    "line": ("#8c959f", "#6e7681"),
    "area": ("#f3f5f7", "#1c2129"),
    "hit": ("#cf3a26", "#f0654f"),
    "own": ("#ddeafb", "#1b3a5f"),
}
"""Colours on light and on dark ground."""

MONO = "ui-monospace, SFMono-Regular, Menlo, monospace"


@dataclass
class Sheet:
    """A drawing: boxes, arrows and words, by coordinates in pixels."""

    title: str
    width: int
    height: int
    parts: list[str] = field(default_factory=list[str])

    def text(self, x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> None:
        """A line of words; its kind is a class of the style, as `code` and `quiet`."""
        looks = f' class="{kind}"' if kind else ""
        place = "" if anchor == "start" else f' text-anchor="{anchor}"'
        self.parts.append(f'<text x="{x:g}" y="{y:g}"{looks}{place}>{escape(words)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str = "box") -> None:
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"/>'
        )

    def line(self, *points: tuple[float, float], kind: str = "way") -> None:
        """A line through points; a `way` ends in an arrow."""
        path = "L".join(f"{x:g} {y:g}" for x, y in points)
        end = ' marker-end="url(#end)"' if kind == "way" else ""
        self.parts.append(f'<path d="M{path}" class="{kind}"{end}/>')

    def labelled(
        self, x: float, y: float, width: float, lines: Sequence[tuple[str, str]], kind: str = "box"
    ) -> float:
        """A box of lines of words, each with its kind; returns where it ends."""
        height = 18 * len(lines) + 12
        self.box(x, y, width, height, kind)
        for place, (words, looks) in enumerate(lines):
            self.text(x + 10, y + 20 + 18 * place, words, looks)
        return y + height

    def svg(self) -> str:
        """The text of the file."""
        light, dark = (
            "".join(f"--{name}:{shades[n]};" for name, shades in INKS.items()) for n in (0, 1)
        )
        style = (
            f"svg{{{light}}}@media(prefers-color-scheme:dark){{svg{{{dark}}}}}"
            "text{fill:var(--ink)}.quiet{fill:var(--quiet)}.hot{fill:var(--hit)}"
            f".code{{font-family:{MONO};font-size:12px}}"
            f".small{{font-family:{MONO};font-size:10px;fill:var(--quiet)}}.head{{font-weight:600}}"
            ".box{fill:var(--area);stroke:var(--line)}.end{fill:var(--own);stroke:var(--line)}"
            ".cell{fill:none;stroke:var(--line)}.one{fill:var(--own);stroke:var(--line)}"
            ".mark{fill:none;stroke:var(--hit);stroke-width:2}"
            ".way,.rule{fill:none;stroke:var(--line);stroke-width:1.2}.tip{fill:var(--line)}"
        )
        tip = (
            '<marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L8 4L0 8z" class="tip"/></marker>'
        )
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} height="{self.height}" '
            'font-family="system-ui, sans-serif" font-size="13">'
        )
        inner = [f"<title>{escape(self.title)}</title>", f"<style>{style}</style>"]
        return "\n".join([head, *inner, f"<defs>{tip}</defs>", *self.parts, "</svg>"]) + "\n"


# --- plan -----------------------------------------------------------------------------------------

QUESTIONS = (
    ("an entry by hand, and possible?", "apply_plan", "what the entry says", ""),
    (
        "one sum along each index of pairs?",
        "all_pairs",
        "a walk over pairs",
        "# with dz_pieces, in rows i by 4, all k, terms j by 16",
    ),
    (
        "blocks clearly cheaper than a plain nest?",
        "tile_choice, tile_cost, packing; fuse_sums",
        "blocks in registers, maybe shared",
        "rows i by 6, columns j by 64, 42 blocks a group",
    ),
    (
        "neighbours that read the same rows?",
        "fuse_rows, scans, rfactored_sums",
        "one loop over rows for all of them",
        "row by row  # with e, s, y",
    ),
    (
        "neighbours that read the same columns?",
        "fuse_strips",
        "one loop over strips of columns",
        "row by row  # in strips of columns; with s, y",
    ),
    (
        "a large result, or windows with borders?",
        "stream_choice, stream_tiles",
        "whole lines of memory, one after the other",
        "stream",
    ),
)
"""Each question about a definition, who answers it, and what follows, also as a plan has it."""


def plan() -> str:
    """A ladder of questions: the first one whose answer is yes decides."""
    sheet = Sheet("The questions that decide about the loops of a definition", 800, 500)
    left, right, width, step = 20, 400, 300, 62
    sheet.labelled(left, 10, width, [("y[i, j] = sum[k](x[i, k] * w[k, j])", "code")], "end")
    sheet.text(right, 30, "loops, and how a plan names them", "quiet")
    top = 62
    for number, (question, modules, loops, words) in enumerate(QUESTIONS):
        y = top + step * number
        before = 40 if number == 0 else y - step + 48
        sheet.line((left + 60, before), (left + 60, y))
        sheet.labelled(left, y, width, [(question, ""), (modules, "small")])
        sheet.line((left + width, y + 24), (right, y + 24))
        sheet.text((left + width + right) / 2 - 4, y + 18, "yes", "quiet", "middle")
        lines = [(loops, ""), (words, "small")] if words else [(loops, "")]
        sheet.labelled(right, y + (0 if words else 9), 380, lines, "end")
    y = top + step * len(QUESTIONS)
    sheet.line((left + 60, y - step + 48), (left + 60, y + 22), (right, y + 22))
    sheet.text((left + width + right) / 2 - 4, y + 16, "no", "quiet", "middle")
    sheet.labelled(
        right, y, 380, [("one iteration for each element", ""), ("plain", "small")], "end"
    )
    return sheet.svg()


# --- tiles ----------------------------------------------------------------------------------------


def tiles() -> str:
    """The result, parted; one strip of a group with its panel; and one block with its vectors."""
    sheet = Sheet("A definition in register blocks: strips, groups, panel, chunks, block", 830, 340)
    sheet.text(20, 24, "the result y[i, j]", "head")
    _result(sheet, 20, 62)
    sheet.text(290, 24, "an iteration: one strip, one group", "head")
    _iteration(sheet, 290, 62)
    sheet.text(600, 24, "a block, in registers", "head")
    _block(sheet, 600, 62)
    for start, end in (
        ((248, 112), (290, 62)),
        ((248, 162), (290, 284)),
        ((452, 182), (600, 62)),
        ((452, 216), (600, 142)),
    ):
        sheet.line(start, end, kind="rule")
    return sheet.svg()


def _result(sheet: Sheet, x: float, y: float) -> None:
    """Three strips of columns, four groups of blocks of rows; one of them is looked at."""
    width, height = 76, 50
    for column in range(3):
        sheet.text(x + width * (column + 0.5), y - 8, f"strip {column}", "quiet", "middle")
        for row in range(4):
            kind = "one" if (row, column) == (1, 2) else "cell"
            sheet.box(x + width * column, y + height * row, width, height, kind)
    for row in range(4):
        sheet.text(x + 6, y + height * row + 30, f"group {row}", "quiet")
    sheet.text(x, y + 4 * height + 22, "columns j run along memory,")
    sheet.text(x, y + 4 * height + 40, "and along the lanes of vectors")


def _iteration(sheet: Sheet, x: float, y: float) -> None:
    """A panel with its chunks, above the blocks that share it."""
    width = 162
    sheet.box(x, y, width, 76, "cell")
    for row in range(1, 3):
        sheet.line((x, y + 76 * row / 3), (x + width, y + 76 * row / 3), kind="rule")
    for row in range(3):
        sheet.text(x + width / 2, y + 17 + 76 * row / 3, f"chunk {row} of k", "quiet", "middle")
    sheet.text(x, y - 8, "panel: w[k, j], copied", "quiet")
    top = y + 86
    for row in range(4):
        sheet.box(x, top + 34 * row, width, 34, "one" if row == 1 else "cell")
        sheet.text(x + 10, top + 34 * row + 21, f"block {row}", "quiet")
    sheet.text(x, top + 158, "all blocks add the terms of one")
    sheet.text(x, top + 176, "chunk before the next is copied")


def _block(sheet: Sheet, x: float, y: float) -> None:
    """Two rows of two vectors, of eight lanes to be readable, and the loop over their terms."""
    lane = 11
    for vector in range(2):
        left = x + vector * 8 * lane
        sheet.text(left + 4 * lane, y - 8, f"vector {vector}", "quiet", "middle")
        for row in range(2):
            for number in range(8):
                sheet.box(left + lane * number, y + 40 * row, lane, 40, "one")
            sheet.box(left, y + 40 * row, 8 * lane, 40, "mark")
    for row in range(2):
        sheet.text(x + 16 * lane + 8, y + 25 + 40 * row, f"row {row}", "quiet")
    sheet.text(x, y + 102, "four sums, in eight lanes each", "quiet")
    for place, words in enumerate(
        (
            "for k:",
            "  w0, w1 = w[k, j ..]",
            "  x0 = x[i, k]",
            "  s0 += x0 * w0",
            "  s1 += x0 * w1",
            "  x1 = x[i + 1, k]",
            "  s2 += x1 * w0",
            "  s3 += x1 * w1",
        )
    ):
        indent = 12 if words.startswith(" ") else 0
        sheet.text(x + indent, y + 132 + 18 * place, words.strip(), "code")


# --- printer --------------------------------------------------------------------------------------


def printer() -> str:
    """Stations from scheduled loops to machine code, and which of LLVM's passes run between."""
    sheet = Sheet("From loops to machine code", 800, 390)
    loops = [("loops", "head"), ("scf, arith, math, vector", "small")]
    sheet.labelled(20, 140, 180, loops, "end")
    sheet.text(20, 208, "tadc/targets/llvm", "small")
    sheet.text(270, 28, "LLVM IR: one text, three sections", "quiet")
    sections = (
        ("functions of numbers", "fadd float", "llvm_loops, llvm_memory, llvm_ops"),
        ("functions of vectors", "fadd <16 x float>", "the same, llvm_vectors, llvm_strided"),
        ("what they call", "@tadc.exp.v16f32", "llvm_math, llvm_libmvec"),
    )
    for place, (name, example, modules) in enumerate(sections):
        y = 45 + 95 * place
        sheet.line((200, 164), (235, 164), (235, y + 24), (270, y + 24))
        sheet.labelled(270, y, 200, [(name, "head"), (example, "small")])
        sheet.text(270, y + 63, modules, "small")
    for y, name, does in (
        (45, "LLVM's pipeline", "makes vectors of loops, unrolls"),
        (140, "no pipeline", "calls are inlined, nothing else"),
    ):
        sheet.line((470, y + 18), (560, y + 18))
        sheet.line((470, 259), (515, 259), (515, y + 34), (560, y + 34))
        sheet.labelled(560, y, 210, [(name, "head"), (does, "small")])
    sheet.text(560, 28, "llvm_compiler", "small")
    sheet.line((770, 69), (785, 69), (785, 264), (770, 264))
    sheet.line((665, 188), (665, 240))
    linked = [("linked", "head"), ("LLVM: instructions, registers", "small")]
    sheet.labelled(560, 240, 210, linked)
    sheet.line((665, 288), (665, 330))
    final = [("machine code in memory", "head"), ("@y.entry, @y.extent, @y.grain", "small")]
    sheet.labelled(560, 330, 210, final, "end")
    return sheet.svg()


DRAWINGS: dict[str, Callable[[], str]] = {"plan": plan, "tiles": tiles, "printer": printer}


def draw() -> dict[str, str]:
    """The text of all files, by name."""
    return {f"{name}.svg": drawing() for name, drawing in DRAWINGS.items()}


if __name__ == "__main__":
    for file, content in draw().items():
        (FOLDER / file).write_text(content, encoding="utf-8")

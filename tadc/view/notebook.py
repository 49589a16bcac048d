"""A program as HTML for notebooks, with why its derivative is what it is.

The fragment is static: it has no script, so that it shows wherever notebooks do, its styles concern
what is inside alone, and every text is escaped. Where style sheets may, all that stems from a read
lights up while the pointer is on a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from xdsl.passes import ModulePass

from tadc.errors import TadcError
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.program import Program
from tadc.view.links import Link
from tadc.view.view import Data, Seen

MOST_OPERATIONS = 2000
"""The operations of a program up to which its derivative is shown, too: some tenths of a second."""

MOST_PICTURES = 6
"""Some kilobytes each."""

STYLE = (
    ".tadc pre{margin:.3em 0;overflow-x:auto;text-align:left;line-height:1.4}"
    ".tadc summary{cursor:pointer}"
    ".tadc details details{margin-left:1em}"
    ".tadc svg{max-width:100%;height:auto}"
)
LIT = '.tadc:has([data-link="{0}"]:hover) [data-link="{0}"]{{background:#ffd54f80}}'


def html_of(program: Program, derived_from: tuple[Program, ModulePass] | None = None) -> str:
    """A program as HTML, and its derivative; of a derivative, the program that it was made of.

    `derived_from` says of which, and by which pass. Takes as long as to derive the program; long
    ones, and those without a derivative, are a text alone.
    """
    of, wrt = _derivation(derived_from)
    seen = Seen(of or program, wrt)
    try:
        parts = list(_parts(seen, program, is_derivative=of is not None))
    except TadcError:
        parts = [_pre(str(program))]
    names = dict.fromkeys(seen.reads.names.values())
    style = STYLE + "".join(LIT.format(name) for name in names)
    return f'<div class="tadc"><style>{style}</style>{"".join(parts)}</div>'


def _derivation(
    derived_from: tuple[Program, ModulePass] | None,
) -> tuple[Program | None, tuple[str, ...]]:
    """The program of which another is the derivative by all results, and by which arguments."""
    if derived_from is not None:
        program, made_by = derived_from
        if isinstance(made_by, DifferentiatePass) and made_by == DifferentiatePass(made_by.wrt):
            return program, made_by.wrt
    return None, ()


def _parts(seen: Seen, program: Program, is_derivative: bool) -> Iterator[str]:
    """The program, and what is said of the derivative, outermost elements in order."""
    if sum(1 for _ in seen.program.op.walk()) > MOST_OPERATIONS:
        yield _pre(str(program))
        return
    own, derivative = _pre(*seen.reads.in_own_text()), _pre(*seen.derivative)
    pictures = seen.pictures()[:MOST_PICTURES]
    if is_derivative:
        yield derivative
        yield from map(_picture, pictures[:1])
        yield _details("program", own)
    else:
        yield own
        yield from map(_picture, pictures[:1])
        yield _details("derivative", derivative)
    if len(pictures) > 1:
        yield _details("pictures", *map(_picture, pictures[1:]))
    yield _details("why", *map(_record, seen.explanation()["records"]))
    yield _details("stages", *map(_stage, seen.stages()))


def _pre(text: str, links: Sequence[Link] = ()) -> str:
    """A text, its links as elements with the name of the read."""
    ends = [(0, 0, ""), *sorted(links), (len(text), len(text), "")]
    pieces: list[str] = []
    for (_, before, _), (start, end, name) in pairwise(ends):
        pieces.append(escape(text[before:start]))
        if name:
            pieces.append(f'<span data-link="{name}">{escape(text[start:end])}</span>')
    return f"<pre>{''.join(pieces)}</pre>"


def _details(summary: str, *inside: str) -> str:
    return f"<details><summary>{escape(summary)}</summary>{''.join(inside)}</details>"


def _record(record: Data) -> str:
    link = f' data-link="{record["link"]}"' if record["link"] else ""
    lines = "\n".join([f"{record['of']}:", *record["lines"]])
    return f"<pre{link}>{escape(lines)}</pre>"


def _stage(stage: Data) -> str:
    text = _pre(stage["text"], [(start, end, name) for start, end, name in stage["links"]])
    return _details(f"{stage['name']}: {stage['says']}", text)


def _picture(picture: Data) -> str:
    return f"<p>{picture['svg']}</p>"

"""The IR of a stage with the lines of the program beside it, as comments.

%1 = tix.read %w[%k]           // 3: w[k]
"""

from __future__ import annotations

from bisect import bisect

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tadc.dialects.tix import ProgramOp
from tadc.program import Program
from tadc.support.ir_text import text_and_places

WIDEST = 80
"""The most characters of a line of IR before comments; of longer ones it stands right behind."""


def with_source_lines(program: Program, module: ModuleOp) -> str:
    """The text of a module that was made of a program, with the place of each operation.

    That is the number of the line and, where an operation stems from a name or a read, its text.
    Operations that stem from the same as the one before have no comment. The IR is read back as it
    is without.
    """
    text, places = text_and_places(module)
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    comments = {
        bisect(starts, start) - 1: _place(program, op)
        for op, (start, _) in sorted(places.items(), key=lambda item: item[1])
        if not isinstance(op, ModuleOp | ProgramOp)
    }
    width = min(max(map(len, lines)), WIDEST)
    last: str | None = None
    for number, comment in comments.items():
        if comment and comment != last:
            lines[number] = f"{lines[number]:<{width}}  // {comment}"
        last = comment
    return "\n".join(lines)


def _place(program: Program, op: Operation) -> str | None:
    span = program.span(op.location)
    if span is None:
        return None
    return f"{span.line}: {span.excerpt}" if span.excerpt[:1].isidentifier() else f"{span.line}"

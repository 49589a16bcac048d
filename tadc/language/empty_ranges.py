"""Inferred ranges that come out empty at a call though no argument is: a mistake, most often.

    y[i] = sum[k](w[k] * x[i + k])    called with x and w in the other's place

The result is empty then, which is what the program says: so this is a warning. Who writes the range
says that it may be empty, and gets none.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from weakref import WeakSet

from xdsl.ir import BlockArgument, SSAValue

from tadc.dialects.tix import Affine, ProgramOp, ReductionOp, TensorType, Variable
from tadc.errors import EmptyRangeWarning, Span
from tadc.language.source import Source
from tadc.support.entries import frames_of_tadc

_ORDER = (
    "are the arguments in the right order? By name they may be in any; "
    "a range in the text, as i in range(N - K + 1), may be empty"
)


_warned: WeakSet[ProgramOp] = WeakSet()
"""The programs of which a call was warned."""


def warn_of_empty_ranges(
    program: ProgramOp, sizes: Mapping[str, int], known: Mapping[Variable, int], source: Source
) -> None:
    """Warn, once for a program, where an inferred range is empty at these sizes of a call.

    `known` are these sizes and those that follow from them; some may be missing.
    """
    if program in _warned:
        return
    if found := _first_empty_range(program, known, source):
        _warned.add(program)
        span, message = found
        given = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        text = f"{span.file}:{span.line}:{span.column}: {message}, at {given}: {_ORDER}"
        warnings.warn(EmptyRangeWarning(text), stacklevel=frames_of_tadc())


def _first_empty_range(
    program: ProgramOp, known: Mapping[Variable, int], source: Source
) -> tuple[Span, str] | None:
    """The first index of inferred range that has no value, with its place and what is wrong.

    None where there is none, or an argument is empty, or may be, as its size is not known.
    """

    def is_empty(form: Affine) -> bool | None:
        """True for a length of 0 or less; None where a size is not known."""
        return form.evaluate(known) <= 0 if all(v in known for v in form.terms) else None

    shapes = (v.type.shape for v in program.arguments.values() if isinstance(v.type, TensorType))
    if any(is_empty(form) is not False for shape in shapes for form in shape):
        return None
    for index, length in _lengths(program):
        if isinstance(index, BlockArgument) and is_empty(length):
            span = source.span_at(index.location)
            if span and span.excerpt.isidentifier() and not _is_written(span):
                return span, f"the range of {span.excerpt} is empty, and no argument is"
    return None


def _lengths(program: ProgramOp) -> Iterator[tuple[SSAValue, Affine]]:
    """The indices of definitions and sums that begin at 0, with the forms at which they end."""
    for definition in program.definitions:
        yield from zip(definition.indices, definition.type.shape, strict=True)
        for op in definition.walk():
            if isinstance(op, ReductionOp):
                for index in op.indices:
                    upper = (c.form for c in op.constraints if c.form[index] == -1)
                    ends = (form + Affine.of(index) + 1 for form in upper)
                    yield from ((index, end) for end in ends if not end.indices)


def _is_written(span: Span) -> bool:
    return span.text[span.end - 1 :].lstrip().startswith("in ")

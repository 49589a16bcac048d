"""Errors about a user's program or arguments: located, with the facts and what to do about it.

    conv.tad:3:27: x[i + k] reaches 8 at i = 6, k = 2, but dimension 0 of x has size 8
        y[i in range(7)] = sum[k](w[k] * x[i + k])
                                         ^^^^^^^^
    hint: a smaller range keeps it inside, and pad(...) reads 0 outside

Everything that bad input can cause ends in a `TadcError`; any other exception is a bug of tadc.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A part of one line of a program: columns count characters from 1, `end` is exclusive."""

    file: str
    line: int
    column: int
    end: int
    text: str
    """The whole line, without its line break."""

    @property
    def excerpt(self) -> str:
        """The text that the span covers."""
        return self.text[self.column - 1 : self.end - 1]


class TadcError(Exception):
    """An error in terms of the user's program; facts that do not concern it are None."""

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        *,
        file: str | None = None,
        index: str | None = None,
        range: str | None = None,
        size: str | int | None = None,
        argument: str | None = None,
        dimension: int | None = None,
    ):
        super().__init__(message)
        self.message = message
        self.span = span
        self.hint = hint
        self.file = span.file if span else file
        self.line = span.line if span else None
        self.column = span.column if span else None
        self.index = index
        self.range = range
        self.size = size
        self.argument = argument
        self.dimension = dimension

    def __str__(self) -> str:
        lines = [_headline(self.message, self.span, self.file)]
        if self.span and self.span.text:
            lines += underlined(self.span)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        # `torch.compile` shows this of an error that it meets
        text = self.message if self.hint is None else f"{self.message}; hint: {self.hint}"
        return f"{type(self).__name__}({text!r})"

    def __reduce__(self) -> tuple[object, ...]:
        # exceptions pickle by their positional arguments, which would lose the facts
        return _restore, (type(self), self.message, self.__dict__)


def _restore(kind: type[TadcError], message: str, facts: dict[str, object]) -> TadcError:
    error = kind(message)
    error.__dict__.update(facts)
    return error


def _headline(message: str, span: Span | None, file: str | None) -> str:
    if span:
        return f"{span.file}:{span.line}:{span.column}: {message}"
    return f"{file}: {message}" if file else message


LONGEST_WHOLE_LINE = 160
"""The most characters of a line that an error shows whole; of longer ones, the part with marks."""
MOST_CHARACTERS_AROUND_MARKS = 60
"""The most characters shown before and after the marks then."""
LEFT_OUT = "..."
PICTURES = {**{code: 0x2400 + code for code in range(32) if code != 9}, 127: 0x2421}
"""The picture of each character that a terminal would obey, as `␀` for the first."""


def underlined(span: Span) -> list[str]:
    """The line and the marks under it; tabs stay tabs, so that the marks stay below the text."""
    start, end, stop = 0, span.end - 1, len(span.text)
    if stop > LONGEST_WHOLE_LINE:
        start = max(0, span.column - 1 - MOST_CHARACTERS_AROUND_MARKS)
        end = min(end, span.column - 1 + LONGEST_WHOLE_LINE - 2 * MOST_CHARACTERS_AROUND_MARKS)
        stop = min(stop, end + MOST_CHARACTERS_AROUND_MARKS)
    before = span.text[start : span.column - 1]
    first, last = LEFT_OUT if start else "", LEFT_OUT if stop < len(span.text) else ""
    padding = " " * len(first) + "".join("\t" if c == "\t" else " " * _width(c) for c in before)
    marks = "^" * max(1, sum(_width(c) for c in span.text[span.column - 1 : end]))
    shown = span.text[start:stop].translate(PICTURES)
    return [f"    {first}{shown}{last}", f"    {padding}{marks}"]


def _width(character: str) -> int:
    """The columns of a terminal that a character takes."""
    from unicodedata import combining, east_asian_width

    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """The hint `did you mean ...?` with the closest of the known names; None if none is close."""
    from difflib import get_close_matches

    near = get_close_matches(name, sorted(set(known)), n=1)
    return f"did you mean {near[0]}?" if near else None


class TadcSyntaxError(TadcError):
    """The text is outside the language."""


class UnknownNameError(TadcError):
    """A name that stands for nothing here."""


def unknown_name(what: str, name: str, names: Sequence[str]) -> UnknownNameError:
    """The error about a name that is none of `names`, with the one that is closest to it."""
    hint = did_you_mean(name, names) or f"there are {', '.join(names) or 'none'}"
    return UnknownNameError(f"there is no {what} {name!r}", hint=hint)


def check_names(what: str, names: Iterable[str], known: Sequence[str]) -> None:
    """Raise `UnknownNameError` where a name is none of those known."""
    for name in names:
        if name not in known:
            raise unknown_name(what, name, known)


class RankError(TadcError):
    """A wrong number of indices."""


class AffineError(TadcError):
    """An index, bound or size that is not an affine form."""


class RangeError(TadcError):
    """A range that cannot be inferred, or that leaves its tensor."""


class SizeError(TadcError):
    """Sizes that must agree and do not."""


class ArgumentError(TadcError):
    """A missing, superfluous or unusable argument of a call."""


class DtypeError(TadcError):
    """An element type that is unknown, or not the declared one."""


class FileError(TadcError):
    """A file that cannot be read or written."""


class UnsupportedError(TadcError):
    """Part of the language, but not supported here."""


class PlanError(TadcError):
    """A plan of loops that cannot be read, or that is not possible."""


class TargetError(TadcError):
    """The target or its tools cannot do what is asked."""


class SingularError(TadcError):
    """A Jacobian without inverse; `element` is an index in the tensor that a statement updates."""

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        *,
        element: tuple[int, ...] = (),
    ):
        super().__init__(message, span, hint)
        self.element = element


class IllConditionedWarning(UserWarning):
    """A Jacobian that is nearly singular: its inverse times a vector has few right digits."""


class EmptyRangeWarning(UserWarning):
    """An inferred range that is empty in a call, though no argument is."""


class IntegrationError(TadcError):
    """A differential equation that has no solution to the end; `time` is where it stopped."""

    def __init__(self, message: str, *, hint: str | None = None, time: float | None = None):
        super().__init__(message, hint=hint)
        self.time = time

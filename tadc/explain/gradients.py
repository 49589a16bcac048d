"""Explains gradients: for each read, its equations, their solution, guards and bounds.

Everything shown is what the passes say: the sums come from the program at the stages `derivative`
and `bounded`, the solution from `solve-index-kernels`. Equation numbers are those of
arXiv:1711.01348.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp

from tadc.dialects import tix
from tadc.dialects.tix import Variable
from tadc.errors import unknown_name
from tadc.explain.contribution import Contribution
from tadc.explain.records import Record
from tadc.function import Function
from tadc.once import cached_property
from tadc.passes.rewriting.programs import fresh_name
from tadc.stages import Derivation

Place = tuple[int, int]
"""Line and column."""

INTRODUCTION = """\
A read x[A i + a] in f[i] adds to dx[p] the adjoint df[i] times the derivative of f[i] by this read,
summed over the points i of its index set with A i = b = p - a (arXiv:1711.01348, eq. 38)."""


def explain(function: Function, *wrt: str, read: str | None = None) -> str:
    """The derivative of `function` by these arguments (all by default), read by read, as text.

    See `explanation`.
    """
    return str(explanation(function, *wrt, read=read))


def explanation(function: Function, *wrt: str, read: str | None = None) -> Explanation:
    """The derivative of `function` by these arguments (all by default), read by read, as records.

    `read` chooses contributions: `x` those of all reads of x, `x[i + 1]` those of reads that are
    written so. Raises `UnknownNameError` where there is no such argument or no such read, and
    `ArgumentError` where the program has no argument.
    """
    derivation = Derivation.of(function.program, wrt)
    return explained(derivation, str(derivation.derived), read)


def explained(derivation: Derivation, text: str, read: str | None = None) -> Explanation:
    """The explanation of a derivative that is known, and its text in the language."""
    gradients = list(_gradients(derivation, text))
    return Explanation(gradients if read is None else _chosen(gradients, read))


@dataclass(frozen=True)
class Explanation:
    """All that is said of a derivative; `str` gives it as text."""

    gradients: Sequence[Gradient]

    def __str__(self) -> str:
        lines = [INTRODUCTION, "", *(line for g in self.gradients for line in g.text())]
        return "\n".join(lines).rstrip("\n")


# --- the gradients --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gradient:
    """A definition of the derivative program, and the contributions that it adds up."""

    label: str
    element: str
    """The element that is explained, as `dx[p]`."""
    contributions: Sequence[Contribution]
    last_line: Sequence[str]
    """The line of the derivative program that defines it, if one still does."""
    others: int = 0
    """The number of contributions that are left out."""

    @cached_property
    def records(self) -> Sequence[Record]:
        """The explanation of each contribution."""
        return [contribution.record() for contribution in self.contributions]

    def text(self) -> Iterator[str]:
        """The explanation, line by line."""
        yield f"{self.element}: {_count(len(self.contributions), self.others)}"
        yield ""
        for record in self.records:
            yield from record.text()
            yield ""
        if self.last_line:
            yield from ("in the end", *(f"    {line}" for line in self.last_line), "")


def _count(shown: int, others: int) -> str:
    if others:
        return f"{shown} of {shown + others} contributions"
    match shown:
        case 0:
            return "nothing that counts reads it, so it is 0"
        case 1:
            return "the contribution of one read"
        case _:
            return f"the sum of {shown} contributions, one for each read and piece of its set"


def _gradients(derivation: Derivation, text: str) -> Iterator[Gradient]:
    """The definitions that the derivative has and the program does not, in order."""
    outlined = _program(derivation.outlined)
    known = {d.label.data for d in outlined.definitions}
    reads = {_place(op.location) for op in outlined.walk() if isinstance(op, tix.ReadOp)}
    bounded = {d.label.data: d for d in _program(derivation.modules["bounded"]).definitions}
    for definition in _program(derivation.modules["derivative"]).definitions:
        label = definition.label.data
        if label in known:
            continue
        names = _element_names(definition)
        inside = ", ".join(names.values())
        yield Gradient(
            label,
            f"{label}[{inside}]" if inside else label,
            [
                Contribution(derivation.program.span(before.location), names, before, after)
                for before, after in _matched(definition, bounded.get(label), reads)
            ],
            _last_line(text, label),
        )


def _program(module: ModuleOp) -> tix.ProgramOp:
    return next(op for op in module.ops if isinstance(op, tix.ProgramOp))


def _last_line(text: str, label: str) -> list[str]:
    """The line of the derivative program that defines a tensor, where one still does."""
    starts = f"{label}[", f"{label} ="
    return [line for line in text.split("\n") if line.startswith(starts)]


def _element_names(definition: tix.DefineOp) -> dict[Variable, str]:
    names: dict[Variable, str] = {}
    for index in definition.indices:
        names[index] = fresh_name(index.name_hint or "p", names.values())
    return names


def _matched(
    before: tix.DefineOp, after: tix.DefineOp | None, reads: Collection[Place | None]
) -> Iterator[tuple[tix.ReductionOp, tix.ReductionOp | None]]:
    """The sums over these reads, each with what has become of it, where that can be told.

    Sums from one read have the same place, and stay in order; but some may be gone, or joined.
    """
    sums, ended = list(_outermost(before)), list(_outermost(after)) if after else []
    for op in sums:
        place = _place(op.location)
        if place in reads:
            partners, found = (
                [o for o in some if _place(o.location) == place] for some in (sums, ended)
            )
            same = len(partners) == len(found)
            yield op, found[partners.index(op)] if same else None


def _outermost(definition: tix.DefineOp) -> Iterator[tix.ReductionOp]:
    """The reductions of a definition that stand in no other one."""
    for op in definition.walk():
        if isinstance(op, tix.ReductionOp) and not _inside_another(op):
            yield op


def _inside_another(op: tix.ReductionOp) -> bool:
    around = op.parent_op()
    while around is not None and not isinstance(around, tix.ReductionOp):
        around = around.parent_op()
    return around is not None


def _place(location: LocationAttr) -> Place | None:
    if not isinstance(location, FileLineColLoc):
        return None
    return location.line.data, location.column.data


# --- some of the reads ----------------------------------------------------------------------------


def _chosen(gradients: Sequence[Gradient], read: str) -> list[Gradient]:
    """The gradients with the contributions of these reads alone, without those that have none."""
    chosen: list[Gradient] = []
    for g in gradients:
        some = [c for c in g.contributions if _is_of(c, read)]
        if some:
            others = len(g.contributions) - len(some)
            chosen.append(replace(g, contributions=some, others=others))
    if not chosen:
        contributions = (c for g in gradients for c in g.contributions)
        names = dict.fromkeys(c.span.excerpt for c in contributions if c.span)
        raise unknown_name("contribution of a read", read, list(names))
    return chosen


def _is_of(contribution: Contribution, read: str) -> bool:
    """True if the text of the read is `read`, or begins with it as the name of a tensor."""
    text = contribution.span.excerpt if contribution.span else ""
    return _compact(read) in (_compact(text), text.partition("[")[0])


def _compact(text: str) -> str:
    return "".join(text.split())

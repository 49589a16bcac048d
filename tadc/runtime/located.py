"""Programs with index tensors as code runs them: with views of these as further arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.passes import ModulePass

from tadc.dialects.tix import IndexRange
from tadc.program import Program
from tadc.summary import Summary


class View(NamedTuple):
    """An argument that is made of an index argument: `starts` of `dst`, or its places along one of
    its dimensions."""

    what: str
    of: str
    """The name of the index argument."""

    @property
    def dimension(self) -> int | None:
        """The dimension whose positions the places are; None of starts."""
        return None if self.what == "starts" else int(self.what.removeprefix("places "))


def located(program: Program) -> Program:
    """The program in which sums over places of index tensors run along segments.

    Its arguments are those of the program, and then `views_of` it.
    """
    if not any(t.type.is_index for t in program.summary.inputs):
        return program
    (made,) = program.derive(_passes, name=("located",))
    return made


def views_of(summary: Summary) -> list[View]:
    """The arguments of a located program that are views, in order."""
    views = [t.type.element.view for t in summary.inputs if isinstance(t.type.element, IndexRange)]
    return [View(*view.rsplit(" of ", 1)) for view in views if view]


def _passes() -> Sequence[ModulePass]:
    # here, for a program from the disk needs none of all the passes
    from tadc.passes.pipeline import locating_passes

    return locating_passes().passes

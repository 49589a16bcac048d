"""`view`: a program and its derivative to look at, as plain data.

A page, a notebook and a server show it; none of them knows the compiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from tadc.emit import emit
from tadc.errors import TadcError, check_names
from tadc.explain.contribution import Contribution
from tadc.explain.gradients import explained
from tadc.explain.records import Bound, Record
from tadc.language.custom_functions import known_functions
from tadc.once import cached_property
from tadc.program import Program
from tadc.runtime.compiled import Compiled
from tadc.stages import Derivation
from tadc.support.recent import Recent
from tadc.view.links import Link, Reads
from tadc.view.pictures.pictures import picture_file, pictures
from tadc.view.sizes import LEAST, MOST, all_sizes, example_sizes

STAGES = {
    "tensor-index": "The program as tensors that are defined element by element.",
    "derivative": "Each read adds a sum over the points that read the element: equations.",
    "solved": "The equations are solved in integers; what has no solution is a guard.",
    "bounded": "Each index of a sum has a range: exactly the points that contribute.",
    "simplified": "Factors have left sums, single points are read, guards are merged.",
}
"""The stages that can be shown, each with what holds there."""

TEXTS = {"loops": "scheduled", "plan": "plan", "llvm": "llvm", "cuda": "cuda"}
"""The parts that are texts of the code of the derivative, as `Function.emit` names them."""

PARTS = ("derivative", "explanation", "stages", *TEXTS, "pictures")
"""All parts of a view."""

MOST_SEEN = 4
"""The number of programs whose derivations are kept, for parts that are asked for later."""

Data = dict[str, Any]


def view(
    source: str,
    *,
    wrt: str | Sequence[str] | None = None,
    parts: Sequence[str] = ("derivative", "explanation"),
    sizes: Mapping[str, int] | None = None,
    element: Mapping[str, int] | None = None,
    stage_names: Sequence[str] | None = None,
) -> Data:
    """A program and its derivative to look at, as data that JSON can hold.

    `wrt` names the arguments to derive by, by default all; `parts`, of `PARTS`, what is wanted;
    `stage_names` the stages, of `STAGES`, by default all. `sizes` chooses sizes by name, and
    `element` the element of gradients that pictures show, by names of indices. In the result are,
    where they were asked for:

    - `error`: None, or a dict of `kind`, `message` (as the command line prints it), `says` (the
      sentence alone) and the place, `line`, `column`, `end_line` and `end_column`, from 1 on, the
      end exclusive, None where it has none
    - `formula`: `text` and `links` of the program
    - `derivative`: those of the derivative
    - `explanation`: `text`, and `records` of each contribution: see `_record`
    - `stages`: dicts of `name`, `says`, `text`, `links`, and `same` where the text is that before
    - `loops`, `plan`, `llvm`, `cuda`: `text` of the code of the derivative, for calls of any sizes
    - `sizes`: dicts of `name`, `value`, `least` and `most`
    - `pictures`: those of `tadc.view.pictures.pictures.pictures`

    A link is a list of the first character of a part of the text, the one behind it (Unicode code
    points from 0 on), and the name of a read, as `r0`: links of the same name belong together.
    Records and pictures have a `link`, too. Where passes have made a tensor of a sum, as `s0`, it
    is in no formula; None where the place of a read is not known.

    Bad input is an `error` beside what was there before it, and never raised.
    """
    answer: Data = {"error": None, "formula": _text(source, [])}
    try:
        check_names("part", parts, PARTS)
        seen = _seen(source, (wrt,) if isinstance(wrt, str) else tuple(wrt or ()))
        answer["formula"] = seen.formula()
        answer["sizes"] = seen.sizes(sizes)
        stages = STAGES if stage_names is None else stage_names
        shown: dict[str, Callable[[], Any]] = {
            "derivative": lambda: _text(*seen.derivative),
            "explanation": seen.explanation,
            "stages": lambda: seen.stages(stages),
            "pictures": lambda: seen.pictures(sizes, element),
            **{part: partial(seen.code, kind) for part, kind in TEXTS.items()},
        }
        for part in parts:
            answer[part] = seen.program.recurse(shown[part])
    except TadcError as error:
        answer["error"] = _error(error)
    return answer


class Seen:
    """A program, and its derivative as soon as something of it is asked for: parts of a view."""

    def __init__(self, program: Program, wrt: tuple[str, ...] = ()):
        self.program = program
        self.wrt = wrt
        self.reads = Reads(program)

    def formula(self) -> Data:
        """The program as it was written, and the reads in it."""
        return _text(self.program.source, self.reads.in_formula())

    def sizes(self, chosen: Mapping[str, int] | None = None) -> list[Data]:
        """Sizes to choose, with values to begin with."""
        values = example_sizes(self.program, chosen)
        return [{"name": n, "value": v, "least": LEAST, "most": MOST} for n, v in values.items()]

    @cached_property
    def derivation(self) -> Derivation:
        return Derivation.of(self.program, self.wrt)

    @cached_property
    def derivative(self) -> tuple[str, list[Link]]:
        """The derivative in the language, and the terms in it."""
        return self.reads.in_program(self.derivation.derived)

    def explanation(self) -> Data:
        """The reason for each term: text and records."""
        explanation = explained(self.derivation, self.derivative[0])
        records = [
            _record(gradient.label, record, self.reads.name(contribution.op))
            for gradient in explanation.gradients
            for contribution, record in zip(gradient.contributions, gradient.records, strict=True)
        ]
        return {"text": str(explanation), "records": records}

    def stages(self, names: Iterable[str] = STAGES) -> list[Data]:
        """The IR at these stages, and the operations of each read."""
        found: list[Data] = []
        for name in names:
            check_names("stage", [name], list(STAGES))
            shown = _text(*self.reads.in_module(self.derivation.modules[name]))
            same = bool(found) and found[-1]["text"] == shown["text"]
            found.append({"name": name, "says": STAGES[name], **shown, "same": same})
        return found

    def pictures(
        self, sizes: Mapping[str, int] | None = None, element: Mapping[str, int] | None = None
    ) -> list[Data]:
        """The index sets of the contributions, drawn at these sizes for an element."""
        shown = pictures(self._contributions(), self._all_sizes(sizes), element)
        return [{**picture, "link": picture["link"] or None} for picture in shown]

    def drawing(
        self, sizes: Mapping[str, int] | None = None, element: Mapping[str, int] | None = None
    ) -> str:
        """All pictures of a program in one SVG."""
        return picture_file(self._contributions(), self._all_sizes(sizes), element)

    def _contributions(self) -> list[tuple[str, Contribution]]:
        """The contributions to all gradients, each with the name of its read."""
        found = explained(self.derivation, self.derivative[0])
        every = [c for gradient in found.gradients for c in gradient.contributions]
        return [(self.reads.name(c.op) or "", c) for c in every]

    def _all_sizes(self, chosen: Mapping[str, int] | None) -> Mapping[str, int]:
        return all_sizes(self.program, example_sizes(self.program, chosen))

    def code(self, kind: str) -> Data:
        """A text of the code of the derivative."""
        return {"text": emit(Compiled(self.derivation.derived, "cpu"), kind, None, "f64")}


_kept: Recent[object, Seen] = Recent(MOST_SEEN)


def _seen(source: str, wrt: tuple[str, ...]) -> Seen:
    """A program with what is known of it from an earlier view, if its functions are the same."""
    key = source, wrt, repr(sorted(known_functions().items()))
    seen = _kept.get(key)
    if seen is None:
        seen = Seen(Program.parsed(source), wrt)
        _kept.put(key, seen)
    return seen


def _text(text: str, links: Sequence[Link]) -> Data:
    return {"text": text, "links": [list(link) for link in links]}


def _record(gradient: str, record: Record, link: str | None) -> Data:
    """The explanation of one contribution, in texts.

    `link` is the name of the read, `read` its text, `of` the gradient, `line` its place, `lines`
    all that is said. `equations` and `solution` are equations, `guards` conditions, and `bounds` a
    dict for each index that is summed over: its `index`, and in `lower` and `upper` (exclusive) the
    ends of its range, each with its `form` and the condition that it comes `from`.
    """
    equations, solution = record.equations, record.solution
    sides = zip(equations.left, equations.right, strict=True) if equations else ()
    return {
        "link": link,
        "read": record.span and record.span.excerpt,
        "of": gradient,
        "line": record.span and record.span.line,
        "lines": list(record.text()),
        "equations": [f"{left} = {right}" for left, right in sides],
        "solution": [*solution.quotients, *solution.values] if solution else [],
        "guards": [guard.condition for guard in record.guards],
        "bounds": [
            {"index": r.index, "lower": _bounds(r.lower), "upper": _bounds(r.upper)}
            for r in record.ranges or ()
        ],
    }


def _bounds(bounds: Iterable[Bound]) -> list[Data]:
    return [{"form": bound.form, "from": bound.origin} for bound in bounds]


def _error(error: TadcError) -> Data:
    end = error.span.end if error.span else None
    return {
        "kind": type(error).__name__,
        "message": str(error),
        "says": error.message,
        "line": error.line,
        "column": error.column,
        "end_line": error.line,
        "end_column": end,
    }

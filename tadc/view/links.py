"""Links: which characters of a formula, of its derivative and of every stage stem from one read.

A read of the formula adds a term to a gradient. Passes carry its place in the text along, in the
adjoint that the term reads: so an expression in which all adjoints have the place of one read is
its term, however it was solved, simplified and moved. The largest ones are linked, as the printers
wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from xdsl.dialects.builtin import FileLineColLoc, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects.tix import Affine, DefineOp, ProgramOp, ReadOp, ReductionOp, Variable, YieldOp
from tadc.language.printing.program import print_marked_program
from tadc.language.printing.values import Marker
from tadc.passes.analysis.value_numbers import ValueNumbers
from tadc.program import Program
from tadc.support.ir_text import text_and_places

Place = tuple[int, int]
"""Line and column."""

Link = tuple[int, int, str]
"""The first character of a part of a text, the one behind it, and the name of a read."""


NOTHING = frozenset[str | None]()
UNKNOWN = frozenset[str | None]([None])
"""Of a read that cannot be told."""


class Reads:
    """The reads in the text of a program, named `r0`, `r1`, ... in their order.

    What reads the same element wherever another read does has the name of that one: passes know one
    value. Sums and other reductions, which passes may make a tensor that is read, are `s0`, `s1`,
    ...; only reads are in the formula.
    """

    def __init__(self, program: Program):
        self.program = program
        first = dict(_first_places(program.op))
        numbers = {place: n for n, place in enumerate(sorted(set(first.values())))}
        sums = {p for op in program.op.walk() if isinstance(op, ReductionOp) and (p := _place(op))}
        self.names = {place: f"s{n}" for n, place in enumerate(sorted(sums))}
        self.names |= {place: f"r{numbers[first[place]]}" for place in first}
        self.defined = {_place(op) for op in program.op.definitions}
        """The places of the tensors that the text defines."""
        arguments: dict[SSAValue, str] = {v: name for name, v in program.op.arguments.items()}
        self._adjoints = {
            self.name(op): f"d{arguments[op.tensor]}"
            for op in _reads_in(program.op)
            if op.tensor in arguments
        }

    def name(self, op: Operation) -> str | None:
        """The read at the place of an operation, if it is one of the text."""
        place = _place(op)
        return None if place is None else self.names.get(place)

    def contributes_to(self, name: str | None, gradient: str) -> bool:
        """True if a read is one of the argument whose gradient has this name."""
        return self._adjoints.get(name) == gradient

    def in_formula(self) -> list[Link]:
        """The reads in the text itself."""
        starts = _line_starts(self.program.source)
        links: list[Link] = []
        for op in _reads_in(self.program.op):
            span, name = self.program.span(op.location), self.name(op)
            if span and name:
                start = starts[span.line - 1]
                links.append((start + span.column - 1, start + span.end - 1, name))
        return sorted(set(links))

    def in_own_text(self) -> tuple[str, list[Link]]:
        """The program as it prints itself, and the reads in it."""
        return _printed(self.program, lambda op: self.name(op) if isinstance(op, ReadOp) else None)

    def in_program(self, derived: Program) -> tuple[str, list[Link]]:
        """A derivative in the language, and the terms in it."""
        return _printed(derived, Terms(self, derived.op).name)

    def in_module(self, module: ModuleOp) -> tuple[str, list[Link]]:
        """The IR of a stage, and in it the operations of terms and, before there are any, reads."""
        text, places = text_and_places(module)
        links: list[Link] = []
        for program in (op for op in module.ops if isinstance(op, ProgramOp)):
            terms = Terms(self, program)
            names = {op: name for op in program.walk() if (name := terms.stem(op))}
            links += _joined(text, names, places)
        return text, links


class Terms:
    """The operations of a derivative, each with the reads that it depends on through adjoints."""

    def __init__(self, reads: Reads, program: ProgramOp):
        self._reads = reads
        self._found: dict[Operation | Block | None, frozenset[str | None]] = {}
        known = {t.name for t in reads.program.args}
        self._adjoints: set[SSAValue] = {
            v for name, v in program.arguments.items() if name not in known
        }
        gradients = dict(zip(program.returned, program.result_names, strict=True))
        for definition in program.definitions:
            if any(op.tensor in self._adjoints for op in _reads_in(definition)):
                self._adjoints.add(definition.result)
                self._follow(definition, gradients.get(definition.result))

    def _follow(self, definition: DefineOp, gradient: str | None) -> None:
        """Find the reads of each operation of an adjoint, of a gradient where it has a name."""
        for op in definition.walk(region_first=True):
            if isinstance(op, ReadOp):
                is_term = op.tensor in self._adjoints
                self._found[op] = frozenset(
                    [self._read(op, definition, gradient)] if is_term else []
                )
            else:
                before = [v.owner for v in op.operands]
                inner = [block.last_op for region in op.regions for block in region.blocks]
                parts = [self._found.get(o, NOTHING) for o in (*before, *inner)]
                found = NOTHING.union(*parts)
                beside = frozenset(name for o in before if (name := self._beside(o, gradient)))
                self._found[op] = beside if beside and found == UNKNOWN else found

    def _beside(self, op: Operation | Block, gradient: str | None) -> str | None:
        """The read for which a value of the program is read, beside an adjoint: it tells of which
        one a product is the term, where the adjoint was computed in place."""
        if not isinstance(op, ReadOp) or op.tensor in self._adjoints or gradient is None:
            return None
        name = self._reads.name(op)
        return name if self._reads.contributes_to(name, gradient) else None

    def _read(self, op: ReadOp, definition: DefineOp, gradient: str | None) -> str | None:
        """The read of the text that an adjoint is read for, if that can be told."""
        name = self._reads.name(op)
        if gradient is not None:
            # where adjoints were computed in place, theirs are the places of reads further on
            return name if self._reads.contributes_to(name, gradient) else None
        # the adjoint of a result begins with that of the caller, at the place of the tensor
        # itself, where an update reads the version before, too
        place = _place(op)
        return None if place == _place(definition) and place in self._reads.defined else name

    def stem(self, op: Operation) -> str | None:
        """The read that all of an operation stems from; of a program's own, the read itself."""
        found = self._found.get(op)
        if found is None:
            return self._reads.name(op) if isinstance(op, ReadOp) else None
        return next(iter(found)) if len(found) == 1 else None

    def name(self, op: Operation) -> str | None:
        """The read whose term an operation is: it stems from that alone, and no user of it does."""
        if op not in self._found or isinstance(op, YieldOp):
            return None
        stem = self.stem(op)
        users = {_user(use.operation) for result in op.results for use in result.uses}
        return stem if any(self._stem_of_user(user) != stem for user in users) else None

    def _stem_of_user(self, op: Operation) -> str | None:
        return None if isinstance(op, DefineOp) else self.stem(op)


def _user(op: Operation) -> Operation:
    """The operation that uses a value: where a region yields it, the one around."""
    around = op.parent_op()
    return around if isinstance(op, YieldOp) and around else op


def _printed(program: Program, mark: Marker) -> tuple[str, list[Link]]:
    with program.located_errors():
        text, marks = program.recurse(lambda: print_marked_program(program.op, mark))
    return text, [(found.start, found.end, found.name) for found in marks]


def _reads_in(op: Operation) -> Iterator[ReadOp]:
    return (inner for inner in op.walk() if isinstance(inner, ReadOp))


def _first_places(program: ProgramOp) -> Iterator[tuple[Place, Place]]:
    """The place of each read, and of the first that reads the same in the same or an outer body.

    Bodies of equal reductions count as one: these get one name (`outline-reductions`).
    """
    known: dict[tuple[Block | None, SSAValue, tuple[Affine, ...]], Place] = {}
    indices, blocks = _of_first_equals(program)
    for op in _reads_in(program):
        place = _place(op)
        if place is None:
            continue
        forms = tuple(form.substitute(indices) for form in op.forms)
        keys = [(blocks.get(b, b), op.tensor, forms) for b in _blocks_around(op)]
        first = next((known[key] for key in keys if key in known), place)
        known.setdefault(keys[0], first)
        yield place, first


def _of_first_equals(
    program: ProgramOp,
) -> tuple[dict[Variable, Affine], dict[Block | None, Block]]:
    """For indices and blocks of reductions those of the first reduction with the same value."""
    indices: dict[Variable, Affine] = {}
    blocks: dict[Block | None, Block] = {}
    for definition in program.definitions:
        numbers = ValueNumbers(definition)
        firsts: dict[int, ReductionOp] = {}
        for op in definition.walk():
            if not isinstance(op, ReductionOp):
                continue
            first = firsts.setdefault(numbers[op.result], op)
            for own, other in zip(_blocks_in(op), _blocks_in(first), strict=False):
                if own is not other:
                    blocks[own] = other
                    pairs = zip(own.args, other.args, strict=False)
                    indices |= {v: Affine.of(w) for v, w in pairs}
    return indices, blocks


def _blocks_in(op: Operation) -> Iterator[Block]:
    return (region.block for inner in op.walk() for region in inner.regions)


def _blocks_around(op: Operation) -> Iterator[Block | None]:
    """The block of an operation and those around it, up to the body of its definition."""
    block = op.parent
    while block is not None and not isinstance(block.parent_op(), ProgramOp):
        yield block
        around = block.parent_op()
        block = around.parent if around else None


def _place(op: Operation) -> Place | None:
    """Line and column in the text."""
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    return location.line.data, location.column.data


def _line_starts(text: str) -> list[int]:
    """The number of the first character of each line, behind a mark of byte order."""
    first = len(text) - len(text.removeprefix("\ufeff"))
    return [first, *(found.end() for found in re.finditer(r"\r\n|\r|\n", text))]


def _joined(
    text: str, names: Mapping[Operation, str], places: Mapping[Operation, tuple[int, int]]
) -> list[Link]:
    """The links of operations: one for those of a name with nothing but space between them."""
    links: list[Link] = []
    for op, name in names.items():
        around = op.parent_op()
        if around is not None and names.get(around) == name:
            continue  # within a link
        start, end = places[op]
        if links and links[-1][2] == name and not text[links[-1][1] : start].strip():
            start = links.pop()[0]
        links.append((start, end, name))
    return links

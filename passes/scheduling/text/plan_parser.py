"""The text of a plan, read into entries that know their places.

    for N=512, f32                                      # the call that the plan was made for
    y[i, j]: rows i by 4, columns j by 64, 16 blocks a group
      sum 1 over k in chunks of 256 of k: panel w[j, k]
      else columns i by 64
    z[i, j]: stream
    m[i]: row by row
    u[i, j]: in bands
    t[i, j]: plain

    plan    =  [call] {entry}
    call    =  "for" setting {"," setting}              setting = NAME "=" NUMBER | "f32" | "f64"
    entry   =  NAME ["[" names "]"] ":" (whole | blocks {"else" blocks})
    whole   =  "plain" | "stream" | "row" "by" "row" | "in" "bands"
    blocks  =  ["rows" NAME "by" NUMBER ","] {"all" NAME ","}
               ("columns" | "terms") NAME "by" NUMBER
               ["," NUMBER ("block" | "blocks") "a" "group" [values]]  {sum}
    values  =  "for" NUMBER NAME {"and" NUMBER NAME}
    sum     =  "sum" NUMBER "over" names (chunks | [chunks] ":" "panel" value {"," value})
    chunks  =  "in" "chunks" "of" NUMBER "of" NAME

Each `call`, `entry`, `else` and `sum` has a line of its own; `#` begins a comment. What a plan says
of a definition is looked at where that is known: `passes/scheduling/text/apply_plan.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tadc.passes.rewriting.failure import PassFailure

PLAN = "<plan>"
"""The file name of plans in errors."""

LARGEST_NUMBER = 1 << 20
"""The largest number of rows, columns, blocks or terms that can be meant."""

_TOKEN = re.compile(
    r"(?P<space>[ \t]+|\#.*)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|//|[<>=!]=|[][(),:=<>+\-*/%.])"
)


@dataclass(frozen=True)
class Token:
    """A word, number or sign, with its line and column, both from 1."""

    text: str
    line: int
    column: int


class PlanFailure(PassFailure):
    """A plan that cannot be read or used, at a token of it."""

    def __init__(self, token: Token, reason: str, hint: str | None = None):
        place = FileLineColLoc(StringAttr(PLAN), IntAttr(token.line), IntAttr(token.column))
        super().__init__(place, reason, hint)
        self.token = token


@dataclass(frozen=True)
class Count:
    """A number from 1 that stands in a plan."""

    token: Token
    value: int


@dataclass(frozen=True)
class Axis:
    """An index with the width of blocks along it: `i by 4`."""

    index: Token
    width: Count


@dataclass(frozen=True)
class SumLine:
    """A sum as a plan says it: `sum 1 over k in chunks of 256 of k: panel w[j, k]`."""

    number: Count
    indices: Sequence[Token]
    chunk: Axis | None
    panels: Sequence[Sequence[Token]]


@dataclass(frozen=True)
class Blocks:
    """A tile as a plan says it."""

    rows: Axis | None
    whole: Sequence[Token]
    """Indices of which a block has all values."""
    columns: Axis
    along_terms: bool
    """True if vectors run along terms of a sum."""
    rest: Count | None
    """The columns of narrower blocks."""
    group: Count | None
    along: Sequence[Axis]
    """Other indices, for so many values of which blocks share what they copy."""
    sums: list[SumLine] = field(default_factory=list[SumLine])


@dataclass(frozen=True)
class Entry:
    """A definition as a plan says it; without blocks it is `plain`, `stream`, `row` or `in`."""

    name: Token
    indices: Sequence[Token]
    kind: Token
    blocks: list[Blocks] = field(default_factory=list[Blocks])


@dataclass(frozen=True)
class PlannedCall:
    """The call that a plan was made for: sizes by name, and the precision."""

    token: Token
    sizes: Sequence[tuple[Token, int]] = ()
    precision: str = "f64"


@dataclass(frozen=True)
class LoopPlan:
    """A plan of loops as it was written."""

    entries: Sequence[Entry] = ()
    call: PlannedCall | None = None


def parse_plan(text: str) -> LoopPlan:
    """The plan that a text says. Raises `PlanFailure` where it says none."""
    call: PlannedCall | None = None
    entries: dict[str, Entry] = {}
    last: Entry | None = None
    for number, line in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        tokens = _tokens(line, number)
        if not tokens:
            continue
        first, reader = tokens[0], _Reader(tokens)
        if first.text == "for":
            if call or entries:
                raise PlanFailure(first, "the call that a plan is for stands on its first line")
            call = reader.call()
        elif first.text == "else":
            _blocks_above(first, last).append(reader.alternative())
        elif first.text == "sum" and len(tokens) > 1 and tokens[1].text.isdecimal():
            _blocks_above(first, last)[-1].sums.append(reader.sum())
        else:
            last = reader.entry()
            name = last.name
            if name.text in entries:
                before = entries[name.text].name.line
                raise PlanFailure(name, f"{name.text} has a plan already, on line {before}")
            entries[name.text] = last
        reader.end()
    return LoopPlan(tuple(entries.values()), call)


def _blocks_above(token: Token, entry: Entry | None) -> list[Blocks]:
    """The blocks that a line goes on about."""
    if entry is None or not entry.blocks:
        raise PlanFailure(
            token,
            f"a line of {token.text!r} goes on about blocks, and there are none above",
            "blocks are written as y[i, j]: rows i by 4, columns j by 64",
        )
    return entry.blocks


def _tokens(line: str, number: int) -> list[Token]:
    found: list[Token] = []
    place = 0
    while place < len(line):
        match = _TOKEN.match(line, place)
        if match is None:
            token = Token(line[place], number, place + 1)
            raise PlanFailure(token, f"the character {line[place]!r} has no place in a plan")
        if match.lastgroup != "space":
            found.append(Token(match[0], number, place + 1))
        place = match.end()
    return found


def as_written(tokens: Sequence[Token]) -> str:
    """The tokens of one line as they stand there."""
    text = ""
    for token in tokens:
        text += " " * (token.column - tokens[0].column - len(text)) + token.text
    return text


def words(text: str) -> list[str]:
    """The tokens of one line: texts that differ in spaces alone have the same."""
    return [token.text for token in _tokens(text, 1)]


class _Cursor:
    """Reads the tokens of one line in turn."""

    def __init__(self, tokens: Sequence[Token]):
        self.tokens = tokens
        self.place: int = 0

    def count(self, what: str) -> Count:
        token = self.digits(what)
        value = int(token.text) if len(token.text) < len(str(LARGEST_NUMBER)) + 1 else 0
        if not 1 <= value <= LARGEST_NUMBER:
            raise PlanFailure(token, f"expected {what} from 1 to {LARGEST_NUMBER}")
        return Count(token, value)

    def digits(self, what: str) -> Token:
        token = self.peek(what)
        if not (token.text.isascii() and token.text.isdecimal()):
            raise PlanFailure(token, f"expected {what}, and found {token.text!r}")
        return self.next()

    def name(self, what: str) -> Token:
        token = self.peek(what)
        if not token.text.isidentifier():
            raise PlanFailure(token, f"expected {what}, and found {token.text!r}")
        return self.next()

    def word(self, text: str) -> Token:
        token = self.peek(repr(text))
        if token.text != text:
            raise PlanFailure(token, f"expected {text!r}, and found {token.text!r}")
        return self.next()

    def takes(self, text: str) -> bool:
        """True if the next token is this one, which is then read."""
        found = self.place < len(self.tokens) and self.tokens[self.place].text == text
        self.place += found
        return found

    def peek(self, what: str) -> Token:
        """The next token; a failure that says what should be there where the line ends."""
        if self.place == len(self.tokens):
            last = self.tokens[-1]
            end = Token("", last.line, last.column + len(last.text))
            raise PlanFailure(end, f"the line ends, and should go on with {what}")
        return self.tokens[self.place]

    def next(self) -> Token:
        self.place += 1
        return self.tokens[self.place - 1]


class _Reader(_Cursor):
    """Reads the lines of a plan."""

    # --- lines ---

    def call(self) -> PlannedCall:
        """The line that names the call: `for N=512, f32`."""
        token = self.word("for")
        sizes: list[tuple[Token, int]] = []
        precision = "f64"
        more = True
        while more:
            name = self.name("a size or a precision")
            if name.text in ("f32", "f64"):
                precision = name.text
            else:
                self.word("=")
                sizes.append((name, int(self.digits("a size").text)))
            more = self.takes(",")
        return PlannedCall(token, sizes, precision)

    def entry(self) -> Entry:
        """The line of a definition: `y[i, j]: ...`."""
        name = self.name("a definition")
        indices: list[Token] = []
        if self.takes("["):
            indices = self.names("]")
            self.word("]")
        self.word(":")
        kind = self.peek("plain, stream, row by row, in bands, or rows i by 4, columns j by 64")
        if kind.text in ("plain", "stream"):
            return Entry(name, indices, self.next())
        if self.takes("row"):
            self.word("by")
            self.word("row")
            return Entry(name, indices, kind)
        if self.takes("in"):
            self.word("bands")
            return Entry(name, indices, kind)
        return Entry(name, indices, kind, [self.blocks()])

    def alternative(self) -> Blocks:
        self.word("else")
        return self.blocks()

    def blocks(self) -> Blocks:
        """The blocks of a tile: `rows i by 4, columns j by 64, 16 blocks a group for 8 n`."""
        rows = None
        if self.takes("rows"):
            rows = self.axis()
            self.word(",")
        whole: list[Token] = []
        while self.takes("all"):
            whole.append(self.name("an index"))
            self.word(",")
        along_terms = self.takes("terms")
        if not along_terms and not self.takes("columns"):
            token = self.peek("columns j by 64")
            raise PlanFailure(
                token,
                f"expected columns j by 64, and found {token.text!r}",
                "a definition is plain, a stream, row by row, in bands, or in blocks: "
                "rows i by 4, columns j by 64",
            )
        columns, rest, group = self.axis(), None, None
        along: list[Axis] = []
        more = self.takes(",")
        if more and self.takes("rest"):
            self.word("by")
            rest = self.count("a number of columns")
            more = self.takes(",")
        if more:
            group = self.count("a number of blocks")
            if not self.takes("block"):
                self.word("blocks")
            self.word("a")
            self.word("group")
            while self.takes("and" if along else "for"):
                count = self.count("a number of values")
                along.append(Axis(self.name("an index"), count))
        return Blocks(rows, whole, columns, along_terms, rest, group, along)

    def sum(self) -> SumLine:
        """The line of a sum: `sum 1 over k in chunks of 256 of k: panel w[j, k]`."""
        self.word("sum")
        number = self.count("the number of a sum")
        self.word("over")
        indices = self.names(":")
        chunk = None
        if self.takes("in"):
            self.word("chunks")
            self.word("of")
            length = self.count("a number of terms")
            self.word("of")
            chunk = Axis(self.name("an index of the sum"), length)
        if chunk and self.place == len(self.tokens):
            return SumLine(number, indices, chunk, [])
        self.word(":")
        self.word("panel")
        panels = [self.value()]
        while self.takes(","):
            panels.append(self.value())
        return SumLine(number, indices, chunk, panels)

    def end(self) -> None:
        """Refuse what is left of the line."""
        if self.place < len(self.tokens):
            token = self.tokens[self.place]
            raise PlanFailure(token, f"the line should end before {token.text!r}")

    # --- parts ---

    def axis(self) -> Axis:
        index = self.name("an index")
        self.word("by")
        return Axis(index, self.count("a number of rows or columns"))

    def names(self, end: str) -> list[Token]:
        """Names with commas between them, up to `end` or `in`."""
        found: list[Token] = []
        while self.place < len(self.tokens) and self.tokens[self.place].text != end:
            found.append(self.name("an index"))
            if not self.takes(","):
                break
        return found

    def value(self) -> Sequence[Token]:
        """The tokens of a value: up to a comma outside of brackets, or the end of the line."""
        start, depth = self.place, 0
        while self.place < len(self.tokens):
            text = self.tokens[self.place].text
            if text == "," and not depth:
                break
            depth += (text in "([") - (text in ")]")
            self.place += 1
        if self.place == start:
            self.peek("a value, as w[j, k]")
            token = self.tokens[self.place]
            raise PlanFailure(token, f"expected a value, as w[j, k], and found {token.text!r}")
        return self.tokens[start : self.place]

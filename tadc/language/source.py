"""The text of a program: its lines, its Python syntax tree, and the spans that errors underline."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.ir import Attribute

from tadc.errors import Span, TadcSyntaxError
from tadc.language.nesting import innermost
from tadc.language.notations import explained, hint_for
from tadc.once import cached_property
from tadc.support.recursion import with_large_stack

PROGRAM = "<program>"
"""The file name of a program that is given as text."""

_SCALAR_DECLARATION = re.compile(
    r"((?:^|;)[ \t]*[^\s:;#]+[ \t]*:[ \t]*\w+(?:\([^\n;#\[\]]*\))?[ \t]*)\[(\s*)\]", re.MULTILINE
)

_FEWEST_BRACKETS_TO_BLAME = 50
"""The depth of brackets from which on nesting is blamed on them rather than on a long line."""


class Source:
    """The text of one program."""

    def __init__(self, text: str, file: str = PROGRAM):
        self.file = file
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(text).__name__
            raise TadcSyntaxError(f"a program is text, not {kind}", Span(file, 1, 1, 2, ""))
        self.text = text.removeprefix("\ufeff")
        self.lines = re.split(r"\r\n|\r|\n", self.text)

    # --- spans ---

    def span(self, node: ast.AST) -> Span:
        """The place of `node`; of several lines, the first one."""
        line, start = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        last, end = getattr(node, "end_lineno", line), getattr(node, "end_col_offset", start + 1)
        text = self._line(line)
        column = _characters(text, start)
        stop = _characters(text, end) if last == line else len(text.rstrip())
        return self._span(line, column + 1, stop + 1)

    def _span(self, line: int, column: int, end: int) -> Span:
        return Span(self.file, line, column, max(end, column + 1), self._line(line))

    def _line(self, number: int) -> str:
        return self.lines[number - 1] if 1 <= number <= len(self.lines) else ""

    def at(self, line: int, column: int, end: int | None = None) -> Span:
        """A position, kept within the text."""
        line = min(max(line, 1), len(self.lines))
        column = min(max(column, 1), len(self._line(line)) + 1)
        return self._span(line, column, column + 1 if end is None else end)

    def location(self, node: ast.AST) -> FileLineColLoc:
        """The location that operations made from `node` carry."""
        span = self.span(node)
        return FileLineColLoc(StringAttr(self.file), IntAttr(span.line), IntAttr(span.column))

    def span_at(self, location: Attribute) -> Span | None:
        """The span of the read or index that an operation with this location was made from."""
        node = self._node_at(location)
        if node is not None:
            return self.span(node)
        if isinstance(location, FileLineColLoc):
            return self.at(location.line.data, location.column.data)
        return None

    def dimension_at(self, location: Attribute, dimension: int) -> Span | None:
        """The span of one index of the read with this location."""
        node = self._node_at(location)
        if not isinstance(node, ast.Subscript):
            return self.span_at(location)
        return self.span(items(node.slice)[dimension])

    def _node_at(self, location: Attribute) -> ast.AST | None:
        if not isinstance(location, FileLineColLoc):
            return None
        return self._nodes.get((location.line.data, location.column.data))

    @cached_property
    def _nodes(self) -> dict[tuple[int, int], ast.AST]:
        """The names and, before them, the element reads by where they start."""
        nodes: dict[tuple[int, int], ast.AST] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name | ast.Subscript):
                span = self.span(node)
                place = (span.line, span.column)
                if isinstance(node, ast.Subscript) or place not in nodes:
                    nodes[place] = node
        return nodes

    # --- syntax ---

    @cached_property
    def tree(self) -> ast.Module:
        """Python's syntax tree of the text."""
        self._check_characters()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return with_large_stack(lambda: ast.parse(self._python))
        except SyntaxError as error:
            raise self._converted(error) from None
        except (RecursionError, MemoryError):
            raise self._too_deep(self._deepest()) from None
        except ValueError as error:
            raise TadcSyntaxError(str(error), self.at(1, 1)) from None

    def too_deep(self) -> TadcSyntaxError:
        """The error about nesting, at the innermost part."""
        return self._too_deep(self.span(innermost(self.tree)))

    @staticmethod
    def _too_deep(span: Span) -> TadcSyntaxError:
        hint = "define parts of it on lines of their own"
        return TadcSyntaxError("the program is nested too deeply here", span, hint)

    @property
    def _python(self) -> str:
        """The text with `s: f64[]`, which Python does not know, as `s: f64()`."""
        return _SCALAR_DECLARATION.sub(r"\1(\2)", "\n".join(self.lines))

    def _check_characters(self) -> None:
        for number, line in enumerate(self.lines, 1):
            if found := re.search("[\0\ud800-\udfff]", line):
                raise TadcSyntaxError(
                    f"the character U+{ord(found[0]):04X} cannot be part of a program",
                    self.at(number, found.start() + 1),
                    "save the program as plain UTF-8 text",
                )

    def _converted(self, error: SyntaxError) -> TadcSyntaxError:
        line, column, end = error.lineno or 1, error.offset or 1, None
        if error.end_lineno == error.lineno and (error.end_offset or 0) > column:
            end = error.end_offset
        if found := explained(self._line(line), error.msg):
            at = self.at(line, found.start + 1, found.end + 1)
            return TadcSyntaxError(found.message, at, found.hint)
        return TadcSyntaxError(f"{error.msg}", self.at(line, column, end), hint_for(error.msg))

    def _deepest(self) -> Span:
        """The innermost opening bracket, where many are open, or else the longest line."""
        longest = max(range(len(self.lines)), key=lambda n: len(self.lines[n]))
        depth, deepest = 0, _FEWEST_BRACKETS_TO_BLAME
        place = (longest + 1, len(self.lines[longest]) - len(self.lines[longest].lstrip()) + 1)
        for number, line in enumerate(self.lines, 1):
            for column, character in enumerate(line, 1):
                depth += (character in "([{") - (character in ")]}")
                if depth > deepest:
                    deepest, place = depth, (number, column)
        return self.at(*place)


def items(node: ast.expr) -> list[ast.expr]:
    """The expressions between the brackets of a subscript."""
    return list(node.elts) if isinstance(node, ast.Tuple) else [node]


def names_in(node: ast.AST) -> Iterator[ast.Name]:
    """The names that `node` mentions, in no particular order."""
    return (n for n in ast.walk(node) if isinstance(n, ast.Name))


def _characters(line: str, offset: int) -> int:
    """The number of characters in the first `offset` bytes of the UTF-8 text of `line`."""
    if line.isascii():
        return offset
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "ignore"))

"""Reads and indices in the words of the program, for error messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import BlockArgument, SSAValue

from tadc.dialects.tix import Affine, Variable
from tadc.dialects.tix.affine import show
from tadc.errors import RangeError, Span
from tadc.language.reads import Access
from tadc.language.sizes import Bound
from tadc.language.source import Source

_UNNAMED_SIZE = "the size"
_OUTSIDE = "a smaller range keeps it inside, and pad(...) reads 0 outside"


class Describer:
    """Finds the text that reads and indices were made from; without a text, names them."""

    def __init__(
        self,
        tensor_name: Callable[[SSAValue], str],
        source: Source | None = None,
        derived: Mapping[str, Sequence[Bound]] | None = None,
    ):
        self.tensor_name = tensor_name
        self.source = source
        self.derived: Mapping[str, Sequence[Bound]] = {} if derived is None else derived

    def tensor(self, access: Access) -> str:
        return self.tensor_name(access.read.tensor)

    def index(self, key: Variable) -> str:
        if isinstance(key, str):
            return key
        if isinstance(key, BlockArgument) and self.source:
            span = self.source.span_at(key.location)
            if span and span.excerpt.isidentifier():
                return span.excerpt
        return key.name_hint or "an index"

    def size(self, size: Affine) -> str:
        """A size, with derived ones spelt out and those of undeclared arguments left open."""

        def name(key: Variable) -> str:
            if isinstance(key, str) and key in self.derived:
                texts = [f"({show(f, name)}) // {m}" for f, m in self.derived[key]]
                return texts[0] if len(texts) == 1 else f"min({', '.join(texts)})"
            return "..." if isinstance(key, str) and key.startswith("?") else str(key)

        return show(size, name) if size.terms else str(max(0, size.constant))

    def index_span(self, index: SSAValue) -> Span | None:
        if isinstance(index, BlockArgument) and self.source:
            return self.source.span_at(index.location)
        return None

    def access(self, access: Access) -> str:
        """`x[i + 1]`, as written where the text is known."""
        span = self.access_span(access)
        if span and span.excerpt.endswith("]"):
            return span.excerpt
        forms = ", ".join(show(form, self.index) for form in access.read.forms)
        return f"{self.tensor(access)}[{forms}]"

    def access_span(self, access: Access) -> Span | None:
        location = access.read.location
        if self.source:
            return self.source.span_at(location)
        if isinstance(location, FileLineColLoc):
            line, column = location.line.data, location.column.data
            return Span(location.filename.data, line, column, column + 1, "")
        return None

    def dimension_span(self, access: Access, dimension: int) -> Span | None:
        if self.source:
            return self.source.dimension_at(access.read.location, dimension)
        return self.access_span(access)

    def leaves(
        self,
        access: Access,
        dimension: int,
        form: Affine,
        size: Affine,
        values: Mapping[Variable, int],
    ) -> RangeError:
        """The error that says where a read leaves its tensor; `form` has known sizes put in."""
        text, tensor = self.access(access), self.tensor(access)
        reached = form.substitute({key: Affine({}, value) for key, value in values.items()})
        names = [(self.index(k), v) for k, v in values.items() if isinstance(k, BlockArgument)]
        where = ", ".join(f"{name} = {value}" for name, value in names)
        width = self.size(size)
        message = f"{text} reaches {show(reached, self.index)}{f' at {where}' if where else ''}, "
        if "..." in width:
            message += f"which is outside of dimension {dimension} of {tensor}"
            width = f"{_UNNAMED_SIZE} of {tensor}"
        else:
            message += f"but dimension {dimension} of {tensor} has size {width}"
        return RangeError(
            message,
            self.access_span(access),
            _inside(form, width),
            index=names[0][0] if names else None,
            size=width if size.terms else size.constant,
            argument=tensor,
            dimension=dimension,
        )


def _inside(form: Affine, width: str) -> str:
    """A hint for an index that is outside of a dimension of this width."""
    if form.indices:
        return _OUTSIDE
    if not form.terms and form.constant < 0:
        unknown = width.startswith(_UNNAMED_SIZE)
        last = f"declare {width}, as N, and write N" if unknown else f"write {width}"
        return f"an index does not count from the end: {last} - {-form.constant}"
    if width == "0":
        return "it has no element; pad(...) reads 0 outside"
    last = int(width) - 1 if width.isdigit() else f"{width} - 1"
    return f"indices count from 0: the last one is {last}, and pad(...) reads 0 outside"

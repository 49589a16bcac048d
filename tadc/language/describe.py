"""Reads and indices in the words of the program, for error messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeGuard

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import BlockArgument, SSAValue

from tadc.dialects.tix import Affine, TensorType, Variable
from tadc.dialects.tix.affine import show
from tadc.errors import RangeError, Span
from tadc.language.reads import Access
from tadc.language.sizes import Bound
from tadc.language.source import Source
from tadc.passes.index_sets.sets import elements_of

_UNNAMED_SIZE = "the size"
_OUTSIDE = "a smaller range keeps it inside, and pad(...) reads 0 outside"


class Describer:
    """Finds the text that reads and indices were made from; without a text, names them."""

    def __init__(
        self,
        tensor_name: Callable[[SSAValue], str],
        source: Source | None = None,
        derived: Mapping[str, Sequence[Bound]] | None = None,
        open_size: Callable[[str], str] = lambda size: "?",
    ):
        self.tensor_name = tensor_name
        self.source = source
        self.open_size = open_size
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
        """A size, with derived ones spelt out, and those of undeclared arguments by the names that
        a printed program gives them."""

        def name(key: Variable) -> str:
            if isinstance(key, str) and key in self.derived:
                texts = [f"({show(f, name)}) // {m}" for f, m in self.derived[key]]
                return texts[0] if len(texts) == 1 else f"min({', '.join(texts)})"
            return self.open_size(key) if _is_open(key) else str(key)

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

    def range_hint(
        self,
        index: str,
        access: Access,
        shape: Sequence[Affine],
        dimension: int,
        less: Affine | None = None,
    ) -> str:
        """A hint to let an index run over a dimension of what is read, or less of it.

        The size gets a name by a declaration, where the text has none.
        """
        names = [show(size, str) if size.terms else str(size.constant) for size in shape]
        known = [n.isdigit() or bool(self.source and n in self.source.text) for n in names]
        size, declaration = shape[dimension], ""
        if not all(known):
            named = iter(_SIZE_NAMES)
            names = [n if k else next(named) for n, k in zip(names, known, strict=True)]
            if not known[dimension]:
                size = Affine.of(names[dimension])
                declaration = f"{self.tensor(access)}: real[{', '.join(names)}] and "
        end = size - less if less else size
        return (
            f"write {declaration}{index} in range({show(end, str) if end.terms else end.constant})"
        )

    def leaves(
        self,
        access: Access,
        dimension: int,
        form: Affine,
        size: Affine,
        values: Mapping[Variable, int],
    ) -> RangeError:
        """The error that says where a read leaves its tensor; `form` has known sizes put in."""
        if any(op.end is None for op in elements_of([form])):
            return self._may_leave(access, form, dimension)
        text, tensor = self.access(access), self.tensor(access)
        reached = form.substitute({key: Affine({}, value) for key, value in values.items()})
        names = [(self.index(k), v) for k, v in values.items() if isinstance(k, BlockArgument)]
        where = ", ".join(f"{name} = {value}" for name, value in names)
        width = self.size(size)
        message = f"{text} reaches {show(reached, self.index)}{f' at {where}' if where else ''}, "
        if any(_is_open(key) for key in size.terms):
            message += f"which is outside of dimension {dimension} of {tensor}"
            width = f"{_UNNAMED_SIZE} of {tensor}"
        else:
            message += f"but dimension {dimension} of {tensor} has size {width}"
        return RangeError(
            message,
            self.access_span(access),
            self._shift_hint(access, dimension, reached) or _inside(form, width),
            index=names[0][0] if names else None,
            size=width if size.terms else size.constant,
            argument=tensor,
            dimension=dimension,
        )

    def _may_leave(self, access: Access, form: Affine, dimension: int) -> RangeError:
        """The error about an index that is made of any integers."""
        text, tensor = self.access(access), self.tensor(access)
        own = next(op for op in elements_of([form]) if op.end is None)
        name = self.tensor_name(own.tensor)
        shape = ", ".join(
            show(size, str) if size.terms else str(size.constant) for size in own.shape
        )
        return RangeError(
            f"{text} may leave {tensor}: elements of {name} may be any integers",
            self.access_span(access),
            f"declare {name}: range(V)[{shape}], or read pad({text})",
            argument=tensor,
            dimension=dimension,
        )

    def _shift_hint(self, access: Access, dimension: int, reached: Affine) -> str | None:
        """A hint about `x[i + 1]` and `x[i - 1]`, where a neighbour is read."""
        form, tensor = access.read.forms[dimension], access.read.tensor.type
        if len(form.indices) != 1 or form[form.indices[0]] != 1 or form.sizes:
            return None
        name, shift = self.index(form.indices[0]), form.constant
        if shift > 0 and isinstance(tensor, TensorType):
            size = tensor.shape[dimension]
            if not size.terms and size.constant <= shift:
                return None
            hint = self.range_hint(name, access, tensor.shape, dimension, Affine({}, shift))
            return f"{hint} to stay inside; pad(...) reads 0 outside"
        if shift < 0 and not reached.terms and reached.constant < 0:
            text = self.access(access)
            return f"pad({text}) reads 0 outside, or write {text} if {name} >= {-shift} else ..."
        return None


_SIZE_NAMES = "NMLKJI"


def _is_open(key: Variable) -> TypeGuard[str]:
    return isinstance(key, str) and key.startswith("?")


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

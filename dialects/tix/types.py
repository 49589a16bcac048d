"""Types of the `tix` dialect: real scalars and tensors of them; sizes that a program computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

from xdsl.dialects.builtin import Float32Type, Float64Type, IntAttr, StringAttr, f32, f64
from xdsl.ir import Attribute, Data, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.tix.affine import Affine, FormRow, parse_affine, show, split
from tadc.dialects.tix.attributes import MapAttr, shape_map
from tadc.once import cached_property

ElementType: TypeAlias = "Float32Type | Float64Type | RealType | IndexRange | SizeType"


@irdl_attr_definition
class RealType(ParametrizedAttribute, TypeAttribute):
    """A real number, `!tix.real`: the type of every scalar in a body.

    Its precision is that of the tensor that the body defines. As the element type of a tensor it
    means that the precision is not declared: the arrays at the call decide it.
    """

    name = "tix.real"


real = RealType()


@irdl_attr_definition
class IndexRange(ParametrizedAttribute):
    """The elements of an index tensor: integers from 0 to below a size, or any integers.

    Text says `range(N)` for those below N, `sorted range(N)` where none is less than the one
    before it in row-major order, and `int` for any integers.
    """

    name = "tix.index_range"
    ends: MapAttr
    order: IntAttr
    origin: StringAttr

    @property
    def end(self) -> Affine | None:
        """The size that all elements are below; None for any integers."""
        return self.ends.shape[0] if self.ends.shape else None

    @property
    def is_sorted(self) -> bool:
        """True if no element is less than the one before it."""
        return bool(self.order.data)

    @property
    def view(self) -> str:
        """The way a view is made of an index tensor, as `starts of dst`; empty for others."""
        return self.origin.data

    def with_end(self, end: Affine) -> IndexRange:
        """The range to another end, in the same order."""
        return index_range(end, self.is_sorted, self.view)


def index_range(end: Affine | None, is_sorted: bool = False, view: str = "") -> IndexRange:
    """The elements of an index tensor that are below a size; with None, any integers.

    A `view` is not the caller's, but made of another index tensor: see `locate-elements`.
    """
    ends = shape_map([] if end is None else [end])
    return IndexRange(ends, IntAttr(int(is_sorted)), StringAttr(view))


@irdl_attr_definition
class SizeType(ParametrizedAttribute):
    """The element type of a size argument: a size that the caller gives, as no array tells it.

    `!tix.tensor<[B], size>` is such an argument B. It has no elements that anybody reads.
    """

    name = "tix.given_size"


given_size = SizeType()


ELEMENT_TYPES: dict[str, ElementType] = {"f32": f32, "f64": f64, "real": real}
"""The element types of tensors by the name that text gives them."""


@irdl_attr_definition
class TensorType(ParametrizedAttribute, TypeAttribute):
    """A tensor, by its size in each dimension and its elements: `!tix.tensor<[3, N + 1], f64>`.

    Sizes are affine in named sizes; a number below 0 counts as 0.
    """

    name = "tix.tensor"
    sizes: MapAttr
    element: Attribute

    @staticmethod
    def of(shape: Sequence[Affine], element: ElementType) -> TensorType:
        """The type of a tensor of this shape, whose forms have no indices."""
        return TensorType(shape_map(shape), element)

    @property
    def shape(self) -> tuple[Affine, ...]:
        """The size of each dimension."""
        return self.sizes.shape

    @property
    def is_index(self) -> bool:
        """True if the elements are integers that indices are made of: they have no derivative."""
        return isinstance(self.element, IndexRange)

    @property
    def is_size(self) -> bool:
        """True for a size argument."""
        return isinstance(self.element, SizeType)

    @property
    def is_real(self) -> bool:
        """True if the elements are real numbers, by which programs are derived."""
        return not (self.is_index or self.is_size)

    @property
    def end(self) -> Affine | None:
        """The size that all elements of an index tensor are below; None where none is known."""
        return self.element.end if isinstance(self.element, IndexRange) else None

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.sizes.data.rows)

    @property
    def dtype(self) -> str:
        """The element type as text: `"f32"`, `"f64"`, `"real"` if not declared, `"int"` of an index
        tensor, `"size"` of a size argument."""
        if not self.is_real:
            return "int" if self.is_index else "size"
        return next(name for name, t in ELEMENT_TYPES.items() if t == self.element)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE,
                lambda: parse_affine(parser, parser.parse_optional_identifier),
            )
            parser.parse_punctuation(",")
            element = _parse_element(parser)
        return TensorType.of(shape, element).parameters

    def print_parameters(self, printer: Printer) -> None:
        shape = ", ".join(show(form, str) for form in self.shape)
        printer.print_string(f"<[{shape}], {_element_text(self)}>")

    def verify(self) -> None:
        if self.is_real and self.element not in ELEMENT_TYPES.values():
            raise VerifyException(f"tensors hold f32, f64, real or integers, not {self.element}")


def _parse_element(parser: AttrParser) -> ElementType:
    """An element type: a word, `range(N)` or `sorted range(N)`."""
    word = parser.parse_keyword_in((*ELEMENT_TYPES, "int", "range", "size", "sorted"))
    if word == "size":
        return given_size
    if word == "sorted":
        parser.parse_keyword("range")
    if word in ELEMENT_TYPES:
        return ELEMENT_TYPES[word]
    if word == "int":
        return index_range(None)
    with parser.in_parens():
        end = parse_affine(parser, parser.parse_optional_identifier)
    view = parser.parse_str_literal() if parser.parse_optional_keyword("view") else ""
    return index_range(end, word == "sorted", view)


def _element_text(type: TensorType) -> str:
    """The element type of a tensor, as `_parse_element` reads it."""
    if not isinstance(type.element, IndexRange) or type.end is None:
        return type.dtype
    order = "sorted " if type.element.is_sorted else ""
    view = f' view "{type.element.view}"' if type.element.view else ""
    return f"{order}range({show(type.end, str)}){view}"


class DerivedSize(NamedTuple):
    """The size `max(0, min(form // divisor, ...))` over sizes that are known before it."""

    name: str
    bounds: tuple[tuple[FormRow, int], ...]


@irdl_attr_definition
class DerivedSizeAttr(Data[DerivedSize]):
    """A size that the program computes: `#tix.size<R = min((N) floordiv 1, (M) floordiv 2)>`."""

    name = "tix.size"

    @staticmethod
    def of(name: str, bounds: Sequence[tuple[Affine, int]]) -> DerivedSizeAttr:
        """The size of this name, with a form and a divisor for each bound."""
        _, rows = split(form for form, _ in bounds)
        divisors = (divisor for _, divisor in bounds)
        return DerivedSizeAttr(DerivedSize(name, tuple(zip(rows, divisors, strict=True))))

    @cached_property
    def bounds(self) -> tuple[tuple[Affine, int], ...]:
        """The form and the divisor of each bound."""
        return tuple((row.bind(()), divisor) for row, divisor in self.data.bounds)

    @cached_property
    def needs(self) -> frozenset[str]:
        """The sizes that it is computed from."""
        return frozenset(name for form, _ in self.bounds for name in form.sizes)

    def evaluate(
        self,
        sizes: Mapping[Any, Any],
        larger: Callable[[Any, Any], Any] = max,
        smaller: Callable[[Any, Any], Any] = min,
    ) -> Any:
        """The size as a number, for numbers of the sizes that it needs.

        These may be symbolic integers, of which the functions give the larger and the smaller.
        """
        values = [form.evaluate(sizes) // divisor for form, divisor in self.bounds]
        return larger(0, reduce(smaller, values))

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> DerivedSize:
        def bound() -> tuple[Affine, int]:
            parser.parse_punctuation("(")
            form = parse_affine(parser, parser.parse_optional_identifier)
            parser.parse_punctuation(")")
            parser.parse_keyword("floordiv")
            return form, parser.parse_integer(allow_boolean=False)

        with parser.in_angle_brackets():
            name = parser.parse_identifier()
            parser.parse_punctuation("=")
            parser.parse_keyword("min")
            bounds = parser.parse_comma_separated_list(parser.Delimiter.PAREN, bound)
        return DerivedSizeAttr.of(name, bounds).data

    def print_parameter(self, printer: Printer) -> None:
        bounds = ", ".join(f"({show(f, str)}) floordiv {d}" for f, d in self.bounds)
        printer.print_string(f"<{self.data.name} = min({bounds})>")

    def verify(self) -> None:
        if not self.data.bounds:
            raise VerifyException(f"the size {self.data.name} needs a bound")
        if any(divisor < 1 for _, divisor in self.data.bounds):
            raise VerifyException(f"the divisors of the size {self.data.name} must be positive")

"""Operations on indices: reads of tensors, indices as real numbers, and division of indices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType, IntAttr, UnitAttr
from xdsl.ir import SSAValue
from xdsl.irdl import (
    eq,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.quick import INDEX, QuickOperation, make, operands_of, operation
from tadc.dialects.tix.affine import Affine
from tadc.dialects.tix.attributes import MapAttr, kept, map_over, shape_map
from tadc.dialects.tix.text import (
    parse_form,
    parse_forms,
    parse_tensor,
    parse_view,
    print_forms,
    print_view,
    verify_view,
)
from tadc.dialects.tix.types import TensorType, real


@operation
class ReadOp(QuickOperation):
    """An element of a tensor, at affine forms of the indices: `tix.read %d[%i + %k, 0]`.

    `tix.read %d[%p] as [N * M]` sees the elements in row-major order as a tensor of another shape.
    """

    name = "tix.read"
    tensor = operand_def(TensorType)
    indices = var_operand_def(IndexType)
    map = prop_def(MapAttr)
    view = opt_prop_def(MapAttr)
    result = result_def(eq(real))
    traits = traits_def(Pure())

    def __init__(
        self, tensor: SSAValue, forms: Sequence[Affine], view: Sequence[Affine] | None = None
    ):
        operands, map = map_over(forms)
        properties = {"map": map} if view is None else {"map": map, "view": shape_map(view)}
        super().__init__(operands=[tensor, *operands], properties=properties, result_types=[real])

    def with_indices(self, tensor: SSAValue, indices: Sequence[SSAValue]) -> ReadOp:
        """A read of another tensor by the same map, of other indices, each but once."""
        return make(ReadOp, [tensor, *indices], [real], self.properties)

    @property
    def forms(self) -> list[Affine]:
        """The position that is read: one form for each dimension of the tensor."""
        return [*kept(self, (self.map, operands_of(self)), _forms)]

    @property
    def tensor_type(self) -> TensorType:
        type = self.tensor.type
        assert isinstance(type, TensorType)
        return type

    @property
    def shape(self) -> tuple[Affine, ...]:
        """The size of each dimension, as the forms count them."""
        return self.tensor_type.shape if self.view is None else self.view.shape

    @classmethod
    def parse(cls, parser: Parser) -> ReadOp:
        return cls(parse_tensor(parser), parse_forms(parser), parse_view(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.tensor)
        printer.print_string("[")
        print_forms(printer, self.forms)
        printer.print_string("]")
        print_view(printer, self.view)

    def verify_(self) -> None:
        _verify_map(self.map, self.indices)
        if len(self.map.data.rows) != len(self.shape):
            raise VerifyException(
                f"{len(self.map.data.rows)} indices read a tensor of rank {len(self.shape)}"
            )
        if self.view is not None:
            verify_view(self.shape, self.tensor_type.shape)


@operation
class IndexToRealOp(QuickOperation):
    """An affine form of indices and sizes as a real number: `tix.index_to_real (2 * %i + N)`."""

    name = "tix.index_to_real"
    indices = var_operand_def(IndexType)
    map = prop_def(MapAttr)
    result = result_def(eq(real))
    traits = traits_def(Pure())

    def __init__(self, form: Affine):
        operands, map = map_over([form])
        super().__init__(operands=operands, properties={"map": map}, result_types=[real])

    @property
    def form(self) -> Affine:
        return self.map.data.rows[0].bind(self.indices)

    @classmethod
    def parse(cls, parser: Parser) -> IndexToRealOp:
        return cls(parse_form(parser))

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        print_forms(printer, [self.form])
        printer.print_string(")")

    def verify_(self) -> None:
        _verify_form(self.map, self.indices)


class LocalIndexOp(QuickOperation):
    """A local index of a body: a quotient of others, or an element of an index tensor.

    It stands in affine forms as the indices of definitions and reductions do.
    """

    indices = var_operand_def(IndexType)
    map = prop_def(MapAttr)
    result = result_def(IndexType())
    traits = traits_def(Pure())

    @property
    @abstractmethod
    def forms(self) -> list[Affine]:
        """The affine forms that the index is computed from."""


@operation
class FloorDivOp(LocalIndexOp):
    """A local index `q` with `form = divisor * q + r`, `0 <= r < divisor`.

    `%q = tix.floordiv (%i + 1) by 2`. The remainder is the affine form `form - divisor * q`, so
    this is all that `//` and `%` need.
    """

    name = "tix.floordiv"
    divisor = prop_def(IntAttr)

    def __init__(self, form: Affine, divisor: int):
        operands, map = map_over([form])
        super().__init__(
            operands=operands,
            properties={"map": map, "divisor": IntAttr(divisor)},
            result_types=[INDEX],
        )

    @property
    def form(self) -> Affine:
        """The form that is divided."""
        return self.map.data.rows[0].bind(self.indices)

    @property
    def forms(self) -> list[Affine]:
        """The form that is divided, alone."""
        return [self.form]

    @classmethod
    def parse(cls, parser: Parser) -> FloorDivOp:
        form = parse_form(parser)
        parser.parse_keyword("by")
        return cls(form, parser.parse_integer(allow_boolean=False))

    def print(self, printer: Printer) -> None:
        printer.print_string(" (")
        print_forms(printer, [self.form])
        printer.print_string(f") by {self.divisor.data}")

    def verify_(self) -> None:
        _verify_form(self.map, self.indices)
        if self.divisor.data < 1:
            raise VerifyException(f"the divisor must be positive, not {self.divisor.data}")


@operation
class AtOp(LocalIndexOp):
    """A local index that is an element of an index tensor: `%a = tix.at %idx[%i + 1]`.

    `tix.at clamped %starts[%p]` is the nearest element that there is, for any place.
    """

    name = "tix.at"
    tensor = operand_def(TensorType)
    clamp = opt_prop_def(UnitAttr)

    def __init__(self, tensor: SSAValue, forms: Sequence[Affine], clamp: bool = False):
        operands, map = map_over(forms)
        properties = {"map": map, "clamp": UnitAttr()} if clamp else {"map": map}
        super().__init__(operands=[tensor, *operands], properties=properties, result_types=[INDEX])

    @property
    def forms(self) -> list[Affine]:
        """The position of the element: one form for each dimension of the index tensor."""
        return [*kept(self, (self.map, operands_of(self)), _forms)]

    @property
    def tensor_type(self) -> TensorType:
        """The type of the index tensor."""
        type = self.tensor.type
        assert isinstance(type, TensorType)
        return type

    @property
    def shape(self) -> tuple[Affine, ...]:
        """The size of each dimension."""
        return self.tensor_type.shape

    @property
    def end(self) -> Affine | None:
        """The size that the element is below; None where it may be any integer."""
        return self.tensor_type.end

    @property
    def is_clamped(self) -> bool:
        """True if the nearest element is meant where there is none at a place."""
        return self.clamp is not None

    @classmethod
    def parse(cls, parser: Parser) -> AtOp:
        clamp = parser.parse_optional_keyword("clamped") is not None
        return cls(parse_tensor(parser), parse_forms(parser), clamp)

    def print(self, printer: Printer) -> None:
        printer.print_string(" clamped " if self.is_clamped else " ")
        printer.print_ssa_value(self.tensor)
        printer.print_string("[")
        print_forms(printer, self.forms)
        printer.print_string("]")

    def verify_(self) -> None:
        _verify_map(self.map, self.indices)
        if not self.tensor_type.is_index:
            raise VerifyException(f"an index is an element of integers, not of {self.tensor.type}")
        if len(self.map.data.rows) != len(self.shape):
            raise VerifyException(
                f"{len(self.map.data.rows)} indices read a tensor of rank {len(self.shape)}"
            )


def _forms(map: MapAttr, operands: Sequence[SSAValue]) -> list[Affine]:
    """The forms of a read, whose operands are its tensor and then its indices."""
    _, *indices = operands
    return [row.bind(indices) for row in map.data.rows]


def _verify_map(map: MapAttr, operands: Sequence[SSAValue]) -> None:
    if map.data.dimensions != len(operands):
        raise VerifyException(f"{len(operands)} indices for {map.data.dimensions} dimensions")


def _verify_form(map: MapAttr, operands: Sequence[SSAValue]) -> None:
    _verify_map(map, operands)
    if len(map.data.rows) != 1:
        raise VerifyException(f"one affine form expected, not {len(map.data.rows)}")

"""Bodies: regions of one block whose last operation, `tix.yield`, names the value of the body."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, eq, irdl_op_definition, operand_def, traits_def
from xdsl.traits import IsTerminator, OpTrait
from xdsl.utils.exceptions import VerifyException

from dialects.tix.types import real


class HasBody(OpTrait):
    """Marks an operation whose regions are bodies: the parents that `tix.yield` may have."""


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The end of a body, with the body's value: `tix.yield %0`."""

    name = "tix.yield"
    value = operand_def(eq(real))
    traits = traits_def(IsTerminator())
    assembly_format = "$value attr-dict"

    def __init__(self, value: SSAValue):
        Operation.__init__(self, operands=[value])

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is not None and not parent.has_trait(HasBody):
            raise VerifyException(f"'tix.yield' ends no body: '{parent.name}' has none")


def yielded(region: Region) -> SSAValue:
    """The value that the single block of `region` yields."""
    last = region.block.last_op
    assert isinstance(last, YieldOp)
    return last.value


def verify_yields(region: Region) -> None:
    """Raise VerifyException unless `region` ends in `tix.yield` and its arguments are indices."""
    if not isinstance(region.block.last_op, YieldOp):
        raise VerifyException("the body must end in tix.yield")
    if any(not isinstance(a.type, IndexType) for a in region.block.args):
        raise VerifyException("the arguments of a body must be of type index")

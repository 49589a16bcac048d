"""Bodies: regions of one block whose last operation, `tix.yield`, names the value of the body.

A body of several values (`tix.yield %0, %1`) is for sums alone: see `ReductionOp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Region, SSAValue
from xdsl.irdl import eq, traits_def, var_operand_def
from xdsl.traits import IsTerminator, OpTrait
from xdsl.utils.exceptions import VerifyException

from tadc.dialects.quick import QuickOperation, block_in, operands_of, operation
from tadc.dialects.tix.types import real


class HasBody(OpTrait):
    """Marks an operation whose regions are bodies: the parents that `tix.yield` may have."""


@operation
class YieldOp(QuickOperation):
    """The end of a body, with the body's value: `tix.yield %0`."""

    name = "tix.yield"
    values = var_operand_def(eq(real))
    traits = traits_def(IsTerminator())
    assembly_format = "$values attr-dict"

    def __init__(self, *values: SSAValue):
        super().__init__(operands=values)

    @property
    def value(self) -> SSAValue:
        """The one value."""
        (value,) = operands_of(self)
        return value

    def verify_(self) -> None:
        parent = self.parent_op()
        if parent is not None and not parent.has_trait(HasBody):
            raise VerifyException(f"'tix.yield' ends no body: '{parent.name}' has none")


def yielded(region: Region) -> SSAValue:
    """The one value that the single block of `region` yields."""
    (value,) = all_yielded(region)
    return value


def all_yielded(region: Region) -> Sequence[SSAValue]:
    """The values that the single block of `region` yields."""
    last = block_in(region).last_op
    assert isinstance(last, YieldOp)
    return operands_of(last)


def verify_yields(region: Region, count: int = 1) -> None:
    """Raise VerifyException unless `region` yields so many values and its arguments are indices."""
    last = region.block.last_op
    if not isinstance(last, YieldOp):
        raise VerifyException("the body must end in tix.yield")
    if len(last.operands) != count:
        raise VerifyException(f"a body of {count} values yields {len(last.operands)}")
    if any(not isinstance(a.type, IndexType) for a in region.block.args):
        raise VerifyException("the arguments of a body must be of type index")

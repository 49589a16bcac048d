"""The `tix` dialect: tensors defined element by element over index sets.

- `affine`: affine forms over indices and sizes, `2*i - k + N + 1`
- `constraints`: affine constraints, `form >= 0` and `form == 0`
- `attributes`: index maps and index sets, as attributes
- `types`: real scalars, tensors of them, and sizes that a program computes
- `text`: affine forms, constraints and bodies in the text of operations
- `registers`: the vector registers that a program is made for
- `structure`: programs, definitions and what a program returns
- `bodies`: the end of a body, `tix.yield`, and the mark of operations that have bodies
- `access`: reads of tensors, indices as real numbers, and division of indices
- `elementary`: values, code and rounding of elementary functions
- `elementwise`: scalar operations
- `regions`: reductions over index sets, choices by indices and by values
- `functions`: functions of scalars that a program brings along, and calls of them
- `linear`: linear systems and determinants between programs
"""

from xdsl.ir import Dialect

from tadc.dialects.tix.access import AtOp, FloorDivOp, IndexToRealOp, LocalIndexOp, ReadOp
from tadc.dialects.tix.affine import Affine, Variable
from tadc.dialects.tix.attributes import MapAttr, SetAttr
from tadc.dialects.tix.bodies import YieldOp, all_yielded, yielded
from tadc.dialects.tix.constraints import Constraint, between
from tadc.dialects.tix.elementwise import (
    BINARY,
    ELEMENTWISE,
    UNARY,
    BinaryOp,
    ConstantOp,
    UnaryOp,
    constant_value,
)
from tadc.dialects.tix.functions import CallOp, FunctionOp, functions_of
from tadc.dialects.tix.linear import DeterminantOp, MatrixForm, SolveOp
from tadc.dialects.tix.regions import (
    ExtremumOp,
    IfOp,
    MaxOp,
    MinOp,
    Predicate,
    ProdOp,
    ReductionOp,
    SumOp,
    WhereOp,
)
from tadc.dialects.tix.registers import AVX_512, Registers, registers_property
from tadc.dialects.tix.structure import DefineOp, ProgramOp, ReturnOp, size_limits
from tadc.dialects.tix.types import (
    ELEMENT_TYPES,
    DerivedSizeAttr,
    ElementType,
    IndexRange,
    RealType,
    SizeType,
    TensorType,
    real,
)

__all__ = [
    "AVX_512",
    "BINARY",
    "ELEMENT_TYPES",
    "UNARY",
    "Affine",
    "AtOp",
    "BinaryOp",
    "CallOp",
    "ConstantOp",
    "Constraint",
    "DefineOp",
    "DerivedSizeAttr",
    "DeterminantOp",
    "ElementType",
    "ExtremumOp",
    "FloorDivOp",
    "FunctionOp",
    "IfOp",
    "IndexRange",
    "IndexToRealOp",
    "LocalIndexOp",
    "MatrixForm",
    "MaxOp",
    "MinOp",
    "Predicate",
    "ProdOp",
    "ProgramOp",
    "ReadOp",
    "ReductionOp",
    "Registers",
    "ReturnOp",
    "SizeType",
    "SolveOp",
    "SumOp",
    "TensorType",
    "UnaryOp",
    "Variable",
    "WhereOp",
    "YieldOp",
    "all_yielded",
    "between",
    "constant_value",
    "functions_of",
    "real",
    "registers_property",
    "size_limits",
    "yielded",
]

Tix = Dialect(
    "tix",
    [
        *ELEMENTWISE,
        AtOp,
        CallOp,
        DefineOp,
        DeterminantOp,
        FloorDivOp,
        FunctionOp,
        IfOp,
        IndexToRealOp,
        MaxOp,
        MinOp,
        ProdOp,
        ProgramOp,
        ReadOp,
        ReturnOp,
        SolveOp,
        SumOp,
        WhereOp,
        YieldOp,
    ],
    [DerivedSizeAttr, IndexRange, MapAttr, RealType, SetAttr, SizeType, TensorType],
)

"""The `tix` dialect: tensors defined element by element over index sets.

`affine` holds affine forms and the attributes that store them, `types` the tensor type,
`elementwise` the scalar operations, `access` reads of tensors and indices as values, `regions`
reductions and choices, `structure` programs and definitions, `functions` the functions of scalars
that a program brings along, `linear` linear systems between programs, `text` how they write affine
forms.
"""

from xdsl.ir import Dialect

from dialects.tix.access import FloorDivOp, IndexToRealOp, ReadOp
from dialects.tix.affine import Affine, Variable
from dialects.tix.attributes import MapAttr, SetAttr
from dialects.tix.bodies import YieldOp, yielded
from dialects.tix.constraints import Constraint, between
from dialects.tix.elementwise import (
    BINARY,
    ELEMENTWISE,
    UNARY,
    BinaryOp,
    ConstantOp,
    UnaryOp,
    constant_value,
)
from dialects.tix.functions import CallOp, FunctionOp, functions_of
from dialects.tix.linear import DeterminantOp, MatrixForm, SolveOp
from dialects.tix.regions import (
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
from dialects.tix.structure import DefineOp, ProgramOp, ReturnOp
from dialects.tix.types import (
    ELEMENT_TYPES,
    DerivedSizeAttr,
    ElementType,
    RealType,
    TensorType,
    real,
)

__all__ = [
    "BINARY",
    "ELEMENT_TYPES",
    "UNARY",
    "Affine",
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
    "IndexToRealOp",
    "MatrixForm",
    "MaxOp",
    "MinOp",
    "Predicate",
    "ProdOp",
    "ProgramOp",
    "ReadOp",
    "ReductionOp",
    "ReturnOp",
    "SolveOp",
    "SumOp",
    "TensorType",
    "UnaryOp",
    "Variable",
    "WhereOp",
    "YieldOp",
    "between",
    "constant_value",
    "functions_of",
    "real",
    "yielded",
]

Tix = Dialect(
    "tix",
    [
        *ELEMENTWISE,
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
    [DerivedSizeAttr, MapAttr, RealType, SetAttr, TensorType],
)

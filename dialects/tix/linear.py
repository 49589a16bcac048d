"""Linear systems and determinants between programs, which inverse derivatives need.

A module may hold several programs and operations of this file, which run in order. They share
tensors by name: a result of one is an argument of a later one.

    tix.program @p (...) { ... tix.return %p_1_matrix, %p_1_rhs }
    tix.solve ["p_dot"] from ["p_1_matrix"] and ["p_1_rhs"] as "dense" {batch = 0 : i64}
    tix.program @p_1 (..., %p_dot = "p_dot" : ...) { ... }

A matrix is stored as `[batch..., row..., column...]`. Several of them, row by row of blocks, make
one matrix; right-hand sides are then as many as blocks in a column, solutions as many as in a row.

| kind | columns of the matrix |
|---|---|
| `dense` | all of them |
| `lower`, `upper` | all of them, 0 above or below the diagonal in the order of memory |
| `banded` | of row `r`, in column `c`: the one element `r - lower <= j <= r + upper` with \
`j % (lower + upper + 1) == c` |
| `permutation` | none: by row, the number of the column of its only element, which counts as 1 |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    ParsePropInAttrDict,
    opt_prop_def,
    prop_def,
)
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from tadc.dialects.quick import QuickOperation, operation

KINDS = ("dense", "lower", "upper", "banded", "permutation")


@dataclass(frozen=True)
class Axis:
    """The rows or the columns of a block as elements of a tensor.

    An index of batch and rows, or batch and columns, is one of the tensor whose dimensions stand in
    the order `dims`.
    """

    tensor: str
    dims: tuple[int, ...]

    def element(self, index: Sequence[int]) -> tuple[int, ...]:
        """The index in the tensor of an index of batch and rows, or batch and columns."""
        found = dict(zip(self.dims, index, strict=True))
        return tuple(found[d] for d in range(len(found)))


@dataclass(frozen=True)
class MatrixForm:
    """The storage of the matrix of a linear system; `kind` is one of the table above.

    The first `batch` dimensions of every tensor count independent systems; block row k of the
    matrix then has `rows[k]` dimensions of rows.
    """

    kind: str
    batch: int
    rows: tuple[int, ...]
    lower: int = 0
    upper: int = 0


def _strings(names: Sequence[str]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(n) for n in names])


def _axes(axes: Sequence[Axis]) -> ArrayAttr[ArrayAttr[Attribute]] | None:
    """`[["p", 1, 0]]`: dimension 1 counts the batch, dimension 0 the rows."""
    if not axes:
        return None
    return ArrayAttr(
        [
            ArrayAttr[Attribute]([StringAttr(a.tensor), *(IntegerAttr(d, i64) for d in a.dims)])
            for a in axes
        ]
    )


def _axes_of(attribute: ArrayAttr[ArrayAttr[Attribute]] | None) -> list[Axis]:
    found: list[Axis] = []
    for name, *dims in attribute or ():
        assert isinstance(name, StringAttr)
        found.append(Axis(name.data, tuple(d.value.data for d in dims if isa(d, IntegerAttr))))
    return found


class _MatrixOp(QuickOperation):
    """An operation on a matrix of blocks."""

    matrices = prop_def(ArrayAttr[StringAttr])
    kind = prop_def(StringAttr)
    batch = prop_def(IntegerAttr)
    rows = prop_def(ArrayAttr[IntegerAttr])
    lower = opt_prop_def(IntegerAttr)
    upper = opt_prop_def(IntegerAttr)

    @property
    def form(self) -> MatrixForm:
        lower, upper = (0 if v is None else v.value.data for v in (self.lower, self.upper))
        rows = tuple(n.value.data for n in self.rows)
        return MatrixForm(self.kind.data, self.batch.value.data, rows, lower, upper)

    @property
    def matrix_names(self) -> list[str]:
        return [name.data for name in self.matrices]

    def verify_(self) -> None:
        if self.kind.data not in KINDS:
            raise VerifyException(f"kinds of matrices are {', '.join(KINDS)}")
        if self.batch.value.data < 0:
            raise VerifyException("the number of batch dimensions is negative")
        if not self.rows or len(self.matrices) % len(self.rows):
            raise VerifyException("rows counts the dimensions of rows for each row of blocks")
        diagonals = self.lower is not None and self.upper is not None
        if diagonals != (self.kind.data == "banded"):
            raise VerifyException("lower and upper belong to banded matrices")


def _form_properties(form: MatrixForm) -> dict[str, Attribute]:
    banded = {"lower": form.lower, "upper": form.upper} if form.kind == "banded" else {}
    numbers = {"batch": form.batch, **banded}
    return {
        "kind": StringAttr(form.kind),
        "rows": ArrayAttr([IntegerAttr(n, i64) for n in form.rows]),
        **{name: IntegerAttr(n, i64) for name, n in numbers.items()},
    }


@operation
class SolveOp(_MatrixOp):
    """The solution x of `A x = b`, or of `Aᵀ x = b` if `transposed`.

    Where A is a Jacobian, `row_tensors` are those that are derived and `column_tensors` those that
    they are derived by.
    """

    name = "tix.solve"
    irdl_options = (ParsePropInAttrDict(),)
    solutions = prop_def(ArrayAttr[StringAttr])
    rhs = prop_def(ArrayAttr[StringAttr])
    transposed = opt_prop_def(UnitAttr)
    row_tensors = opt_prop_def(ArrayAttr[ArrayAttr[Attribute]])
    column_tensors = opt_prop_def(ArrayAttr[ArrayAttr[Attribute]])
    assembly_format = "$solutions `from` $matrices `and` $rhs `as` $kind attr-dict"

    def __init__(
        self,
        solutions: Sequence[str],
        matrices: Sequence[str],
        rhs: Sequence[str],
        form: MatrixForm,
        transposed: bool = False,
        row_axes: Sequence[Axis] = (),
        column_axes: Sequence[Axis] = (),
    ):
        properties = {
            "solutions": _strings(solutions),
            "matrices": _strings(matrices),
            "rhs": _strings(rhs),
            "transposed": UnitAttr() if transposed else None,
            "row_tensors": _axes(row_axes),
            "column_tensors": _axes(column_axes),
            **_form_properties(form),
        }
        super().__init__(properties={k: v for k, v in properties.items() if v is not None})

    @property
    def row_axes(self) -> list[Axis]:
        """The axis of each row of blocks; empty if not known."""
        return _axes_of(self.row_tensors)

    @property
    def column_axes(self) -> list[Axis]:
        """The axis of each column of blocks; empty if not known."""
        return _axes_of(self.column_tensors)

    @property
    def solution_names(self) -> list[str]:
        return [name.data for name in self.solutions]

    @property
    def rhs_names(self) -> list[str]:
        return [name.data for name in self.rhs]

    def verify_(self) -> None:
        super().verify_()
        if len(self.matrices) != len(self.solutions) * len(self.rhs):
            raise VerifyException("one block of the matrix for each right-hand side and solution")


@operation
class DeterminantOp(_MatrixOp):
    """A determinant: its logarithm is added to the program's, its sign multiplied with it."""

    name = "tix.determinant"
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$matrices `as` $kind attr-dict"

    def __init__(self, matrices: Sequence[str], form: MatrixForm):
        super().__init__(properties={"matrices": _strings(matrices), **_form_properties(form)})

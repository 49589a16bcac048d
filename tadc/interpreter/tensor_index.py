"""The meaning of `tix` at every stage: the oracle for the passes.

Definitions are evaluated in order. A body is evaluated for many points at once (`points`), so
that a test of some thousand points takes milliseconds; nothing is shared with the passes, and a
sum is simply taken over all the points of its set.

    evaluate(program, {"x": x, "y": y})           the results, in the order of `tix.return`
    count_operations(program, {"x": x, "y": y})   how many operations that takes, by their kind
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, Region, SSAValue

from tadc.dialects.tix import (
    AtOp,
    BinaryOp,
    CallOp,
    ConstantOp,
    Constraint,
    DefineOp,
    FloorDivOp,
    IfOp,
    IndexToRealOp,
    MaxOp,
    MinOp,
    Predicate,
    ProdOp,
    ProgramOp,
    ReadOp,
    ReductionOp,
    SumOp,
    TensorType,
    UnaryOp,
    WhereOp,
    YieldOp,
    constant_value,
    yielded,
)
from tadc.dialects.tix.affine import SizeValues
from tadc.interpreter.absent_terms import absent_of, values_in_terms
from tadc.interpreter.arrays import FUNCTIONS, Array
from tadc.interpreter.index_sets import expand
from tadc.interpreter.points import Points, box
from tadc.sizes import bind_sizes, dimensions_of, shape_of

DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "int": np.dtype(np.int64),
    "size": np.dtype(np.int8),
}


class OutOfRange(Exception):
    """A read outside its tensor, at a point where it is needed."""

    def __init__(self, read: ReadOp | AtOp, element: Sequence[int], shape: Sequence[int]):
        self.read, self.element, self.shape = read, tuple(element), tuple(shape)
        super().__init__(f"{read.location}: {read} reads element {self.element} of {self.shape}")


def evaluate(program: ProgramOp, arguments: Mapping[str, Array]) -> list[Array]:
    """The results of `program`."""
    evaluation = _Evaluation(program, arguments)
    evaluation.run()
    return [evaluation.tensors[value] for value in program.returned]


def count_operations(program: ProgramOp, arguments: Mapping[str, Array]) -> Counter[str]:
    """The scalar operations that the program executes as written: `{"mul": 6, "add": 6}`.

    The kinds are the words of the operations in the IR. A reduction takes one `add`, `mul`,
    `maximum` or `minimum` per term, a choice by values one comparison, `where`; a call takes what
    the formula of its function does. Reads, constants and whatever concerns indices are free.
    """
    counts: Counter[str] = Counter()
    _Evaluation(program, arguments, counts).run()
    return counts


class _Evaluation:
    """The state of one evaluation: values of sizes and tensors."""

    def __init__(
        self,
        program: ProgramOp,
        arguments: Mapping[str, Array],
        counts: Counter[str] | None = None,
    ):
        self.program = program
        self.counts = counts
        shapes = {name: np.shape(arguments[name]) for name in program.arguments}
        self.sizes = SizeValues(bind_sizes(program, shapes))
        self.real = _real_dtype(program, arguments)
        self.tensors: dict[SSAValue, Array] = {
            value: np.asarray(arguments[name], self._dtype(value.type))
            for name, value in program.arguments.items()
        }
        self.dtype = self.real
        self.in_terms = values_in_terms(program)

    def _dtype(self, type: object) -> np.dtype[Any]:
        assert isinstance(type, TensorType)
        return DTYPES.get(type.dtype, self.real)

    def run(self) -> None:
        with np.errstate(all="ignore"):
            for definition in self.program.definitions:
                self.tensors[definition.result] = self._define(definition)

    def _define(self, definition: DefineOp) -> Array:
        self.dtype = self._dtype(definition.type)
        shape = shape_of(definition.type, self.sizes)
        points = box(definition.indices, dimensions_of(definition.shape, self.sizes))
        parts = [self.region(definition.body, p) for p in points]
        return np.concatenate([*parts, np.empty(0, self.dtype)]).reshape(shape)

    def region(self, region: Region, points: Points) -> Array:
        """The value that the region yields at each point."""
        for op in region.block.ops:
            if isinstance(op, YieldOp):
                return points[op.value]
            (result,) = op.results
            points[result] = self._operation(op, points)
            if result in self.in_terms and isinstance(op, (UnaryOp, BinaryOp)):
                points.leave_out(result, absent_of(op, points))
        raise AssertionError("a body without tix.yield")

    def _operation(self, op: Operation, points: Points) -> Array:
        if handler := HANDLERS.get(type(op)):
            return handler(self, op, points)
        self.count(op.name.removeprefix("tix."), points)
        values = [points[operand] for operand in op.operands]
        return FUNCTIONS[type(op)](*values).astype(self.dtype, copy=False)

    def count(self, kind: str, points: Points) -> None:
        """One operation of this kind at each point."""
        if self.counts is not None:
            self.counts[kind] += points.count

    def holds(self, constraints: Sequence[Constraint], points: Points) -> Array:
        return points.holds(constraints, self.sizes)


def _real_dtype(program: ProgramOp, arguments: Mapping[str, Array]) -> np.dtype[Any]:
    """The precision of what has no declared one: that of such arguments, promoted."""
    types = {name: value.type for name, value in program.arguments.items()}
    undeclared = [
        np.asarray(arguments[name]).dtype
        for name, type in types.items()
        if isinstance(type, TensorType) and type.dtype == "real"
    ]
    dtype = np.result_type(*undeclared) if undeclared else np.dtype(np.float64)
    if dtype not in (DTYPES["f32"], DTYPES["f64"]):
        raise TypeError(f"arguments must be float32 or float64, not {dtype}")
    return dtype


# --- one function per operation that is not a function of scalars ---------------------------------


def _constant(self: _Evaluation, op: ConstantOp, points: Points) -> Array:
    return np.full(points.count, op.value.data, self.dtype)


def _index_to_real(self: _Evaluation, op: IndexToRealOp, points: Points) -> Array:
    return points.affine(op.form, self.sizes).astype(self.dtype)


def _floordiv(self: _Evaluation, op: FloorDivOp, points: Points) -> Array:
    return points.affine(op.form, self.sizes) // op.divisor.data


def _read(self: _Evaluation, op: ReadOp, points: Points) -> Array:
    return _element(self, op, points).astype(self.dtype, copy=False)


def _element(self: _Evaluation, op: ReadOp | AtOp, points: Points) -> Array:
    tensor = self.tensors[op.tensor]
    if isinstance(op, ReadOp) and op.view is not None:
        tensor = tensor.reshape(dimensions_of(op.shape, self.sizes))
    if not tensor.ndim:
        return np.full(points.count, tensor)
    element = [points.affine(form, self.sizes) for form in op.forms]
    if isinstance(op, AtOp) and op.is_clamped:
        if not tensor.size:
            return np.zeros(points.count, tensor.dtype)  # a condition on it fails
        element = [np.clip(p, 0, n - 1) for p, n in zip(element, tensor.shape, strict=True)]
    inside = np.ones(points.count, np.bool_)
    for position, size in zip(element, tensor.shape, strict=True):
        inside &= (position >= 0) & (position < size)
    if not np.all(inside):
        first = int(np.argmin(inside))
        raise OutOfRange(op, [int(position[first]) for position in element], tensor.shape)
    return tensor[tuple(element)]


def _if(self: _Evaluation, op: IfOp, points: Points) -> Array:
    condition = np.zeros(points.count, np.bool_)
    for disjunct in op.condition:
        condition |= self.holds(disjunct, points)
    absent = np.zeros(points.count, np.bool_) if op.result in self.in_terms else None
    result = _choose(self, op, condition, points, absent)
    points[op.result] = result
    points.leave_out(op.result, absent)
    return result


def _call(self: _Evaluation, op: CallOp, points: Points) -> Array:
    formula = op.callee.value
    arguments = [points[v] for v in op.arguments]
    return self.region(
        formula, Points(points.count, dict(zip(formula.block.args, arguments, strict=True)))
    )


def _where(self: _Evaluation, op: WhereOp, points: Points) -> Array:
    self.count("where", points)
    condition = COMPARISONS[op.comparison](points[op.lhs], points[op.rhs])
    return _choose(self, op, condition, points)


def _choose(
    self: _Evaluation,
    op: IfOp | WhereOp,
    condition: Array,
    points: Points,
    absent: Array | None = None,
) -> Array:
    """Each body at the points where it is chosen; `absent` becomes true where that is left out."""
    result = np.empty(points.count, self.dtype)
    for where, region in ((condition, op.then), (~condition, op.otherwise)):
        chosen = np.flatnonzero(where)
        if len(chosen):
            inner = points.select(chosen)
            result[chosen] = self.region(region, inner)
            if absent is not None:
                value = yielded(region)
                mask = inner.absent(value)
                absent[chosen] = constant_value(value) == 0 if mask is None else mask
    return result


def _sum(self: _Evaluation, op: SumOp, points: Points) -> Array:
    """Terms are added in double precision also for f32: an oracle may be more exact.

    Those that are evaluated at once are added pairwise by NumPy. What these come to is added with
    the rounding errors of that, which six operations give exactly (Knuth, The Art of Computer
    Programming 2, section 4.2.2), so that no number of terms makes a sum worse. Infinities have no
    errors.
    """
    total, errors = np.zeros((2, points.count))
    for terms, origin in expand(points, op.indices, op.constraints, self.sizes):
        self.count("add", terms)
        values = self.region(op.body, terms).astype(np.float64, copy=False)
        first = np.flatnonzero(np.diff(origin, prepend=-1))  # terms of a point stand together
        point, part = origin[first], np.add.reduceat(values, first)
        before = total[point]
        after = before + part
        added = after - before
        total[point] = after
        errors[point] += (before - (after - added)) + (part - added)
    return (total + np.where(np.isfinite(errors), errors, 0)).astype(self.dtype)


def _reduce(self: _Evaluation, op: ReductionOp, points: Points) -> Array:
    """Products, like sums, in double precision."""
    combine, kind = COMBINE[type(op)]
    total = np.full(points.count, op.IDENTITY, np.float64)
    for terms, origin in expand(points, op.indices, op.constraints, self.sizes):
        self.count(kind, terms)
        combine.at(total, origin, self.region(op.body, terms).astype(np.float64))
    return total.astype(self.dtype)


COMBINE: dict[type[ReductionOp], tuple[np.ufunc, str]] = {
    MaxOp: (np.maximum, "maximum"),
    MinOp: (np.minimum, "minimum"),
    ProdOp: (np.multiply, "mul"),
}
"""The function that joins two terms, and the kind of operation that it is counted as."""

COMPARISONS: dict[Predicate, np.ufunc] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}

HANDLERS: dict[type[Operation], Callable[[_Evaluation, Any, Points], Array]] = {
    AtOp: _element,
    CallOp: _call,
    ConstantOp: _constant,
    FloorDivOp: _floordiv,
    IfOp: _if,
    IndexToRealOp: _index_to_real,
    MaxOp: _reduce,
    MinOp: _reduce,
    ProdOp: _reduce,
    ReadOp: _read,
    SumOp: _sum,
    WhereOp: _where,
}

"""`InverseMode`: an inverse mode of a program on arrays of a framework, which derives it.

A mode is made of steps: programs, and linear systems or determinants between them.

    programs        operations, with derivatives of every order
    systems         the framework's own solver, on the matrix as a whole; it knows the derivatives
    determinants    likewise; the sign of a permutation has none

So whatever the framework can do with its own functions it can do with a mode: gradients and
tangents of every order, by arguments and vectors, and batches. Its solvers take matrices that hold
all their elements: a system with n equations takes n² numbers here, also where it is banded, and
for that n³/3 operations.

Where elements can be looked at, what is singular raises and warns as on NumPy; where a framework
only traces them, results are infinite or no numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from tadc.dialects.tix import DeterminantOp, MatrixForm, SolveOp
from tadc.frameworks.operation import Operation
from tadc.function import Function
from tadc.inverse.inverse import Inverse
from tadc.runtime.linear_systems import Matrix
from tadc.runtime.runner import Runner

Array: TypeAlias = Any
Known = dict[str, Array]
"""Tensors by name, which steps read and add to."""
Factor = tuple[Array, Array]
"""The sign of a determinant, and the logarithm of its absolute value."""
Step = Callable[[Known], Factor | None]


class Arrays(ABC):
    """The functions of a framework on its arrays."""

    numpy: Any
    """Its functions, by the names that they have in NumPy too."""

    @abstractmethod
    def function_of(self, operation: Operation) -> Callable[[Sequence[Array]], Sequence[Array]]:
        """An operation as a function of all its arguments in order."""

    @abstractmethod
    def precision(self, array: Array) -> str:
        """`f32` or `f64`."""

    @abstractmethod
    def converted(self, array: Array, precision: str) -> Array:
        """An array in this precision."""

    @abstractmethod
    def solve(self, matrix: Array, rhs: Array) -> Array:
        """The solutions of systems `[..., n, n]` for `[..., n, 1]`; anything where one has none."""

    @abstractmethod
    def solve_triangular(self, matrix: Array, rhs: Array, lower: bool) -> Array:
        """Likewise, where what is above or below the diagonal does not count."""

    @abstractmethod
    def elements(self, array: Array) -> np.ndarray[Any, Any] | None:
        """The elements, None where the framework only traces them."""


class InverseMode:
    """`J⁻¹ ẏ`, `J⁻ᵀ x̄` or the determinant of the Jacobian of a program, as functions of arrays."""

    def __init__(self, inverse: Inverse, arrays: Arrays):
        self._args = inverse.args
        self._results = [r.label for r in inverse.results]
        self._steps = [_step(inverse, step, arrays) for step in inverse.steps]

    def __call__(self, arguments: Sequence[Array], seeds: Sequence[Array] = ()) -> list[Array]:
        """The results for the arguments of the program and one vector for each of its results.

        Of a determinant: its sign, and the logarithm of its absolute value.
        """
        known: Known = dict(zip(self._args, [*arguments, *seeds], strict=False))
        factors = [step(known) for step in self._steps]
        results = [known[label] for label in self._results]
        for factor in factors:
            if factor is not None:
                results = [results[0] * factor[0], results[1] + factor[1]]
        return results


def _step(inverse: Inverse, step: Runner | SolveOp | DeterminantOp, arrays: Arrays) -> Step:
    match step:
        case Runner():
            return _Part(inverse, step, arrays)
        case SolveOp():
            return _System(inverse, step, arrays)
        case DeterminantOp():
            return _Determinant(step, arrays)


class _Part:
    """A program between systems."""

    def __init__(self, inverse: Inverse, part: Runner, arrays: Arrays):
        self._names = [t.name for t in part.program.args]
        self._labels = part.program.result_labels
        self._run = arrays.function_of(Operation.of(Function(part.program, "cpu")))
        self._inverse, self._pivots, self._arrays = inverse, inverse.pivots_of(part), arrays

    def __call__(self, known: Known) -> None:
        found = self._run([known[name] for name in self._names])
        known.update(zip(self._labels, found, strict=True))
        for pivot in self._pivots:
            values = self._arrays.elements(known[pivot.label])
            if values is not None:
                self._inverse.check_pivot(pivot, values)


class _System:
    """A linear system."""

    def __init__(self, inverse: Inverse, system: SolveOp, arrays: Arrays):
        self._inverse, self._system, self._arrays = inverse, system, arrays
        self._form, self._is_transposed = system.form, system.transposed is not None
        self._matrices, self._rhs = system.matrix_names, system.rhs_names
        self._solutions = system.solution_names

    def __call__(self, known: Known) -> None:
        arrays = self._arrays
        matrix = Matrix.of(self._form, [known[n] for n in self._matrices], arrays.numpy)
        lead = matrix.batch
        parts = [known[name] for name in self._rhs]
        parts = [b.reshape((*lead, prod(b.shape[len(lead) :]), 1)) for b in parts]
        solved = _solved(arrays, matrix, arrays.numpy.concatenate(parts, -2), self._is_transposed)
        self._check(known)
        shapes = matrix.rows if self._is_transposed else matrix.columns
        precisions = self._precisions(known)
        first = 0
        for name, shape, precision in zip(self._solutions, shapes, precisions, strict=True):
            last = first + prod(shape)
            part = solved[..., first:last, 0].reshape((*lead, *shape))
            known[name] = arrays.converted(part, precision) if precision else part
            first = last

    def _precisions(self, known: Known) -> list[str | None]:
        whole = {t.name for t in self._inverse.program.args if not t.is_real}
        names = [n for n in self._inverse.args if n in known and n not in whole]
        given = {name: self._arrays.precision(known[name]) for name in names}
        return self._inverse.precisions(self._solutions, given)

    def _check(self, known: Known) -> None:
        found = {name: self._arrays.elements(known[name]) for name in self._matrices + self._rhs}
        if all(values is not None for values in found.values()):
            self._inverse.solutions(self._system, found)


class _Determinant:
    """The determinant of a matrix, or of several."""

    def __init__(self, determinant: DeterminantOp, arrays: Arrays):
        self._arrays = arrays
        self._form, self._matrices = determinant.form, determinant.matrix_names

    def __call__(self, known: Known) -> Factor:
        return log_abs_det(self._arrays, self._form, [known[name] for name in self._matrices])


# --- matrices -------------------------------------------------------------------------------------


def _solved(arrays: Arrays, matrix: Matrix, rhs: Array, transposed: bool) -> Array:
    """The solutions for one column on the right, in the wider precision of both."""
    a = _dense(arrays, matrix)
    precision = "f64" if "f64" in map(arrays.precision, (a, rhs)) else "f32"
    a, rhs = arrays.converted(a, precision), arrays.converted(rhs, precision)
    a = a.mT if transposed else a
    if matrix.form.kind in ("lower", "upper"):
        return arrays.solve_triangular(a, rhs, (matrix.form.kind == "lower") != transposed)
    return arrays.solve(a, rhs)


def log_abs_det(arrays: Arrays, form: MatrixForm, blocks: Sequence[Array]) -> Factor:
    """Sign and logarithm of the product of all determinants; 0 and -inf where one is 0."""
    numpy = arrays.numpy
    if form.kind == "permutation":
        sign = permutation_sign(numpy, numpy.concatenate([b.reshape((-1,)) for b in blocks]))
        return sign, 0.0
    matrix = Matrix.of(form, blocks, numpy)
    if form.kind in ("lower", "upper"):
        pivots = numpy.diagonal(matrix.array, 0, -2, -1)
        return numpy.sign(pivots).prod(), numpy.log(numpy.abs(pivots)).sum()
    signs, logarithms = numpy.linalg.slogdet(_dense(arrays, matrix))
    return signs.prod(), logarithms.sum()


def _dense(arrays: Arrays, matrix: Matrix) -> Array:
    """The matrix with all its elements.

    A band stores element j of row r in column `j % width`: so the row is these columns again and
    again, and 0 outside of the band.
    """
    if matrix.form.kind != "banded":
        return matrix.array
    numpy, form, stored = arrays.numpy, matrix.form, matrix.array
    *lead, size, width = stored.shape
    times = -(-size // width)
    rows = numpy.broadcast_to(stored[..., None, :], (*lead, size, times, width))
    rows = rows.reshape((*lead, size, times * width))[..., :size]
    return numpy.triu(numpy.tril(rows, form.upper), -form.lower)


def permutation_sign(numpy: Any, places: Array) -> Array:
    """The sign of a permutation, given by its values: 1 if it takes an even number of exchanges.

    A permutation of n numbers with c cycles takes n - c. As many numbers are the least of their
    cycle: the least number among the next 2^k on the way from i is that among the next 2^(k-1), or
    among those from the number 2^(k-1) further on. Takes n log n operations, and no gradient: the
    order of the values, whole numbers, is the inverse permutation, which has the same sign.

    Anything, where some value is no number or the values are no permutation.
    """
    count = places.shape[0]
    start = numpy.arange(count)
    least, step = start, numpy.argsort(places)
    for _ in range(count.bit_length()):
        least, step = numpy.minimum(least, least[step]), step[step]
    return 1 - 2 * ((count - (least == start).sum()) % 2)

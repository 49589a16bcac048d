"""`Jacobian`: a function from arguments to a sparse matrix of derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tadc.dialects.tix import ProgramOp
from tadc.jacobian.places import places_text
from tadc.once import once_property
from tadc.passes.derive.sparse_jacobian import SparseJacobianPass, bands_of_results
from tadc.passes.index_sets.band_flow import Flow
from tadc.passes.pipeline import passes_before_jacobian
from tadc.passes.rewriting.programs import type_of
from tadc.program import Tensor
from tadc.runnable import Runnable, one_or_named
from tadc.support.entries import entry
from tadc.support.recent import Recent

if TYPE_CHECKING:
    from tadc.jacobian.pattern import Array, Pattern

MOST_PATTERNS = 16
"""The number of shapes of arguments whose patterns are remembered: they are as large as results."""


class Jacobian:
    """The derivatives of results of a program by one argument, as sparse matrices.

    Called like the program, it gives a `scipy.sparse.csr_array` for each result, as one matrix or,
    of several results, a named tuple. The matrix has a row for each element of the result and a
    column for each of the argument, both numbered in C order. Its entries are those that can differ
    from 0 by the index sets of the program, whatever the arguments: `pattern` tells which they are.
    Zeros among them are stored.

    `program` computes the entries, as tensors: a `tadc.Function`, which prints, compiles and is
    derived as any other. Index arrays are made for the first call with some shapes, in time
    O(n log n) for n entries; matrices of later ones share them, and they are read-only.
    Safe to call from several threads, to pickle and to use after a fork.

    Raises `TadcError` for whatever is wrong with the arguments, `TargetError` where scipy is
    missing.
    """

    def __init__(self, function: Runnable, entries: Runnable, first: SparseJacobianPass):
        self.function = function
        """The program that is derived."""
        self.program = entries
        self.wrt = first.wrt
        """The name of the argument."""
        self._first = first
        self._patterns: Recent[object, Sequence[Pattern]] = Recent(MOST_PATTERNS)

    @property
    def args(self) -> tuple[Tensor, ...]:
        """The arguments in order, each with name, dtype and shape."""
        return self.function.args

    @property
    def results(self) -> tuple[Tensor, ...]:
        """The results that are derived, one for each matrix."""
        of = self._first.of
        return tuple(t for t in self.function.results if not of or t.name in of)

    # --- looking ---

    def __str__(self) -> str:
        bands = [(t.name, flows) for t, flows in zip(self.results, self._bands, strict=True)]
        return places_text(bands, self.wrt, self.program.results) + str(self.program)

    def __repr__(self) -> str:
        results = ", ".join(t.name for t in self.results)
        return f"<tadc.Jacobian of {results} by {self.wrt}, target {self.function.target}>"

    @entry
    def pattern(self, *arguments: Any, **named: Any) -> Any:
        """The places of the entries, a `scipy.sparse.csr_array` of True for each result.

        Takes the arguments of a call, of which only shapes count, or all sizes by name:
        `pattern(N=100)`. Nothing is compiled or run. Raises `TadcError` as calls do.
        """
        compiled = self.function.compiled
        if named and not arguments and not named.keys() & set(compiled.names):
            patterns = self._patterns_of(compiled.named_sizes(named))
        else:
            patterns = self._patterns_like(arguments, named)
        return self._matrices(patterns, [p.filled for p in patterns])

    # --- calling ---

    @entry
    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """The matrix, or several in the order of `results`, also by name."""
        tensors = iter(self.program.call(arguments, named))
        patterns = self._patterns_like(arguments, named)
        entries: list[Array] = []
        for pattern, flows in zip(patterns, self._bands, strict=True):
            # a result that does not depend on the argument has a tensor of zeros
            own = [next(tensors) for _ in flows or [None]]
            entries.append(pattern.values(own))
        return self._matrices(patterns, entries)

    def _matrices(self, patterns: Sequence[Pattern], entries: Sequence[Array]) -> Any:
        from tadc.jacobian.matrix import matrix

        pairs = zip(patterns, entries, strict=True)
        return one_or_named(self.results, [matrix(pattern, data) for pattern, data in pairs])

    # --- patterns ---

    def _patterns_like(
        self, positional: Sequence[Any], named: Mapping[str, Any]
    ) -> Sequence[Pattern]:
        """The patterns for arguments of these shapes."""
        import numpy as np  # here, as printing needs none

        values = self.program.runner.bind(positional, named)
        shapes = tuple(map(np.shape, values))
        known = self._patterns.get(shapes)
        if known is None:
            known = self._patterns_of(self.function.compiled.sizes_of(shapes))
            self._patterns.put(shapes, known)
        return known

    def _patterns_of(self, sizes: Mapping[str, int]) -> Sequence[Pattern]:
        """The patterns for these sizes."""
        from tadc.jacobian.pattern import Pattern

        program = self._derived_program
        known = dict(sizes)
        for size in program.derived:
            known.setdefault(size.data.name, size.evaluate(known))
        argument = type_of(program.arguments[self.wrt]).shape
        types = dict(zip(program.result_names, map(type_of, program.returned), strict=True))
        return [
            Pattern.of(flows, types[result.name].shape, argument, known)
            for result, flows in zip(self.results, self._bands, strict=True)
        ]

    @once_property
    def _derived_program(self) -> ProgramOp:
        """The program in the form in which its bands are found."""
        module = self.function.program.transformed(passes_before_jacobian(self._first))
        (program,) = (op for op in module.ops if isinstance(op, ProgramOp))
        return program

    @once_property
    def _bands(self) -> Sequence[Sequence[Flow]]:
        """The bands of each result, in the order of the results of `program`."""
        recurse, of = self.function.program.recurse, self._first.of
        return recurse(lambda: bands_of_results(self._derived_program, self.wrt, of))

    # --- keeping ---

    def __reduce__(self) -> tuple[Any, ...]:
        return Jacobian, (self.function, self.program, self._first)

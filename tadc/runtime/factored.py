"""`Factored`: a program in the definitions that its target runs: partial sums, parts of results.

The passes are those of `tadc.passes.code_pipeline.summing_passes`. Only long calls on targets with
tiles have blocks, parts and copies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xdsl.passes import ModulePass

from tadc.once import Once
from tadc.program import Program, nothing
from tadc.runtime.executable import Executable
from tadc.runtime.size_class import SizeClass


class Factored:
    """A program for a kind of target, with partial sums as tensors where the kind wants that.

    It is derived once for all calls of a class; safe to call from several threads.
    """

    def __init__(self, program: Program, kind: type[Executable]):
        self._program = program
        self._kind = kind
        self._made: Once[object, Program] = Once()

    def _options(self, precision: str, sizes: SizeClass) -> Sequence[Any]:
        """The arguments of `summing_passes`, which decide the passes."""
        kind, example = self._kind, dict(sizes.example)
        threads, tile = kind.many_threads, kind.tiles and sizes.tiles
        largest = sizes.most if threads else sizes.most_of_variables
        most = largest(kind.largest_example)
        registers, least = kind.registers(), sizes.least
        return sizes.values, precision, tile, example, most, threads, registers, least

    def of(
        self, precision: str, sizes: SizeClass, before: Callable[[], object] = nothing
    ) -> Program:
        """The program for a precision of its undeclared tensors, and sizes of a class.

        Where nobody has derived it, `before` is called first.
        """
        own = sizes if self._kind.largest_example else SizeClass()
        costs = [d.cost for d in self._program.summary.definitions]
        is_changed = any(
            cost.reductions or cost.has_quotients or (cost.has_common_values and own.tiles)
            for cost in costs
        )
        if not (self._kind.factors_sums and is_changed):
            return self._program
        key = precision if own.tiles else "", own.numbers, own.others, own.tiles, own.example

        options = self._options(precision, own)

        def make() -> Program:
            passes = partial(_passes, options)
            (made,) = self._program.derive(passes, before, ("summing", *options))
            return made

        return self._made.of(key, make)


def _passes(options: Sequence[Any]) -> Sequence[ModulePass]:
    # here, for a program from the disk needs none of all the passes
    from tadc.passes.code_pipeline import summing_passes

    return summing_passes(*options).passes

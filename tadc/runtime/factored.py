"""`Factored`: a program in fewer operations, as its target runs it (`passes/factor_sums.py`)."""

from __future__ import annotations

from passes.pipeline import summing_passes
from tadc.program import Program
from tadc.runtime.executable import Executable
from tadc.runtime.size_class import SizeClass


class Factored:
    """A program for a kind of target, with partial sums as tensors where the kind wants that.

    It is derived once for all classes of the same numbers; safe to call from several threads.
    """

    def __init__(self, program: Program, kind: type[Executable]):
        self._program = program
        self._kind = kind
        self._made: dict[object, Program] = {}

    def of(self, sizes: SizeClass) -> Program:
        """The program for sizes of a class."""
        definitions = self._program.summary.definitions
        if not (self._kind.factors_sums and any(d.cost.reductions for d in definitions)):
            return self._program
        numbers = sizes.numbers if self._kind.tiles else ()
        if numbers not in self._made:
            (made,) = self._program.derive(summing_passes(dict(numbers)).passes)
            return self._made.setdefault(numbers, made)
        return self._made[numbers]

"""`Factored`: a program in the definitions that its target runs: partial sums, parts of results.

The passes are `factor-sums` and `split-residues`. Only long calls on targets with tiles have parts.
"""

from __future__ import annotations

from passes.pipeline import summing_passes
from tadc.program import Program
from tadc.runtime.executable import Executable
from tadc.runtime.size_class import SizeClass


class Factored:
    """A program for a kind of target, with partial sums as tensors where the kind wants that.

    It is derived once for all classes of the same numbers and of calls as long; safe to call from
    several threads.
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
        tiles = sizes.tiles and self._kind.tiles
        key = sizes.numbers if self._kind.tiles else (), tiles
        if key not in self._made:
            (made,) = self._program.derive(summing_passes(dict(key[0]), tiles).passes)
            return self._made.setdefault(key, made)
        return self._made[key]

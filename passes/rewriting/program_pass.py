"""The kinds of passes: on modules, on programs, on single definitions; and what they state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from tadc.dialects import tix
from tadc.passes.rewriting.programs import rewrite_programs

Property: TypeAlias = Callable[[tix.ProgramOp], Iterator[Operation]]
"""A statement about programs, as a function to the operations that break it."""


@dataclass(frozen=True)
class ContractPass(ModulePass, ABC):
    """A pass that states which properties it requires of a program, and which it leaves.

    They are those of `passes/analysis/properties.py`. Tests check them before and after each pass
    of the pipelines, for many programs; a run of passes checks none.
    """

    requires: ClassVar[tuple[Property, ...]] = ()
    """Needed by the pass, to be right or to do its work."""
    leaves: ClassVar[tuple[Property, ...]] = ()
    """Made or kept by it, where a program has what it requires."""


@dataclass(frozen=True)
class ProgramPass(ContractPass, ABC):
    """A pass that makes a new program of each program, whatever else is in the module."""

    @abstractmethod
    def rewrite(self, program: tix.ProgramOp) -> tix.ProgramOp:
        """The program in the place of `program`, which may be `program` itself."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rewrite_programs(op, self.rewrite)


@dataclass(frozen=True)
class LocalPass(ProgramPass, ABC):
    """A pass that makes of each definition what depends on it and the program's sizes alone.

    So `passes/run_passes.py` runs it once for definitions that are equivalent.
    """

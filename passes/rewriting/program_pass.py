"""The kinds of passes: on modules (xDSL's `ModulePass`), on programs, on single definitions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tadc.dialects import tix
from tadc.passes.rewriting.programs import rewrite_programs


@dataclass(frozen=True)
class ProgramPass(ModulePass, ABC):
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

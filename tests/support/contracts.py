"""Passes that are held to what they state: the properties that they require and leave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tadc.dialects import tix
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.rewriting.program_pass import ContractPass, Property
from tadc.support.ir_text import context


class ContractBroken(AssertionError):
    """A pass is given, or has made, a program that lacks a property."""


def programs_in(module: ModuleOp) -> list[tix.ProgramOp]:
    return [op for op in module.ops if isinstance(op, tix.ProgramOp)]


def required(step: ModulePass) -> tuple[Property, ...]:
    return step.requires if isinstance(step, ContractPass) else ()


def left(step: ModulePass) -> tuple[Property, ...]:
    """The properties that a pass leaves; `outline-reductions{shared}` names sums of other kinds."""
    if isinstance(step, OutlineReductionsPass) and step.shared:
        return ()
    return step.leaves if isinstance(step, ContractPass) else ()


def missing(properties: Iterable[Property], module: ModuleOp) -> Iterator[str]:
    """The properties that a program of the module lacks, with what breaks them."""
    for program in programs_in(module):
        for holds in properties:
            if found := next(holds(program), None):
                yield f"{holds.__name__}, broken by\n{found}"


def demand(properties: Iterable[Property], module: ModuleOp, what: str) -> None:
    if found := next(missing(properties, module), None):
        raise ContractBroken(f"{what} {found}\nin\n{module}")


def apply_checked(step: ModulePass, module: ModuleOp) -> None:
    """Run a pass on a module that has what it requires; the result verifies and has the rest."""
    demand(required(step), module, f"{step.name} requires")
    step.apply(context(), module)
    module.verify()
    demand(left(step), module, f"{step.name} leaves")

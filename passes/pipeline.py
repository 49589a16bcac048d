"""The order of the passes, with the reason for each place.

A `Pipeline` makes the derivative program of a program, or loops of either. The stages are the
points at which a program can be looked at; each step of a pipeline says to which stage it leads,
and `until` cuts a pipeline behind a stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from xdsl.passes import ModulePass

from tadc.dialects.tix import AVX_512, Registers
from tadc.passes.algebra.collect_factors import CollectFactorsPass
from tadc.passes.algebra.factor_sums import FactorSumsPass
from tadc.passes.algebra.interchange_sums import InterchangeSumsPass
from tadc.passes.algebra.join_sums import JoinSumsPass
from tadc.passes.algebra.move_windows import MoveWindowsPass
from tadc.passes.algebra.multiply_out import MultiplyOutPass
from tadc.passes.algebra.order_factors import OrderFactorsPass
from tadc.passes.algebra.order_windows import OrderWindowsPass
from tadc.passes.algebra.outline_scans import OutlineScansPass
from tadc.passes.algebra.shift_sums import ShiftSumsPass
from tadc.passes.algebra.split_sums import SplitSumsPass
from tadc.passes.derive.absorb_conditions import AbsorbConditionsPass
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.derive.infer_ranges import InferRangesPass
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.derive.outline_stencils import OutlineStencilsPass
from tadc.passes.derive.solve_index_kernels import SolveIndexKernelsPass
from tadc.passes.derive.split_pullback import SplitPullbackPass
from tadc.passes.derive.split_solves import SplitSolvesPass
from tadc.passes.derive.zero_arguments import ZeroArgumentsPass
from tadc.passes.layout.elide_copies import ElideCopiesPass
from tadc.passes.layout.merge_axes import MergeAxesPass
from tadc.passes.layout.outline_values import OutlineValuesPass
from tadc.passes.layout.pack_reads import PackReadsPass
from tadc.passes.layout.recompute_elements import RecomputeElementsPass
from tadc.passes.layout.transpose_reads import TransposeReadsPass
from tadc.passes.lowering.coarsen_threads import CoarsenThreadsPass
from tadc.passes.lowering.expand_calls import ExpandCallsPass
from tadc.passes.lowering.expand_powers import ExpandPowersPass
from tadc.passes.lowering.schedule import SchedulePass
from tadc.passes.lowering.set_precision import SetPrecisionPass
from tadc.passes.lowering.set_registers import SetRegistersPass
from tadc.passes.lowering.shape_loops import ShapeLoopsPass
from tadc.passes.rewriting.written_sizes import write_sizes
from tadc.passes.simplify.inline_definitions import InlineDefinitionsPass
from tadc.passes.simplify.join_guards import JoinGuardsPass
from tadc.passes.simplify.order_definitions import OrderDefinitionsPass
from tadc.passes.simplify.share_values import ShareValuesPass
from tadc.passes.simplify.simplify_sums import SimplifySumsPass
from tadc.passes.simplify.specialise import SpecialisePass
from tadc.passes.splitting.cut_reductions import CutReductionsPass
from tadc.passes.splitting.cut_sums import CutSumsPass
from tadc.passes.splitting.hoist_reductions import HoistReductionsPass
from tadc.passes.splitting.peel_sums import PeelSumsPass
from tadc.passes.splitting.solve_conditions import SolveConditionsPass
from tadc.passes.splitting.split_axes import SplitAxesPass
from tadc.passes.splitting.split_elements import SplitElementsPass
from tadc.passes.splitting.split_ranges import SplitRangesPass
from tadc.passes.splitting.split_residues import SplitResiduesPass
from tadc.passes.splitting.spread_reductions import SpreadReductionsPass
from tadc.passes.splitting.unroll_rounds import UnrollRoundsPass
from tadc.passes.splitting.unwrap_indices import UnwrapIndicesPass

STAGES = (
    "source",
    "tensor-index",
    "derivative",
    "solved",
    "bounded",
    "simplified",
    "scheduled",
    "code",
)
"""Every stage in order; `source` is text of the language, `code` text of a target."""


class Step(NamedTuple):
    """A pass, and the stage that it ends or leads to."""

    stage: str
    run: ModulePass


class Pipeline(tuple[Step, ...]):
    """Passes in order, each with its stage."""

    @property
    def passes(self) -> list[ModulePass]:
        """The passes alone."""
        return [step.run for step in self]

    def until(self, stage: str) -> Pipeline:
        """The steps up to the last one of `stage`; raises ValueError where none leads there."""
        stages = [step.stage for step in self]
        return Pipeline(self[: len(stages) - stages[::-1].index(stage)])


def derivative_passes(differentiate: DifferentiatePass) -> Pipeline:
    """From `tensor-index` to `simplified`, by the derivative that `differentiate` describes."""
    return Pipeline([*_deriving_steps(differentiate), *_storing_steps()])


def _deriving_steps(differentiate: DifferentiatePass) -> Sequence[Step]:
    """From `tensor-index` to definitions as small as they get, by as few operations as possible."""
    return [
        # before adjoints are there: those of few operations are few, and what a partial sum is
        # adjoints read instead of computing it again
        Step("derivative", FactorSumsPass()),
        # factors that leave a sum leave its adjoint, too; terms are apart now that have some
        Step("derivative", SimplifySumsPass()),
        *_simplifying_steps(differentiate),
        # when bounds are known and guards are joined: adjoints may hold sums within sums, too
        Step("simplified", FactorSumsPass()),
    ]


def _simplifying_steps(differentiate: DifferentiatePass) -> Sequence[Step]:
    """From `tensor-index` to definitions as small as they get."""
    reverse = differentiate.mode == "reverse"
    return [
        # values that adjoints need get names first, so that no gradient computes a sum again
        Step("derivative", OutlineReductionsPass()),
        # long sums are reads now; what is left in formulas is written out
        *([Step("derivative", OutlineStencilsPass())] if reverse else []),
        # adjoints as sums over unsolved equations, or tangents
        Step("derivative", differentiate),
        # equations must be solved before bounds: they decide what is left to bound
        Step("solved", SolveIndexKernelsPass()),
        # what is left to sum over is known; conditions on it are to become bounds and equations
        Step("solved", AbsorbConditionsPass()),
        # every index gets bounds; what is known around a sum prunes them
        Step("bounded", InferRangesPass()),
        # needs bounds to see sums over one point, and to prove that factors may leave
        Step("simplified", SimplifySumsPass()),
        # guards that exclude each other are there once sums over one point are gone
        Step("simplified", JoinGuardsPass()),
    ]


def _storing_steps() -> Sequence[Step]:
    """From small definitions to those that are worth storing, in the order of their evaluation."""
    return [
        # when each definition is as small as it gets: what is stored, what moves
        Step("simplified", InlineDefinitionsPass()),
        # last, when it is known what is stored: in which order
        Step("simplified", OrderDefinitionsPass()),
    ]


def pullback_passes(
    adjoints: Sequence[str], wrt: Sequence[str] = (), recompute: bool = False
) -> Pipeline:
    """From `tensor-index` to two programs: the values, and the gradients given what those save.

    With `recompute` large tensors that are made of few numbers are not saved.
    """
    return Pipeline(
        [
            *_deriving_steps(DifferentiatePass(tuple(wrt), keep_values=True)),
            # before definitions move: then each program decides alone what it stores
            Step("simplified", SplitPullbackPass(tuple(adjoints), recompute)),
            *_storing_steps(),
        ]
    )


def zeroing_passes(zero_arguments: ZeroArgumentsPass) -> Pipeline:
    """From `simplified` to `simplified`, without the arguments that are zero."""
    return Pipeline(
        [
            Step("simplified", zero_arguments),
            # sums have fewer terms: factors may leave them, and guards become one
            Step("simplified", SimplifySumsPass()),
            Step("simplified", JoinGuardsPass()),
            *_storing_steps(),
        ]
    )


def inverse_passes(mode: str) -> Pipeline:
    """From `tensor-index` to the programs of an inverse mode, and the systems between them.

    They return no pivots.
    """
    return Pipeline([*whole_inverse_passes(mode, keep_pivots=False), *splitting_passes()])


def whole_inverse_passes(mode: str, keep_pivots: bool = True) -> Pipeline:
    """From `tensor-index` to one program of an inverse mode, the systems behind it."""
    return Pipeline(_simplifying_steps(DifferentiatePass(mode=mode, keep_pivots=keep_pivots)))


def splitting_passes() -> Pipeline:
    """From one program of an inverse mode to its parts, and the systems between them."""
    # before definitions move: a solution is known between two programs
    return Pipeline([Step("simplified", SplitSolvesPass()), *_storing_steps()])


def summing_passes(
    values: Mapping[str, int | str],
    precision: str = "f64",
    tile: bool = False,
    sizes: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None,
    threads: bool = False,
    registers: Registers = AVX_512,
    least: Mapping[str, int] | None = None,
) -> Pipeline:
    """From `tensor-index` to the definitions that code for these `values` of sizes is made of.

    `tile` is for processors with caches, and vectors in `registers`, where definitions are made
    best for `sizes` and for a `precision` of tensors of type `real`; those that are no `values` are
    at `least` and at `most` these. With `threads` it is for GPUs, and all sizes lie between `sizes`
    and these.
    """
    example, greatest = write_sizes(sizes or {}), write_sizes(most or {})
    ends = (example, ()) if threads else (write_sizes(least or {}), greatest)
    specialising = [
        Step("tensor-index", SpecialisePass(write_sizes(values), *ends)),
        # conditions that values decide
        Step("tensor-index", SimplifySumsPass()),
    ]
    return Pipeline(
        [
            # first: a partial sum over a short range may cost more than it saves
            *(specialising if values or any(ends) else []),
            # before equations and sums are looked at: quotients are neither
            Step("tensor-index", UnwrapIndicesPass()),
            # likewise: bounds of rounds divide, those of each do not
            Step("tensor-index", UnrollRoundsPass()),
            # before partial sums are: what a condition leaves of a sum decides them
            Step("tensor-index", SolveConditionsPass(example)),
            # when conditions are bounds: blocks share the terms of sums whose bounds do not move
            *([Step("tensor-index", PeelSumsPass(example))] if tile else []),
            # before partial sums are: sums that nothing is stored between are sums of products
            Step("tensor-index", RecomputeElementsPass(example)),
            *(_for_indices(example) if tile else []),
            # what stands beside a factor that can leave a sum, too
            *([Step("tensor-index", MultiplyOutPass())] if tile else []),
            # of windows that are tensors already, as those of gradients
            *([Step("tensor-index", OrderWindowsPass())] if tile else []),
            # before partial sums are: that of two sums is one
            *([Step("tensor-index", MoveWindowsPass(example))] if tile else []),
            # before a plan of buffers is made: partial sums are tensors, and what elements share
            Step("tensor-index", FactorSumsPass(tile, example if tile else ())),
            Step("tensor-index", OutlineReductionsPass(True, tile, example if tile else ())),
            *(_for_caches(example, precision, registers) if tile else []),
            # last: each element is computed by a thread
            *(_for_threads(example, greatest) if threads else []),
        ]
    )


def _set(registers: Registers) -> SetRegistersPass:
    return SetRegistersPass(registers.count, registers.of_vector)


Sizes = tuple[str, ...]
"""Sizes as options of passes have them."""


def _for_indices(example: Sizes) -> Sequence[Step]:
    """Definitions in which quotients and scans of indices are apart."""
    return [
        # first: terms of scans are definitions like others
        Step("tensor-index", OutlineScansPass(example)),
        # quotients that are indices are what partial sums depend on
        Step("tensor-index", SplitAxesPass(example)),
    ]


def _for_caches(example: Sizes, precision: str, registers: Registers) -> Sequence[Step]:
    """Definitions that vectors, caches and the threads of a processor want."""
    return [
        # before the first choice of blocks
        Step("tensor-index", _set(registers)),
        # copies sums for each range, as the next ones for each choice and each residue: what has
        # left a sum before is not copied
        Step("tensor-index", SplitRangesPass(example)),
        # of each value of a short index, as of a range
        Step("tensor-index", SplitElementsPass()),
        # of choices that no range decides
        Step("tensor-index", HoistReductionsPass()),
        Step("tensor-index", SplitResiduesPass(example)),
        # where quotients of indices are indices, more sums have partial sums
        Step("tensor-index", FactorSumsPass(True, example)),
        # partial sums may be scans
        Step("tensor-index", OutlineScansPass(example)),
        # of definitions that are there to stay: what their elements have in common is a tensor
        Step("tensor-index", OutlineValuesPass(example)),
        # copies are for the order in which sums will run
        Step("tensor-index", InterchangeSumsPass()),
        # when it is known what reads what: a copy is a tensor
        Step("tensor-index", PackReadsPass(example, precision)),
        # last: what runs along rows, and by which copies
        Step("tensor-index", CutSumsPass(example)),
        # of what is left: what threads could not share
        Step("tensor-index", CutReductionsPass(example)),
    ]


def _for_threads(example: Sizes, greatest: Sizes) -> Sequence[Step]:
    """Definitions that a GPU wants, where a thread computes one element."""
    return [
        # when all reductions are there: elements for threads
        Step("tensor-index", SpreadReductionsPass(example, greatest)),
        # when it is known what a warp computes
        Step("tensor-index", TransposeReadsPass(example, greatest)),
    ]


def _shaping_passes(tile: bool, example: tuple[str, ...], strided: bool) -> list[Step]:
    """From a bounded program with precisions to one whose loops have their shape."""
    return [
        # loops share what they read where their terms depend on the same indices
        *([Step("scheduled", SplitSumsPass())] if tile else []),
        # those that depend on the same ones share what they compute
        Step("scheduled", JoinSumsPass()),
        # when all terms of a pair are in one sum
        Step("scheduled", CollectFactorsPass()),
        # each part of a sum has reads of its own; sizes that are short are numbers
        Step("scheduled", ShiftSumsPass()),
        # when it is known by which indices sums run: the last one side by side
        Step("scheduled", InterchangeSumsPass()),
        # terms that are parts of several sums are apart now; conditions are still those of indices
        Step("scheduled", ShareValuesPass()),
        # needs terms apart; decides between narrow loops and boxes, before loops are there
        Step("scheduled", ShapeLoopsPass(tile, example)),
        # conditions are where they stay: indices that none of them mentions may become one
        Step("scheduled", MergeAxesPass(strided)),
        # what was split and is one in memory again: no copy is between
        Step("scheduled", ElideCopiesPass()),
        # the indices are those of blocks; where nothing else changes, the order of factors is left
        *([Step("scheduled", OrderFactorsPass(tile, example))] if tile else []),
    ]


def code_passes(
    precision: str = "f64",
    tile: bool = False,
    sizes: Mapping[str, int] | None = None,
    values: Mapping[str, int | str] | None = None,
    strided: bool = False,
    plan: str = "",
    least: Mapping[str, int] | None = None,
    most: Mapping[str, int] | None = None,
    threads: bool = False,
    registers: Registers = AVX_512,
) -> Pipeline:
    """From a bounded program to `scheduled`: what every call runs, and all that is printed.

    `precision` is that of tensors of type `real`; `tile` is for processors with caches, and vectors
    in `registers`; the code is right for all calls in which sizes have these `values`, and the
    others their `least` values or more and their `most` or less; it is made best for `sizes`; with
    `strided` it also reads tensors whose rows lie apart. The text of a `plan` says how loops run
    where that is possible. With `threads` it is for GPUs, and `sizes` are like those of its calls.
    """
    example = write_sizes(sizes or {})
    fewest = write_sizes(least or {})
    known = SpecialisePass(write_sizes(values or {}), fewest, write_sizes(most or {}))
    specialising = [
        # first, so that all that follows sees how short ranges are
        *([Step("scheduled", known)] if values or least else []),
        # conditions that values decide, sums over one point
        *([Step("scheduled", SimplifySumsPass())] if values else []),
    ]
    return Pipeline(
        [
            *specialising,
            # after every derivative: these go by the rules of functions, and code by their values
            Step("scheduled", ExpandCallsPass()),
            # formulas have powers too; before it is looked at what a body computes
            Step("scheduled", ExpandPowersPass()),
            # loops need machine types
            Step("scheduled", SetPrecisionPass(precision)),
            # programs without reductions come here without those of `_for_caches`
            *([Step("scheduled", _set(registers))] if tile else []),
            *_shaping_passes(tile, example, strided),
            # from here on there are loops over memory instead of definitions
            Step("scheduled", SchedulePass(tile, example, fewest, strided, plan)),
            # what copies of a body share is known when it is one
            *([Step("scheduled", CoarsenThreadsPass(example))] if threads else []),
        ]
    )

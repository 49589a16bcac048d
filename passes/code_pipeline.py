"""The order of the passes to code, with the reason for each place.

`summing_passes` makes the definitions that loops are best for, phase by phase: `splitting`,
`algebra`, `layout`. `code_passes` makes loops of these. As in `pipeline`, a list of steps has the
name of a phase, and where a pass of another one goes between, its reason begins with the name of
that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
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
from tadc.passes.pipeline import Pipeline, Step
from tadc.passes.rewriting.written_sizes import write_sizes
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
            *_split_index_sets(example, tile),
            # before partial sums are: sums that nothing is stored between are sums of products
            Step("tensor-index", RecomputeElementsPass(example)),
            *_algebra_of_sums(example, tile),
            *(_split_results(example, registers) if tile else []),
            *(_algebra_of_parts(example) if tile else []),
            *(_layout_for_vectors(example, precision) if tile else []),
            *(_split_reductions(example) if tile else []),
            *(_split_for_threads(example, greatest) if threads else []),
        ]
    )


def _set(registers: Registers) -> SetRegistersPass:
    return SetRegistersPass(registers.count, registers.of_vector)


Sizes = tuple[str, ...]
"""Sizes as options of passes have them."""


def _split_index_sets(example: Sizes, tile: bool) -> Sequence[Step]:
    """Sums over exactly the terms that count, with bounds that loops can have."""
    return [
        # before equations and sums are looked at: quotients are neither
        Step("tensor-index", UnwrapIndicesPass()),
        # likewise: bounds of rounds divide, those of each do not
        Step("tensor-index", UnrollRoundsPass()),
        # before partial sums are: what a condition leaves of a sum decides them
        Step("tensor-index", SolveConditionsPass(example)),
        # when conditions are bounds: blocks share the terms of sums whose bounds do not move
        *([Step("tensor-index", PeelSumsPass(example))] if tile else []),
    ]


def _algebra_of_sums(example: Sizes, tile: bool) -> Sequence[Step]:
    """Sums that few operations compute."""
    for_tiles = [
        # first: terms of scans are definitions like others
        Step("tensor-index", OutlineScansPass(example)),
        # splitting: quotients that are indices are what partial sums depend on
        Step("tensor-index", SplitAxesPass(example)),
        # what stands beside a factor that can leave a sum, too
        Step("tensor-index", MultiplyOutPass()),
        # of windows that are tensors already, as those of gradients
        Step("tensor-index", OrderWindowsPass()),
        # before partial sums are: that of two sums is one
        Step("tensor-index", MoveWindowsPass(example)),
    ]
    return [
        *(for_tiles if tile else []),
        # before a plan of buffers is made: partial sums are tensors
        Step("tensor-index", FactorSumsPass(tile, example if tile else ())),
        # derive: and what elements share
        Step("tensor-index", OutlineReductionsPass(True, tile, example if tile else ())),
    ]


def _split_results(example: Sizes, registers: Registers) -> Sequence[Step]:
    """Results in parts of which each is one sum."""
    return [
        # lowering: before the first choice of blocks
        Step("tensor-index", _set(registers)),
        # copies sums for each range, as the next ones for each choice and each residue: what has
        # left a sum before is not copied
        Step("tensor-index", SplitRangesPass(example)),
        # of each value of a short index, as of a range
        Step("tensor-index", SplitElementsPass()),
        # of choices that no range decides
        Step("tensor-index", HoistReductionsPass()),
        Step("tensor-index", SplitResiduesPass(example)),
    ]


def _algebra_of_parts(example: Sizes) -> Sequence[Step]:
    """Sums of parts that few operations compute."""
    return [
        # where quotients of indices are indices, more sums have partial sums
        Step("tensor-index", FactorSumsPass(True, example)),
        # partial sums may be scans
        Step("tensor-index", OutlineScansPass(example)),
    ]


def _layout_for_vectors(example: Sizes, precision: str) -> Sequence[Step]:
    """Tensors in the order in which vectors and caches want them."""
    return [
        # of definitions that are there to stay: what their elements have in common is a tensor
        Step("tensor-index", OutlineValuesPass(example)),
        # algebra: copies are for the order in which sums will run
        Step("tensor-index", InterchangeSumsPass()),
        # when it is known what reads what: a copy is a tensor
        Step("tensor-index", PackReadsPass(example, precision)),
    ]


def _split_reductions(example: Sizes) -> Sequence[Step]:
    """Reductions in pieces for the caches and the threads of a processor."""
    return [
        # last: what runs along rows, and by which copies
        Step("tensor-index", CutSumsPass(example)),
        # of what is left: what threads could not share
        Step("tensor-index", CutReductionsPass(example)),
    ]


def _split_for_threads(example: Sizes, greatest: Sizes) -> Sequence[Step]:
    """Definitions that a GPU wants, where a thread computes one element."""
    return [
        # when all reductions are there: elements for threads
        Step("tensor-index", SpreadReductionsPass(example, greatest)),
        # layout: when it is known what a warp computes
        Step("tensor-index", TransposeReadsPass(example, greatest)),
    ]


def _lower_operations(precision: str, registers: Registers | None) -> Sequence[Step]:
    """Operations and types that machines have."""
    return [
        # after every derivative: these go by the rules of functions, and code by their values
        Step("scheduled", ExpandCallsPass()),
        # formulas have powers too; before it is looked at what a body computes
        Step("scheduled", ExpandPowersPass()),
        # loops need machine types
        Step("scheduled", SetPrecisionPass(precision)),
        # programs without reductions come here without those of `_split_results`
        *([Step("scheduled", _set(registers))] if registers else []),
    ]


def _algebra_of_loops(tile: bool) -> Sequence[Step]:
    """Sums of which each is one nest of loops."""
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
        # simplify: terms of several sums are apart now; conditions are still those of indices
        Step("scheduled", ShareValuesPass()),
    ]


def _layout_of_loops(tile: bool, example: Sizes, strided: bool) -> Sequence[Step]:
    """Indices as loops have them, and no tensor between what is one in memory."""
    return [
        # lowering, when terms are apart and before loops are there: narrow loops or boxes
        Step("scheduled", ShapeLoopsPass(tile, example)),
        # conditions are where they stay: indices that none of them mentions may become one
        Step("scheduled", MergeAxesPass(strided)),
        # what was split and is one in memory again: no copy is between
        Step("scheduled", ElideCopiesPass()),
        # algebra: the indices are those of blocks; the order of factors alone is left
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
            *_lower_operations(precision, registers if tile else None),
            *_algebra_of_loops(tile),
            *_layout_of_loops(tile, example, strided),
            # from here on there are loops over memory instead of definitions
            Step("scheduled", SchedulePass(tile, example, fewest, strided, plan)),
            # what copies of a body share is known when it is one
            *([Step("scheduled", CoarsenThreadsPass(example))] if threads else []),
        ]
    )

"""Dialects, passes and targets of the project by name, for `tadc-opt` and every other xDSL tool.

Everything is imported when it is first asked for, so that a driver starts fast.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from xdsl.universe import Universe


def _imported(module: str, name: str) -> Callable[[], Any]:
    """`module.name`, imported when called."""
    return lambda: getattr(import_module(module), name)


DIALECTS = {
    "loops": ("tadc.dialects.loops", "Loops"),
    "tix": ("tadc.dialects.tix", "Tix"),
}

# In the order of the pipeline; docs/new-pass.md is the recipe for a new line.
PASSES = {
    "batch": ("tadc.passes.batch", "BatchPass"),
    "outline-reductions": ("tadc.passes.outline_reductions", "OutlineReductionsPass"),
    "outline-stencils": ("tadc.passes.outline_stencils", "OutlineStencilsPass"),
    "differentiate": ("tadc.passes.differentiate", "DifferentiatePass"),
    "solve-index-kernels": ("tadc.passes.solve_index_kernels", "SolveIndexKernelsPass"),
    "absorb-conditions": ("tadc.passes.absorb_conditions", "AbsorbConditionsPass"),
    "infer-ranges": ("tadc.passes.infer_ranges", "InferRangesPass"),
    "simplify-sums": ("tadc.passes.simplify_sums", "SimplifySumsPass"),
    "factor-sums": ("tadc.passes.factor_sums", "FactorSumsPass"),
    "join-guards": ("tadc.passes.join_guards", "JoinGuardsPass"),
    "split-pullback": ("tadc.passes.split_pullback", "SplitPullbackPass"),
    "zero-arguments": ("tadc.passes.zero_arguments", "ZeroArgumentsPass"),
    "split-solves": ("tadc.passes.split_solves", "SplitSolvesPass"),
    "inline-definitions": ("tadc.passes.inline_definitions", "InlineDefinitionsPass"),
    "order-definitions": ("tadc.passes.order_definitions", "OrderDefinitionsPass"),
    "specialise": ("tadc.passes.specialise", "SpecialisePass"),
    "unwrap-indices": ("tadc.passes.unwrap_indices", "UnwrapIndicesPass"),
    "unroll-rounds": ("tadc.passes.unroll_rounds", "UnrollRoundsPass"),
    "solve-conditions": ("tadc.passes.solve_conditions", "SolveConditionsPass"),
    "peel-sums": ("tadc.passes.peel_sums", "PeelSumsPass"),
    "recompute-elements": ("tadc.passes.recompute_elements", "RecomputeElementsPass"),
    "multiply-out": ("tadc.passes.multiply_out", "MultiplyOutPass"),
    "move-windows": ("tadc.passes.move_windows", "MoveWindowsPass"),
    "order-windows": ("tadc.passes.order_windows", "OrderWindowsPass"),
    "outline-scans": ("tadc.passes.outline_scans", "OutlineScansPass"),
    "split-axes": ("tadc.passes.split_axes", "SplitAxesPass"),
    "split-ranges": ("tadc.passes.split_ranges", "SplitRangesPass"),
    "split-elements": ("tadc.passes.split_elements", "SplitElementsPass"),
    "hoist-reductions": ("tadc.passes.hoist_reductions", "HoistReductionsPass"),
    "split-residues": ("tadc.passes.split_residues", "SplitResiduesPass"),
    "outline-values": ("tadc.passes.outline_values", "OutlineValuesPass"),
    "pack-reads": ("tadc.passes.pack_reads", "PackReadsPass"),
    "cut-sums": ("tadc.passes.cut_sums", "CutSumsPass"),
    "cut-reductions": ("tadc.passes.cut_reductions", "CutReductionsPass"),
    "spread-reductions": ("tadc.passes.spread_reductions", "SpreadReductionsPass"),
    "transpose-reads": ("tadc.passes.transpose_reads", "TransposeReadsPass"),
    "expand-calls": ("tadc.passes.expand_calls", "ExpandCallsPass"),
    "expand-powers": ("tadc.passes.expand_powers", "ExpandPowersPass"),
    "set-precision": ("tadc.passes.set_precision", "SetPrecisionPass"),
    "set-registers": ("tadc.passes.set_registers", "SetRegistersPass"),
    "split-sums": ("tadc.passes.split_sums", "SplitSumsPass"),
    "join-sums": ("tadc.passes.join_sums", "JoinSumsPass"),
    "collect-factors": ("tadc.passes.collect_factors", "CollectFactorsPass"),
    "shift-sums": ("tadc.passes.shift_sums", "ShiftSumsPass"),
    "interchange-sums": ("tadc.passes.interchange_sums", "InterchangeSumsPass"),
    "share-values": ("tadc.passes.share_values", "ShareValuesPass"),
    "shape-loops": ("tadc.passes.shape_loops", "ShapeLoopsPass"),
    "merge-axes": ("tadc.passes.merge_axes", "MergeAxesPass"),
    "elide-copies": ("tadc.passes.elide_copies", "ElideCopiesPass"),
    "order-factors": ("tadc.passes.order_factors", "OrderFactorsPass"),
    "schedule": ("tadc.passes.schedule", "SchedulePass"),
    "coarsen-threads": ("tadc.passes.coarsen_threads", "CoarsenThreadsPass"),
}

TARGETS = {
    "cuda": ("tadc.targets.cuda", "CudaTarget"),
}

# xDSL has a target of this name. Universes may not hold a name twice: `tadc-opt` replaces it.
REPLACED_TARGETS = {
    "llvm": _imported("tadc.targets.llvm", "LlvmTarget"),
}

TADC = Universe(
    all_dialects={name: _imported(*where) for name, where in DIALECTS.items()},
    all_passes={name: _imported(*where) for name, where in PASSES.items()},
    all_targets={name: _imported(*where) for name, where in TARGETS.items()},
)

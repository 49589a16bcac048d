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
    "loops": ("dialects.loops", "Loops"),
    "tix": ("dialects.tix", "Tix"),
}

# In the order of the pipeline; docs/new-pass.md is the recipe for a new line.
PASSES = {
    "batch": ("passes.batch", "BatchPass"),
    "outline-reductions": ("passes.outline_reductions", "OutlineReductionsPass"),
    "differentiate": ("passes.differentiate", "DifferentiatePass"),
    "solve-index-kernels": ("passes.solve_index_kernels", "SolveIndexKernelsPass"),
    "absorb-conditions": ("passes.absorb_conditions", "AbsorbConditionsPass"),
    "infer-ranges": ("passes.infer_ranges", "InferRangesPass"),
    "simplify-sums": ("passes.simplify_sums", "SimplifySumsPass"),
    "factor-sums": ("passes.factor_sums", "FactorSumsPass"),
    "join-guards": ("passes.join_guards", "JoinGuardsPass"),
    "split-pullback": ("passes.split_pullback", "SplitPullbackPass"),
    "zero-arguments": ("passes.zero_arguments", "ZeroArgumentsPass"),
    "split-solves": ("passes.split_solves", "SplitSolvesPass"),
    "inline-definitions": ("passes.inline_definitions", "InlineDefinitionsPass"),
    "order-definitions": ("passes.order_definitions", "OrderDefinitionsPass"),
    "specialise": ("passes.specialise", "SpecialisePass"),
    "unwrap-indices": ("passes.unwrap_indices", "UnwrapIndicesPass"),
    "solve-conditions": ("passes.solve_conditions", "SolveConditionsPass"),
    "recompute-elements": ("passes.recompute_elements", "RecomputeElementsPass"),
    "multiply-out": ("passes.multiply_out", "MultiplyOutPass"),
    "move-windows": ("passes.move_windows", "MoveWindowsPass"),
    "order-windows": ("passes.order_windows", "OrderWindowsPass"),
    "outline-scans": ("passes.outline_scans", "OutlineScansPass"),
    "split-axes": ("passes.split_axes", "SplitAxesPass"),
    "split-ranges": ("passes.split_ranges", "SplitRangesPass"),
    "hoist-reductions": ("passes.hoist_reductions", "HoistReductionsPass"),
    "split-residues": ("passes.split_residues", "SplitResiduesPass"),
    "outline-values": ("passes.outline_values", "OutlineValuesPass"),
    "pack-reads": ("passes.pack_reads", "PackReadsPass"),
    "cut-sums": ("passes.cut_sums", "CutSumsPass"),
    "cut-reductions": ("passes.cut_reductions", "CutReductionsPass"),
    "spread-reductions": ("passes.spread_reductions", "SpreadReductionsPass"),
    "transpose-reads": ("passes.transpose_reads", "TransposeReadsPass"),
    "expand-calls": ("passes.expand_calls", "ExpandCallsPass"),
    "set-precision": ("passes.set_precision", "SetPrecisionPass"),
    "set-registers": ("passes.set_registers", "SetRegistersPass"),
    "split-sums": ("passes.split_sums", "SplitSumsPass"),
    "join-sums": ("passes.join_sums", "JoinSumsPass"),
    "collect-factors": ("passes.collect_factors", "CollectFactorsPass"),
    "shift-sums": ("passes.shift_sums", "ShiftSumsPass"),
    "interchange-sums": ("passes.interchange_sums", "InterchangeSumsPass"),
    "share-values": ("passes.share_values", "ShareValuesPass"),
    "shape-loops": ("passes.shape_loops", "ShapeLoopsPass"),
    "merge-axes": ("passes.merge_axes", "MergeAxesPass"),
    "elide-copies": ("passes.elide_copies", "ElideCopiesPass"),
    "order-factors": ("passes.order_factors", "OrderFactorsPass"),
    "schedule": ("passes.schedule", "SchedulePass"),
    "coarsen-threads": ("passes.coarsen_threads", "CoarsenThreadsPass"),
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

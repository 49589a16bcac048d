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
    "batch": ("tadc.passes.derive.batch", "BatchPass"),
    "outline-reductions": ("tadc.passes.derive.outline_reductions", "OutlineReductionsPass"),
    "outline-stencils": ("tadc.passes.derive.outline_stencils", "OutlineStencilsPass"),
    "differentiate": ("tadc.passes.derive.differentiate", "DifferentiatePass"),
    "sparse-jacobian": ("tadc.passes.derive.sparse_jacobian", "SparseJacobianPass"),
    "solve-index-kernels": ("tadc.passes.derive.solve_index_kernels", "SolveIndexKernelsPass"),
    "solve-elements": ("tadc.passes.derive.solve_elements", "SolveElementsPass"),
    "absorb-conditions": ("tadc.passes.derive.absorb_conditions", "AbsorbConditionsPass"),
    "infer-ranges": ("tadc.passes.derive.infer_ranges", "InferRangesPass"),
    "simplify-sums": ("tadc.passes.simplify.simplify_sums", "SimplifySumsPass"),
    "factor-sums": ("tadc.passes.algebra.factor_sums", "FactorSumsPass"),
    "join-guards": ("tadc.passes.simplify.join_guards", "JoinGuardsPass"),
    "split-pullback": ("tadc.passes.derive.split_pullback", "SplitPullbackPass"),
    "zero-arguments": ("tadc.passes.derive.zero_arguments", "ZeroArgumentsPass"),
    "split-solves": ("tadc.passes.derive.split_solves", "SplitSolvesPass"),
    "inline-definitions": ("tadc.passes.simplify.inline_definitions", "InlineDefinitionsPass"),
    "order-definitions": ("tadc.passes.simplify.order_definitions", "OrderDefinitionsPass"),
    "locate-elements": ("tadc.passes.layout.locate_elements", "LocateElementsPass"),
    "specialise": ("tadc.passes.simplify.specialise", "SpecialisePass"),
    "unwrap-indices": ("tadc.passes.splitting.unwrap_indices", "UnwrapIndicesPass"),
    "unroll-rounds": ("tadc.passes.splitting.unroll_rounds", "UnrollRoundsPass"),
    "solve-conditions": ("tadc.passes.splitting.solve_conditions", "SolveConditionsPass"),
    "peel-sums": ("tadc.passes.splitting.peel_sums", "PeelSumsPass"),
    "recompute-elements": ("tadc.passes.layout.recompute_elements", "RecomputeElementsPass"),
    "multiply-out": ("tadc.passes.algebra.multiply_out", "MultiplyOutPass"),
    "move-windows": ("tadc.passes.algebra.move_windows", "MoveWindowsPass"),
    "order-windows": ("tadc.passes.algebra.order_windows", "OrderWindowsPass"),
    "outline-scans": ("tadc.passes.algebra.outline_scans", "OutlineScansPass"),
    "split-axes": ("tadc.passes.splitting.split_axes", "SplitAxesPass"),
    "split-ranges": ("tadc.passes.splitting.split_ranges", "SplitRangesPass"),
    "split-elements": ("tadc.passes.splitting.split_elements", "SplitElementsPass"),
    "hoist-reductions": ("tadc.passes.splitting.hoist_reductions", "HoistReductionsPass"),
    "split-residues": ("tadc.passes.splitting.split_residues", "SplitResiduesPass"),
    "outline-values": ("tadc.passes.layout.outline_values", "OutlineValuesPass"),
    "pack-reads": ("tadc.passes.layout.pack_reads", "PackReadsPass"),
    "cut-sums": ("tadc.passes.splitting.cut_sums", "CutSumsPass"),
    "cut-reductions": ("tadc.passes.splitting.cut_reductions", "CutReductionsPass"),
    "spread-reductions": ("tadc.passes.splitting.spread_reductions", "SpreadReductionsPass"),
    "transpose-reads": ("tadc.passes.layout.transpose_reads", "TransposeReadsPass"),
    "expand-calls": ("tadc.passes.lowering.expand_calls", "ExpandCallsPass"),
    "expand-powers": ("tadc.passes.lowering.expand_powers", "ExpandPowersPass"),
    "set-precision": ("tadc.passes.lowering.set_precision", "SetPrecisionPass"),
    "set-registers": ("tadc.passes.lowering.set_registers", "SetRegistersPass"),
    "split-sums": ("tadc.passes.algebra.split_sums", "SplitSumsPass"),
    "join-sums": ("tadc.passes.algebra.join_sums", "JoinSumsPass"),
    "collect-factors": ("tadc.passes.algebra.collect_factors", "CollectFactorsPass"),
    "shift-sums": ("tadc.passes.algebra.shift_sums", "ShiftSumsPass"),
    "interchange-sums": ("tadc.passes.algebra.interchange_sums", "InterchangeSumsPass"),
    "share-values": ("tadc.passes.simplify.share_values", "ShareValuesPass"),
    "shape-loops": ("tadc.passes.lowering.shape_loops", "ShapeLoopsPass"),
    "merge-axes": ("tadc.passes.layout.merge_axes", "MergeAxesPass"),
    "elide-copies": ("tadc.passes.layout.elide_copies", "ElideCopiesPass"),
    "order-factors": ("tadc.passes.algebra.order_factors", "OrderFactorsPass"),
    "schedule": ("tadc.passes.lowering.schedule", "SchedulePass"),
    "coarsen-threads": ("tadc.passes.lowering.coarsen_threads", "CoarsenThreadsPass"),
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

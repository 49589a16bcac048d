"""The order of the passes to a derivative, with the reason for each place.

A `Pipeline` makes the derivative program of a program; those in `code_pipeline` make loops of
either. The stages are the points at which a program can be looked at; each step of a pipeline says
to which stage it leads, and `until` cuts a pipeline behind a stage.

A list of steps has the name of the phase whose folder holds its passes; where one of another phase
goes between, its reason begins with the name of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.passes import ModulePass

from tadc.passes.algebra.factor_sums import FactorSumsPass
from tadc.passes.derive.absorb_conditions import AbsorbConditionsPass
from tadc.passes.derive.differentiate import DifferentiatePass
from tadc.passes.derive.infer_ranges import InferRangesPass
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.derive.outline_stencils import OutlineStencilsPass
from tadc.passes.derive.solve_elements import SolveElementsPass
from tadc.passes.derive.solve_index_kernels import SolveIndexKernelsPass
from tadc.passes.derive.split_pullback import SplitPullbackPass
from tadc.passes.derive.split_solves import SplitSolvesPass
from tadc.passes.derive.zero_arguments import ZeroArgumentsPass
from tadc.passes.layout.locate_elements import LocateElementsPass
from tadc.passes.simplify.inline_definitions import InlineDefinitionsPass
from tadc.passes.simplify.join_guards import JoinGuardsPass
from tadc.passes.simplify.order_definitions import OrderDefinitionsPass
from tadc.passes.simplify.simplify_sums import SimplifySumsPass

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
    return Pipeline([*_derive_few_operations(differentiate), *_simplify_storage()])


def _derive_few_operations(differentiate: DifferentiatePass) -> Sequence[Step]:
    """From `tensor-index` to definitions as small as they get, by as few operations as possible."""
    return [
        # algebra, before adjoints are there: those of few operations are few, and what a partial
        # sum is adjoints read instead of computing it again
        Step("derivative", FactorSumsPass()),
        # simplify: factors that leave a sum leave its adjoint, too; terms are apart now that
        # have some
        Step("derivative", SimplifySumsPass()),
        *_derive(differentiate),
        *_simplify(),
        # algebra, when bounds are known and guards are joined: adjoints may hold sums within sums
        Step("simplified", FactorSumsPass()),
    ]


def _derive(differentiate: DifferentiatePass) -> Sequence[Step]:
    """From `tensor-index` to derivatives with bounds for every index."""
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
        # what elements of index tensors are
        Step("solved", SolveElementsPass()),
        # what is left to sum over is known; conditions on it are to become bounds and equations
        Step("solved", AbsorbConditionsPass()),
        # every index gets bounds; what is known around a sum prunes them
        Step("bounded", InferRangesPass()),
    ]


def _simplify() -> Sequence[Step]:
    """From bounds for every index to definitions as small as they get."""
    return [
        # needs bounds to see sums over one point, and to prove that factors may leave
        Step("simplified", SimplifySumsPass()),
        # guards that exclude each other are there once sums over one point are gone
        Step("simplified", JoinGuardsPass()),
    ]


def _simplify_storage() -> Sequence[Step]:
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
            *_derive_few_operations(DifferentiatePass(tuple(wrt), keep_values=True)),
            # before definitions move: then each program decides alone what it stores
            Step("simplified", SplitPullbackPass(tuple(adjoints), recompute)),
            *_simplify_storage(),
        ]
    )


def locating_passes() -> Pipeline:
    """From `simplified` to `simplified`, with sums over places of index tensors as segments.

    Where terms have conditions on two elements, the second one is located in the segment of the
    first.
    """
    locate = [
        Step("simplified", LocateElementsPass()),
        # the places of a segment are equations for the indices of the sum
        Step("simplified", SolveIndexKernelsPass()),
    ]
    return Pipeline(
        [
            *locate,
            *locate,
            # conditions on indices that other conditions stood beside are bounds now
            Step("simplified", AbsorbConditionsPass()),
            Step("simplified", InferRangesPass()),
            Step("simplified", SimplifySumsPass()),
        ]
    )


def zeroing_passes(zero_arguments: ZeroArgumentsPass) -> Pipeline:
    """From `simplified` to `simplified`, without the arguments that are zero."""
    return Pipeline(
        [
            Step("simplified", zero_arguments),
            # sums have fewer terms: factors may leave them, and guards become one
            *_simplify(),
            *_simplify_storage(),
        ]
    )


def inverse_passes(mode: str) -> Pipeline:
    """From `tensor-index` to the programs of an inverse mode, and the systems between them.

    They return no pivots.
    """
    return Pipeline([*whole_inverse_passes(mode, keep_pivots=False), *inverse_part_passes()])


def whole_inverse_passes(mode: str, keep_pivots: bool = True) -> Pipeline:
    """From `tensor-index` to one program of an inverse mode, the systems behind it."""
    return Pipeline([*_derive(DifferentiatePass(mode=mode, keep_pivots=keep_pivots)), *_simplify()])


def inverse_part_passes() -> Pipeline:
    """From one program of an inverse mode to its parts, and the systems between them."""
    # before definitions move: a solution is known between two programs
    return Pipeline([Step("simplified", SplitSolvesPass()), *_simplify_storage()])

"""The order of the passes, with the reason for each place.

`DERIVATIVE` makes the derivative program of a program, `CODE` makes loops of either. The stages are
the points at which a program can be looked at: `STAGES` says which pass makes each.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.passes import ModulePass

from passes.absorb_conditions import AbsorbConditionsPass
from passes.differentiate import DifferentiatePass
from passes.expand_calls import ExpandCallsPass
from passes.infer_ranges import InferRangesPass
from passes.inline_definitions import InlineDefinitionsPass
from passes.join_guards import JoinGuardsPass
from passes.order_definitions import OrderDefinitionsPass
from passes.outline_reductions import OutlineReductionsPass
from passes.schedule import SchedulePass
from passes.set_precision import SetPrecisionPass
from passes.simplify_sums import SimplifySumsPass
from passes.solve_index_kernels import SolveIndexKernelsPass
from passes.split_pullback import SplitPullbackPass
from passes.split_solves import SplitSolvesPass


def derivative_passes(
    wrt: Sequence[str] = (),
    unit_adjoint: bool = False,
    keep_values: bool = False,
    mode: str = "reverse",
    keep_pivots: bool = False,
    observe: Sequence[str] = (),
) -> list[tuple[str, ModulePass]]:
    """From `tensor-index` to `simplified`: the stage that each pass ends or leads to, and it."""
    options = unit_adjoint, keep_values, mode, keep_pivots, tuple(observe)
    return [*_simplifying_passes(DifferentiatePass(tuple(wrt), *options)), *_storing_passes()]


def _simplifying_passes(differentiate: DifferentiatePass) -> list[tuple[str, ModulePass]]:
    """From `tensor-index` to definitions as small as they get."""
    return [
        # values that adjoints need get names first, so that no gradient computes a sum again
        ("derivative", OutlineReductionsPass()),
        # adjoints as sums over unsolved equations, or tangents
        ("derivative", differentiate),
        # equations must be solved before bounds: they decide what is left to bound
        ("solved", SolveIndexKernelsPass()),
        # what is left to sum over is known; conditions on it are to become bounds and equations
        ("solved", AbsorbConditionsPass()),
        # every index gets bounds; what is known around a sum prunes them
        ("bounded", InferRangesPass()),
        # needs bounds to see sums over one point, and to prove that factors may leave
        ("simplified", SimplifySumsPass()),
        # guards that exclude each other are there once sums over one point are gone
        ("simplified", JoinGuardsPass()),
    ]


def _storing_passes() -> list[tuple[str, ModulePass]]:
    return [
        # when each definition is as small as it gets: what is stored, what moves
        ("simplified", InlineDefinitionsPass()),
        # last, when it is known what is stored: in which order
        ("simplified", OrderDefinitionsPass()),
    ]


def pullback_passes(
    adjoints: Sequence[str], wrt: Sequence[str] = ()
) -> list[tuple[str, ModulePass]]:
    """From `tensor-index` to two programs: the values, and the gradients given what those save."""
    return [
        *_simplifying_passes(DifferentiatePass(tuple(wrt), keep_values=True)),
        # before definitions move: then each program decides alone what it stores
        ("simplified", SplitPullbackPass(tuple(adjoints))),
        *_storing_passes(),
    ]


def inverse_passes(mode: str, keep_pivots: bool = True) -> list[tuple[str, ModulePass]]:
    """From `tensor-index` to the programs of an inverse mode, and the systems between them."""
    return [*whole_inverse_passes(mode, keep_pivots), *splitting_passes()]


def whole_inverse_passes(mode: str, keep_pivots: bool = True) -> list[tuple[str, ModulePass]]:
    """From `tensor-index` to one program of an inverse mode, the systems behind it."""
    return _simplifying_passes(DifferentiatePass(mode=mode, keep_pivots=keep_pivots))


def splitting_passes() -> list[tuple[str, ModulePass]]:
    """From one program of an inverse mode to its parts, and the systems between them."""
    # before definitions move: a solution is known between two programs
    return [("simplified", SplitSolvesPass()), *_storing_passes()]


def code_passes(precision: str = "f64", tile: bool = False) -> list[tuple[str, ModulePass]]:
    """From a bounded program to `scheduled`, in tiles for processors with caches and vectors."""
    return [
        # after every derivative: these go by the rules of functions, and code by their values
        ("scheduled", ExpandCallsPass()),
        # loops need machine types
        ("scheduled", SetPrecisionPass(precision)),
        ("scheduled", SchedulePass(tile)),
    ]


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

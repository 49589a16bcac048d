"""The state of a program: the arguments that it updates, whose new versions are its results.

    p: f64[N]                  the state is p and q; w is a parameter, which stays as it is
    p[i] -= w[i] * q[i]**3     `p_1`, a version of p: active, since the state reaches it
    q[i] += p[i]               `q_1`, a version of q

A tensor is *active* if the state reaches it through reads that have a derivative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from xdsl.ir import Block, SSAValue

from tadc.dialects import tix
from tadc.passes.index_sets.dependence import differentiable_reads
from tadc.passes.rewriting.failure import PassFailure
from tadc.passes.rewriting.programs import location_of

_UPDATE = (
    "let each result be the new value of a declared argument, made from the old one as in "
    "p[i] += ..., and return nothing else"
)

ActiveReads: TypeAlias = dict[tix.DefineOp, list[SSAValue]]
"""The active definitions in the order of the text, each with the active tensors that it reads."""


def state_of(program: tix.ProgramOp) -> dict[str, SSAValue]:
    """The arguments that the program updates, by name in the order of the results.

    Raises `PassFailure` where the results are others, or have other shapes or precisions.
    """
    state: dict[str, SSAValue] = {}
    for name, tensor in zip(program.result_names, program.returned, strict=True):
        place = location_of(tensor)
        argument = program.arguments.get(name)
        if argument is None:
            reason = (
                f"the program returns {name}, which is no argument that it updates: inverse modes "
                "need programs whose results are exactly the tensors that they update"
            )
            raise PassFailure(place, reason, _UPDATE)
        if argument.type != tensor.type:
            reason = (
                f"the result {name} has another shape or precision than the argument {name}: "
                "inverse modes need them to be equal"
            )
            raise PassFailure(place, reason, f"declare {name} with the one of the result")
        state[name] = argument
    return state


def active_reads(program: tix.ProgramOp, state: Iterable[SSAValue]) -> ActiveReads:
    """The active definitions in the order of the text, each with the active tensors that it reads.

    Reads that have no derivative do not count: those in conditions, or under `sign`.
    """
    active = set(state)
    found: ActiveReads = {}
    for op in program.definitions:
        reads = list(
            dict.fromkeys(r.tensor for r in differentiable_reads(op) if r.tensor in active)
        )
        if reads:
            active.add(op.result)
            found[op] = reads
    return found


def name_of(tensor: SSAValue) -> str:
    """The name of a tensor in the text: the version `p_2` of an argument `p` is `p` there."""
    owner = tensor.owner
    block = owner if isinstance(owner, Block) else owner.parent
    program = block.parent_op() if block else None
    assert isinstance(program, tix.ProgramOp)
    if not isinstance(owner, tix.DefineOp):
        return next(name for name, v in program.arguments.items() if v is tensor)
    stem = re.sub(r"_\d+$", "", owner.label.data)
    return stem if stem in program.arguments else owner.label.data

"""Lumps: the shortest steps of a program after which its width is that of its state again.

The *state* of a program are the arguments that it updates; its results are their new versions. A
tensor is *active* if the state reaches it through reads that have a derivative. Cut the graph of
active tensors in two: what crosses the cut determines the results, so that it has at least as many
elements as the state, n, or the Jacobian is singular. A cut of n elements is a state in between,
and from one cut to the next

    ins, others  ->  outs, others        J = [ A B ]  in the order (outs, others) by (ins, others)
                                             [ 0 I ]

(Pearlmutter and Siskind, section 2, equation (2.6g)). Cuts with n elements are the minimum
separators of the graph: all of them come from one largest flow, and no order of statements gives
smaller lumps (`passes/derive/inversion/separators.py`). So independent of the order of the text:

    p[i] -= dt * q[i]**3          ins p,   outs p_1, others q
    q[i] += dt * p[i]             ins q,   outs q_1, others p_1

    s[i] = sum[j](w[i, j] * tanh(x1[j]))
    x2[i] = x2[i] * exp(s[i])     ins x2,  outs x2_1, others s; derived: s, from x1, which stays
    x3[i] += s[i]                 ins x3,  outs x3_1, others s; derived: s

    a[i] = c * x[i] - s * y[i]    ins x, y, outs a, b: neither x nor y can go before the other
    b[i] = s * x[i] + c * y[i]

A tensor that only depends on `others` carries no information of its own: it is `derived`, is known
wherever the lump needs it, and belongs to no cut. In a program of width above n until its end all
that changes is one lump.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.element_counts import Polynomial, count, difference, value
from tadc.passes.derive.inversion.separators import Separators, Step, separators
from tadc.passes.derive.inversion.singularity import require_used, require_width
from tadc.passes.derive.inversion.state import ActiveReads, active_reads, state_of
from tadc.passes.rewriting.programs import type_of


@dataclass(frozen=True)
class Lump:
    """A step of a program: `outs` take the place of `ins`, all else of the state stays."""

    definitions: tuple[tix.DefineOp, ...]
    """Definitions that depend on `ins`, in the order of the text: temporaries, and `outs`."""
    ins: tuple[SSAValue, ...]
    """Tensors of the state before the lump that are not in the one after it."""
    outs: tuple[SSAValue, ...]
    """Tensors that take their place, as many elements; `outs[k]` that of `ins[k]` if the types of
    all agree in some order."""
    others: tuple[SSAValue, ...]
    """Active tensors that the definitions read and that are known before and after the lump: of
    the state, which they stay in, or derived from it."""
    derived: tuple[tix.DefineOp, ...]
    """The definitions of those of `others` that are derived, and of what these are derived from, in
    the order of the text. They read tensors of the state that stay in it, and constants."""

    @property
    def out_definitions(self) -> list[tix.DefineOp]:
        """The definitions of `outs`, in their order."""
        return [op for v in self.outs if isinstance(op := v.owner, tix.DefineOp)]

    @property
    def location(self) -> LocationAttr:
        """The place of the last statement."""
        return self.definitions[-1].location


def lumps(program: tix.ProgramOp) -> list[Lump]:
    """The lumps of a program in order; the product of their Jacobians is that of the program.

    Raises `PassFailure` where the results are not exactly the tensors that the program updates, and
    where the Jacobian must be singular: where some value of the state is lost.
    """
    state = state_of(program)
    reads = active_reads(program, state.values())
    require_used(program, state, reads)
    graph = _Graph(program, state, reads)
    steps = graph.without_elements()
    found = graph.cuts()
    known = set(graph.state.values())
    ins: dict[SSAValue, None] = {}
    outs: dict[SSAValue, None] = {}
    for step in found.steps:
        for tensor in graph.with_elements(step.leave):
            if tensor in outs:
                del outs[tensor]
            else:
                ins[tensor] = None
        outs.update(dict.fromkeys(graph.with_elements(step.enter)))
        # sizes of the sample may be equal where symbolic ones are not: then the step goes on
        if outs and not difference(count(outs), count(ins)):
            steps.append(graph.lump(known, list(ins), list(outs)))
            known = (known - ins.keys()) | outs.keys()
            ins, outs = {}, {}
    return steps


class _Graph:
    """The active tensors: arguments first, then definitions in the order of the text."""

    def __init__(self, program: tix.ProgramOp, state: Mapping[str, SSAValue], reads: ActiveReads):
        self.program = program
        self.state = state
        self.reads = reads
        self.tensors = [*state.values(), *(op.result for op in self.reads)]
        self.number = {tensor: n for n, tensor in enumerate(self.tensors)}

    def cuts(self) -> Separators:
        """The minimum cuts for sizes that make the state one of them, if there are such."""
        reads = self.reads.items()
        edges = [(self.number[u], self.number[op.result]) for op, us in reads for u in us]
        sources = range(len(self.state))
        results = [v for v in self.program.returned if v in self.number]
        sinks = list(dict.fromkeys(self.number[v] for v in results))
        sizes = [count([tensor]) for tensor in self.tensors]
        width = count(self.state.values())
        found: list[Separators] = []
        for sample in _samples(sizes):
            weights = [value(size, sample) for size in sizes]
            found.append(separators(weights, edges, sources, sinks))
            if found[-1].weight == value(width, sample):
                return found[-1]
        for cut in found:
            require_width(self.program, self.state.values(), [self.tensors[v] for v in cut.first])
        return Separators(tuple(sources), 0, (_all_at_once(sources, sinks),))

    def with_elements(self, numbers: Iterable[int]) -> list[SSAValue]:
        """The tensors with these numbers, without those that never have an element."""
        return [t for t in (self.tensors[v] for v in numbers) if count([t])]

    def without_elements(self) -> list[Lump]:
        """One lump of the tensors of the state that never have an element, if there are such."""
        pairs = zip(self.state.values(), self.program.returned, strict=True)
        empty = [(old, new) for old, new in pairs if not count([old]) and new is not old]
        if not empty:
            return []
        ins, outs = zip(*empty, strict=True)
        return [self.lump(set(self.state.values()), ins, outs)]

    def lump(
        self, known: Container[SSAValue], ins: Sequence[SSAValue], outs: Sequence[SSAValue]
    ) -> Lump:
        """The step from the state `known` to the one with `outs` in place of `ins`."""
        changed = set(ins)
        definitions: list[tix.DefineOp] = []
        derived: list[tix.DefineOp] = []
        for op in self._between(known, outs):
            depends = op.result in outs or any(t in changed for t in self.reads.get(op, []))
            (definitions if depends else derived).append(op)
            if depends:
                changed.add(op.result)
        read = (t for op in definitions for t in self.reads.get(op, []))
        others = dict.fromkeys(t for t in read if t not in changed)
        ins, outs = self._in_order(ins), self._in_order(outs)
        return Lump(
            definitions=tuple(definitions),
            ins=tuple(ins),
            outs=tuple(_paired(ins, outs)),
            others=tuple(others),
            derived=tuple(derived),
        )

    def _between(self, known: Container[SSAValue], outs: Sequence[SSAValue]) -> list[tix.DefineOp]:
        """The definitions that compute `outs` from the state before, in the order of the text."""
        found: dict[SSAValue, tix.DefineOp] = {}
        pending = list(outs)
        while pending:
            tensor = pending.pop()
            if tensor not in found and tensor not in known:
                assert isinstance(tensor.owner, tix.DefineOp)
                found[tensor] = tensor.owner
                pending += self.reads.get(tensor.owner, [])
        return [found[t] for t in self._in_order(found)]

    def _in_order(self, tensors: Iterable[SSAValue]) -> list[SSAValue]:
        """Tensors in the order of the text; what is not active has no elements and goes first."""
        return sorted(tensors, key=lambda t: self.number.get(t, -1))


def _all_at_once(sources: Sequence[int], sinks: Sequence[int]) -> Step:
    """From the arguments to the results."""
    leave = tuple(v for v in sources if v not in sinks)
    return Step(leave, tuple(v for v in sinks if v not in sources))


def _samples(sizes: Sequence[Polynomial]) -> list[dict[str, int]]:
    """Values of the sizes for which tensors of equal size are hardly so by accident.

    A tensor inside may be larger than the state or smaller: each order of the names has a chance.
    """
    terms = [v for size in sizes for term in size for v in term]
    names = sorted({n for v in terms for n in ([v] if isinstance(v, str) else map(str, v.terms))})
    if not names:
        return [{}]
    orders = [names, names[::-1]]
    return [
        {name: 1009 * scale**n + 10 * n for n, name in enumerate(order)}
        for scale in (1, 1013)
        for order in orders
    ]


def _paired(ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> list[SSAValue]:
    """`outs` in the order in which their types are those of `ins`, if there is one."""
    rest, found = list(outs), list[SSAValue]()
    for tensor in ins:
        fitting = next((t for t in rest if type_of(t) == type_of(tensor)), None)
        if fitting is None:
            return list(outs)
        rest.remove(fitting)
        found.append(fitting)
    return found if not rest else list(outs)

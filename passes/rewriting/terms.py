"""The terms of a sum, taken apart and added up again.

(x + y) - (z - w)      has the terms  x, y, -z, w
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from xdsl.ir import Block, SSAValue

from tadc.dialects.tix import elementwise as ew
from tadc.passes.rewriting.cloner import Cloner


class Term(NamedTuple):
    """A value, and whether it is subtracted."""

    value: SSAValue
    negative: bool = False


def terms_of(value: SSAValue, block: Block) -> list[Term]:
    """All terms of a value, in the order of the text; only operations of `block` are taken apart.

    Linear in their number: a sum may be of any length and nested in any way.
    """
    found: list[Term] = []
    pending = [Term(value)]
    while pending:
        term = pending.pop()
        owner, negative = term.value.owner, term.negative
        match owner if owner.parent is block else None:
            case ew.AddOp(lhs=x, rhs=y):
                pending += [Term(y, negative), Term(x, negative)]
            case ew.SubOp(lhs=x, rhs=y):
                pending += [Term(y, not negative), Term(x, negative)]
            case ew.NegOp(operand=x):
                pending.append(Term(x, not negative))
            case _:
                found.append(term)
    return found


def running_terms(value: SSAValue, block: Block) -> list[Term]:
    """The terms of `((x + y) - z) + ...`, whose sum one by one is the value to the last bit."""
    terms: list[Term] = []
    while isinstance(op := value.owner, ew.AddOp | ew.SubOp) and op.parent is block:
        terms.append(Term(op.rhs, isinstance(op, ew.SubOp)))
        value = op.lhs
    return [Term(value), *reversed(terms)]


def add_terms(cloner: Cloner, terms: Iterable[Term], start: SSAValue | None = None) -> SSAValue:
    """Copy the terms through `cloner` and add them to `start`, or to 0, one by one."""
    e = cloner.builder
    total = e.constant(0) if start is None else start
    for value, negative in terms:
        cloner.fetch(value)
        new = cloner.value(value)
        total = e.sub(total, new) if negative else e.add(total, new)
    return total

"""Ranges that a program gives explicitly: `k in range(max(0, i - 2), min(5, i + 1))`.

A floor division in a bound needs no local index, for integers z, B and q = e // m:

    z <= B + q   <=>   m (z - B) <= e          z >= B + q   <=>   m (z - B) >= e - m + 1
    z <= B - q   <=>   m (B - z) >= e - m + 1  z >= B - q   <=>   m (B - z) <= e

The upper end of a range is exclusive, and `-(-e // m)` is the division that rounds up.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.errors import AffineError, RangeError, TadcSyntaxError
from tadc.language.affine import affine, own_division
from tadc.language.hints import NO_INDEX
from tadc.language.scope import Scope
from tadc.language.sizes import Bound


def index_items(places: Sequence[ast.expr], scope: Scope) -> list[tuple[ast.Name, ast.Call | None]]:
    """The indices between the brackets of a definition or a sum, each with its `range(...)`."""
    return [_index_item(item, scope) for item in places]


def is_index(item: ast.expr) -> bool:
    """True for a name, or a name with a range."""
    match item:
        case ast.Name() | ast.Compare(left=ast.Name(), ops=[ast.In()], comparators=[ast.Call()]):
            return True
        case _:
            return False


def is_condition(item: ast.expr) -> bool:
    """True for a condition between the brackets of a sum: `i < j`, `dst[e] == i and e > 0`."""
    match item:
        case ast.Compare(ops=ops):
            return not any(isinstance(op, ast.In | ast.NotIn) for op in ops)
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Constant(value=bool()):
            return True
        case _:
            return False


def _index_item(item: ast.expr, scope: Scope) -> tuple[ast.Name, ast.Call | None]:
    match item:
        case ast.Name():
            return item, None
        case ast.Compare(left=ast.Name() as name, ops=[ast.In()], comparators=[ast.Call() as call]):
            if isinstance(call.func, ast.Name) and call.func.id == "range":
                _check_range_call(call, scope)
                return name, call
        case _:
            pass
    raise scope.fail(
        TadcSyntaxError,
        item,
        NO_INDEX,
        "write k, or k in range(0, n)",
    )


def _check_range_call(call: ast.Call, scope: Scope) -> None:
    plain = not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args)
    if not plain or len(call.args) not in (1, 2):
        raise scope.fail(
            TadcSyntaxError,
            call,
            "a range has one or two ends",
            "write range(n) or range(low, high); a step is part of the index: x[2*i]",
        )


def range_constraints(
    call: ast.Call, index: Affine, scope: Scope, outer: Scope
) -> list[Constraint]:
    """`low <= index < high`; `scope` has the earlier indices of the same sum, `outer` has not."""
    low, high = (None, call.args[0]) if len(call.args) == 1 else call.args
    lows = [_term(e, scope, outer) for e in _alternatives(low, "max", scope)] if low else []
    highs = [_term(e, scope, outer) for e in _alternatives(high, "min", scope)]
    constraints = [Constraint(index)] if low is None else [lower(index, t) for t in lows]
    return constraints + [upper(index, t) for t in highs]


def definition_bounds(call: ast.Call, scope: Scope) -> list[Bound]:
    """The bounds whose least one is the size that a definition's index gets."""
    if len(call.args) == 2:
        low = affine(call.args[0], scope)
        if low.terms or low.constant:
            raise scope.fail(
                RangeError,
                call.args[0],
                "the elements of a definition are counted from 0",
                "let the range begin at 0, and shift the index where it is used",
            )
    terms = [_term(e, scope, scope) for e in _alternatives(call.args[-1], "min", scope)]
    for term in terms:
        if term.form.indices or (term.divided and term.divided.indices):
            raise scope.fail(
                AffineError,
                call.args[-1],
                "the range of a definition's index cannot depend on another index",
                "give it the largest range, and use a condition in the definition",
            )
    return [_size(term) for term in terms]


def _alternatives(node: ast.expr, word: str, scope: Scope) -> list[ast.expr]:
    """The arguments of (nested) `max` in a lower end, of `min` in an upper end."""
    if not isinstance(node, ast.Call):
        return [node]
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == word and node.args and not node.keywords:
        return [leaf for argument in node.args for leaf in _alternatives(argument, word, scope)]
    end, other = ("lower", "max") if word == "max" else ("upper", "min")
    message = f"the {end} end of a range is affine, or the {other} of several"
    if name in ("max", "min"):
        message = f"{name} in the {end} end of a range does not give one interval"
    hint = f"the {end} end can be {other}(...) of affine bounds"
    raise scope.fail(AffineError, node, message, hint)


def _reading_ahead(scope: Scope, outer: Scope) -> Scope:
    """The scope of a bound: its indices are those of `scope`, and elements are read in `outer`."""
    return Scope(outer.names, outer.block, scope.indices, outer.frame, outer.around)


class RangeBound:
    """A bound of a range: `form + sign * (divided // divisor)`, or only `form`."""

    def __init__(
        self, form: Affine, divided: Affine | None = None, divisor: int = 1, sign: int = 1
    ):
        self.form = form
        self.divided = divided
        self.divisor = divisor
        self.sign = sign


def _term(node: ast.expr, scope: Scope, outer: Scope) -> RangeBound:
    """Read one bound; a division that is one of its terms stays a division."""
    divisions: dict[Variable, tuple[Affine, int]] = {}

    def collect(form: Affine, divisor: int, _: ast.AST) -> Affine:
        mark = f"//{len(divisions)}"
        divisions[mark] = form, divisor
        return Affine.of(mark)

    def local(form: Affine) -> Affine:
        """With the divisions in it as local indices."""
        divide = own_division(node, outer)
        values = {k: divide(local(e), m, node) for k, (e, m) in divisions.items() if form[k]}
        return form.substitute(values)

    form = affine(node, _reading_ahead(scope, outer), collect)
    marks = [key for key in form.terms if key in divisions]
    if len(marks) == 1 and abs(form[marks[0]]) == 1:
        divided, divisor = divisions[marks[0]]
        sign = form[marks[0]]
        return RangeBound(form - Affine({marks[0]: sign}), local(divided), divisor, sign)
    return RangeBound(local(form))


def upper(index: Affine, term: RangeBound) -> Constraint:
    """`index < term`."""
    if term.divided is None:
        return Constraint(term.form - index - 1)
    gap = index - term.form + 1
    if term.sign > 0:
        return Constraint(term.divided - gap * term.divisor)
    return Constraint(-gap * term.divisor - term.divided + term.divisor - 1)


def lower(index: Affine, term: RangeBound) -> Constraint:
    """`index >= term`."""
    if term.divided is None:
        return Constraint(index - term.form)
    gap = index - term.form
    if term.sign > 0:
        return Constraint(gap * term.divisor - term.divided + term.divisor - 1)
    return Constraint(term.divided + gap * term.divisor)


def _size(term: RangeBound) -> Bound:
    if term.divided is None:
        return term.form, 1
    if term.sign > 0:
        return term.form * term.divisor + term.divided, term.divisor
    # A - e // m = (m A - e + m - 1) // m
    return term.form * term.divisor - term.divided + term.divisor - 1, term.divisor

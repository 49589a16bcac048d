"""Conditions on indices as text: `0 <= i < N and (i - j) % 2 == 0`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tadc.dialects.tix import Affine, Constraint
from tadc.language.printing.affine import AND, COMPARISON, OR, NamesInScope, Part, Text, total
from tadc.passes.index_sets.sets import elements_of


def condition(disjuncts: Sequence[Sequence[Constraint]], names: NamesInScope) -> Text:
    """A disjunction of non-empty disjuncts."""
    disjuncts, names = _without_least(disjuncts, names)
    if len(disjuncts) == 2 and all(len(disjunct) == 1 for disjunct in disjuncts):
        (below,), (above,) = disjuncts
        if not below.equality and not above.equality and below.form + above.form == Affine({}, -2):
            return Text(_equation(above.form + 1, "!=", names), COMPARISON)
    texts = [_disjunct(disjunct, names) for disjunct in disjuncts]
    return texts[0] if len(texts) == 1 else Text(" or ".join(t.within(AND) for t in texts), OR)


def conditions(disjuncts: Sequence[Sequence[Constraint]], names: NamesInScope) -> list[str]:
    """A disjunction as conditions that stand one behind the other, if it is a conjunction: those on
    elements of index tensors come behind those that they may need."""
    if len(disjuncts) != 1:
        return [condition(disjuncts, names).text]
    by_depth: dict[int, list[Constraint]] = {}
    for c in disjuncts[0]:
        by_depth.setdefault(_depth([c.form]), []).append(c)
    return [condition([by_depth[depth]], names).text for depth in sorted(by_depth)]


def _without_least(
    disjuncts: Sequence[Sequence[Constraint]], names: NamesInScope
) -> tuple[Sequence[Sequence[Constraint]], NamesInScope]:
    """The disjuncts with what bounds a derived size for it, where the size is the least of several.

    `i < min(a, b)` is `i < a and i < b`, and `i >= min(a, b)` is `i >= a or i >= b`.
    """
    keys = dict.fromkeys(k for disjunct in disjuncts for c in disjunct for k in c.form.terms)
    for key in keys:
        bounds = names.quotients(key) or ()
        if isinstance(key, str) and len(bounds) > 1:
            quotients = {f"{key}/{n}": [b] for n, b in enumerate(bounds) if b[1] > 1}
            names = names.with_derived(quotients)
            parts = [form for form, divisor in bounds if divisor == 1]
            parts += map(Affine.of, quotients)
            disjuncts = [new for disjunct in disjuncts for new in _instead(disjunct, key, parts)]
    return disjuncts, names


def _instead(
    disjunct: Sequence[Constraint], key: str, parts: Sequence[Affine]
) -> list[list[Constraint]]:
    """A disjunct with each of `parts` for a size that is the least of them, or with one of them."""
    found: list[list[Constraint]] = [[]]
    for constraint in disjunct:
        halves = [constraint]
        if constraint.equality and constraint.form[key]:
            halves = [Constraint(constraint.form), Constraint(-constraint.form)]
        for half in halves:
            each = [half.substitute({key: part}) for part in parts]
            match half.form[key]:
                case 0:
                    found = [[*old, half] for old in found]
                case c if c > 0:
                    found = [[*old, *each] for old in found]
                case _:
                    found = [[*old, one] for old in found for one in each]
    return found


def _disjunct(disjunct: Sequence[Constraint], names: NamesInScope) -> Text:
    # conditions stand before those on elements of index tensors that they may protect
    rest = sorted(disjunct, key=lambda c: _depth([c.form]))
    texts: list[str] = []
    while rest:
        first = rest.pop(0)
        partner = next((c for c in rest if _chained(first, c, names)), None)
        if partner is None:
            texts.append(_comparison(first, names))
        else:
            rest.remove(partner)
            texts.append(_chain(first, partner, names))
    return Text(" and ".join(texts), AND if len(texts) > 1 else COMPARISON)


def _depth(forms: Sequence[Affine]) -> int:
    """The number of index tensors that are read one within another."""
    return max((1 + _depth(element.forms) for element in elements_of(forms)), default=0)


def _chained(one: Constraint, other: Constraint, names: NamesInScope) -> bool:
    """True if the two are a lower and an upper bound of the same form of indices."""
    middle = _indices(one.form, names)
    return (
        bool(middle.terms)
        and not (one.equality or other.equality)
        and (middle == -_indices(other.form, names))
    )


def _chain(one: Constraint, other: Constraint, names: NamesInScope) -> str:
    if names.parts(_indices(one.form, names))[0][0].coefficient < 0:
        one, other = other, one
    middle = _indices(one.form, names)
    low, high = middle - one.form, middle + other.form + 1
    return f"{names.form(low).text} <= {names.form(middle).text} < {names.form(high).text}"


def _indices(form: Affine, names: NamesInScope) -> Affine:
    return Affine({k: c for k, c in form.terms.items() if names.varies(k)})


def _comparison(constraint: Constraint, names: NamesInScope) -> str:
    """Positive coefficients on both sides, and an index to the left where there is one."""
    if constraint.equality:
        return _equation(constraint.form, "==", names)
    parts, constant = names.parts(constraint.form)
    left, right = _sides(parts)
    varying = _indices(constraint.form, names).terms.values()
    if not left or (right and varying and all(c < 0 for c in varying)):
        if left and constant == 0:
            return f"{total(right, 0).text} <= {total(left, 0).text}"
        return f"{total(right, 0).text} < {total(left, constant + 1).text}"
    if right and constant == -1:
        return f"{total(left, 0).text} > {total(right, 0).text}"
    high = constant if constant > 0 and right else 0
    return f"{total(left, high).text} >= {total(right, high - constant).text}"


def _equation(form: Affine, relation: str, names: NamesInScope) -> str:
    parts, constant = names.parts(form)
    if parts[0].coefficient < 0:
        parts, constant = _negated(parts), -constant
    left, right = _sides(parts)
    high = constant if constant > 0 and right else 0
    return f"{total(left, high).text} {relation} {total(right, high - constant).text}"


def _sides(parts: Sequence[Part]) -> tuple[list[Part], list[Part]]:
    return [p for p in parts if p.coefficient > 0], _negated(p for p in parts if p.coefficient < 0)


def _negated(parts: Iterable[Part]) -> list[Part]:
    return [Part(-c, atom) for c, atom in parts]

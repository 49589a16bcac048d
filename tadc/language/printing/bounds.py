"""The range of an index of a sum as text: `range(max(0, i - 2), min(5, i + 1))`.

Constraints `c z + rest >= 0` with c > 1 are divisions that round up in the lower end and down in
the upper end. A bound with one quotient, `z >= i // 2`, is brought into that form first, which is
what the parser makes of it: so both are the same text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from tadc.dialects.tix import Affine, Constraint, Variable
from tadc.language.printing.affine import SUM, NamesInScope, extreme
from tadc.language.sizes import Bound
from tadc.language.written_ranges import RangeBound, lower, upper


def range_text(index: SSAValue, constraints: Sequence[Constraint], names: NamesInScope) -> str:
    """`range(high)` or `range(low, high)`; raises ValueError where an end is missing."""
    forms = [form for c in constraints for form in _inequalities(index, c, names)]
    lows = list(dict.fromkeys(_low(index, f, names) for f in forms if f[index] > 0))
    highs = list(dict.fromkeys(_high(index, f, names) for f in forms if f[index] < 0))
    if not lows or not highs:
        raise ValueError(f"index {names.indices[index]} of a sum has no bound on one side")
    high = extreme("min", highs)
    return f"range({high})" if lows == ["0"] else f"range({extreme('max', lows)}, {high})"


def _low(index: SSAValue, form: Affine, names: NamesInScope) -> str:
    c = form[index]
    rest = form - Affine({index: c})
    return names.bound((-rest + (c - 1), c)).text


def _high(index: SSAValue, form: Affine, names: NamesInScope) -> str:
    c = -form[index]
    rest = form + Affine({index: c})
    if c > 1 and 0 <= rest.constant < c:
        return f"{names.bound((rest, c)).within(SUM)} + 1"
    return names.bound((rest + c, c)).text


def _inequalities(index: SSAValue, constraint: Constraint, names: NamesInScope) -> Iterator[Affine]:
    """The constraint without a quotient that one of the ends would have as a term."""
    for form in [constraint.form, -constraint.form][: 2 if constraint.equality else 1]:
        keys = [(key, names.quotients(key)) for key in form.terms if key is not index]
        divided = [(key, bounds) for key, bounds in keys if bounds is not None]
        if len(divided) == 1 and abs(form[index]) == abs(form[divided[0][0]]) == 1:
            yield from _undivided(index, form, *divided[0])
        else:
            yield form


def _undivided(
    index: SSAValue, form: Affine, key: Variable, bounds: Sequence[Bound]
) -> Iterator[Affine]:
    at = Affine.of(index)
    end = at - form if form[index] > 0 else at + form + 1
    sign = end[key]
    plain = end - Affine({key: sign})
    if len(bounds) > 1 and (sign < 0 or form[index] > 0):
        raise ValueError("the least of several quotients cannot stand in this end of a range")
    for divided, divisor in bounds:
        whole = RangeBound(plain + divided * sign)
        bound = whole if divisor == 1 else RangeBound(plain, divided, divisor, sign)
        yield (lower(at, bound) if form[index] > 0 else upper(at, bound)).form

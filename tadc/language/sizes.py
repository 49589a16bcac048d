"""Sizes while ranges are inferred: open ones of undeclared arguments, and derived ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd

from tadc.dialects.tix import Affine, DerivedSizeAttr, Variable
from tadc.language.names import fresh

Bound = tuple[Affine, int]
"""`form // divisor`."""


class Sizes:
    """Sizes while a program is read, and everything known of them.

    An *open* size belongs to a dimension of an undeclared argument. It has a name that no program
    can contain (`?1`), until it is set equal to another size or named at the end. So do derived
    sizes (`!2`), but nothing can be set for them.

    A *named* size is told by the arguments of a call. Where two dimensions must agree, one name
    becomes what the other one says, and the call finds out whether the arguments do agree: unless
    the sizes are `fixed`, as those of a program that is put together already.

    `read` are the named sizes that formulas read, as numbers or in indices.
    """

    def __init__(self, derived: Sequence[DerivedSizeAttr] = (), fixed: bool = False):
        self.read: set[str] = set()
        self._count = 0
        self._fixed = fixed
        self._known: dict[Variable, Affine] = {}
        self._wishes: dict[str, str] = {}
        self.derived: dict[str, Sequence[Bound]] = {d.data.name: d.bounds for d in derived}

    def open(self) -> Affine:
        """A new open size, equal to no other so far."""
        self._count += 1
        return Affine.of(f"?{self._count}")

    def is_open(self, size: Affine) -> bool:
        return any(size == Affine.of(name) for name in size.sizes if name.startswith("?"))

    def resolve(self, form: Affine) -> Affine:
        """`form` with everything known put in."""
        while any(key in self._known for key in form.terms):
            form = form.substitute(self._known)
        return form

    def unify(self, first: Affine, second: Affine) -> bool:
        """Make two sizes equal, by setting one, an open one first; False where they cannot be."""
        first, second = self.resolve(first), self.resolve(second)
        if first == second:
            return True
        for one, other in ((second, first), (first, second)):
            if self.is_open(one):
                (name,) = one.sizes
                if name in other.terms or self._depends(other, name):
                    continue
                self._known[name] = other
                return True
        return not self._fixed and self._equate(first, second)

    def _equate(self, first: Affine, second: Affine) -> bool:
        """Set a size to what makes the two equal, if possible a named one to what is 0 or more.

        Of two windows, `N - K + 1` and `M - L + 1`, M becomes `N - K + L`. Where that is below 0,
        the dimension is 0: so it is no size that a formula reads, which would read another number.
        """
        gap = second - first
        common = gcd(gap.constant, *gap.terms.values())
        keys = [key for key in gap.sizes if abs(gap[key]) == common]
        named = sorted(filter(str.isidentifier, keys), key=lambda key: second != Affine.of(key))
        unread = [key for key in keys if key.startswith("?") or key in named]
        unread = [key for key in unread if key not in self.read]
        unread.sort(key=lambda key: (second[key] <= 0, first[key] <= 0))
        return any(self._set(key, gap, _is_size) for key in named) or any(
            self._set(key, gap, _can_be_size) for key in unread
        )

    def _set(self, key: str, gap: Affine, fits: Callable[[Affine], bool]) -> bool:
        """Set a size to what makes a gap 0, if that fits."""
        solution = (Affine({key: gap[key]}) - gap) // gap[key]
        if not fits(solution) or self._depends(solution, key):
            return False
        self._known[key] = solution
        if solution.terms and solution == Affine.of(solution.sizes[0]):
            self._wishes.update({s: key for s in solution.sizes if s in self.derived})
        return True

    def _depends(self, form: Affine, name: str) -> bool:
        """True if a derived size in `form` is computed from the size `name`."""
        seen = [form]
        while seen:
            for size in seen.pop().sizes:
                parts = [self.resolve(f) for f, _ in self.derived.get(size, ())]
                if any(name in part.terms for part in parts):
                    return True
                seen += parts
        return False

    def derive(self, bounds: Sequence[Bound], wish: str) -> Affine:
        """The least of `bounds`: an affine form, or else a derived size."""
        bounds = _least([(self.resolve(form), divisor) for form, divisor in bounds])
        known = self._least_known(bounds)
        if known is not None:
            return known
        self._count += 1
        name = f"!{self._count}"
        self.derived[name] = bounds
        self._wishes[name] = wish
        return Affine.of(name)

    def _least_known(self, bounds: Sequence[Bound]) -> Affine | None:
        """The least of `bounds`, where it needs no derived size or is one already."""
        if len(bounds) == 1 and bounds[0][1] == 1:
            return bounds[0][0]
        if all(not form.terms for form, _ in bounds):
            return Affine({}, min(form.constant // divisor for form, divisor in bounds))
        for name, known in self.derived.items():
            if set(bounds) == {(self.resolve(form), divisor) for form, divisor in known}:
                return Affine.of(name)
        return None

    def wish(self, size: Affine, name: str) -> None:
        """Give an open size a name, as far as that name is free at the end."""
        size = self.resolve(size)
        if self.is_open(size):
            self._wishes.setdefault(size.sizes[0], name)

    def name(self, size: str, shapes: Mapping[str, Sequence[Affine]]) -> str:
        """The name that an open size would get now, for messages."""
        places = [
            f"{tensor.upper()}_{dimension}"
            for tensor, shape in shapes.items()
            for dimension, form in enumerate(shape)
            if self.resolve(form) == Affine.of(size)
        ]
        return self._wishes.get(size) or next(iter(places), "?")

    def finish(self, taken: set[str], shapes: Mapping[str, Sequence[Affine]]) -> None:
        """Name everything that is still open; `shapes` are those of the undeclared arguments."""
        for name, shape in shapes.items():
            for dimension, size in enumerate(shape):
                self.wish(size, f"{name.upper()}_{dimension}")
        self._reduce_derived()
        for key, wish in self._wishes.items():
            if key in self._known:
                continue
            if self._known.get(wish) == Affine.of(key):
                del self._known[wish]  # a named size is this derived one, which has its name now
                name = wish
            else:
                name = fresh(wish if wish.isascii() else "N", taken)
            taken.add(name)
            self._known[key] = Affine.of(name)
        self.derived = {
            self.resolve(Affine.of(name)).sizes[0]: bounds for name, bounds in self.derived.items()
        }

    def _reduce_derived(self) -> None:
        """Derive again, with what has become known since."""
        for name in list(self.derived):
            bounds = self.derived.pop(name)
            bounds = _least([(self.resolve(form), divisor) for form, divisor in bounds])
            known = self._least_known(bounds)
            if known is None:
                self.derived[name] = bounds
            else:
                self._known[name] = known

    def attributes(self) -> list[DerivedSizeAttr]:
        """The derived sizes, each after those that it is computed from."""
        return [
            DerivedSizeAttr.of(name, [(self.resolve(form), divisor) for form, divisor in bounds])
            for name, bounds in self.derived.items()
        ]


def _is_size(form: Affine) -> bool:
    """True if a form is 0 or more, whatever the sizes in it."""
    return form.constant >= 0 and all(c > 0 for c in form.terms.values())


def _can_be_size(form: Affine) -> bool:
    """True if a form is 0 or more for some sizes; what only one number fits is a mistake."""
    return any(c > 0 for c in form.terms.values())


def _least(bounds: Sequence[Bound]) -> list[Bound]:
    """Without repetitions and bounds that another one is below for all sizes >= 0."""
    bounds = list(dict.fromkeys(bounds))
    return [
        b
        for n, b in enumerate(bounds)
        if not any(_below(other, b) for m, other in enumerate(bounds) if m != n)
    ]


def _below(one: Bound, other: Bound) -> bool:
    difference = other[0] - one[0]
    return (
        one[1] == other[1]
        and difference.constant >= 0
        and all(c >= 0 for c in difference.terms.values())
    )

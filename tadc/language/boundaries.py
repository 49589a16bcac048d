"""Indices beyond the borders of a tensor: `clamp`, `reflect` and `wrap` around them, and `% N`.

    x[clamp(e)]      x[0] if e < 0 else (x[e] if e < n else x[n - 1])
    x[reflect(e)]    x[-e] if e < 0 else (x[e] if e < n else x[2*n - 2 - e])
    x[wrap(e)]       x[e + n] if e < 0 else (x[e] if e < n else x[e - n])
    x[e % N]         as wrap, with N in the place of the size n of the dimension

Each is a choice of reads at affine places, of which those are left out that no point needs. So
everything that holds of conditions holds of these: derivatives are exact, and a read that leaves
its tensor even so, as it is further outside than once, is an error. Of a division by a number, as
`e % 5`, the quotient is an index of its own instead, which may have any value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from xdsl.ir import Region, SSAValue

from tadc.dialects.tix import Affine, Constraint, IfOp, ReadOp
from tadc.errors import AffineError
from tadc.language.affine import affine, bad_divisor, divided
from tadc.language.choices import Branch, by_indices
from tadc.language.conditions import decided
from tadc.language.index_tensors import tell_range
from tadc.language.names import BOUNDARIES
from tadc.language.reads import Ranges, reads, used
from tadc.language.scope import Beyond, Need, Scope, SymbolTable, Tensor
from tadc.passes.index_sets.space import feasible
from tadc.passes.rewriting.guards import take_branch


@dataclass(frozen=True)
class Fork:
    """An index that is one where a form is negative, and else another one."""

    form: Affine
    negative: Index
    other: Index
    divided: tuple[Affine, Affine, ast.BinOp] | None = None
    """The form that must not be negative where the first one is taken, since a quotient by the
    second one has no other value there; and their division."""


Index = Affine | Fork
"""An index: an affine form, or one of several."""


def index_of(node: ast.expr, size: Affine, scope: Scope, of: str) -> Index:
    """The index that `node` is, of a dimension of this size of the tensor `of`."""
    match node:
        case ast.Call(func=ast.Name(id=word), args=[argument], keywords=[]) if word in BOUNDARIES:
            return _around(word, node, affine(argument, scope, of=of), size, scope)
        case ast.Call(func=ast.Name(id=word)) if word in BOUNDARIES:
            hint = f"write x[{word}(i + 1)]"
            raise scope.fail(AffineError, node, f"{word} takes one index", hint)
        case _:
            index = _by_quotients(node, scope, {}, of)
            tell_range(node, size, scope.names)
            return index


def _around(word: str, node: ast.Call, form: Affine, size: Affine, scope: Scope) -> Index:
    last = size - 1
    if word == "clamp":
        return Fork(form, Affine(), Fork(last - form, last, form))
    if word == "reflect":
        return Fork(form, -form, Fork(last - form, last * 2 - form, form))
    if not size.terms and size.constant > 0:
        rest = ast.copy_location(ast.BinOp(node.args[0], ast.Mod(), node), node)
        return divided(form, size.constant, rest, scope.floor_division)
    return Fork(form, form + size, Fork(last - form, form - size, form))


Quotients = dict[tuple[Affine, Affine], int]
"""The quotients of forms by sizes in one case."""


def _by_quotients(node: ast.expr, scope: Scope, known: Quotients, of: str) -> Index:
    """The index by the values of the quotients in it that are by sizes."""
    unknown: list[tuple[Affine, Affine, ast.BinOp]] = []

    def quotient(form: Affine, divisor: Affine, at: ast.BinOp) -> Affine:
        if divisor.indices or not form.terms:
            raise bad_divisor(divisor, at, scope.names)
        if (form, divisor) not in known:
            unknown.append((form, divisor, at))
        return Affine(constant=known.get((form, divisor), 0))

    index = affine(node, scope, by_size=quotient, of=of)
    if not unknown:
        return index
    form, divisor, at = unknown[0]

    def case(value: int) -> Index:
        return _by_quotients(node, scope, {**known, (form, divisor): value}, of)

    last = divisor - 1
    inner = Fork(last - form, case(1), case(0), (last + divisor - form, divisor, at))
    return Fork(form, case(-1), inner, (form + divisor, divisor, at))


# --- reads ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Read:
    """The reads of an element at indices that may lie beyond borders."""

    tensor: SSAValue
    node: ast.expr
    forked: Sequence[int]
    """The dimensions in which they may."""

    def value(self, indices: Sequence[Index], needs: Sequence[Need], scope: Scope) -> SSAValue:
        """The element, by a choice for each fork in the indices."""
        for n, index in enumerate(indices):
            if isinstance(index, Fork):
                return self._choice(indices, n, index, needs, scope)
        forms = [index for index in indices if isinstance(index, Affine)]
        read = scope.insert(ReadOp(self.tensor, forms), self.node)
        beyond = scope.frame.beyond
        beyond.dimensions |= {(read, n) for n in self.forked}
        beyond.needs += [(read, need) for need in needs]
        return read.result

    def _choice(
        self, indices: Sequence[Index], n: int, fork: Fork, needs: Sequence[Need], scope: Scope
    ) -> SSAValue:
        own = [Need(*fork.divided, n)] if fork.divided else []

        def side(index: Index, needs: Sequence[Need]) -> Branch:
            chosen = [*indices[:n], index, *indices[n + 1 :]]
            return lambda inner: self.value(chosen, needs, inner)

        sides = side(fork.negative, [*needs, *own]), side(fork.other, needs)
        value = by_indices(decided([[Constraint(-fork.form - 1)]]), self.node, *sides, scope)
        assert isinstance(value.owner, IfOp)
        scope.frame.beyond.choices.append(value.owner)
        return value


def read_at(tensor: Tensor, indices: Sequence[Index], node: ast.expr, scope: Scope) -> SSAValue:
    """The element of a tensor at these indices."""
    forked = [n for n, index in enumerate(indices) if isinstance(index, Fork)]
    return _Read(tensor.value, node, forked).value(indices, [], scope)


# --- when ranges are known ------------------------------------------------------------------------


def leave_out_unneeded(
    body: Region,
    beyond: Beyond,
    ranges: Ranges,
    shape_of: Callable[[SSAValue], Sequence[Affine]],
    names: SymbolTable,
) -> None:
    """Leave out the reads beyond borders that no point needs.

    Raises `AffineError` where a quotient by a size may have other values than it was taken for.
    """
    own = {read for read, _ in beyond.dimensions}
    systems = {a.read: [*ranges.systems(a)] for a in reads(used(body)) if a.read in own}
    for read, need in beyond.needs:
        if read in systems:
            _check(need, read, systems[read], ranges, shape_of, names)
    never = {read for read, found in systems.items() if not any(map(feasible, found))}
    there = {*body.walk()}
    for choice in beyond.choices:  # inner ones come first
        if choice in there:
            for region, other in ((choice.then, choice.otherwise), (choice.otherwise, choice.then)):
                if all(o in never for o in region.walk() if o in own):
                    take_branch(choice, other)
                    break


def _check(
    need: Need,
    read: ReadOp,
    systems: Iterable[Sequence[Constraint]],
    ranges: Ranges,
    shape_of: Callable[[SSAValue], Sequence[Affine]],
    names: SymbolTable,
) -> None:
    """Raise an error where a quotient may have other values, and the read would not tell."""
    form = ranges.resolve(need.form)
    place = ranges.resolve(read.forms[need.dimension])
    size = ranges.resolve(shape_of(read.tensor)[need.dimension])
    if form in (place, size - 1 - place):
        return  # then the read leaves its tensor
    outside = Constraint(-form - 1)
    if any(feasible([*system, outside]) for system in systems):
        raise bad_divisor(need.divisor, need.node, names)

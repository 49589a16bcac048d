"""Scalar expressions as text, with no more parentheses than Python needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from tadc.dialects.tix import (
    BINARY,
    UNARY,
    Affine,
    BinaryOp,
    CallOp,
    ConstantOp,
    Constraint,
    DefineOp,
    IfOp,
    IndexToRealOp,
    MaxOp,
    MinOp,
    ProdOp,
    ReadOp,
    ReductionOp,
    SumOp,
    UnaryOp,
    WhereOp,
    between,
    constant_value,
    yielded,
)
from tadc.dialects.tix.elementwise import NegOp
from tadc.language import folding
from tadc.language.conditions import decided
from tadc.language.names import INFINITY, fresh
from tadc.language.printing.affine import (
    ATOM,
    CONDITION,
    OR,
    POWER,
    PRODUCT,
    SIGN,
    SUM,
    NamesInScope,
    Text,
)
from tadc.language.printing.bounds import range_text
from tadc.language.printing.choices import Tests, is_test, known_of, without_guard
from tadc.language.printing.conditions import condition, conditions
from tadc.language.printing.marks import marked
from tadc.passes.index_sets.sets import elements_of

Marker = Callable[[Operation], str | None]

_WORDS: dict[type[Operation], str] = {kind: word for word, kind in (UNARY | BINARY).items()}
_REDUCTIONS: dict[type[Operation], str] = {
    MaxOp: "max",
    MinOp: "min",
    ProdOp: "prod",
    SumOp: "sum",
}
_CHAINS = {"+": (SUM, PRODUCT), "-": (SUM, PRODUCT), "*": (PRODUCT, SIGN), "/": (PRODUCT, SIGN)}
"""The level of a sign, and that of its right operand."""


def no_mark(_: Operation) -> None:
    """No mark for any operation."""


class ValuePrinter:
    """Prints the body of one definition."""

    def __init__(
        self,
        body: Region,
        tensors: Mapping[SSAValue, str],
        inferred: Callable[[SSAValue], bool],
        taken: set[str],
        mark: Marker = no_mark,
    ):
        self.tensors = tensors
        self.inferred = inferred
        """True for an index that needs no range, since inference gives it."""
        self.taken = taken
        self.mark = mark
        """The name to mark the text of an operation with, or None."""
        self.forms = _affine_values(body)

    def text(self, value: SSAValue, names: NamesInScope) -> Text:
        """The text of a value; a chain such as `a + b - c` in a loop, since it may be long."""
        chain: list[BinaryOp] = []
        op = value.owner
        while isinstance(op, BinaryOp) and _WORDS[type(op)] in _CHAINS and value not in self.forms:
            chain.append(op)
            value, op = op.lhs, op.lhs.owner
        text = self._marked(op, self._link(value, names))
        for link in reversed(chain):
            sign = _WORDS[type(link)]
            binds, right = _CHAINS[sign]
            other = self.text(link.rhs, names).within(right)
            text = self._marked(link, Text(f"{text.within(binds)} {sign} {other}", binds))
        return text

    def _marked(self, op: Operation | Block, text: Text) -> Text:
        name = self.mark(op) if isinstance(op, Operation) else None
        return text if name is None else Text(marked(text.text, name), text.binds)

    def _link(self, value: SSAValue, names: NamesInScope) -> Text:
        if value in self.forms:
            return names.form(self.forms[value])
        match value.owner:
            case ConstantOp() as op:
                return _number(op.value.data)
            case ReadOp() as op:
                return Text(self._read(op, names), ATOM)
            case UnaryOp() as op:
                return self._unary(op, names)
            case BinaryOp() as op:
                return self._binary(op, names)
            case CallOp() as op:
                arguments = ", ".join(self.text(a, names).text for a in op.arguments)
                return Text(f"{op.function.data}({arguments})", ATOM)
            case IfOp() as op:
                return self._if(op, names)
            case WhereOp() as op:
                return self._where(op, names)
            case ReductionOp() as op:
                return self._reduction(op, names)
            case op:
                raise ValueError(f"no expression of the language says {op}")

    def _read(self, op: ReadOp, names: NamesInScope) -> str:
        indices = ", ".join(names.form(form).text for form in op.forms)
        return f"{self.tensors[op.tensor]}[{indices}]" if op.forms else self.tensors[op.tensor]

    def _unary(self, op: UnaryOp, names: NamesInScope) -> Text:
        word = _WORDS[type(op)]
        text = self.text(op.operand, names)
        if word == "neg":
            return Text("-0.0" if text.text == "0" else f"-{text.within(SIGN)}", SIGN)
        return Text(f"{word}({text.text})", ATOM)

    def _binary(self, op: BinaryOp, names: NamesInScope) -> Text:
        word = _WORDS[type(op)]
        if word == "**":
            left, right = self.text(op.lhs, names), self.text(op.rhs, names)
            return Text(f"{left.within(ATOM)}**{right.within(SIGN)}", POWER)
        arguments = [op.rhs]
        first = op.lhs
        while word in ("max", "min") and isinstance(first.owner, type(op)):
            arguments.append(first.owner.rhs)
            first = first.owner.lhs
        texts = [self.text(a, names).text for a in (first, *reversed(arguments))]
        return Text(f"{word}({', '.join(texts)})", ATOM)

    # --- conditions ---

    def _if(self, op: IfOp, names: NamesInScope) -> Text:
        disjuncts = decided(op.condition)
        if disjuncts in ([], [[]]):
            return self.text(yielded(op.then if disjuncts else op.otherwise), names)
        then, otherwise = yielded(op.then), yielded(op.otherwise)
        if isinstance(then.owner, ReadOp) and disjuncts == _inside(then.owner, disjuncts):
            read = self._marked(then.owner, Text(self._read(then.owner, names), ATOM)).text
            outside = self.text(otherwise, names).text
            return Text(f"pad({read})" if outside == "0" else f"pad({read}, {outside})", ATOM)
        return self._choice(self.text(then, names), disjuncts, self.text(otherwise, names), names)

    def _choice(
        self, then: Text, disjuncts: list[list[Constraint]], otherwise: Text, names: NamesInScope
    ) -> Text:
        test = condition(disjuncts, names).within(OR)
        return Text(f"{then.within(OR)} if {test} else {otherwise.text}", CONDITION)

    def _where(self, op: WhereOp, names: NamesInScope) -> Text:
        test = Tests(self.text, self.forms).text(op, names).within(OR)
        then, otherwise = yielded(op.then), yielded(op.otherwise)
        if is_test(op):
            then = without_guard(then, known_of(op.lhs, True))
            otherwise = without_guard(otherwise, known_of(op.lhs, False))
        first, second = self.text(then, names), self.text(otherwise, names)
        return Text(f"{first.within(OR)} if {test} else {second.text}", CONDITION)

    # --- reductions ---

    def _reduction(self, op: ReductionOp, names: NamesInScope) -> Text:
        """`sum[k in range(3), l](...)`; what does not concern k and l is a condition around.

        Conditions on elements of index tensors stand in the brackets: `sum[e, dst[e] == i](...)`.
        """
        inner = names.inside(self._index_names(op, names))
        guards = [c for c in op.constraints if not any(c.form[v] for v in op.indices)]
        indices: list[str] = []
        for n, index in enumerate(op.indices):
            text = inner.indices[index]
            if not self.inferred(index):
                text += f" in {range_text(index, own_constraints(op, n), inner)}"
            indices.append(text)
        value = yielded(op.body)
        for guard in _guards_to_elements(value, op.IDENTITY):
            indices += conditions(decided(guard.condition), inner)
            value = yielded(guard.then)
        body = self.text(value, inner).text
        text = Text(f"{_REDUCTIONS[type(op)]}[{', '.join(indices)}]({body})", ATOM)
        disjuncts = decided([guards])
        if disjuncts == [[]]:
            return text
        empty = _number(op.IDENTITY) if op.IDENTITY else Text("0", ATOM)
        return self._choice(text, disjuncts, empty, names) if disjuncts else empty

    def _index_names(self, op: ReductionOp, names: NamesInScope) -> dict[SSAValue, str]:
        return index_names(op.indices, "k", self.taken | set(names.indices.values()))


def _guards_to_elements(value: SSAValue, identity: float) -> list[IfOp]:
    """The conditions without which a term of a reduction is not there, one in the other.

    The last of them is one on elements of index tensors; those that `pad` says are none.
    """
    found: list[IfOp] = []
    last = 0
    while isinstance(op := value.owner, IfOp) and _is_guard(op, identity):
        found.append(op)
        if elements_of(c.form for disjunct in op.condition for c in disjunct):
            last = len(found)
        value = yielded(op.then)
    return found[:last]


def _is_guard(op: IfOp, identity: float) -> bool:
    """True if a condition leaves the identity elsewhere, and is not that of `pad`."""
    if constant_value(yielded(op.otherwise)) != identity:
        return False
    disjuncts, read = decided(op.condition), yielded(op.then).owner
    is_pad = not identity and isinstance(read, ReadOp) and disjuncts == _inside(read, disjuncts)
    return disjuncts not in ([], [[]]) and not is_pad


def own_constraints(op: ReductionOp, n: int) -> list[Constraint]:
    """The constraints of a sum in which its index number `n` is the last one."""
    own = op.indices
    return [
        c for c in op.constraints if c.form[own[n]] and not any(c.form[v] for v in own[n + 1 :])
    ]


def index_names(indices: Sequence[SSAValue], default: str, taken: set[str]) -> dict[SSAValue, str]:
    """Names that nothing around has, after the hints."""
    names: dict[SSAValue, str] = {}
    for index in indices:
        hint = index.name_hint or default
        wanted = hint if hint.isidentifier() else default
        names[index] = fresh(wanted, taken | set(names.values()))
    return names


def _inside(op: ReadOp, known: Sequence[Sequence[Constraint]]) -> list[list[Constraint]]:
    """The condition that `pad` stands for.

    Dimensions that an index of the definition runs through are part of it as far as `known` has
    them: `pad` asks for them, but they say nothing.
    """
    dimensions = [
        between(0, form, size)
        for form, size in zip(op.forms, op.tensor_type.shape, strict=True)
        if not _runs_through(form, size)
        or any(set(between(0, form, size)) <= set(d) for d in known)
    ]
    return decided([[c for dimension in dimensions for c in dimension]])


def _runs_through(form: Affine, size: Affine) -> bool:
    """True if the form is an index of a definition whose range is this size."""
    index = form.single_index
    if not isinstance(index, BlockArgument):
        return False
    around = index.owner.parent_op()
    return isinstance(around, DefineOp) and around.type.shape[index.index] == size


def _number(value: float) -> Text:
    if math.isnan(value):
        raise ValueError("the language has no number nan")
    text = repr(value) if math.isfinite(value) else INFINITY if value > 0 else f"-{INFINITY}"
    return Text(text, SIGN if text.startswith("-") else ATOM)


def _affine_values(body: Region) -> dict[SSAValue, Affine]:
    """The values that the parser would read as one affine form of indices, or as an integer."""
    forms: dict[SSAValue, Affine] = {}
    for op in body.walk():
        form: Affine | None = None
        match op:
            case IndexToRealOp():
                form = op.form
            case ConstantOp():
                form = folding.whole(op.value.data)
            case NegOp() if op.operand in forms:
                inner = forms[op.operand]
                literal = isinstance(op.operand.owner, ConstantOp) and inner.constant > 0
                form = -inner if inner.terms or literal else None
            case BinaryOp() if op.lhs in forms and op.rhs in forms:
                form = folding.fold(_WORDS[type(op)], forms[op.lhs], forms[op.rhs])
            case _:
                pass
        if form is not None:
            forms[op.results[0]] = form
    return forms

"""Values of a body as text, as plans name them: `exp(-x[j, k])`, `if i >= k: w[j] else 0`.

Unlike text of the language (`tadc/language/printing`), it need not be read back: two texts are
compared, and a person tells values apart by it. Tensors have the names of the program, and indices
those of the definition, made different where two indices of one name are around.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from xdsl.ir import BlockArgument, SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Variable
from tadc.dialects.tix import elementwise as ew
from tadc.dialects.tix.affine import show
from tadc.dialects.tix.constraints import show_constraint

SIGNS: Mapping[type[ew.BinaryOp], str] = {
    ew.AddOp: "+",
    ew.SubOp: "-",
    ew.MulOp: "*",
    ew.DivOp: "/",
    ew.PowOp: "**",
}


def index_names(op: tix.DefineOp) -> dict[SSAValue, str]:
    """A name for each index of a definition and of all inside it.

    An index has its own name, unless it has none or an index around it, or beside it, has the same.
    """
    names: dict[SSAValue, str] = {}
    _name(op, (), names)
    return names


def _name(op: object, around: tuple[str, ...], names: dict[SSAValue, str]) -> None:
    assert isinstance(op, tix.DefineOp | tix.ReductionOp)
    for index in op.body.block.args:
        name = index.name_hint or ""
        name = name if name.isidentifier() else "i"
        if name in around:
            name = next(new for n in count(1) if (new := f"{name}_{n}") not in around)
        names[index] = name
        around = (*around, name)
    for inner in op.body.walk():
        if isinstance(inner, tix.ReductionOp) and _around(inner) is op:
            _name(inner, around, names)


def _around(op: tix.ReductionOp) -> object:
    """The definition or reduction right around a reduction."""
    parent = op.parent_op()
    while not isinstance(parent, tix.DefineOp | tix.ReductionOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent


@dataclass(frozen=True)
class ValueText:
    """Values as text, for names of tensors and of indices."""

    tensors: Mapping[SSAValue, str]
    indices: Mapping[SSAValue, str]

    def of(self, value: SSAValue) -> str:
        """The text of a value."""
        op = value.owner
        match op:
            case tix.ReadOp():
                forms = ", ".join(self.form(f) for f in op.forms)
                return f"{self.tensors[op.tensor]}[{forms}]" if forms else self.tensors[op.tensor]
            case tix.ConstantOp():
                return f"{op.value.data:g}"
            case tix.IndexToRealOp():
                return f"({self.form(op.form)})"
            case ew.NegOp():
                return f"-{self.of(op.operand)}"
            case ew.UnaryOp():
                return f"{_function(op.name)}({self._bare(op.operand)})"
            case ew.BinaryOp():
                return self._binary(op)
            case tix.ReductionOp():
                own = ", ".join(self.indices[v] for v in op.indices)
                return f"{_function(op.name)}[{own}]({self._bare(tix.yielded(op.body))})"
            case tix.IfOp() | tix.WhereOp():
                then, other = (self.of(tix.yielded(r)) for r in (op.then, op.otherwise))
                return f"({then} if {self._condition(op)} else {other})"
            case _:
                raise AssertionError(f"{op} has no text")

    def _bare(self, value: SSAValue) -> str:
        """The text of a value between brackets that are there anyway."""
        text = self.of(value)
        return text[1:-1] if isinstance(value.owner, tuple(SIGNS)) else text

    def _binary(self, op: ew.BinaryOp) -> str:
        sign = SIGNS.get(type(op))
        left, right = self.of(op.lhs), self.of(op.rhs)
        return f"({left} {sign} {right})" if sign else f"{_function(op.name)}({left}, {right})"

    def _condition(self, op: tix.IfOp | tix.WhereOp) -> str:
        if isinstance(op, tix.WhereOp):
            return f"{self.of(op.lhs)} {op.comparison} {self.of(op.rhs)}"
        disjuncts = (" and ".join(map(self._constraint, d)) for d in op.condition)
        return " or ".join(disjuncts)

    def _constraint(self, constraint: tix.Constraint) -> str:
        return show_constraint(constraint, self._variable)

    def form(self, form: tix.Affine) -> str:
        """The text of an affine form."""
        return show(form, self._variable)

    def _variable(self, variable: Variable) -> str:
        if isinstance(variable, str):
            return variable
        if isinstance(variable, BlockArgument):
            return self.indices[variable]
        assert isinstance(variable.owner, tix.FloorDivOp)
        return f"(({self.form(variable.owner.form)}) // {variable.owner.divisor.data})"


def _function(name: str) -> str:
    return name.removeprefix("tix.")

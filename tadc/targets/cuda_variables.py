"""The values of a kernel in CUDA C: variables, constants, and text that stands where it is used.

    %s = scf.for %k ... iter_args(%a = %0)      float s = 0.0f;
      %1 = arith.addf %a, %x               =>   for (...) {
      scf.yield %1                                s += x;
                                                }

A value that is used once is text: here `%1` has no name of its own. A value that a loop carries or
a branch chooses is a variable. All others are constants with a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.ir import Block, Operation, SSAValue

from tadc.dialects import loops
from tadc.passes.analysis.index_ranges import Range, yielded
from tadc.targets import c_text as c
from tadc.targets.c_text import Expr
from tadc.targets.cuda_ops import COMPOUND, REPEATING, Expressions

LONGEST_INLINED_TEXT = 72  # characters of a value that is written where it is used


class Variables(Expressions):
    """Decides for each value of a function which text stands for it, and declares and assigns."""

    def __init__(self, function: func.FuncOp, index: str, known: Mapping[SSAValue, Range]):
        super().__init__(function, index, known)
        self.names = c.Names()
        stores = [op for op in function.walk() if isinstance(op, memref.StoreOp)]
        self.written = {op.memref for op in stores}

    def bind(self, value: SSAValue, expr: Expr) -> list[str]:
        """Let `value` be `expr`: where it is used if it may stand there, else under a name."""
        if not value.first_use:
            return []
        if self.folds(value, expr):
            self.texts[value] = expr
            return []
        return self.named(value, expr)

    def named(self, value: SSAValue, expr: Expr) -> list[str]:
        """A constant that holds `expr`."""
        name = self.names.fresh(value.name_hint or "t")
        self.texts[value] = Expr(name)
        return [f"const {self.ctype(value.type)} {name} = {expr.text};"]

    def folds(self, value: SSAValue, expr: Expr) -> bool:
        """True if the text of `value` may stand where it is used, as often as it is used."""
        owner, user = value.owner, value.get_user_of_unique_use()
        if isinstance(owner, arith.ConstantOp) or expr.text.isidentifier():
            return True
        if user is None or len(expr.text) > LONGEST_INLINED_TEXT or self.reads_written(owner):
            return False
        if self.repeats(user) and expr.level < c.ATOM:
            return False
        if isinstance(user, scf.ForOp) and expr.loads:
            return value not in (user.ub, user.step)
        block = user.parent_block()
        while block is not owner.parent_block() and not expr.loads and block is not None:
            around = block.parent_op()
            block = around.parent_block() if isinstance(around, scf.IfOp) else None
        return block is owner.parent_block()

    def reads_written(self, owner: Operation | Block) -> bool:
        """True for a load that must stay where it is, since the kernel writes that buffer."""
        return isinstance(owner, memref.LoadOp) and owner.memref in self.written

    def repeats(self, op: Operation) -> bool:
        """True if the text of an operand appears more than once in the text of `op`."""
        if isinstance(op, arith.CmpfOp):
            return op.predicate.value.data in REPEATING
        return isinstance(op, loops.ParallelOp) and len(op.sizes) > 1

    def set_variable(self, variable: str, *values: SSAValue) -> None:
        """Let `values` be what `variable` holds."""
        for value in values:
            self.texts[value] = Expr(variable, reads=frozenset([variable]))

    def accumulator(self, result: SSAValue, start: SSAValue | None = None) -> str | None:
        """The variable of the loop around, if `result` does nothing but become its next value.

        Then nothing else may look at the value before: an inner loop must be the only one to start
        from it, and a branch must have all its uses inside.
        """
        inner = result.owner
        user = result.get_user_of_unique_use()
        outer = user.parent_op() if isinstance(user, scf.YieldOp) else None
        if not isinstance(outer, scf.ForOp) or inner.parent_block() is not outer.body.block:
            return None
        before = outer.body.block.args[1 + yielded(outer.body).index(result)]
        users = {use.operation for use in before.uses}
        if start is None:
            private = all(user is not inner and inner.is_ancestor(user) for user in users)
        else:
            private = start is before and before.has_one_use()
        return self.texts[before].text if private else None

    def assign(self, targets: Sequence[SSAValue], values: Sequence[SSAValue]) -> list[str]:
        """All values to all targets at once, in an order in which none is lost."""
        lines: list[str] = []
        pending = [
            (self.texts[t].text, self.ctype(t.type), self.texts[v])
            for t, v in zip(targets, values, strict=True)
            if self.texts[t].text != self.texts[v].text
        ]
        while pending:
            name, ctype, value = entry = next(
                (e for e in pending if not any(e[0] in o[2].reads for o in pending if o is not e)),
                pending[0],
            )
            pending.remove(entry)
            if any(name in other.reads for _, _, other in pending):
                saved = self.names.fresh(f"next_{name}")
                lines.append(f"const {ctype} {saved} = {value.text};")
                pending.append((name, ctype, Expr(saved)))
            elif value.split and value.split[0] == name and value.split[1] in COMPOUND:
                lines.append(f"{name} {value.split[1]}= {value.split[2]};")
            else:
                lines.append(f"{name} = {value.text};")
        return lines

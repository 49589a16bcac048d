"""`Function`: a compiled program - called, printed, looked at, and derived."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from tadc.errors import ArgumentError, check_names, unknown_name
from tadc.modes import INVERSE_MODES
from tadc.once import Once
from tadc.program import Program, Tensor, recursing
from tadc.runnable import Runnable
from tadc.runtime.size_class import is_long
from tadc.runtime.targets import executable_class
from tadc.support.entries import entry

if TYPE_CHECKING:
    from tadc.inverse.inverse import Inverse
    from tadc.jacobian.jacobian import Jacobian

Sizes = Mapping[str, int]

COMPILER = "tadc.runtime.compilation"
"""The module that processes import when they compile first."""


class Function(Runnable):
    """A program of the language, ready to run on a target.

    Call it with arrays, by position or by name: one result comes as an array, several as a named
    tuple.
    Sizes that the program does not declare come from the arrays (`tadc/runtime/size_class.py`).
    `str(f)` is the program in the language, and compiles to the same again.

    Raises `TadcError` for whatever is wrong with the arguments. Safe to call from several threads,
    to pickle and to use after a fork.
    """

    # passes are imported where they run: calls of code from the disk begin sooner without

    def __init__(self, program: Program, target: str):
        super().__init__(program, target)
        self.derived_from: tuple[Program, ModulePass] | None = None
        """The program that it was made of, and by which pass, where that was here."""
        self._derived: Once[ModulePass, Function] = Once()
        self._inverses: Once[str, Inverse] = Once()
        self._jacobians: Once[ModulePass, Jacobian] = Once()

    # --- looking ---

    def __str__(self) -> str:
        return str(self.program)

    def __repr__(self) -> str:
        arguments = ", ".join(t.name for t in self.args)
        results = ", ".join(t.name for t in self.results)
        return f"<tadc.Function ({arguments}) -> {results}, target {self.target}>"

    def _repr_html_(self) -> str:
        """This program in a notebook, with why its derivative is what it is: without any script."""
        # by name, as views know functions
        html: str = import_module("tadc.view.notebook").html_of(self.program, self.derived_from)
        return html

    @entry
    def emit(self, kind: str, sizes: Sizes | None = None, precision: str = "f64") -> str:
        """This program as text: as `source`, or exactly as a call runs it.

        `located` has views of index tensors along which sums run, `plan` and `scheduled` show
        loops, `llvm`, `llvm-optimized` and `assembly` the code of the target `cpu`, `cuda` and
        `ptx` that of `cuda`. It is the next call of these sizes (by name) in which tensors of
        undeclared precision are `precision`, f32 or f64; without sizes it is a large one of any
        sizes. Raises `SizeError` for sizes that no call can have.
        """
        from tadc.emit import emit

        return emit(self.compiled, kind, sizes, precision)

    @entry
    def ir(
        self,
        stage: str,
        mode: str = "reverse",
        wrt: Sequence[str] = (),
        sizes: Sizes | None = None,
        precision: str = "f64",
    ) -> str:
        """A stage on the way from this program to the code of its derivative.

        `source` and `tensor-index` are this program; from `derivative` on it is its derivative, in
        a mode of `tadc derive --mode` and by the arguments `wrt` (by default all): `scheduled` and
        `code` show that as loops and as text of the target, for `sizes` and a `precision` as in
        `emit`. `tadc derive --emit STAGE` prints the same. `emit` shows this program itself.
        """
        from tadc.stages import text_at

        return text_at(self, stage, wrt, mode, sizes, precision)

    def module_at(self, stage: str, wrt: Sequence[str] = (), mode: str = "reverse") -> ModuleOp:
        """The module at a stage from `tensor-index` to `simplified`: see `ir`."""
        from tadc.stages import module_at

        return module_at(self.program, stage, wrt, mode)

    def with_target(self, target: str) -> Function:
        """This program for another target."""
        return Function(self.program, target)

    # --- deriving ---

    @entry
    def derivative(
        self, *wrt: str, of: Sequence[str] = (), observe: Sequence[str] = ()
    ) -> Function:
        """The derivative of these results with respect to these arguments, by default of all.

        A function of the same arguments and of one adjoint `df` per result `f`; its results are
        `dx` for each argument `x`, and then the adjoints of the definitions that `observe` names.
        """
        from tadc.passes.derive.differentiate import DifferentiatePass

        results = [t.name for t in self.results]
        check_names("result", of, results)
        check_names("definition", observe, self.program.definition_labels)
        some = tuple(name for name in results if name in of)
        of = some if len(some) < len(results) else ()
        return self._made(DifferentiatePass(wrt, observe=tuple(observe), of=of), wrt)

    @entry
    def without(self, *names: str) -> Function:
        """This program for zeros in place of these arguments, which it no longer takes.

        For adjoints and tangents that are not there: what they would be multiplied with contributes
        nothing, not even where it is infinite.
        """
        from tadc.passes.derive.zero_arguments import ZeroArgumentsPass

        some = tuple(t.name for t in self.args if t.name in names)
        return self._made(ZeroArgumentsPass(some), names) if names else self

    @entry
    def forward(self, *wrt: str, keep_values: bool = False) -> Function:
        """The derivative in the direction of tangents of these arguments, all by default.

        A function of the same arguments and of one tangent `x_dot` for each argument `x` in `wrt`;
        its results are `f_dot` for each result `f`, after the results if these are kept.
        """
        from tadc.passes.derive.differentiate import DifferentiatePass

        return self._made(DifferentiatePass(wrt, mode="forward", keep_values=keep_values), wrt)

    @entry
    def gradient(self, *wrt: str) -> Function:
        """The gradient of the only result, a scalar: a function of the same arguments."""
        from tadc.passes.derive.differentiate import DifferentiatePass

        _check_scalar(self.results)
        return self._made(DifferentiatePass(wrt, unit_adjoint=True), wrt)

    @entry
    def batched(self, *names: str) -> Function:
        """This program for many values of these arguments at once, of all arguments by default.

        They, and all that depends on them, have one more index, the first one: slice b of a result
        is the result for the slices b. An argument that is updated has the index where its new
        version has it, and the other way round; the ranks of `args` and `results` tell.
        """
        from tadc.passes.derive.batch import BatchPass

        return self._made(BatchPass(names), names)

    @entry
    def jacobian(self, wrt: str, of: str | Sequence[str] = ()) -> Jacobian:
        """The derivatives of all results, or of those that `of` names, by one argument.

        A function of the same arguments, whose value is a sparse matrix for each result: see
        `Jacobian`. Which entries it has follows from the index sets of the program alone.
        """
        from tadc.jacobian.jacobian import Jacobian
        from tadc.passes.derive.sparse_jacobian import SparseJacobianPass

        _check_named(wrt)
        names = [t.name for t in self.results]
        of = [of] if isinstance(of, str) else of
        check_names("result", of, names)
        some = tuple(name for name in names if name in of)
        first = SparseJacobianPass(wrt, some if len(some) < len(names) else ())
        entries = self._made(first, (wrt,))
        return self._jacobians.of(first, lambda: Jacobian(self, entries, first))

    @entry
    def hessian(self, wrt: str) -> Jacobian:
        """The second derivatives of the only result, a scalar, by one argument.

        The Jacobian of the gradient: a symmetric matrix, also in its pattern.
        """
        _check_named(wrt)
        _check_scalar(self.results, "Hessian")
        return self.gradient(wrt).jacobian(wrt)

    @recursing
    def _made(self, first: ModulePass, names: Sequence[str]) -> Function:
        """The program that `first` by these arguments and the passes behind it make, made once."""
        return self._derived.of(first, lambda: self._derive(first, names))

    def _derive(self, first: ModulePass, names: Sequence[str]) -> Function:
        made = Function(_made(self.program, first, names, self.target), self.target)
        made.derived_from = self.program, first
        return made

    @entry
    def inverse(self, mode: str) -> Inverse:
        """The program of an inverse mode, made when it is first asked for.

        Raises `UnknownNameError` for other modes, `UnsupportedError` where the program has none.
        """
        from tadc.inverse.inverse import Inverse

        if mode not in INVERSE_MODES:
            raise unknown_name("inverse mode", mode, INVERSE_MODES)
        return self._inverses.of(mode, lambda: Inverse(self.program, self.target, mode))

    # --- keeping ---

    def __reduce__(self) -> tuple[Any, ...]:
        return Function, (self.program, self.target)


def _check_named(wrt: object) -> None:
    """Raise `ArgumentError` for an argument that is not given by its name."""
    if not isinstance(wrt, str):
        kind = type(wrt).__name__
        raise ArgumentError(f"an argument is given by its name, a str, not by an object of {kind}")


def _check_scalar(results: Sequence[Tensor], what: str = "gradient") -> None:
    """Raise `ArgumentError` where there is no gradient, or Hessian, of these results."""
    if len(results) != 1 or results[0].shape:
        names = ", ".join(f"{t.name}[{', '.join(map(str, t.shape))}]" for t in results)
        raise ArgumentError(
            f"a {what} needs one scalar result, not {names}",
            hint="derivative(...) and vjp(...) take adjoints of any results; jacobian(...) gives "
            "their derivatives",
        )


def _made(program: Program, first: ModulePass, names: Sequence[str], target: str) -> Program:
    """The program that `first` by these arguments and the passes behind it make of `program`."""
    program.check_arguments(names)
    if not any(t.is_real for t in program.args):
        verb = "batch" if first.name == "batch" else "derive with respect to"
        raise ArgumentError(f"the program has no argument to {verb}")
    results = len(names or program.args) if first.name == "differentiate" else 1
    expect = partial(_expect_calls, program, results, target)
    (made,) = program.derive(partial(_from, first), expect, ("from", first))
    return made


def _from(first: ModulePass) -> Sequence[ModulePass]:
    """A pass and those behind it."""
    from tadc.passes.derive.differentiate import DifferentiatePass
    from tadc.passes.derive.sparse_jacobian import SparseJacobianPass
    from tadc.passes.derive.zero_arguments import ZeroArgumentsPass
    from tadc.passes.pipeline import derivative_passes, jacobian_passes, zeroing_passes

    match first:
        case DifferentiatePass():
            return derivative_passes(first).passes
        case ZeroArgumentsPass():
            return zeroing_passes(first).passes
        case SparseJacobianPass():
            return jacobian_passes(first).passes
        case _:
            return [first]


def _expect_calls(program: Program, results: int, target: str) -> None:
    """Prepare for code of so many results that are derived, where calls are known to be long.

    A process that has compiled nothing so far may want texts alone, which need no LLVM.
    """
    summary = program.summary
    if COMPILER in sys.modules and not summary.size_names():
        executable_class(target).expect(results, is_long(summary, {}))

"""Text of the language to a `tix.program`.

    y[i] = sum[k](w[k] * x[i + k])

becomes, with sizes named after the indices that run over them,

    tix.program @program (%w = "w" : !tix.tensor<[K], real>, %x = "x" : !tix.tensor<[X_0], real>) {
      %y = tix.define "y" (%i) : !tix.tensor<[-K + X_0 + 1], real> { ... }
      tix.return %y
    }

Names are collected first, then each definition is read and its ranges inferred in order; sizes of
undeclared arguments stay open until the end, since later lines may say more about them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from pathlib import PurePath

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region, SSAValue

from tadc.dialects.quick import block_with
from tadc.dialects.tix import DefineOp, ProgramOp, ReturnOp, TensorType
from tadc.dialects.tix.types import given_size
from tadc.errors import SizeError, TadcError, TadcSyntaxError, UnknownNameError, did_you_mean
from tadc.language.check import check_ranges
from tadc.language.custom_functions import (
    ScalarFunction,
    arities_of,
    function_ops,
    known_functions,
)
from tadc.language.declarations import declare
from tadc.language.definitions import Definition, define, target_name
from tadc.language.finalize import settle
from tadc.language.index_tensors import (
    add_sizes_to_give,
    check_ranges_told,
    find_index_tensors,
    with_sizes,
)
from tadc.language.precisions import Defined, infer_elements
from tadc.language.scope import SymbolTable, Tensor
from tadc.language.source import PROGRAM, Source, items, names_in
from tadc.language.written_ranges import is_condition
from tadc.passes.rewriting.programs import fresh_name, set_hint
from tadc.support.recursion import with_large_stack


def parse(
    source: str, file: str = PROGRAM, functions: Mapping[str, ScalarFunction] | None = None
) -> ModuleOp:
    """The program that `source` says, as a module with one `tix.program`.

    `functions` are those of the user, by default the ones that are defined now. Raises a located
    `TadcError` for everything that is wrong with the text.
    """
    text = Source(source, file)
    known = known_functions() if functions is None else functions
    try:
        return with_large_stack(lambda: _Program(text, known).build())
    except RecursionError:
        raise text.too_deep() from None


class _Program:
    def __init__(self, source: Source, functions: Mapping[str, ScalarFunction]):
        self.source = source
        self.functions = functions
        self.names = SymbolTable(source, functions=arities_of(self.functions))
        self.definitions: list[Definition] = []
        self.results: list[Tensor] = []

    def build(self) -> ModuleOp:
        """The module; raises a located `TadcError` for the first thing that is wrong."""
        statements = self.source.tree.body
        for statement in statements:
            self._collect(statement, last=statement is statements[-1])
        self._check_names()
        definitions = [s for s in statements if isinstance(s, ast.Assign | ast.AugAssign)]
        find_index_tensors(definitions, self.names)
        self.names.shapes.read.update(name.id for d in definitions for name in names_in(d))
        for statement in definitions:
            self.definitions.append(define(statement, self.names))
        if not self.definitions:
            raise TadcSyntaxError(
                "the program defines nothing", self.source.at(1, 1), "write y[i] = ..."
            )
        self.results = self._results(statements[-1])
        return self._assemble(statements[-1])

    def _fail(self, node: ast.AST, message: str, hint: str | None = None) -> TadcError:
        return self.names.fail(TadcSyntaxError, node, message, hint)

    # --- names ---

    def _collect(self, node: ast.stmt, last: bool) -> None:
        match node:
            case ast.AnnAssign():
                declare(node, self.names)
            case ast.Assign() | ast.AugAssign():
                self._collect_definition(node)
            case ast.Return():
                if not last:
                    raise self._fail(node, "return is not the last line", "move it to the end")
            case _:
                raise self._fail(node, *_statement_error(node))

    def _collect_definition(self, node: ast.Assign | ast.AugAssign) -> None:
        name, brackets = target_name(node, self.names)
        if isinstance(node, ast.AugAssign):
            self.names.updated.setdefault(name.id, name)
        elif name.id not in self.names.updated:
            self.names.defined.setdefault(name.id, name)
        subscripts = [] if brackets is None else [brackets]
        subscripts += [
            call.func.slice
            for call in ast.walk(node.value)
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript)
        ]
        for subscript in subscripts:
            for item in items(subscript):
                index = item.left if isinstance(item, ast.Compare) else item
                if isinstance(index, ast.Name) and not is_condition(item):
                    self.names.check_new(index, "an index")
                    self.names.indices.setdefault(index.id, index)

    def _check_names(self) -> None:
        """Raise `TadcSyntaxError` where one name stands for two kinds of things."""
        names = self.names
        declared = {n: d.node for n, d in names.declarations.items() if d.element != given_size}
        tensors = declared | names.defined | names.updated
        clashes = [
            (names.indices, "an index", tensors, "a tensor"),
            (names.indices, "an index", names.sizes, "a size"),
            (names.sizes, "a size", tensors, "a tensor"),
        ]
        for some, kind, others, other_kind in clashes:
            for name, node in some.items():
                if name in others:
                    later = max(node, others[name], key=lambda n: (n.lineno, n.col_offset))
                    message = f"{name} is both {kind} and {other_kind}"
                    raise self._fail(later, message, "rename one of the two")

    # --- results ---

    def _results(self, last: ast.stmt) -> list[Tensor]:
        if not isinstance(last, ast.Return):
            return self._updated_and_unread()
        if last.value is None:
            raise self._fail(last, "return lacks the names of the results", "write return f, g")
        results: list[Tensor] = []
        for node in items(last.value):
            result = self._result(node)
            if result.name in [other.name for other in results]:
                message = f"{result.name} is returned twice"
                raise self._fail(node, message, "leave one of the two out")
            results.append(result)
        if not results:
            raise self._fail(last, "return lacks the names of the results", "write return f, g")
        return results

    def _updated_and_unread(self) -> list[Tensor]:
        """The updated arguments in the order of the arguments, then what no later line reads."""
        defined = dict.fromkeys(d.tensor.name for d in self.definitions)
        last = {name: self.names.tensors[name] for name in defined}
        updated = [t.name for t in self._arguments() if t.name in last]
        unread = [name for name, t in last.items() if name not in updated and not t.value.uses]
        return [last[name] for name in (*updated, *unread)]

    def _result(self, node: ast.expr) -> Tensor:
        if not isinstance(node, ast.Name):
            message = "return takes names of defined tensors"
            raise self._fail(node, message, "define it on a line above, and return its name")
        defined = {d.tensor.name: d.tensor for d in self.definitions}  # the last version of each
        if node.id in defined:
            return defined[node.id]
        if node.id in self.names.tensors or node.id in self.names.declarations:
            message = f"{node.id} is an argument, not a result"
            raise self._fail(node, message, f"define a copy of {node.id} and return that")
        raise self.names.fail(
            UnknownNameError, node, f"{node.id} is not defined", did_you_mean(node.id, defined)
        )

    # --- the program ---

    def _arguments(self) -> list[Tensor]:
        names = self.names
        for name, d in names.declarations.items():
            if name not in names.tensors:
                names.add_argument(name, d.shape, d.element, d.node)
        add_sizes_to_give(names)
        arguments = names.arguments
        declared = [arguments[name] for name in names.declarations if name in arguments]
        return declared + [t for t in arguments.values() if t not in declared]

    def _finish_sizes(self, arguments: list[Tensor]) -> None:
        """Name the open sizes, and put the names everywhere."""
        names = self.names
        check_ranges_told(arguments, names)
        bound = {size for a in arguments for form in a.shape for size in form.sizes}
        for size, node in names.sizes.items():
            if size not in bound:
                message = f"no argument has the size {size}"
                hint = "an argument must tell it: declare one with this size"
                raise SizeError(message, self.source.span(node), hint, size=size)
        taken = {*names.tensors, *names.indices, *names.sizes}
        undeclared = {a.name: a.shape for a in arguments if a.name not in names.declarations}
        names.shapes.finish(taken, undeclared)
        for definition in self.definitions:
            settle(definition.body, names.shapes.resolve)

    def _types(self, arguments: list[Tensor]) -> dict[Tensor, TensorType]:
        """The types of all tensors."""
        given = {t.value: t.element for t in arguments if t.element is not None}
        defined = [
            Defined(d.tensor.value, d.reads, d.tensor.element, d.before) for d in self.definitions
        ]
        elements = infer_elements(given, defined)
        resolve = self.names.shapes.resolve
        return {
            t: TensorType.of([*map(resolve, t.shape)], with_sizes(elements[t.value], resolve))
            for t in [*arguments, *(d.tensor for d in self.definitions)]
        }

    def _labels(self) -> list[str]:
        """A name of its own for each definition: that of the tensor is for its last version."""
        names = self.names
        taken = {*names.tensors, *names.indices, *names.sizes}
        labels: list[str] = []
        for name, tensor in [(d.tensor.name, d.tensor) for d in self.definitions]:
            last = names.tensors[name] is tensor and name not in names.arguments
            labels.append(name if last else fresh_name(name, taken))
            taken.add(labels[-1])
        return labels

    def _assemble(self, last: ast.stmt) -> ModuleOp:
        arguments = self._arguments()
        self._finish_sizes(arguments)
        types = self._types(arguments)
        block = block_with([types[a] for a in arguments])
        block.add_ops(function_ops(self.names.called, self.functions))
        values: dict[Tensor, SSAValue] = {}
        for argument, value in zip(arguments, block.args, strict=True):
            value.location = self.source.location(argument.node)
            set_hint(value, argument.name)
            argument.value.replace_all_uses_with(value)
        for definition, label in zip(self.definitions, self._labels(), strict=True):
            tensor = definition.tensor
            op = DefineOp(label, types[tensor], definition.body)
            op.location = self.source.location(tensor.node)
            block.add_op(op)
            values[tensor] = op.result
            set_hint(op.result, label)
            tensor.value.replace_all_uses_with(op.result)
        result = ReturnOp([values[t] for t in self.results], [t.name for t in self.results])
        result.location = self.source.location(last)
        block.add_op(result)
        names, derived = [a.name for a in arguments], self.names.shapes.attributes()
        program = ProgramOp(_symbol(self.source.file), names, Region(block), derived)
        program.location = self.source.location(self.source.tree)
        check_ranges(program, {}, self.source)
        module = ModuleOp([program])
        module.location = program.location
        return module


def _symbol(file: str) -> str:
    """A symbol from the name of a file."""
    name = "" if file == PROGRAM else re.sub(r"\W", "_", PurePath(file).stem, flags=re.ASCII)
    return name if name and not name[0].isdigit() else f"program{'_' + name if name else ''}"


_STATEMENTS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.Import: ("nothing is imported here", "exp, sin and the like are there already"),
    ast.ImportFrom: ("nothing is imported here", "exp, sin and the like are there already"),
    ast.For: ("loops are not part of the language", "an index is a loop: y[i] = x[i]"),
    ast.While: ("loops are not part of the language", "an index is a loop: y[i] = x[i]"),
    ast.If: ("statements have no conditions", "write y[i] = a if i < 3 else b"),
    ast.FunctionDef: ("functions are not defined here", "the program itself is the function"),
    ast.Expr: ("the value of this line is not used", "define a tensor: y[i] = ..."),
}


def _statement_error(node: ast.stmt) -> tuple[str, str]:
    default = (
        f"{type(node).__name__} statements of Python are not part of the language",
        "a line is a declaration, a definition or the return at the end",
    )
    return _STATEMENTS.get(type(node), default)

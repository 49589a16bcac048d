"""A `tix.program` as text of the language, which reads back as the same program.

Values that are used several times are written several times: the language has no names for
scalars. A range is left out where inference gives it back, and the inference itself is asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects.tix import (
    Affine,
    AtOp,
    Constraint,
    DefineOp,
    IndexRange,
    ProgramOp,
    ReadOp,
    ReductionOp,
    TensorType,
    between,
    functions_of,
    yielded,
)
from tadc.errors import TadcError
from tadc.language.describe import Describer
from tadc.language.names import fresh
from tadc.language.precisions import definitions_to_declare
from tadc.language.printing.affine import NamesInScope
from tadc.language.printing.marks import Mark, unmarked
from tadc.language.printing.values import (
    Marker,
    ValuePrinter,
    index_names,
    no_mark,
    own_constraints,
)
from tadc.language.ranges import Inference
from tadc.language.reads import used
from tadc.language.sizes import Sizes
from tadc.language.statement import Statement


def print_program(program: ProgramOp) -> str:
    """Declarations, definitions and `return`, one a line.

    Raises ValueError for what the language cannot say: reductions without bounds, and nan.
    """
    return _Printer(program).text()


def print_marked_program(program: ProgramOp, mark: Marker) -> tuple[str, list[Mark]]:
    """The text of a program, and the characters of each operation that `mark` gives a name."""
    return unmarked(_Printer(program, mark).text())


class _Printer:
    def __init__(self, program: ProgramOp, mark: Marker = no_mark):
        self.program = program
        self.mark = mark
        self.tensors: dict[SSAValue, str] = {}
        for name, value in program.arguments.items():
            self.tensors[value] = name
        self.versions = _new_versions(program)
        self.updates = _updates(program, self.versions)
        self.declared = definitions_to_declare(program.body.block.args, program.definitions)
        functions = set(functions_of(program))
        for definition in program.definitions:
            name = fresh(definition.label.data, functions | set(self.tensors.values()))
            self.tensors[definition.result] = name
        for definition in self.updates:
            self.tensors[definition.result] = self.versions[definition.result]
        # a derived size that an argument tells is a size like any other
        shapes = [shape_of(value) for value in program.arguments.values()]
        told = dict.fromkeys(s for shape in shapes for form in shape for s in form.sizes)
        self.derived = [d for d in program.derived if d.data.name not in told]
        taken = functions | set(self.tensors.values())
        arguments = program.arguments.items()
        given = {n for n, v in arguments if isinstance(v.type, TensorType) and v.type.is_size}
        sizes: dict[str, str] = {}
        for size in told:
            sizes[size] = size if size in given else fresh(size, taken | set(sizes.values()))
        self.taken = taken | set(sizes.values())
        derived = {d.data.name: d.bounds for d in self.derived}
        self.names = NamesInScope(sizes, derived, self.tensors)

    def text(self) -> str:
        lines = [self._declaration(value) for value in self.program.arguments.values()]
        for definition in self.program.definitions:
            lines += [] if definition in self.updates else self._definition(definition)
        for definition in self.updates:
            lines += self._definition(definition)
        lines += [self._copy(v) for v in self.versions if self.tensors[v] != self.versions[v]]
        results = [self.versions.get(v, self.tensors[v]) for v in self.program.returned]
        return (
            "\n".join([*lines, f"return {', '.join(results)}" if results else ""]).rstrip() + "\n"
        )

    def _declaration(self, value: SSAValue) -> str:
        assert isinstance(value.type, TensorType)
        if value.type.is_size:
            return f"{self.tensors[value]}: size"
        shape = ", ".join(self.names.size(size) for size in value.type.shape)
        word = value.type.dtype
        if isinstance(element := value.type.element, IndexRange) and element.end is not None:
            word = f"range({self.names.size(element.end)})"
            word = f"sorted({word})" if element.is_sorted else word
        return f"{self.tensors[value]}: {word}[{shape}]"

    def _copy(self, version: SSAValue) -> str:
        """`p[i] = p_1[i]`, where `p` is read after its new version is known."""
        assert isinstance(version.owner, DefineOp)
        names = index_names(version.owner.indices, "i", self.taken).values()
        element = f"[{', '.join(names)}]" if names else ""
        return f"{self.versions[version]}{element} = {self.tensors[version]}{element}"

    def _definition(self, definition: DefineOp) -> list[str]:
        update = definition in self.updates  # in the shape and precision of the version before
        declared = not update and definition in self.declared
        inferred = self._inferred(definition, declared or update)
        own = index_names(definition.indices, "i", self.taken)
        names = self.names.inside(own)
        plain = own if declared or update else inferred
        items = [
            name if index in plain else f"{name} in range({self.names.size(size)})"
            for (index, name), size in zip(own.items(), definition.type.shape, strict=True)
        ]
        printer = ValuePrinter(
            definition.body, self.tensors, inferred.__contains__, self.taken, self.mark
        )
        text = printer.text(yielded(definition.body), names).text
        head = self.tensors[definition.result] + (f"[{', '.join(items)}]" if items else "")
        lines = [self._declaration(definition.result)] if declared else []
        return [*lines, f"{head} = {text}"]

    def _inferred(self, definition: DefineOp, given_shape: bool) -> set[SSAValue]:
        """The indices that inference gives the ranges that they have."""
        shape = dict(zip(definition.indices, definition.type.shape, strict=True))
        wanted = {} if given_shape else dict(shape)
        everything = dict.fromkeys(op for op, _ in used(definition.body))
        reductions = [op for op in everything if isinstance(op, ReductionOp)]
        for op in reductions:
            for n, index in enumerate(op.indices):
                size = _size_of(op, n)
                if size is not None:
                    wanted[index] = size
        telling = _telling(definition, reductions)
        for index, size in list(wanted.items()):
            if index not in telling or not _agrees(definition, index, size):
                del wanted[index]
        while wanted:
            given = {index: size for index, size in shape.items() if index not in wanted}
            open_ranges = {op: _without(op, wanted) for op in reductions}
            pinned = list(given) if given_shape else []
            statement = Statement(
                definition.body, given, list(wanted), shape_of, open_ranges, pinned
            )
            describer = Describer(lambda value: self.tensors[value])
            inference = Inference(
                statement, Sizes(self.program.derived.data, fixed=True), describer
            )
            try:
                found = inference.run()
                wrong = next((index for index in found if found[index] != wanted[index]), None)
            except TadcError:
                wrong = inference.current
            if wrong is None:
                break
            del wanted[wrong]  # what is inferred after it may be right once it is given
        return set(wanted)


def _new_versions(program: ProgramOp) -> dict[SSAValue, str]:
    """The results that are new versions of arguments, and the names of these.

    Without a read of the argument, the text would define it: the result has another name then.
    """
    results = zip(program.returned, program.result_names, strict=True)
    read = {name for name, value in program.arguments.items() if value.uses}
    return {value: name for value, name in results if name in read}


def _updates(program: ProgramOp, versions: Mapping[SSAValue, str]) -> list[DefineOp]:
    """The new versions that can be written as updates, behind all other definitions: nothing reads
    them, and nothing that comes later reads the version before."""
    reads = {d: {r.tensor for r in d.walk() if isinstance(r, ReadOp)} for d in program.definitions}
    read = set[SSAValue]().union(*reads.values())
    found = [
        d
        for d in program.definitions
        if d.result in versions and d.result not in read and _all_agree(d)
    ]
    before = {d: program.arguments[versions[d.result]] for d in found}
    return [
        d for n, d in enumerate(found) if all(before[d] not in reads[f] for f in found[n + 1 :])
    ]


def shape_of(value: SSAValue) -> tuple[Affine, ...]:
    assert isinstance(value.type, TensorType)
    return value.type.shape


def _telling(definition: DefineOp, reductions: Sequence[ReductionOp]) -> set[SSAValue]:
    """The indices that something other than their own range mentions, as inference needs."""
    ranges = [c for op in reductions for c in op.constraints if len(c.form.indices) > 1]
    others = (op for op in definition.walk() if not isinstance(op, ReductionOp))
    used = (v for op in others for v in op.operands)
    return {*used, *(v for c in ranges for v in c.form.indices)}


def _all_agree(definition: DefineOp) -> bool:
    pairs = zip(definition.indices, definition.type.shape, strict=True)
    return all(_agrees(definition, index, size) for index, size in pairs)


def _agrees(definition: DefineOp, index: SSAValue, size: Affine) -> bool:
    """True if all dimensions that the index stands alone in have this size.

    Where some do not, what is inferred hangs on conditions and on which sizes are declared; a
    range in the text says it better.
    """
    reads = [op for op in definition.walk() if isinstance(op, ReadOp | AtOp)]
    return all(
        shape == size
        for read in reads
        for form, shape in zip(read.forms, shape_of(read.tensor), strict=True)
        if form.single_index is index
    )


def _size_of(op: ReductionOp, n: int) -> Affine | None:
    """The size n with `0 <= index < n`, where that is all that bounds the index."""
    index = Affine.of(op.indices[n])
    own = own_constraints(op, n)
    if len(own) != 2 or own[0] != Constraint(index) or own[1].equality:
        return None
    size = own[1].form + index + 1
    return None if size.indices else size


def _without(op: ReductionOp, wanted: dict[SSAValue, Affine]) -> list[Constraint]:
    ranges = [c for v in op.indices if v in wanted for c in between(0, Affine.of(v), wanted[v])]
    return [c for c in op.constraints if c not in ranges]

"""Explanation of inverse modes: the lumps of a program, and the structure of each one's matrix.

Everything shown comes from the passes (`passes/derive/inversion/lumps.py`,
`passes/derive/inversion/classify.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.dialects.tix import Affine, Variable
from tadc.dialects.tix.affine import show
from tadc.function import Function
from tadc.inverse import structures as sentences
from tadc.passes.derive.inversion import structures
from tadc.passes.derive.inversion.classify import classify_all
from tadc.passes.derive.inversion.lumps import Lump, lumps
from tadc.passes.derive.inversion.signed_permutations import SignedPermutation
from tadc.passes.derive.inversion.state import name_of
from tadc.passes.derive.outline_reductions import OutlineReductionsPass
from tadc.passes.rewriting.programs import fresh_name

INTRODUCTION = """\
The program is a sequence of lumps: steps after which its state has as many values as before. In a
lump, outs take the place of ins, with the matrix A = d outs / d ins; others are read and stay."""
ORDERS = {
    "inverse-jvp": "inverse-jvp solves with each A, the last lump first.",
    "inverse-vjp": "inverse-vjp solves with the transpose of each A, the first lump first.",
    "log-abs-det": "The determinant of the program is the product of those of all A.",
}


def explain_lumps(function: Function, mode: str) -> str:
    """The lumps of `function` in the order of its text, and why each is solved as it is.

    Raises `UnsupportedError` where the program has no inverse modes.
    """
    function.module_at("derivative", mode=mode)  # raises what is wrong, with its place
    module = function.program.transformed([OutlineReductionsPass()])
    program = next(op for op in module.ops if isinstance(op, tix.ProgramOp))
    steps = lumps(program)
    lines = [INTRODUCTION, ORDERS[mode]]
    for number, (lump, found) in enumerate(zip(steps, classify_all(steps), strict=True), 1):
        lines += ["", f"lump {number}"]
        rows = [
            *_lines(function, lump),
            *_tensors(function, lump),
            ("structure", _structure(lump, found)),
        ]
        width = max(len(word) for word, _ in rows)
        lines += [f"  {word.ljust(width)}  {text}" for word, text in rows]
    return "\n".join(lines)


def _lines(function: Function, lump: Lump) -> Iterator[tuple[str, str]]:
    """The lines of the text that the lump consists of."""
    spans = (function.program.span(op.location) for op in lump.definitions)
    known = {span.line: span.text.strip() for span in spans if span is not None}
    for line, text in sorted(known.items()):
        yield f"line {line}", text


def _tensors(function: Function, lump: Lump) -> Iterator[tuple[str, str]]:
    written = {*(t.name for t in function.args), *function.program.definition_labels}
    old = [_name(function, written, v) for v in lump.ins]
    new = [_name(function, written, v) for v in lump.outs]
    yield "ins", ", ".join(old)
    yield "outs", ", ".join(f"the new {name}" if name in old else name for name in new)
    if lump.others:
        derived = {op.result for op in lump.derived}
        yield (
            "others",
            ", ".join(
                _name(function, written, v)
                + (" (computed from what stays)" if v in derived else "")
                for v in lump.others
            ),
        )


def _name(function: Function, written: Container[str], tensor: SSAValue) -> str:
    """The name of a tensor; what a sum got that the text gives none says where that is."""
    name, owner = name_of(tensor), tensor.owner
    if name in written or not isinstance(owner, tix.DefineOp):
        return name
    span = function.program.span(owner.location)
    return f"{name} (the sum in line {span.line})" if span else name


# --- structures -----------------------------------------------------------------------------------


def _structure(lump: Lump, found: structures.Structure) -> str:
    """The name of a structure, and why the matrix has it."""
    match found:
        case structures.Diagonal(permutation=permutation):
            return sentences.diagonal(*_pair(lump, permutation))
        case structures.Monomial():
            return sentences.PERMUTATION
        case structures.DiagonalPlusNilpotent(permutation=permutation, depth=depth):
            return sentences.diagonal_plus_nilpotent(*_pair(lump, permutation), depth)
        case structures.Banded(permutation=permutation, rest=rest, lower=lower, upper=upper):
            new, old = _pair(lump, permutation)
            index = _index_names(_definition(lump))[rest]
            around = f"{old} and on its neighbours along {index},"
            return sentences.banded(new, around, lower, upper)
        case structures.Triangular(permutation=permutation, lower=lower):
            new, old = _pair(lump, permutation)
            return sentences.triangular(new, f"{old} and on elements", lower)
        case structures.Blocks(out_dims=dims):
            names = _index_names(_definition(lump))
            return sentences.blocks(", ".join(names[d] for d in dims[0]))
        case _:
            return sentences.DENSE


def _definition(lump: Lump) -> tix.DefineOp:
    return lump.out_definitions[0]


def _index_names(op: tix.DefineOp) -> list[str]:
    names: list[str] = []
    for index in op.indices:
        names.append(fresh_name(index.name_hint or "i", names))
    return names


def _pair(lump: Lump, permutation: SignedPermutation) -> tuple[str, str]:
    """An element of `outs`, and the one of `ins` that it takes the place of."""
    op = _definition(lump)
    names = dict[Variable, str](zip(op.indices, _index_names(op), strict=True))
    own = [Affine.of(v) for v in op.indices]
    new = _element(lump.outs[0], own, names)
    old = _element(lump.ins[0], permutation.image(own), names)
    same = name_of(lump.outs[0]) == name_of(lump.ins[0])
    return (f"the new {new}", f"the old {old}") if same else (new, old)


def _element(tensor: SSAValue, at: Sequence[Affine], names: dict[Variable, str]) -> str:
    indices = ", ".join(_index_text(form, lambda key: names.get(key, str(key))) for form in at)
    return f"{name_of(tensor)}[{indices}]" if at else name_of(tensor)


def _index_text(form: Affine, name: Callable[[Variable], str]) -> str:
    """`N - 1 - i`: what is subtracted last, as in the text of a program."""
    less = Affine({key: -c for key, c in form.terms.items() if c < 0})
    rest = form + less
    if not less.terms or rest == Affine():
        return show(form, name)
    return f"{show(rest, name)} - {show(less, name)}"

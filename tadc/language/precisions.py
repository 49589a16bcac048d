"""The precision of definitions that the text does not declare.

It is the widest of what a definition reads:

    x: f32[N]
    z: f64[N]
    y[i] = x[i] * z[i]                f64

A definition that reads nothing, or only such definitions, is *weak*, as numbers are: it widens
nobody who reads it, and has itself the widest precision of these.

    c = 0.5                           f32, as y
    y[i] = c * x[i]                   f32

A weak result that nobody reads has the widest precision of the arguments; without any, f64.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Region, SSAValue

from tadc.dialects.tix import DefineOp, ReadOp, TensorType, real
from tadc.dialects.tix.types import ELEMENT_TYPES, ElementType
from tadc.language.reads import used


@dataclass(frozen=True)
class Defined:
    """A definition as the text has it."""

    tensor: SSAValue
    reads: frozenset[SSAValue]
    declared: ElementType | None = None
    before: SSAValue | None = None
    """The version that it updates, which it takes the precision of."""


def tensors_read(body: Region) -> frozenset[SSAValue]:
    """The tensors that a body reads."""
    return frozenset(op.tensor for op, _ in used(body) if isinstance(op, ReadOp))


def infer_elements(
    arguments: Mapping[SSAValue, ElementType], definitions: Sequence[Defined]
) -> dict[SSAValue, ElementType]:
    """The element type of each tensor, for those of the arguments and definitions in order."""
    found = dict(arguments)
    for d in definitions:
        strong = [found[v] for v in d.reads if v in found]
        if d.declared is not None:
            found[d.tensor] = d.declared
        elif d.before is not None and d.before in found:
            found[d.tensor] = found[d.before]
        elif strong:
            found[d.tensor] = _widest(strong)
    readers = _readers(definitions)
    for d in reversed(definitions):
        if d.tensor not in found:
            readings = [found[v] for v in readers.get(d.tensor, ())]
            found[d.tensor] = _widest(readings or arguments.values())
    return found


def definitions_to_declare(
    arguments: Sequence[SSAValue], definitions: Sequence[DefineOp]
) -> set[DefineOp]:
    """The definitions whose element type is not the one that the parser would infer.

    Where just these are declared, `infer_elements` gives every tensor the type that it has.
    """
    all_of_them = [Defined(op.result, tensors_read(op.body)) for op in definitions]
    readers = _readers(all_of_them)
    weak: set[SSAValue] = set()
    declared: set[DefineOp] = set()
    for op, d in zip(definitions, all_of_them, strict=True):
        strong = d.reads - weak
        expected = _widest(map(_element, strong or readers.get(d.tensor) or arguments))
        if op.type.element != expected:
            declared.add(op)
        elif not strong:
            weak.add(op.result)
    return declared


def _readers(definitions: Iterable[Defined]) -> dict[SSAValue, list[SSAValue]]:
    """The tensors whose definitions read each one."""
    found: dict[SSAValue, list[SSAValue]] = {}
    for d in definitions:
        for v in d.reads:
            found.setdefault(v, []).append(d.tensor)
    return found


def _element(tensor: SSAValue) -> object:
    assert isinstance(tensor.type, TensorType)
    return tensor.type.element


def _widest(elements: Iterable[object]) -> ElementType:
    """The widest of types of real elements, f64 of none: undeclared ones may be as wide."""
    given = [e for e in elements if e in ELEMENT_TYPES.values()]
    if f64 in given or not given:
        return f64
    return real if real in given else f32

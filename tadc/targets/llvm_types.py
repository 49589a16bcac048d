"""Types of LLVM IR as text: numbers and vectors of them. It needs no xDSL."""

from __future__ import annotations

import re

VECTOR = re.compile(r"<(\d+) x (\w+)>")


def vector_of(lanes: int, element: str) -> str:
    """The type of a vector; that of a number, where there is one lane."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def lanes_and_element(type: str) -> tuple[int, str]:
    """The number of lanes and their type; a number is one lane."""
    found = VECTOR.fullmatch(type)
    return (int(found[1]), found[2]) if found else (1, type)


def with_element(type: str, element: str) -> str:
    """The type of as many lanes, with another element."""
    return vector_of(lanes_and_element(type)[0], element)


def overload(type: str) -> str:
    """The suffix that names a type in an overloaded intrinsic: `<4 x float>` is `v4f32`."""
    lanes, element = lanes_and_element(type)
    name = {"float": "f32", "double": "f64"}.get(element, element)
    return name if lanes == 1 else f"v{lanes}{name}"


def splat(literal: str, type: str) -> str:
    """A number of this type, or a vector that has it in all lanes."""
    lanes, element = lanes_and_element(type)
    return literal if lanes == 1 else f"splat ({element} {literal})"

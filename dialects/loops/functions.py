"""The functions of scheduled programs: which buffers and sizes they take, by name."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr
from xdsl.dialects.func import FuncOp


def names_in(function: FuncOp, name: str) -> list[str]:
    """An attribute of a function that is a list of names: `buffers` or `sizes`."""
    attribute = function.attributes[name]
    assert isinstance(attribute, ArrayAttr)
    return [a.data for a in cast("ArrayAttr[StringAttr]", attribute)]


def results_of(function: FuncOp) -> int:
    """The number of buffers that a function writes, which come first."""
    attribute = function.attributes.get("results")
    return attribute.value.data if isinstance(attribute, IntegerAttr) else 1


def stride_names(tensor: str, rank: int) -> list[str]:
    """The names of the strides of a tensor, of all dimensions but the last."""
    return [f"{tensor} stride {dimension}" for dimension in range(rank - 1)]

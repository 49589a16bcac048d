"""A tile: how the elements of a definition are parted into blocks that registers hold.

y[i, j] = sum[k](x[i, k] * w[j, k])        Tile(row_index=i, column_index=j, rows=4, columns=64,
                                                group=64, panels={sum: [w[j, k] along k]})
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from dialects import tix


@dataclass(frozen=True)
class Hoisted:
    """An expression of a sum that is the same for all rows, and varies with `indices` of the sum.

    It is computed ahead, once per column and value of these indices.
    """

    value: SSAValue
    indices: tuple[SSAValue, ...]


@dataclass(frozen=True)
class Tile:
    """Blocks of `rows` x `columns` elements, in groups of such blocks along the rows."""

    row_index: SSAValue | None
    """The index along which blocks have rows; None: they have one row."""
    column_index: SSAValue
    """The index along which vectors run."""
    rows: int
    columns: int
    lanes: int = 1
    """Elements of a vector, of which `columns` is a multiple."""
    group: int = 1
    """Blocks along the rows that one iteration computes, one after the other."""
    panels: dict[tix.SumOp, tuple[Hoisted, ...]] = field(
        default_factory=dict["tix.SumOp", tuple[Hoisted, ...]]
    )
    """For each sum what is copied into panels."""
    chunks: dict[tix.SumOp, tuple[SSAValue, int]] = field(
        default_factory=dict["tix.SumOp", "tuple[SSAValue, int]"]
    )
    """For each sum of which a cache cannot hold what blocks share, the index that is cut and the
    length of chunks."""

"""Which reads of blocks are copied: compared with the addresses of all that a block reads."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product

import pytest

import tadc
from tadc.dialects import tix
from tadc.passes.analysis.index_uses import IndexUses
from tadc.passes.scheduling.costs.line_reuse import (
    BYTES_BETWEEN,
    BYTES_IN_ORDER,
    FEWEST_ROWS_OF_COPY,
    LINES_APART,
    is_copied,
)
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Hoisted, Tile

LINE = 64


def tile_and_read(source: str, columns: int) -> tuple[tix.SumOp, Tile, tix.ReadOp]:
    """The sum of the last definition, a tile along its last index, and what the sum reads of w."""
    op = tadc.compile(source).program.op.definitions[-1]
    (inner,) = blocked_sums(op.body)
    reads = [o for o in inner.walk() if isinstance(o, tix.ReadOp)]
    (read,) = [o for o in reads if op.indices[-1] in IndexUses().of_operation(o)]
    return inner, Tile(op.indices[0], op.indices[-1], 4, columns, 16), read


def lines(shape: tuple[int, ...], counts: tuple[int, ...], columns: int) -> list[int]:
    """The lines, in order, of f32 elements w[k, ..., j] for so many k, ... and j."""
    steps = [1]
    for size in shape[:0:-1]:
        steps.insert(0, steps[0] * size)
    points = product(*map(range, (*counts, columns)))
    return sorted({4 * sum(map(int.__mul__, p, steps)) // LINE for p in points})


@pytest.mark.parametrize("columns", [32, 48, 64])
@pytest.mark.parametrize(
    "shape",
    [
        (100, 64),
        (128, 784),
        (128, 1024),
        (200, 1024),
        (512, 784),
        (576, 64),
        (576, 128),
        (3000, 64),
        (64, 3, 64),
        (64, 9, 128),
        (300, 8, 64),
        (40, 3, 1024),
        (80, 3, 1024),
    ],
)
def test_what_a_cache_keeps_is_not_copied(
    shape: tuple[int, ...], columns: int, registers: tix.Registers
) -> None:
    counts = shape[:-1]
    names = ", ".join("kl"[: len(counts)])
    source = (
        f"x: f32[256, {', '.join(map(str, counts))}]\nw: f32[{', '.join(map(str, shape))}]\n"
        f"y[i, j] = sum[{names}](x[i, {names}] * w[{names}, j])"
    )
    op, tile, read = tile_and_read(source, columns)
    many = replace(tile, group=FEWEST_ROWS_OF_COPY // tile.rows)
    found = lines(shape, counts, columns)
    in_order = all(b - a - 1 <= BYTES_BETWEEN // LINE for a, b in pairwise(found))
    if in_order:
        kept = (found[-1] - found[0] + 1) * LINE <= BYTES_IN_ORDER
    else:
        kept = len(found) <= LINES_APART * registers.vectors
    assert is_copied(Hoisted(read.result, ()), op, many, IndexUses(), {}, registers) is not kept
    # few blocks that share it read it in order where it is
    assert is_copied(Hoisted(read.result, ()), op, tile, IndexUses(), {}, registers) is not (
        kept or in_order
    )


@pytest.mark.parametrize(
    ("read", "sizes", "copied"),
    [
        ("w[k, j]", {"K": 128, "J": 512}, False),  # 384 lines
        ("w[k, j]", {"K": 512, "J": 512}, True),
        ("w[k, j]", {}, True),  # as long as is assumed
        ("w[j, k]", {"K": 128, "J": 512}, True),  # no vectors of it are in memory
        ("w[k, 2*j]", {"K": 128, "J": 512}, True),
        ("exp(w[k, j])", {"K": 128, "J": 512}, True),  # a copy is computed once
    ],
)
def test_what_sizes_tell(read: str, sizes: dict[str, int], copied: bool) -> None:
    source = f"x: f32[256, K]\ny[i, j in range(500)] = sum[k in range(K)](x[i, k] * {read})"
    op, tile, inner = tile_and_read(source, 48)
    (use,) = inner.result.uses
    value = use.operation.results[0] if read.startswith("exp") else inner.result
    assert is_copied(Hoisted(value, ()), op, tile, IndexUses(), sizes, tix.AVX_512) is copied

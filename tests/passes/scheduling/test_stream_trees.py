"""The trees of streams, and of their blocks."""

from __future__ import annotations

import pytest

import tadc
from tadc.passes.lowering.set_precision import set_precision
from tadc.passes.scheduling.loop_tree.text import tree_text
from tadc.passes.scheduling.recipes.stream_blocks import stream_blocks
from tadc.passes.scheduling.recipes.streams import streams
from tadc.passes.scheduling.streams.stream_choice import possible_stream
from tadc.passes.scheduling.streams.stream_phases import Phase
from tadc.passes.scheduling.streams.stream_rows import stream_rows
from tadc.passes.scheduling.streams.stream_tiles import stream_tile

BORDER = "x: f32[I, J]\ny[i in range(I), j in range(J)] = x[i, j - 1] if j > 0 else 0"

BORDER_TREE = """\
y[i, j]:
  parallel i
    if 2 tensors exceed the largest cache
      vector j by 16 in 16
        for j by 16 align
          store y past the caches
    else
      vector j by 16 in 16
        for j by 16 border
          store y"""

STENCIL = "x: f32[I + 1, J]\ny[i in range(I), j in range(J)] = x[i, j] - x[i + 1, j]"

STENCIL_TREE = """\
y[i, j]:
  parallel i by 4
    if 2 tensors exceed the largest cache
      for j by 64 unless J <= 1535 align
        for i
          vector j by 16 in 16
            for j by 16 align
              store y past the caches
    else
      for i
        vector j by 16 in 16
          for j by 16 shift
            store y"""

PHASES = "x: f64[I]\ny[i in range(2*I - 1)] = x[i // 2] * x[(i + 1) // 2]"

PHASES_TREE = """\
y[i]:
  parallel i by 16384
    vector i by 8 in 8
      for i by 8 border
        interleave 2 phases of y"""

SEGMENTS = "x: f64[100]\ny[i] = exp(x[i]) if i < 64 else x[i - 64]"

SEGMENTS_TREE = """\
y[i], y[i]:
  parallel i by 16384
    vector i by 8 in 8
      for i by 8 to 64 shift
        store y
    vector i by 8 in 8
      for i by 8 from 64 shift
        store y"""

BLOCKS = "x: f32[I + 1, J]\ny[i in range(I), j in range(J)] = exp(x[i, j]) * exp(x[i + 1, j])"

BLOCKS_TREE = """\
y[i, j]:
  parallel i by 4
    parallel j by 4096
      for j by 64
        if i + 4 <= I and j + 64 <= J
          jam i by 4
            for i by 4 exact
              vector j by 64 in 16
                for j by 64 exact
                  store y
        else
          for i
            vector j by 16 in 16
              for j by 16 shift
                store y"""


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        (BORDER, BORDER_TREE),
        (STENCIL, STENCIL_TREE),
        (PHASES, PHASES_TREE),
        (SEGMENTS, SEGMENTS_TREE),
    ],
)
def test_the_tree_of_a_stream(source: str, tree: str):
    (op,) = set_precision(tadc.compile(source).program.op, "f32").definitions
    stream = possible_stream(op)
    assert stream is not None
    with stream_rows([stream], frozenset()) as rows:
        assert tree_text(streams(rows)) == tree


def test_the_tree_of_blocks():
    (op,) = set_precision(tadc.compile(BLOCKS).program.op, "f32").definitions
    tile = stream_tile(op, {})
    assert tile is not None
    assert tree_text(stream_blocks(Phase.of(op, 0, frozenset()), tile)) == BLOCKS_TREE

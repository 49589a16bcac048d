"""The plan of a program as text, which `plan_parser` reads: how the loops of each definition run.

    y[i, j]: rows i by 4, columns j by 64, 16 blocks a group
      sum 1 over k in chunks of 256 of k: panel w[j, k]
      else rows j by 4, columns i by 64
        sum 1 over k in chunks of 256 of k: panel x[i, k]
    z[i, j]: stream
    m[i]: row by row
    u[i, j]: in bands

Each definition has an entry; behind `else` is the tile for sizes that have no room for the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from xdsl.ir import SSAValue

from tadc.dialects import tix
from tadc.passes.analysis.equivalence import equivalent_definitions
from tadc.passes.analysis.rounding import must_round_identically
from tadc.passes.analysis.size_bounds import SizeBounds
from tadc.passes.rewriting.programs import tensor_names
from tadc.passes.scheduling.all_pairs import Pairs
from tadc.passes.scheduling.bands.band_stages import Bands
from tadc.passes.scheduling.blocking import Blocking, ChooseBlocking
from tadc.passes.scheduling.choose_nests import nests_of
from tadc.passes.scheduling.nest import Blocks, Carried, Columns, Nest, Rows, Streams, Strips
from tadc.passes.scheduling.scans import is_scanned
from tadc.passes.scheduling.text.value_text import ValueText, index_names
from tadc.passes.scheduling.tiles.sum_lengths import blocked_sums
from tadc.passes.scheduling.tiles.tile import Tile
from tadc.passes.scheduling.tiles.tile_analysis import has_one_chunk

COLUMN_OF_COMMENTS = 56
"""The column at which comments behind entries begin, or behind the entry where that is longer."""

About = Callable[[tix.DefineOp, Blocking, str], Sequence[str]]
"""Comments on the nest of a definition, and on the loops that it shares with others, if it does:
first what stands behind its entry, then more lines."""


def plan_entries(
    program: tix.ProgramOp, choose: ChooseBlocking, about: About
) -> dict[str, list[str]]:
    """The lines for each definition of a program whose loops are shaped, by its label.

    They have comments that say what there is `about` it, with what it shares rows or blocks,
    whether its loops carry totals, and which sums have one chunk. Equivalent definitions run the
    code of the first of them: for the others there are comments alone.
    """
    names = tensor_names(program)
    entries: dict[str, list[str]] = {}
    as_written = must_round_identically(program)
    members = equivalent_definitions(program, as_written)
    sizes = SizeBounds.in_calls(program)
    shared = _shared(nests_of(members, choose, as_written))
    for member in members:
        op, first = member.op, member.first.label.data
        label = op.label.data
        if op is not member.first:
            entries[label] = [f"# {header(op)} runs the code of {first}"]
            continue
        nest = choose(op)
        head, *rest = entry_lines(op, nest, names)
        loops, comment = shared.get(op, ("", ""))
        behind, *below = about(op, nest, loops) or [""]
        if op in shared:
            head, rest = (f"{header(op)}: {loops}", []) if loops else (head, rest)
            below = [*filter(None, [comment]), *below]
        below = [*_whole_sums(op, nest.tiles, sizes), *below]
        line = f"{head:{COLUMN_OF_COMMENTS}}  # {behind}" if behind else head
        entries[label] = [line, *rest, *(f"  # {text}" for text in below)]
    return entries


def _shared(nests: Iterable[Nest]) -> dict[tix.DefineOp, tuple[str, str]]:
    """The loops of definitions that have others than those of their own, and a comment on these;
    for blocks, which are told anyway, the comment alone."""
    found: dict[tix.DefineOp, tuple[str, str]] = {}
    for nest in list(nests):
        for op in nest.members:
            others = ", ".join(m.label.data for m in nest.members if m is not op)
            with_others = f"with {others}" if others else ""
            match nest.loops:
                case Rows() | Columns():
                    found[op] = "row by row", _row_comment(op, nest, with_others)
                case Bands():
                    found[op] = "in bands", _band_comment(op, nest.loops, with_others)
                case Streams() if others:
                    found[op] = "stream", with_others
                case Blocks(tiles=[tile, *_]) | Pairs(tile=tile) if others:
                    found[op] = "", f"{with_others}, in {blocks_text(nest.body, tile)}"
                case Carried():
                    found[op] = "", "carries totals"
                case _:
                    pass
        nest.forget()
    return found


def _whole_sums(op: tix.DefineOp, tiles: Sequence[Tile], sizes: SizeBounds) -> Iterator[str]:
    """Comments on the sums of the first tile that have one chunk, whatever the sizes of calls."""
    for number, inner in enumerate(blocked_sums(op.body), 1):
        if tiles and has_one_chunk(inner, tiles[0], sizes):
            yield f"sum {number} has one chunk"


def _band_comment(op: tix.DefineOp, bands: Bands, others: str) -> str:
    (stage,) = (stage for stage in bands.stages if stage.of is op)
    stored = stage.buffer is None
    loops = nest_text(stage.op, stage.blocking)
    if bands.roll:
        rows = bands.roll.rows
        loops = f"{rows} rows at a time" if stored else "rolls along with it"
    comments = [others, loops, "" if stored else "not stored"]
    if bands.slides:
        along = index_names(stage.op)[stage.op.indices[0]]
        kept = f"keeps {stage.planes} plane{'s' if stage.planes > 1 else ''}"
        comments.append(f"slides along {along}" if stored else kept)
    return "; ".join(filter(None, comments))


def _row_comment(op: tix.DefineOp, nest: Nest, others: str) -> str:
    height = nest.loops.height if isinstance(nest.loops, Rows) else 1
    comments = [
        "in strips of columns" if isinstance(nest.loops, Strips) else "",
        others,
        f"{height} rows side by side" if height > 1 else "",
        "carries totals" if is_scanned(op) else "",
        "" if op in nest.written else "not stored",
    ]
    return "; ".join(filter(None, comments))


def entry_lines(op: tix.DefineOp, nest: Blocking, tensors: Mapping[SSAValue, str]) -> list[str]:
    """The entry of a definition; `tensors` are the names of the program's."""
    start = f"{header(op)}:"
    if not nest.tiles:
        return [f"{start} {nest_text(op, nest)}"]
    text = ValueText(tensors, index_names(op))
    lines: list[str] = []
    for n, tile in enumerate(nest.tiles):
        lines.append(f"{'  else' if n else start} {blocks_text(op, tile)}")
        lines += (f"{'  ' if n else ''}  {line}" for line in _sum_lines(op, tile, text))
    return lines


def without_comments(lines: Iterable[str]) -> list[str]:
    """The lines of a plan as they are read."""
    said = (line.partition("#")[0].rstrip() for line in lines)
    return [line for line in said if line]


def nest_text(op: tix.DefineOp, nest: Blocking) -> str:
    """A nest in one line, without what its sums copy."""
    if nest.tiles:
        return " else ".join(blocks_text(op, tile) for tile in nest.tiles)
    return "stream" if nest.stream else "plain"


def header(op: tix.DefineOp) -> str:
    """The definition as an entry names it: `y[i, j]`."""
    names = index_names(op)
    indices = ", ".join(names[v] for v in op.indices)
    return f"{op.label.data}[{indices}]" if indices else op.label.data


def blocks_text(op: tix.DefineOp, tile: Tile) -> str:
    """The blocks of a tile: `rows i by 4, columns j by 64, 16 blocks a group for 8 n`."""
    names = index_names(op)
    rows = [] if tile.row_index is None else [f"rows {names[tile.row_index]} by {tile.rows}"]
    whole = [f"all {names[index]}" for index, _ in tile.whole]
    along = "columns" if tile.column_index in op.indices else "terms"
    columns = f"{along} {names[tile.column_index]} by {tile.columns}"
    rest = [f"rest by {tile.rest}"] if tile.rest else []
    group = [f"{tile.group} blocks a group"] if rows and tile.group > 1 else []
    if tile.along:
        counted = "1 block" if tile.group == 1 else f"{tile.group} blocks"
        values = " and ".join(f"{count} {names[index]}" for index, count in tile.along)
        group = [f"{counted} a group for {values}"]
    return ", ".join([*rows, *whole, columns, *rest, *group])


def _sum_lines(op: tix.DefineOp, tile: Tile, text: ValueText) -> Iterator[str]:
    """The sums that have panels or chunks."""
    for number, inner in enumerate(blocked_sums(op.body), 1):
        if inner not in tile.panels and inner not in tile.chunks:
            continue
        line = f"sum {number} over {', '.join(text.indices[v] for v in inner.indices)}"
        if inner in tile.chunks:
            index, length = tile.chunks[inner]
            line += f" in chunks of {length} of {text.indices[index]}"
        values = dict.fromkeys(text.of(h.value) for h in tile.panels.get(inner, ()))
        yield f"{line}: panel {', '.join(values)}" if values else line

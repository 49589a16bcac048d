"""Streams: rows in vectors, inside and at borders, in phases, segments and blocks of rows.

- `stream_loops`: the rows of streams as loops, past the caches or not
- `rows_side_by_side`: long rows that read the same elements, a piece of each in turn
- `stream_blocks`: streams in blocks of rows
- `stream_rows`: the vectors of a row of a stream
- `stream_lanes`: values of a stream inside, where no guard changes sides, and at borders
"""

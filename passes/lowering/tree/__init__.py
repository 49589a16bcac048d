"""Code for the tree of loops (`passes/scheduling/tree`), whatever recipe has made it.

- `emit_tree`: the parallel loops at the root, and all nodes inside
- `buffers`: accumulators in memory
- `recurrences`: an element from the one before it
- `points`: values of a definition at the points of the loops that are jammed around it
"""

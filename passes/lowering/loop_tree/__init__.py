"""Code for the tree of loops (`passes/scheduling/loop_tree`), whatever recipe has made it.

- `emit_tree`: the parallel loops at the root, and all nodes inside
- `scope`: the block into which nodes are emitted, with what is known there
- `intervals`: the values that a loop gives to its index
- `nontemporal_guards`: tests whether the tensors of a call stay in the caches
- `loops`: which values the index of a loop has, and what the loop carries
- `vector_loops`: whole steps of a loop over vectors, and masked vectors at its end
- `border_loops`: loops over vectors along which choices change sides
- `statements`: accumulators that begin, get terms and are combined, and elements that are stored
- `buffers`: accumulators in memory
- `unroll_and_jam`: numbers of iterations that are jammed
- `points`: vectors of a definition at the points of the loops that are jammed around it
- `border_points`: the same where choices change sides, inside and at borders
- `reciprocals`: quotients of vectors by a number, without divisions
- `lane_scans`: scans along the lanes of vectors
- `recurrences`: an element from the one before it
"""

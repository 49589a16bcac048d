"""The plan of loops: which nests a program has, as data that nothing is emitted from yet.

`passes/lowering/schedule.py` asks `choose_nests` for the nests, and `passes/lowering` for the loops
of each. The plan knows nothing of how loops are emitted. Two tours show the way, with a drawing
each: docs/tours/plan.md and tiles.md.

Modules
-------
- `choose_nests`: the nests of a program; here a plan begins
- `nest`: definitions that one function computes
- `step_order`: the order of nests, and of calls of their functions
- `plan_checks`: whether all that a plan reads is computed before, and where it is read
- `blocking`: the loops of one definition: in tiles, as a stream, or plain
- `extents`: how many elements and terms a definition has at the sizes that are planned for
- `cold_code`: which definitions are so short that compiling counts more than running
- `fuse_sums`: which definitions share the loops of tiles
- `joined_bodies`: definitions as one, in which sums over the same points are one operation
- `shared_choices`: values that several choices by values compute, for the same test
- `shared_values`: values that several bodies compute, and where one computation would do; the pass
  `share_values` asks for it
- `fuse_streams`: maps over one space that read the same tensors, a row of each in turn
- `all_pairs`: walks over pairs, for sums along both of their indices
- `scans`: reductions over all terms up to an element, whose loops carry a total
- `recurrences`: sums weighed by products on the way, each element made of the one before
- `powers_of_distances`: powers that are products on the way from a term to an element

The packages
------------
- `loop_tree`: loops as data
- `recipes`: how definitions become trees of loops
- `tiles`: register blocks: which are possible, and which one is taken
- `streams`: rows that are written in one go: with borders, quotients, or past the caches
- `rows`: neighbours that are computed row by row, or strip by strip
- `bands`: stages of a stencil that are computed band by band
- `costs`: what tiles and plain nests cost, and the time that they take
- `text`: the plan as text, printed and read
"""

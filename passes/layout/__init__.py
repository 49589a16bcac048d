"""Tensors in memory: which are stored, which are copied in another order, or only seen in one.

`pack_reads` tries out what later passes make of a program with a copy: it knows all other phases.

- `locate_elements`: sums over the places of an index tensor as segments of its views
- `recompute_elements`: elements of large tensors made of few numbers are computed where they are
  read (rematerialisation)
- `outline_values`: dear values that many elements have in common become tensors
- `pack_reads`: copies in the order of vectors of what these would gather
- `transpose_reads`: copies of what the neighbouring threads of a GPU would read row by row
- `merge_axes`: neighbouring indices that are one in memory become one (loop collapsing)
- `elide_copies`: what is only copied is written where the copy would be (copy elision)
"""

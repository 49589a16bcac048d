"""Register blocks of a definition: which are possible, what they copy, and which one is taken.

- `tile`: how elements are parted into register blocks, and what is copied into panels
- `tile_choice`: which tiles are tried, and whether one beats the plain nest
- `tile_analysis`: how far apart reads lie, what to compute ahead
- `tileable_sums`: which sums blocks compute
- `dot_tiles`: tiles whose vectors run along the terms of a sum
- `block_sizes`: how wide and how high blocks may be
- `bounding_boxes`: the box around what a sum runs over, the same for all elements
- `sum_lengths`: which sums are short, and unrolled where they stand
- `packed_runs`: terms of panels that lie side by side, while columns lie apart
- `packing`: what blocks copy, in which chunks, and how many blocks share it
- `copy_orders`: orders of axes in which copies of tensors may be better to read
- `row_terms`: terms that read for one row of a block what others read for the next
- `transposed_reads`: elements that are read across rows, in blocks that are square
"""

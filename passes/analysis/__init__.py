"""Facts about programs that passes ask for; nothing here changes a program.

- `activity`: the tensors that depend on others, and those that results depend on
- `costs`: the costs of operations, in additions
- `index_uses`: the indices that a value depends on
- `access`: how elements that a read takes along an index lie: invariant, contiguous, ..., gathered
- `linear_uses`: values that a derivative does not ask for, as it is linear in them
- `index_values`: values that are affine forms of indices
- `machine_facts`: the costs of memory in terms of arithmetic
- `speculation`: values that are finite wherever they are computed
- `lower_bounds`: numbers that values are never less than
- `rounding`: operations that must round identically wherever they are computed
- `value_numbers`: values that are equal to the last bit, wherever they stand
- `equivalence`: definitions that are equal but for the tensors that they read
- `all_pairs`: sums along each of two indices, whose terms compute the same values for their pairs
- `element_counts`: numbers of elements as polynomials in symbolic sizes
- `redundant`: ends of short ranges that follow from others for the sizes of a call
- `size_bounds`: bounds of forms, from how large sizes are at least and at most
- `compared_sizes`: sizes that end the same range, and those whose difference is a length
- `window_strides`: by how much windows move over an index, as those of transposed convolutions do
- `quotient_splits`: indices that count by quotients and remainders
- `index_ranges`: the interval of each integer of a scheduled function
- `properties`: properties that passes require and leave
- `stage_checks`: those that a pass relies on, checked where it begins
"""

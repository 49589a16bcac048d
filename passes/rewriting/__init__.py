"""Building new programs out of old ones: the tools with which every pass is written.

A pass copies: it goes through a definition from its first operation to its last and emits a new
one, in which some operations are written in a way of their own. xDSL's `RewritePattern`, which
changes operations in place until nothing changes any more, is not used, for three reasons. A copy
knows where it stands: the constraints that hold there, and what every index has become, which is an
affine form and no value that could replace it. All folding happens once, where an operation is
emitted, and no order of patterns decides the result. And a pass that gives up half way leaves the
program as it was.

- `builder`: emits reads, reductions, choices and quotients into a block
- `scalar_builder`: emits scalar operations, and folds them on the way
- `cloner`: copies the operations of an old body through a builder; passes override some of it
- `scoped_map`: mappings inside each other, as the blocks are that values are defined in
- `shallow_copy`: another cloner, or lowering, of the same fields
- `programs`: whole programs: arguments, definitions and results, and copies of all of them
- `program_pass`: the kinds of passes: on modules, on programs, on single definitions
- `axis_copies`: copies of tensors with their axes in another order, and what reads them
- `guards`: `E if condition else 0`, and taking one branch of a choice
- `terms`: the terms of a sum, taken apart and added up again
- `products`: the factors of a product, taken apart and multiplied again
- `running_totals`: long sums that are added as soon as their terms are there
- `formulas`: the formulas of functions that a program brings along, where they are called
- `part_sizes`: lengths of the elements along an index that have one remainder
- `written_sizes`: sizes as options of passes have them, `N=512`
- `failure`: the error of a pass, with its place in the program
"""

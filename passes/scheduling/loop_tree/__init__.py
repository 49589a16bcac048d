"""The tree of loops: what runs in which order, as data.

`passes/scheduling/recipes` make trees, and `passes/lowering/loop_tree` emits their code.

- `nodes`: loops, accumulators and elements, and the ways in which a loop ends
- `legality`: what may be jammed
- `text`: the tree, printed
"""

"""Help that knows nothing of derivatives: Python's collector and stack, clocks, packages, IR text.

- `ir_text`: text of the IR to modules and back
- `differences`: differences of two such texts
- `garbage`: the garbage collector, less often while a program is compiled
- `recursion`: recursion on a large stack, where the usual one is too small
- `uninterrupted`: calls that no signal ends in between
- `stopwatch`: the time of each step of the compiler
- `recent`: values of the keys that were used last
- `disk_store`: the user's cache: programs and machine code on disk, for later processes
- `entries`: functions that users call, whose errors come without the frames inside
- `packages`: packages that only some calls need
"""

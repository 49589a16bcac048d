"""`python -m tests.fuzz`: random programs, malformed input and integer systems, without end.

`programs` compares stages and targets, `malformed` looks for anything but a located error,
`systems` tests the integer algebra; `shrink` makes failures small, `failures` keeps them, and
`workers` runs it all on several processors.
"""

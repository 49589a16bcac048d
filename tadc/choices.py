"""Words that options and arguments choose from: targets, and what a derivative is printed as.

Like `tadc.modes`, this module imports nothing, so that `tadc --help` needs no compiler.
"""

from __future__ import annotations

TARGETS = ("cpu", "cuda", "interpret")
"""The targets of programs: machine code by LLVM, CUDA C, and the reference interpreter."""

DERIVATIVE_STAGES = ("tensor-index", "derivative", "solved", "bounded", "simplified")
"""Stages on the way to the derivative program, in order; the first is the program itself."""

TEXTS = ("source", "llvm", "llvm-optimized", "assembly", "cuda", "ptx")
"""Texts of a program: in the language, and as code of its targets."""

EMITS = ("source", *DERIVATIVE_STAGES, "scheduled", "code", *TEXTS[1:])
"""The words of `tadc derive --emit`, in the order of the compiler."""

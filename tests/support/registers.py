"""The registers for which loops are chosen, whichever this processor has."""

from __future__ import annotations

import pytest

from tadc.dialects.tix import Registers
from tadc.runtime.on_cpu import CpuExecutable

AVX2 = Registers(16, of_vector=2)
"""The registers of a processor without masks, whose vectors fill two."""


def choose_loops_for(registers: Registers, patch: pytest.MonkeyPatch) -> None:
    """Let programs that are compiled from now on have loops for these registers."""
    patch.setattr(CpuExecutable, "registers", classmethod(lambda _: registers))
